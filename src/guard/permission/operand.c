/* SPDX-License-Identifier: MIT
 * operand.c - which words of a command are files. Programs that shell_programs.c does not list take none that we know of. An
 * option that is not known may have a file as its value. */
#include "guard/permission/operand.h"
#include <glob.h>
#include "guard/shell/shell_options.h"

enum { EXPANDED_MAX = 1000 };

static struct str name_of(const struct shell_command *c)
{
	return c->word_count && c->words[0].literal ? c->words[0].text : STR("");
}

static bool is_one_of(const struct shell_command *c, const char *const *names, size_t count)
{
	struct str name = name_of(c);

	for (size_t i = 0; i < count; i++)
		if (shell_name_is(name, names[i]))
			return true;
	return false;
}

bool command_only_edits(const struct shell_command *c)
{
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);

	return p && (p->flags & PROGRAM_EDITS) && shell_options_are_harmless(p, c, first);
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

	for (size_t i = 0; i < text.n && !char_in(text.p[i], "*?[{"); i++)
		if (text.p[i] == '/')
			n = i + 1;
	return (struct str){ text.p, n };
}

/* The forms of one command share most of their words. */
static const struct operand *find(const struct operands *o, const struct operand *same)
{
	for (size_t i = 0; o && i < o->count; i++) {
		const struct operand *e = &o->list[i];
		if (e->use == same->use && e->from == same->from && e->known == same->known &&
		    e->globs == same->globs && str_eq(e->text, same->text))
			return e;
	}
	return NULL;
}

static void add_word(struct operands *o, struct arena *a, enum operand_use use, const struct shell_word *w,
		     struct str text, const char *const *cwds)
{
	struct operand one = { .use = use, .text = text, .known = w->literal };

	one.globs = !w->literal && w->globs && !w->splits && !w->quoted && !w->tilde &&
		    !memchr(w->source.p, '$', w->source.n);
	for (; *cwds; cwds++) {
		one.from = *cwds;
		if (find(o, &one))
			continue;
		const struct operand *before = find(o->earlier, &one);
		one.place = before ? before->place : place_find_raw(a, *cwds, one.globs ? before_glob(text) : text);
		*add(o, a) = one;
	}
}

/* ---- the operands of a command --------------------------------------------------------------------------------- */

static void add_operands(struct operands *o, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);
	enum operand_use nature = command_is_cd(c) ? OPERAND_ENTER : OPERAND_READ;
	struct shell_part part;

	/* None of its options is known to name a file, and no operand is one: echo */
	if (!p || (!p->letters && p->texts == PROGRAM_NO_FILES))
		return;
	if (p->flags & PROGRAM_WRITES)
		nature = OPERAND_WRITE;
	for (struct shell_parts parts = shell_parts_of(p, c, first); shell_next_part(&parts, &part);) {
		enum operand_use use = nature;
		if (part.kind == PART_OPTION || (part.kind == PART_PATTERN && !*part.marks))
			continue;
		if ((part.kind == PART_TEXT || part.kind == PART_PATTERN) && part.word->literal)
			continue; /* else it may become another word, and that a file */
		if (part.kind == PART_READ || part.kind == PART_WRITE)
			use = part.kind == PART_READ ? OPERAND_READ : OPERAND_WRITE;
		if (part.text.n)
			add_word(o, a, use, part.word, part.text, cwds);
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
	add_operands(o, a, c, cwds);
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
