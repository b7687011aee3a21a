/* SPDX-License-Identifier: MIT
 * shell_held.c - commands whose purpose is to read, though no table says all that they do: the kernel holds them to it. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

/* One of these words is among its arguments; NULL: none is needed. A row is for what people run to look at something. What
 * installs, builds, tests or fetches has none: held to reading it would only fail, and the question comes first. */
static const struct {
	const char *names, *words;
} held[] = {
	{ "awk|bc|comm|diff|gawk|getconf|getent|join|less|locale|mawk|printenv|shellcheck|shuf|tput|xxd|yes|zcat|zgrep",
	  NULL },
	{ "bash|sh", "-n" },
	{ "cargo", "metadata|tree" },
	{ "docker", "--help" },
	{ "go", "env|list" },
	{ "gzip", "-l|--list" },
	{ "make", "-n|--dry-run|--just-print|--recon|-pn|-np|-q|--question" },
	{ "node", "-e|-p|-pe|--eval|--print" },
	{ "npm", "ls|list|ll|explain|why|query|--version|-v" },
	{ "openssl", "version" },
	{ "perl", "-e|-E|-ne|-nE|-pe|-pE|-lne|-lpe|-ane|-lane|-F|-V|-v" },
	{ "pip|pip3", "list|show|freeze|check|--version" },
	{ "pnpm", "ls|list|ll|why" },
	{ "python|python3", "-c|json.tool|--version" },
	{ "ruby", "-e|-ne|-pe|--version" },
	{ "tar", "-t|-tf|-tvf|-tzf|-tzvf|-tjf|-tJf|tf|tvf|tzf|tzvf|--list" },
	{ "unzip", "-l|-v|-Z|-p" },
	{ "xmllint", "--version|--noout|--format|--xpath" },
	{ "yarn", "list|why" },
};

/* Forms of git that show something and that its table does not have; filters and other programs that the configuration names are held
 * too. */
static bool git_reads_if_held(const struct shell_command *c)
{
	struct str verb = c->word_count > 1 && c->words[1].literal ? c->words[1].text : STR("");

	for (size_t i = 2; i < c->word_count; i++)
		if (str_is_one_of(c->words[i].text, "-w|-o|-d|-m|--delete|--lost-found") ||
		    str_starts(c->words[i].text, STR("--output")))
			return false;
	if (str_is(verb, "symbolic-ref")) /* with two operands it writes */
		return c->word_count == 4 && str_is(c->words[2].text, "--short");
	return str_is_one_of(verb,
			     "archive|check-attr|check-mailmap|cherry|fsck|hash-object|range-diff|var|verify-pack");
}

bool shell_reads_if_held(const struct shell_command *c)
{
	if (!c->word_count || !c->words[0].literal || c->assignment_count || c->hides)
		return false;
	if (str_is(c->words[0].text, "git"))
		return git_reads_if_held(c);
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

/* ---- what a command starts ---- */

/* The words from here to there, as a command. */
static struct shell_command part_of(const struct shell_command *c, size_t from, size_t to)
{
	struct shell_command part = *c;

	part.words += from;
	part.word_count = to - from;
	return part;
}

/* find A -exec B {} \; C: find A C, and B {}. */
static size_t split_find(struct arena *a, const struct shell_command *c, struct shell_command ret[SHELL_HELD_MAX])
{
	struct shell_word *rest = arena_alloc(a, c->word_count * sizeof *rest);
	size_t left = 0, count = 1;

	for (size_t i = 0; i < c->word_count; i++) {
		size_t end = i + 1;
		if (!c->words[i].literal || !str_is_one_of(c->words[i].text, "-exec|-execdir")) {
			rest[left++] = c->words[i];
			continue;
		}
		while (end < c->word_count && !(c->words[end].literal && str_is_one_of(c->words[end].text, ";|+")))
			end++;
		if (end == c->word_count || end == i + 1 || count == SHELL_HELD_MAX)
			return 0;
		ret[count] = part_of(c, i + 1, end);
		ret[count++].redirect_count = 0;
		i = end;
	}
	ret[0] = *c;
	ret[0].words = rest;
	ret[0].word_count = left;
	return count;
}

size_t shell_held_forms(struct arena *a, const struct shell_command *c, struct shell_command ret[SHELL_HELD_MAX])
{
	struct shell_command s = shell_strip_for_allow(c);
	bool splits = c->assignment_count == 1 && str_is(c->assignments[0].name, "IFS") && shell_runs(c, "read");

	if (c->hides && !splits)
		return 0;
	s.hides = NULL;
	for (size_t i = 0; i < s.assignment_count; i++)
		if (!shell_variable_is_own(s.assignments[i].name) && !str_is(s.assignments[i].name, "IFS") &&
		    !shell_variable_is_harmless(s.assignments[i].name))
			return 0;
	s.assignment_count = s.word_count ? 0 : s.assignment_count;
	if (shell_runs(&s, "xargs")) {
		size_t index = shell_behind_xargs(&s);
		bool bare = !index;
		for (size_t i = 1; i < s.word_count && bare; i++)
			bare = s.words[i].literal && str_starts(s.words[i].text, STR("-"));
		if (!index && !bare)
			return 0;
		s = part_of(&s, bare ? s.word_count : index, s.word_count); /* without a command it prints */
	}
	ret[0] = s;
	return shell_runs(&s, "find") ? split_find(a, &s, ret) : 1;
}
