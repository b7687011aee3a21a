/* SPDX-License-Identifier: MIT
 * notebook_change.c - a notebook with one cell changed, added or removed.
 *
 * A gap is the blank text before a value or a key: "\n   " where lines are indented, " " or nothing where all is on one line.
 * It is all that there is to know about how a neighbour is laid out. */
#include "tools/media/notebook_change.h"
#include "lib/json/json_write.h"

/* How the cells of this notebook are laid out */
struct layout {
	struct buf cell; /* gap before a cell */
	struct buf key;  /* before each member of a cell */
	struct buf line; /* before each line of a source */
};

static void layout_release(struct layout *l)
{
	buf_release(&l->cell);
	buf_release(&l->key);
	buf_release(&l->line);
}

/* ---- places in the text ---- */

static const char *start_of(const struct json *v)
{
	return json_raw(v).p;
}

static const char *end_of(const struct json *v)
{
	struct str raw = json_raw(v);

	return raw.p + raw.n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* What stands before a value that is not the first thing in the text */
static struct str gap_before(const char *p)
{
	const char *from = p;

	while (is_blank(from[-1]))
		from--;
	return (struct str){ from, (size_t)(p - from) };
}

static void add_between(struct buf *out, const char *from, const char *to)
{
	buf_add(out, from, (size_t)(to - from));
}

static void add(struct buf *out, struct str s)
{
	buf_add(out, s.p, s.n);
}

/* ---- layout ---- */

/* outer and inner are gaps of neighbouring levels: the next level is indented by as much again. */
static void add_deeper(struct buf *out, struct str outer, struct str inner)
{
	add(out, inner);
	if (inner.n > outer.n && memchr(inner.p, '\n', inner.n))
		buf_add(out, inner.p + outer.n, inner.n - outer.n);
}

/* The part of a gap that ends a line */
static struct str line_end_of(struct str gap)
{
	const char *end = memrchr(gap.p, '\n', gap.n);

	return (struct str){ gap.p, end ? (size_t)(end - gap.p) + 1 : 0 };
}

static struct layout layout_of(const struct notebook *n)
{
	const struct json *cell = json_first(n->cells);
	struct str list = gap_before(start_of(json_first(n->root))); /* of "cells" and its like, in the notebook */
	struct layout l = { 0 };

	if (cell)
		add(&l.cell, gap_before(start_of(cell)));
	else
		add_deeper(&l.cell, line_end_of(list), list);
	if (cell && json_first(cell))
		add(&l.key, gap_before(start_of(json_first(cell))));
	else
		add_deeper(&l.key, list, buf_str(&l.cell));
	add_deeper(&l.line, buf_str(&l.cell), buf_str(&l.key));
	return l;
}

/* ---- a source ---- */

/* As Jupyter writes it: a list of lines with their line ends. */
static void add_lines(struct buf *out, struct str source, struct str line_gap, struct str end_gap)
{
	size_t count = 0;

	buf_addch(out, '[');
	while (source.n) {
		const char *end = memchr(source.p, '\n', source.n);
		size_t n = end ? (size_t)(end - source.p) + 1 : source.n;
		if (count++)
			buf_addch(out, ',');
		add(out, line_gap);
		json_add_quoted(out, (struct str){ source.p, n });
		source = (struct str){ source.p + n, source.n - n };
	}
	if (count)
		add(out, end_gap);
	buf_addch(out, ']');
}

/* In the form that the old one has: one text, or a list. */
static void add_source(struct buf *out, const struct layout *l, const struct json *old, struct str source)
{
	const struct json *line = json_is(old, JSON_ARRAY) ? json_first(old) : NULL;

	if (json_is(old, JSON_STRING))
		json_add_quoted(out, source);
	else if (line)
		add_lines(out, source, gap_before(start_of(line)), gap_before(end_of(old) - 1));
	else
		add_lines(out, source, buf_str(&l->line), buf_str(&l->key));
}

/* ---- a cell ---- */

/* count: members before it */
static void add_member(struct buf *out, size_t *count, struct str gap, const char *name, const char *value)
{
	if ((*count)++)
		buf_addch(out, ',');
	add(out, gap);
	buf_addf(out, "\"%s\": %s", name, value);
}

/* The new value of a member; false: it stays as it is. A changed cell has not been run. */
static bool add_new_value(struct buf *out, const struct layout *l, const struct notebook_edit *edit, bool is_code,
			  struct json_member m)
{
	if (json_str_is(m.key, "source"))
		add_source(out, l, m.value, edit->source);
	else if (edit->type && json_str_is(m.key, "cell_type"))
		json_add_quoted(out, str_from(edit->type));
	else if (is_code && json_str_is(m.key, "outputs"))
		buf_addstr(out, "[]");
	else if (is_code && json_str_is(m.key, "execution_count"))
		buf_addstr(out, "null");
	else
		return false;
	return true;
}

/* Only code is run. */
static bool is_of_code(const struct json *key)
{
	return json_str_is(key, "outputs") || json_str_is(key, "execution_count");
}

static void add_missing(struct buf *out, size_t *count, const struct layout *l, const struct notebook_edit *edit,
			bool is_code)
{
	const struct json *first = json_first(edit->cell);
	struct str gap = first ? gap_before(start_of(first)) : buf_str(&l->key);
	AUTO_BUF struct buf source = { 0 };

	if (!json_get(edit->cell, "cell_type"))
		add_member(out, count, gap, "cell_type", is_code ? "\"code\"" : "\"markdown\"");
	if (is_code && !json_get(edit->cell, "execution_count"))
		add_member(out, count, gap, "execution_count", "null");
	if (is_code && !json_get(edit->cell, "outputs"))
		add_member(out, count, gap, "outputs", "[]");
	if (!json_get(edit->cell, "source")) {
		json_add_quoted(&source, edit->source);
		add_member(out, count, gap, "source", source.p);
	}
}

/* The old cell, member by member */
static void add_changed_cell(struct buf *out, const struct layout *l, const struct notebook_edit *edit)
{
	const struct json *cell = edit->cell;
	bool is_code = edit->type ? !strcmp(edit->type, "code") : notebook_cell_is(cell, "code");
	size_t count = 0;

	buf_addch(out, '{');
	for (struct json_member m = json_members(cell); m.key; m = json_member_next(cell, m)) {
		if (!is_code && is_of_code(m.key))
			continue;
		if (count++)
			buf_addch(out, ',');
		add(out, gap_before(start_of(m.key)));
		add_between(out, start_of(m.key), start_of(m.value));
		if (!add_new_value(out, l, edit, is_code, m))
			add(out, json_raw(m.value));
	}
	add_missing(out, &count, l, edit, is_code);
	add(out, gap_before(end_of(cell) - 1));
	buf_addch(out, '}');
}

static void add_new_cell(struct buf *out, const struct layout *l, const struct notebook_edit *edit)
{
	struct str gap = buf_str(&l->key);
	bool is_code = !strcmp(edit->type, "code");
	AUTO_BUF struct buf type = { 0 };
	AUTO_BUF struct buf id = { 0 };
	AUTO_BUF struct buf source = { 0 };
	size_t count = 0;

	json_add_quoted(&type, str_from(edit->type));
	json_add_quoted(&id, str_from(edit->id));
	add_lines(&source, edit->source, buf_str(&l->line), gap);
	buf_addch(out, '{');
	add_member(out, &count, gap, "cell_type", type.p);
	if (is_code)
		add_member(out, &count, gap, "execution_count", "null");
	if (edit->id)
		add_member(out, &count, gap, "id", id.p);
	add_member(out, &count, gap, "metadata", "{}");
	if (is_code)
		add_member(out, &count, gap, "outputs", "[]");
	add_member(out, &count, gap, "source", source.p);
	add(out, buf_str(&l->cell));
	buf_addch(out, '}');
}

/* ---- the list of cells ---- */

/* The text behind `from`, to its end */
static void add_rest(struct buf *out, const struct notebook *n, const char *from)
{
	add_between(out, from, n->text.p + n->text.n);
}

static void insert(const struct notebook *n, const struct layout *l, const struct notebook_edit *edit, struct buf *out)
{
	const struct json *first = json_first(n->cells);
	const char *at = edit->cell ? end_of(edit->cell) : start_of(n->cells) + 1;

	add_between(out, n->text.p, at);
	if (edit->cell)
		buf_addch(out, ',');
	add(out, buf_str(&l->cell));
	add_new_cell(out, l, edit);
	if (!edit->cell && first)
		buf_addch(out, ',');
	if (first) {
		add_rest(out, n, at);
		return;
	}
	struct str gap = gap_before(start_of(json_first(n->root)));
	add(out, gap);
	add_rest(out, n, end_of(n->cells) - 1);
}

/* The cell, and the comma that is too much without it */
static void remove_cell(const struct notebook *n, const struct json *cell, struct buf *out)
{
	const struct json *before = NULL, *next = json_next(n->cells, cell);

	for (const struct json *c = json_first(n->cells); c != cell; c = json_next(n->cells, c))
		before = c;
	if (next) {
		add_between(out, n->text.p, start_of(cell));
		add_rest(out, n, start_of(next));
	} else if (before) {
		add_between(out, n->text.p, end_of(before));
		add_rest(out, n, end_of(cell));
	} else {
		add_between(out, n->text.p, start_of(n->cells) + 1);
		add_rest(out, n, end_of(n->cells) - 1);
	}
}

void notebook_change(const struct notebook *n, const struct notebook_edit *edit, struct buf *out)
{
	CLEANUP(layout_release) struct layout l = layout_of(n);

	switch (edit->verb) {
	case NOTEBOOK_INSERT:
		insert(n, &l, edit, out);
		break;
	case NOTEBOOK_DELETE:
		remove_cell(n, edit->cell, out);
		break;
	case NOTEBOOK_REPLACE:
		add_between(out, n->text.p, start_of(edit->cell));
		add_changed_cell(out, &l, edit);
		add_rest(out, n, end_of(edit->cell));
		break;
	}
}
