/* SPDX-License-Identifier: MIT
 * frontmatter_literal.c - prose behind a key, taken by its word: `#x` is text, ` # x` is a comment; a quote that
 * is never closed or that has quotes inside is still a quote; a block without indentation is still a block. */
#include "config/catalog/frontmatter_int.h"

/* s up to a ` # comment`. */
static struct str before_comment(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '#' && (!i || fm_blank(s.p[i - 1])) && (i + 1 == s.n || fm_blank(s.p[i + 1])))
			return (struct str){ s.p, i };
	return s;
}

void fm_fold(struct buf *out, struct str plain)
{
	size_t start = out->n, blanks = 0;

	while (plain.p) {
		struct str line = fm_trim(before_comment(str_cut(&plain, '\n')));
		if (!line.n) {
			blanks++;
			continue;
		}
		if (out->n > start && !blanks)
			buf_addch(out, ' ');
		for (; blanks && out->n > start; blanks--)
			buf_addch(out, '\n');
		blanks = 0;
		buf_add(out, line.p, line.n);
	}
}

static bool is_block_mark(struct str s)
{
	if (!s.n || (s.p[0] != '|' && s.p[0] != '>'))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!char_in(s.p[i], "+-0123456789"))
			return false;
	return s.n <= 3;
}

static size_t common_indentation(struct str lines)
{
	size_t common = SIZE_MAX;

	while (lines.p) {
		struct str line = str_cut(&lines, '\n');
		size_t n = 0;
		while (n < line.n && fm_blank(line.p[n]))
			n++;
		if (n < line.n)
			common = MIN(common, n);
	}
	return common;
}

static void add_lines(struct buf *out, struct str lines, bool comments)
{
	size_t start = out->n, common = common_indentation(lines);

	while (lines.p) {
		struct str line = str_cut(&lines, '\n');
		size_t n = MIN(common, line.n);
		line = (struct str){ line.p + n, line.n - n };
		if (comments)
			line = before_comment(line);
		while (line.n && fm_blank(line.p[line.n - 1]))
			line.n--;
		buf_add(out, line.p, line.n);
		buf_addch(out, '\n');
	}
	while (out->n > start && out->p[out->n - 1] == '\n')
		out->p[--out->n] = '\0';
}

/* Whether the quote at the start of s is meant for all of it. In `"a" and "b"` it is not: the next quote closes a word.
 * In `"say "a" now"` it is: the next one opens a word. */
static bool quote_is_around(struct str s)
{
	char quote = s.p[0];

	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] != quote || (quote == '"' && s.p[i - 1] == '\\'))
			continue;
		if (i + 1 == s.n)
			return true;
		bool in_word = quote == '\'' && s.p[i + 1] != ' ' && s.p[i + 1] != ','; /* an apostrophe */
		if (!in_word)
			return s.p[i - 1] == ' ' || s.p[i - 1] == '(';
	}
	return true; /* never closed */
}

static void add_unescaped(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool pair = s.p[i] == '\\' && i + 1 < s.n;
		if (pair && (s.p[i + 1] == '"' || s.p[i + 1] == '\\')) {
			buf_addch(out, s.p[++i]);
		} else if (pair && (s.p[i + 1] == 'n' || s.p[i + 1] == 't')) {
			buf_addch(out, s.p[++i] == 'n' ? '\n' : '\t');
		} else {
			buf_addch(out, s.p[i]);
		}
	}
}

static void add_quoted(struct buf *out, struct str s)
{
	char quote = s.p[0];

	s = (struct str){ s.p + 1, s.n - 1 };
	if (s.n && s.p[s.n - 1] == quote)
		s.n--;
	if (quote == '"')
		add_unescaped(out, s);
	else
		buf_add(out, s.p, s.n);
}

void fm_literal(struct buf *out, struct str value)
{
	struct str rest = value, first = fm_trim(before_comment(str_cut(&rest, '\n')));
	struct str all = fm_trim(value);

	if (is_block_mark(first)) {
		if (rest.p)
			add_lines(out, rest, false);
	} else if (all.n && (all.p[0] == '"' || all.p[0] == '\'') && quote_is_around(all)) {
		add_quoted(out, all);
	} else if (all.n) {
		add_lines(out, all, true);
	}
}
