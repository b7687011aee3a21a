/* SPDX-License-Identifier: MIT
 * shell_held.c - commands whose purpose is to read, though no table says what they do: programs for interpreters, builds that
 * only print. Nothing here is believed: where the kernel holds a command to reading, a wrong row costs an error and no file. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

/* One of these words is among its arguments; NULL: none is needed. A row is for what people run to look at something. What
 * installs, builds, tests or fetches has none: held to reading it would only fail, and the question comes first. */
static const struct {
	const char *names, *words;
} held[] = {
	{ "awk|bc|gawk|getconf|less|locale|mawk|printenv|shellcheck|tput|xxd|zcat|zgrep", NULL },
	{ "bash|sh", "-n" },
	{ "cargo", "metadata|tree" },
	{ "docker", "--help" },
	{ "go", "env|list" },
	{ "gzip", "-l|--list" },
	{ "make", "-n|--dry-run|--just-print|--recon|-pn|-np|-q|--question" },
	{ "node", "-e|-p|-pe|--eval|--print" },
	{ "npm", "ls|list|ll|explain|why|query" },
	{ "openssl", "version" },
	{ "perl", "-e|-E|-ne|-nE|-pe|-pE|-lne|-lpe|-ane|-lane|-F|-V|-v" },
	{ "pnpm", "ls|list|ll|why" },
	{ "python|python3", "-c|json.tool|--version" },
	{ "ruby", "-e|-ne|-pe|--version" },
	{ "tar", "-t|-tf|-tvf|-tzf|-tzvf|-tjf|-tJf|tf|tvf|tzf|tzvf|--list" },
	{ "unzip", "-l|-v|-Z|-p" },
	{ "yarn", "list|why" },
};

bool shell_reads_if_held(const struct shell_command *c)
{
	if (!c->word_count || !c->words[0].literal || c->assignment_count || c->hides)
		return false;
	for (size_t i = 0; i < COUNT_OF(held); i++) {
		if (!str_is_one_of(c->words[0].text, held[i].names))
			continue;
		bool found = !held[i].words;
		for (size_t n = 1; n < c->word_count && !found; n++)
			found = c->words[n].literal && str_is_one_of(c->words[n].text, held[i].words);
		return found;
	}
	return false;
}
