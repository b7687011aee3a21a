/* SPDX-License-Identifier: MIT
 * shell_number.c - which names hold a number for certain, so that arithmetic may use them. Two things must be true:
 *
 * Every value that the text gives to the name, wherever it does, is a whole number or the result of arithmetic. That is
 * collected while reading and checked at the end.
 *
 * The name was set before it is used, whatever happened: an inherited value is anybody's. The names of which that is true
 * are a list that only grows at its head, so a branch forgets what was set in it by going back to the head it had. */
#include "guard/shell/shell_parse_int.h"

static const char why_not[] = "arithmetic with more than numbers can run what a variable holds";

/* Bash keeps these as numbers itself and ignores what it inherits for them. */
static bool is_number_of_bash(struct str name)
{
	return str_is(name, "RANDOM") || str_is(name, "SECONDS") || str_is(name, "LINENO");
}

/* Bash writes to these by itself, or refuses that they are set. */
static bool is_owned_by_bash(struct str name)
{
	static const char *const names[] = { "_",        "REPLY",    "OPTARG", "PWD",        "OLDPWD",
					     "DIRSTACK", "FUNCNAME", "UID",    "MAPFILE",    "EUID",
					     "PPID",     "COPROC",   "GROUPS", "PIPESTATUS", "EPOCHREALTIME" };
	static const char *const prefixes[] = { "BASH", "COMP_", "READLINE_", "HIST" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(name, names[i]))
			return true;
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (str_starts(name, str_from(prefixes[i])))
			return true;
	return shell_name_is_dangerous(name);
}

bool shell_is_decimal(struct str s)
{
	if (s.n > 1 && s.p[0] == '-')
		s = (struct str){ s.p + 1, s.n - 1 };
	for (size_t i = 0; i < s.n; i++)
		if (!shell_is_digit(s.p[i]))
			return false;
	return s.n && s.n <= 18 && (s.n == 1 || s.p[0] != '0');
}

/* ---- values ---- */

static struct shell_name *find_name(struct shell_sink *sink, struct str name)
{
	for (size_t i = 0; i < sink->name_count; i++)
		if (str_eq(sink->names[i].name, name))
			return &sink->names[i];
	sink->names = shell_grow(sink->arena, sink->names, sink->name_count, sizeof *sink->names);
	sink->names[sink->name_count] = (struct shell_name){ .name = name, .other = is_owned_by_bash(name) };
	return &sink->names[sink->name_count++];
}

void shell_set_name(struct shell_parser *p, struct str name, bool number)
{
	struct shell_name *n = find_name(p->sink, name);

	n->other = n->other || !number;
	if (is_owned_by_bash(name))
		p->sink->can_fail = true;
}

void shell_set_in_arithmetic(struct shell_parser *p, struct str name)
{
	find_name(p->sink, name)->used = true;
	shell_add_variable(p, name);
}

void shell_use_name(struct shell_parser *p, struct str name)
{
	const struct shell_known *k = p->known;

	find_name(p->sink, name)->used = true;
	while (k && !str_eq(k->name, name))
		k = k->before;
	if (!k && !is_number_of_bash(name))
		shell_fail(p, why_not);
}

/* ---- the list of what is set ---- */

void shell_know(struct shell_parser *p, struct str name)
{
	struct shell_known *k = arena_calloc(p->sink->arena, sizeof *k);

	k->before = p->known;
	k->name = name;
	k->doubtful = p->sink->can_fail || p->pending;
	p->known = k;
}

void shell_end_line(struct shell_parser *p)
{
	while (p->known && p->known->doubtful)
		p->known = p->known->before;
	p->sink->can_fail = p->sink->call_can_fail;
}

/* ---- simple commands ---- */

static bool is_one_of(struct str word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_is(word, list[i]))
			return true;
	return false;
}

bool shell_declares(struct str word)
{
	static const char *const names[] = { "declare", "typeset", "local", "export", "readonly" };

	return is_one_of(word, names, COUNT_OF(names));
}

/* The name in NAME, NAME=x, NAME+=x, NAME[0]=x; empty if there is none. */
static struct str leading_name(const struct shell_word *w)
{
	struct str s = w->literal ? w->text : w->source;
	size_t n = 0;

	while (n < s.n && shell_is_name_char(s.p[n]))
		n++;
	return (struct str){ s.p, s.n && !shell_is_digit(s.p[0]) ? n : 0 };
}

/* NAME alone gives no value to it: export keeps it, and declare in a function makes a new one without any. */
static void note_declared(struct shell_parser *p, const struct shell_command *c)
{
	bool local = str_is(c->words[0].text, "local");

	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		struct str name = leading_name(w);
		if (!name.n)
			p->sink->freezes = true;
		else if (!w->literal || name.n < w->text.n)
			shell_set_name(p, name, w->number);
	}
	if (c->word_count == 2 && !c->redirect_count && c->words[1].number &&
	    (!local || (p->where & SHELL_IN_FUNCTION)))
		shell_know(p, leading_name(&c->words[1]));
}

/* Wherever the builtin stands in the words: command and builtin may be in front of it. Builtins that hide need no row. */
static bool has_setter(const struct shell_command *c)
{
	static const char *const names[] = { "read", "getopts", "unset" };

	for (size_t i = 0; i < c->word_count; i++)
		if (c->words[i].literal &&
		    (is_one_of(c->words[i].text, names, COUNT_OF(names)) || shell_declares(c->words[i].text)))
			return true;
	return false;
}

void shell_note_simple(struct shell_parser *p, const struct shell_command *c)
{
	for (size_t i = 0; i < c->assignment_count; i++)
		shell_set_name(p, c->assignments[i].name, c->assignments[i].value.number);
	if (!c->word_count) {
		/* Of several, one that fails keeps the others from being set. */
		if (c->assignment_count == 1 && !c->redirect_count && c->assignments[0].value.number)
			shell_know(p, c->assignments[0].name);
	} else if (shell_declares(c->words[0].source)) {
		p->sink->freezes = p->sink->freezes || str_is(c->words[0].text, "readonly");
		note_declared(p, c);
	} else if (has_setter(c)) {
		for (size_t i = 0; i < c->word_count; i++) {
			p->sink->freezes = p->sink->freezes || shell_declares(c->words[i].text);
			shell_set_name(p, leading_name(&c->words[i]), false);
		}
	}
}

/* ---- the end ---- */

/* Of what hides a command, not all can set a variable here: a redirection, IFS= in front, an argument of test. */
static bool can_set_names(const struct shell_command *c)
{
	struct shell_command rest = *c;

	rest.redirect_count = 0;
	if (c->assignment_count == 1 && str_is(c->assignments[0].name, "IFS"))
		rest.assignment_count = 0;
	if (!shell_hides(&rest))
		return false;
	return !rest.word_count || rest.assignment_count ||
	       !(str_is(rest.words[0].text, "[") || str_is(rest.words[0].text, "test"));
}

void shell_check_names(struct shell_parser *p)
{
	const struct shell_script *s = p->sink->script;
	bool used = false;

	for (size_t i = 0; i < p->sink->name_count; i++) {
		const struct shell_name *n = &p->sink->names[i];
		used = used || n->used;
		if (n->used && n->other)
			shell_fail(p, why_not);
	}
	if (used && p->sink->freezes)
		shell_fail(p, why_not);
	for (size_t i = 0; used && i < s->count; i++)
		if (can_set_names(&s->commands[i]))
			shell_fail(p, why_not);
}
