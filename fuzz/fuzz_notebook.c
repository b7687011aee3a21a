/* SPDX-License-Identifier: MIT
 * fuzz_notebook.c - any bytes as a notebook. It can be shown or it is refused; and each change of each kind leaves valid JSON in
 * which all other cells are the same bytes. */
#include "tools/media/notebook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CELLS = 8 };

static void show(const struct notebook *n)
{
	struct notebook_view view = { .first = 1, .cap_bytes = 2000 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	notebook_show(n, &view);
	if (view.shown > view.total || json_parse(&reader, view.cells.p, view.cells.n, &root, NULL) < 0)
		abort();
	notebook_view_release(&view);
}

/* From these cells on, both lists are alike. */
static void check_same(const struct notebook *a, const struct json *x, const struct notebook *b, const struct json *y)
{
	for (; x && y; x = json_next(a->cells, x), y = json_next(b->cells, y))
		if (!str_eq(json_raw(x), json_raw(y)))
			abort();
	if (x || y)
		abort();
}

/* The cells before `cell` are alike; what follows in the new list is returned. */
static const struct json *check_before(const struct notebook *old, const struct json *cell, const struct notebook *new)
{
	const struct json *y = json_first(new->cells);

	for (const struct json *x = json_first(old->cells); x != cell; x = json_next(old->cells, x)) {
		if (!y || !str_eq(json_raw(x), json_raw(y)))
			abort();
		y = json_next(new->cells, y);
	}
	return y;
}

static void check_source(const struct json *cell, struct str source)
{
	AUTO_BUF struct buf text = { 0 };

	notebook_add_text(&text, json_get(cell, "source"));
	if (!str_eq(buf_str(&text), source))
		abort();
}

static void change(const struct notebook *old, struct notebook_edit edit)
{
	AUTO_NOTEBOOK struct notebook new = { 0 };
	AUTO_BUF struct buf text = { 0 };

	notebook_change(old, &edit, &text);
	if (notebook_open(&new, buf_str(&text), NULL) < 0)
		abort();
	const struct json *after = edit.cell ? json_next(old->cells, edit.cell) : json_first(old->cells);
	const struct json *stop = edit.cell && edit.verb != NOTEBOOK_INSERT ? edit.cell : after;
	const struct json *y = check_before(old, stop, &new);
	if (edit.verb != NOTEBOOK_DELETE) {
		if (!y)
			abort();
		check_source(y, edit.source);
		y = json_next(new.cells, y);
	}
	check_same(old, after, &new, y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct str sources[] = { STR(""), STR("a\nb"), STR("\"\\\x01\n") };
	AUTO_NOTEBOOK struct notebook n = { 0 };
	struct str source = sources[size % COUNT_OF(sources)];
	const char *type = size % 2 ? "code" : "markdown";
	size_t count = 0;

	if (notebook_open(&n, (struct str){ (const char *)data, size }, NULL) < 0)
		return 0;
	show(&n);
	change(&n, (struct notebook_edit){ .verb = NOTEBOOK_INSERT, .type = type, .source = source, .id = "new" });
	for (const struct json *c = json_first(n.cells); c && count < MOST_CELLS; c = json_next(n.cells, c), count++) {
		change(&n,
		       (struct notebook_edit){ .verb = NOTEBOOK_INSERT, .cell = c, .type = type, .source = source });
		change(&n, (struct notebook_edit){ .verb = NOTEBOOK_DELETE, .cell = c });
		change(&n, (struct notebook_edit){ .cell = c, .source = source });
		change(&n, (struct notebook_edit){ .cell = c, .source = source, .type = type });
	}
	return 0;
}
