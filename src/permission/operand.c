/* SPDX-License-Identifier: MIT
 * operand.c - which words of a command are files. Programs that are not listed take none that we know of; all operands of
 * those that only read may be files, but for the first ones of programs that begin with a pattern. */
#include "permission/operand.h"
#include <glob.h>
#include "permission/shell_command.h"

enum { NO_FILES = 255, EXPANDED_MAX = 1000 };

static const struct file_command {
	const char *name;
	uint8_t texts; /* so many operands at the front are no files */
	bool writes;
} commands[] = {
	{ "[", 0, false },
	{ "awk", 1, false },
	{ "base64", 0, false },
	{ "basename", NO_FILES, false },
	{ "cat", 0, false },
	{ "cd", 0, false },
	{ "chgrp", 1, true },
	{ "chmod", 1, true },
	{ "chown", 1, true },
	{ "cmp", 0, false },
	{ "cp", 0, true },
	{ "cut", 0, false },
	{ "date", NO_FILES, false },
	{ "dd", 0, true },
	{ "diff", 0, false },
	{ "dirname", NO_FILES, false },
	{ "echo", NO_FILES, false },
	{ "egrep", 1, false },
	{ "expr", NO_FILES, false },
	{ "fgrep", 1, false },
	{ "file", 0, false },
	{ "grep", 1, false },
	{ "head", 0, false },
	{ "hexdump", 0, false },
	{ "install", 0, true },
	{ "jq", 1, false },
	{ "less", 0, false },
	{ "ln", 0, true },
	{ "mkdir", 0, true },
	{ "more", 0, false },
	{ "mv", 0, true },
	{ "nl", 0, false },
	{ "od", 0, false },
	{ "printf", NO_FILES, false },
	{ "ps", NO_FILES, false },
	{ "rg", 1, false },
	{ "rm", 0, true },
	{ "rmdir", 0, true },
	{ "rsync", 0, true },
	{ "sed", 1, false },
	{ "seq", NO_FILES, false },
	{ "shred", 0, true },
	{ "sleep", NO_FILES, false },
	{ "sort", 0, false },
	{ "strings", 0, false },
	{ "tac", 0, false },
	{ "tail", 0, false },
	{ "tar", 0, true },
	{ "tee", 0, true },
	{ "touch", 0, true },
	{ "tr", NO_FILES, false },
	{ "truncate", 0, true },
	{ "type", NO_FILES, false },
	{ "uname", NO_FILES, false },
	{ "uniq", 0, false },
	{ "wc", 0, false },
	{ "which", NO_FILES, false },
	{ "whoami", NO_FILES, false },
	{ "xxd", 0, false },
	{ "zcat", 0, false },
	{ "zgrep", 1, false },
};

static const struct file_command reader = { "", 0, false };

static struct str name_of(const struct shell_command *c)
{
	return c->word_count && c->words[0].literal ? c->words[0].text : STR("");
}

static const struct file_command *find_command(const struct shell_command *c)
{
	struct str name = name_of(c);

	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (shell_name_is(name, commands[i].name))
			return &commands[i];
	return name.n && shell_is_read_only(c) ? &reader : NULL;
}

static bool is_one_of(const struct shell_command *c, const char *const *names, size_t count)
{
	struct str name = name_of(c);

	for (size_t i = 0; i < count; i++)
		if (shell_name_is(name, names[i]))
			return true;
	return false;
}

bool command_changes_files(const struct shell_command *c)
{
	static const char *const names[] = { "mkdir", "touch", "rm", "rmdir", "mv", "cp" };

	return is_one_of(c, names, COUNT_OF(names));
}

bool command_removes(const struct shell_command *c)
{
	static const char *const names[] = { "rm", "rmdir" };

	return is_one_of(c, names, COUNT_OF(names));
}

bool command_is_cd(const struct shell_command *c)
{
	static const char *const names[] = { "cd", "pushd", "popd" };

	return is_one_of(c, names, COUNT_OF(names));
}

/* ---- one operand ----------------------------------------------------------------------------------------------- */

static struct operand *add(struct operands *o, struct arena *a)
{
	if (o->count == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 8;
		struct operand *more = arena_alloc(a, cap * sizeof *more);
		if (o->count)
			memcpy(more, o->list, o->count * sizeof *more);
		o->list = more;
		o->cap = cap;
	}
	return &o->list[o->count++];
}

/* The directory before the first wildcard. */
static struct str before_glob(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && !strchr("*?[{", text.p[i]); i++)
		if (text.p[i] == '/')
			n = i + 1;
	return (struct str){ text.p, n };
}

/* The forms of one command share most of their words. */
static const struct operand *find(const struct operands *o, enum operand_use use, struct str text, const char *from)
{
	for (size_t i = 0; o && i < o->count; i++)
		if (o->list[i].use == use && o->list[i].from == from && str_eq(o->list[i].text, text))
			return &o->list[i];
	return NULL;
}

static void add_word(struct operands *o, struct arena *a, enum operand_use use, const struct shell_word *w,
		     struct str text, const char *const *cwds)
{
	bool globs = !w->literal && w->globs && !w->splits && !w->quoted && !w->tilde &&
		     !memchr(w->source.p, '$', w->source.n);
	struct str path = globs ? before_glob(text) : text;

	for (; *cwds; cwds++) {
		if (find(o, use, text, *cwds))
			continue;
		const struct operand *before = find(o->earlier, use, text, *cwds);
		bool same = before && before->globs == globs;
		*add(o, a) = (struct operand){
			.use = use,
			.text = text,
			.known = w->literal,
			.globs = globs,
			.place = same ? before->place : place_find_raw(a, *cwds, path),
			.from = *cwds,
		};
	}
}

/* ---- the operands of a command --------------------------------------------------------------------------------- */

/* A pattern given by an option leaves only files for the operands. */
static bool has_pattern_option(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct str w = c->words[i].text;
		if (str_starts(w, STR("-e")) || str_starts(w, STR("-f")) || str_starts(w, STR("--regexp")) ||
		    str_starts(w, STR("--expression")) || str_starts(w, STR("--file")))
			return true;
	}
	return false;
}

/* --file=/x, -f/x and of=x name files inside a word. */
static struct str inside_option(struct str word)
{
	const char *at = memchr(word.p, '=', word.n);

	if (!at)
		at = memchr(word.p, '/', word.n) ? (const char *)memchr(word.p, '/', word.n) - 1 : NULL;
	return at ? (struct str){ at + 1, word.n - (size_t)(at + 1 - word.p) } : STR("");
}

static void add_operands(struct operands *o, struct arena *a, const struct shell_command *c,
			 const struct file_command *f, const char *const *cwds)
{
	enum operand_use use = command_is_cd(c) ? OPERAND_ENTER : f->writes ? OPERAND_WRITE : OPERAND_READ;
	unsigned texts = has_pattern_option(c) ? 0 : f->texts;
	bool options = true;
	bool dd = str_is(name_of(c), "dd");

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		struct str text = w->text;
		if (options && str_is(text, "--")) {
			options = false;
			continue;
		}
		if ((options && str_starts(text, STR("-")) && text.n > 1) || dd) {
			struct str file = inside_option(text);
			if (file.n)
				add_word(o, a, use, w, file, cwds);
			continue;
		}
		if (texts)
			texts--;
		else if (text.n)
			add_word(o, a, use, w, text, cwds);
	}
}

static bool is_harmless_device(const struct shell_word *w)
{
	static const char *const names[] = { "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty" };

	for (size_t i = 0; w->literal && i < COUNT_OF(names); i++)
		if (str_is(w->text, names[i]))
			return true;
	return false;
}

static void add_redirects(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		bool reads = r->op == SHELL_READ || r->op == SHELL_READ_WRITE;
		if ((!reads && !r->writes_file) || is_harmless_device(&r->target))
			continue;
		if (r->writes_file)
			add_word(o, a, OPERAND_REDIRECT, &r->target, r->target.text, cwds);
		if (reads)
			add_word(o, a, OPERAND_READ, &r->target, r->target.text, cwds);
	}
}

void operands_add(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	const struct file_command *f = find_command(c);

	if (f && f->texts != NO_FILES)
		add_operands(o, a, c, f, cwds);
	add_redirects(o, a, c, cwds);
}

void operands_expand(struct operands *o, struct arena *a, const struct operand *pattern)
{
	const char *text = pattern->text.n && pattern->text.p[0] == '/'
				   ? arena_str(a, pattern->text).p
				   : arena_printf(a, "%s/" STR_FMT, pattern->from, STR_ARG(pattern->text));
	const struct operand one = *pattern;
	glob_t found = { 0 };

	if (glob(text, GLOB_NOSORT | GLOB_BRACE, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && i < EXPANDED_MAX; i++) {
			struct operand *more = add(o, a);
			*more = one;
			more->known = true;
			more->globs = false;
			more->place = place_find_raw(a, "/", str_from(found.gl_pathv[i]));
		}
	globfree(&found);
}
