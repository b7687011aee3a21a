/* SPDX-License-Identifier: MIT
 * shell_git.c - the forms of git that only read. Options before the subcommand can name another repository or set what git
 * runs, so nearly all of them take a command out. */
#include "permission/shell_read_only.h"

enum { FIRST = 1 << 0, EVERY = 1 << 1, OPERANDS = 1 << 2 };

static const struct form {
	const char *name;
	const char *
		words; /* FIRST: the next word must be one of these. EVERY: all words must be. OPERANDS: no options then */
	unsigned flags;
} forms[] = {
	{ "blame", NULL, 0 },
	{ "branch", "-a -r -v -vv -l --all --remotes --list --verbose --show-current --no-color", EVERY },
	{ "cat-file", NULL, 0 },
	{ "check-ignore", NULL, 0 },
	{ "config", "--get --get-all --get-regexp --list -l", FIRST | OPERANDS },
	{ "count-objects", NULL, 0 },
	{ "describe", NULL, 0 },
	{ "diff", NULL, 0 },
	{ "diff-index", NULL, 0 },
	{ "diff-tree", NULL, 0 },
	{ "for-each-ref", NULL, 0 },
	{ "grep", NULL, 0 },
	{ "log", NULL, 0 },
	{ "ls-files", NULL, 0 },
	{ "ls-tree", NULL, 0 },
	{ "merge-base", NULL, 0 },
	{ "name-rev", NULL, 0 },
	{ "reflog", "show", EVERY },
	{ "remote", "-v --verbose", EVERY },
	{ "rev-list", NULL, 0 },
	{ "rev-parse", NULL, 0 },
	{ "shortlog", NULL, 0 },
	{ "show", NULL, 0 },
	{ "show-ref", NULL, 0 },
	{ "stash", "list show", FIRST },
	{ "status", NULL, 0 },
	{ "tag", "-l --list -n", EVERY },
	{ "version", NULL, 0 },
	{ "whatchanged", NULL, 0 },
	{ "worktree", "list", FIRST },
};

static bool is_in(const char *list, struct str word)
{
	struct str rest = str_from(list);

	while (rest.p)
		if (str_eq(str_cut(&rest, ' '), word))
			return true;
	return false;
}

/* Options that write or run something, also abbreviated. */
static bool is_forbidden(struct str word)
{
	static const char *const options[] = { "--output", "--ext-diff",  "--textconv",    "--open-files-in-pager",
					       "--exec",   "--exec-path", "--upload-pack", "--filters" };
	struct str rest = word;
	struct str name = str_cut(&rest, '=');

	if (str_starts(word, STR("-O")) || str_starts(word, STR("-o")))
		return true;
	for (size_t i = 0; name.n > 2 && i < COUNT_OF(options); i++)
		if (str_starts(str_from(options[i]), name))
			return true;
	return false;
}

static bool form_allows(const struct form *f, const struct shell_word *words, size_t count)
{
	if ((f->flags & FIRST) && (!count || !is_in(f->words, words[0].text)))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct str word = words[i].text;
		if (is_forbidden(word) || ((f->flags & EVERY) && !is_in(f->words, word)))
			return false;
		if ((f->flags & OPERANDS) && i && str_starts(word, STR("-")))
			return false;
	}
	return true;
}

bool shell_git_is_read_only(const struct shell_command *c)
{
	size_t i = 1;

	while (i < c->word_count && (str_is(c->words[i].text, "--no-pager") || str_is(c->words[i].text, "-P")))
		i++;
	if (i >= c->word_count)
		return false;
	if (str_is(c->words[i].text, "--version"))
		return c->word_count == 2;
	for (size_t k = 0; k < COUNT_OF(forms); k++)
		if (str_is(c->words[i].text, forms[k].name))
			return form_allows(&forms[k], c->words + i + 1, c->word_count - i - 1);
	return false;
}
