/* SPDX-License-Identifier: MIT
 * shell_options.c - takes a command line apart by the options that are known of its program. */
#include "guard/shell/shell_options.h"
#include <ctype.h>

#define VALUE_MARKS ":?<>"
#define MARKS       VALUE_MARKS "!+"

static struct str skip(struct str s, size_t n)
{
	return (struct str){ s.p + n, s.n - n };
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* The marks behind the letter, or NULL. */
static const char *find_letter(const char *letters, char letter)
{
	const char *at = !letters || is_one_of(letter, MARKS " #") ? NULL : strchr(letters, letter);

	return at && *at ? at + 1 : NULL;
}

static const char *find_word(const char *words, struct str name)
{
	struct str rest = str_from(words);

	while (rest.p) {
		struct str row = str_cut(&rest, ' ');
		size_t n = 0;
		while (n < row.n && !is_one_of(row.p[n], MARKS))
			n++;
		if (n && str_eq((struct str){ row.p, n }, name))
			return row.p + n;
	}
	return NULL;
}

static bool is_number(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static bool has_mark(const char *marks, char mark)
{
	while (is_one_of(*marks, MARKS))
		if (*marks++ == mark)
			return true;
	return false;
}

static bool has_dash(struct str word)
{
	return word.n > 1 && word.p[0] == '-';
}

/* A value that is missing is the program's to complain about. */
static bool next_value(struct shell_parts *p, struct shell_part *ret)
{
	char mark = *p->values++;
	bool pattern = mark == ':' && has_mark(p->marks, '!');

	ret->kind = mark == '<' ? PART_READ : mark == '>' ? PART_WRITE : pattern ? PART_PATTERN : PART_TEXT;
	ret->marks = p->marks;
	if (p->joined.p) {
		ret->word = &p->words[p->next - 1];
		ret->text = p->joined;
		p->joined.p = NULL;
		return true;
	}
	if (mark == '?' || p->next == p->count)
		return false;
	ret->word = &p->words[p->next++];
	ret->text = ret->word->text;
	/* If this program takes no value here after all, that would be an option. Patterns do begin with a dash. */
	bool certain = pattern || (p->program->flags & PROGRAM_ONE_DASH);
	if (!certain && has_dash(ret->text) && !is_number(skip(ret->text, 1)))
		ret->kind = PART_UNKNOWN;
	return true;
}

static void begin_option(struct shell_parts *p, struct shell_part *ret, const char *marks)
{
	ret->kind = PART_OPTION;
	ret->marks = p->marks = p->values = marks;
}

static void next_letter(struct shell_parts *p, struct shell_part *ret)
{
	char letter = p->letters.p[0];
	const char *marks = find_letter(p->program->letters, letter);
	bool has_value = marks && is_one_of(*marks, VALUE_MARKS);

	p->letters = skip(p->letters, 1);
	*ret = (struct shell_part){ PART_UNKNOWN, &p->words[p->next - 1], p->letters, "" };
	if (marks && !(has_value && p->letters.n && (p->program->flags & PROGRAM_APART))) {
		begin_option(p, ret, marks);
		if (has_value && p->letters.n)
			p->joined = p->letters;
		if (has_value)
			p->letters.n = 0;
	} else if (!isalnum((unsigned char)letter)) {
		p->letters.n = 0; /* that was no letter: all of it is a value */
	}
}

/* NAME or NAME=VALUE */
static void read_word(struct shell_parts *p, struct shell_part *ret, struct str option)
{
	const char *equals = memchr(option.p, '=', option.n);
	struct str name = { option.p, equals ? (size_t)(equals - option.p) : option.n };
	struct str value = { equals ? equals + 1 : NULL, equals ? option.n - name.n - 1 : 0 };
	const char *marks = p->program->words ? find_word(p->program->words, name) : NULL;

	ret->kind = PART_UNKNOWN;
	ret->text = value.p ? value : STR("");
	if (!marks || (value.p && (!is_one_of(*marks, VALUE_MARKS) || (p->program->flags & PROGRAM_ONE_DASH))))
		return;
	begin_option(p, ret, marks);
	p->joined = value;
}

bool shell_next_part(struct shell_parts *p, struct shell_part *ret)
{
	const struct shell_program *program = p->program;

	while (p->values && is_one_of(*p->values, VALUE_MARKS))
		if (next_value(p, ret))
			return true;
	if (p->letters.n) {
		next_letter(p, ret);
		return true;
	}
	if (p->next == p->count)
		return false;
	const struct shell_word *word = &p->words[p->next++];
	struct str text = word->text;
	*ret = (struct shell_part){ PART_OPERAND, word, text, "" };
	if (program->flags & PROGRAM_NO_DASH) {
		read_word(p, ret, text);
	} else if (p->ended || !has_dash(text)) {
		if (p->texts) /* a word that is not known may become anything */
			ret->kind = word->literal || p->texts == PROGRAM_NO_FILES ? PART_PATTERN : PART_OPERAND;
		if (p->texts && p->texts != PROGRAM_NO_FILES)
			p->texts--;
	} else if (program->flags & PROGRAM_ONE_DASH) {
		read_word(p, ret, skip(text, 1));
	} else if (str_is(text, "--")) {
		p->ended = true;
		return shell_next_part(p, ret);
	} else if (str_starts(text, STR("--"))) {
		read_word(p, ret, skip(text, 2));
	} else if (program->letters && strchr(program->letters, '#') && is_number(skip(text, 1))) {
		begin_option(p, ret, "");
	} else {
		p->letters = skip(text, 1);
		next_letter(p, ret);
	}
	return true;
}

struct shell_parts shell_parts_of(const struct shell_program *program, const struct shell_command *c, size_t first)
{
	const struct shell_parts start = { .program = program,
					   .words = c->words + first,
					   .count = c->word_count - first };
	struct shell_parts all = start;
	struct shell_parts ret = start;
	struct shell_part part;

	ret.texts = program->texts;
	while (ret.texts && ret.texts != PROGRAM_NO_FILES && shell_next_part(&all, &part))
		if (part.kind == PART_UNKNOWN || has_mark(part.marks, '!'))
			ret.texts = 0;
	return ret;
}

bool shell_options_are_harmless(const struct shell_program *program, const struct shell_command *c, size_t first)
{
	struct shell_parts parts = shell_parts_of(program, c, first);
	struct shell_part part;
	bool unlimited = !(program->flags & PROGRAM_NO_OPERANDS);
	size_t operands = 0;

	while (shell_next_part(&parts, &part)) {
		if (part.kind == PART_UNKNOWN || (part.kind == PART_WRITE && !(program->flags & PROGRAM_WRITES)))
			return false;
		if (program->check && !program->check(&part, operands))
			return false;
		unlimited = unlimited || has_mark(part.marks, '+');
		operands += part.kind == PART_OPERAND || (part.kind == PART_PATTERN && !*part.marks);
	}
	return unlimited || !operands;
}
