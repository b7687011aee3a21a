/* SPDX-License-Identifier: MIT
 * vim_int.h - shared by vim.c (keys and commands), vim_motion.c (where a motion ends) and vim_change.c (what an operator does). */
#pragma once
#include "face/draft/vim.h"
#include "face/screen/paint.h"

struct reach {
	size_t from, to; /* from: text objects only; to: where the motion ends */
	bool lines, inclusive, object;
	bool words; /* an object of words: its ends are treated as those of a motion */
};

static inline size_t line_start(struct str s, size_t at)
{
	while (at && s.p[at - 1] != '\n')
		at--;
	return at;
}

static inline size_t line_end(struct str s, size_t at)
{
	const char *end = at < s.n ? memchr(s.p + at, '\n', s.n - at) : NULL;

	return end ? (size_t)(end - s.p) : s.n;
}

static inline bool at_line_end(struct str s, size_t at)
{
	return at >= s.n || s.p[at] == '\n';
}

static inline size_t next_cluster(struct str s, size_t at)
{
	unsigned width;

	return at < s.n ? cells_next(s, at, &width) : at;
}

static inline size_t first_word(struct str s, size_t at) /* of its line; the end of a line without one */
{
	at = line_start(s, at);
	while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t'))
		at++;
	return at;
}

/* In normal mode the cursor stands on a character, if its line has one. */
static inline size_t on_character(struct str s, size_t at)
{
	return at_line_end(s, at) && at > line_start(s, at) ? cells_previous(s, at) : at;
}

static inline size_t line_number(struct str s, size_t at)
{
	size_t lines = 0;

	for (size_t i = 0; i < at; i++)
		lines += s.p[i] == '\n';
	return lines;
}

static inline size_t line_at(struct str s, size_t number) /* its start; of the last one if there are fewer */
{
	size_t at = 0;

	for (size_t end; number && (end = line_end(s, at)) < s.n; number--)
		at = end + 1;
	return at;
}

/* false: it cannot be done, and an operator does nothing. counted: a count was given. op: the operator, or 0 */
bool vim_motion(struct vim *v, const struct draft *d, struct str m, size_t count, bool counted, char op,
		struct reach *ret);

void vim_start_insert(struct vim *v, struct draft *d, size_t at);
void vim_yank(struct vim *v, struct str s, size_t from, size_t to, bool lines);
void vim_operate(struct vim *v, struct draft *d, char op, size_t from, size_t to,
		 bool lines); /* lines: from and to are their ends */
void vim_operate_on(struct vim *v, struct draft *d, char op, struct reach r);
void vim_put(struct vim *v, struct draft *d, bool behind, size_t count);
void vim_join_lines(struct draft *d, size_t count);
void vim_toggle_case(struct draft *d, size_t from, size_t to);
/* most SIZE_MAX: all; else false if there are fewer */
bool vim_replace_characters(struct draft *d, struct str with, size_t from, size_t to, size_t most);
