/* SPDX-License-Identifier: MIT
 * shell_held.c - commands whose purpose is to read, though no table says what they do: programs for interpreters, builds that
 * only print. Nothing here is believed: where the kernel holds a command to reading, a wrong row costs an error and no file. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

/* One of these words is among its arguments; NULL: none is needed. A row is for what people run to look at something. What
 * installs, builds, tests or fetches has none: held to reading it would only fail, and the question comes first. */
static const struct {
	const char *name, *words;
} held[] = {
	{ "awk", NULL },
	{ "bash", "-n" },
	{ "bc", NULL },
	{ "cargo", "metadata tree" },
	{ "docker", "--help" },
	{ "gawk", NULL },
	{ "getconf", NULL },
	{ "go", "env list" },
	{ "gzip", "-l --list" },
	{ "less", NULL },
	{ "locale", NULL },
	{ "make", "-n --dry-run --just-print --recon -pn -np -q --question" },
	{ "mawk", NULL },
	{ "node", "-e -p -pe --eval --print" },
	{ "npm", "ls list ll explain why query" },
	{ "openssl", "version" },
	{ "perl", "-e -E -ne -nE -pe -pE -lne -lpe -ane -lane -F -V -v" },
	{ "pnpm", "ls list ll why" },
	{ "printenv", NULL },
	{ "python", "-c json.tool --version" },
	{ "python3", "-c json.tool --version" },
	{ "ruby", "-e -ne -pe --version" },
	{ "sh", "-n" },
	{ "shellcheck", NULL },
	{ "tar", "-t -tf -tvf -tzf -tzvf -tjf -tJf tf tvf tzf tzvf --list" },
	{ "tput", NULL },
	{ "unzip", "-l -v -Z -p" },
	{ "xxd", NULL },
	{ "yarn", "list why" },
	{ "zcat", NULL },
	{ "zgrep", NULL },
};

static bool has_word(const char *words, struct str word)
{
	struct str rest = str_from(words);

	while (rest.p)
		if (str_eq(str_cut(&rest, ' '), word))
			return true;
	return false;
}

bool shell_reads_if_held(const struct shell_command *c)
{
	if (!c->word_count || !c->words[0].literal || c->assignment_count || c->hides)
		return false;
	for (size_t i = 0; i < COUNT_OF(held); i++) {
		if (!str_is(c->words[0].text, held[i].name))
			continue;
		bool found = !held[i].words;
		for (size_t n = 1; n < c->word_count && !found; n++)
			found = c->words[n].literal && has_word(held[i].words, c->words[n].text);
		return found;
	}
	return false;
}
