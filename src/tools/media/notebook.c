/* SPDX-License-Identifier: MIT
 * notebook.c - the cells of a notebook. */
#include "tools/media/notebook.h"

void notebook_release(struct notebook *n)
{
	json_reader_release(&n->reader);
}

/* A hundred megabytes of "1,1,1," would need gigabytes of nodes; those of pictures need hardly any. */
static bool has_too_many_values(struct str text)
{
	size_t values = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == ',' || c == ':' || c == '[' || c == '{'))
			values++;
	}
	return values > NOTEBOOK_VALUE_LIMIT;
}

int notebook_open(struct notebook *n, struct str text, struct err *err)
{
	*n = (struct notebook){ .reader.limits = { .bytes = NOTEBOOK_LIMIT }, .text = text };
	if (text.n > NOTEBOOK_LIMIT || has_too_many_values(text))
		return err_set(err, ERR_LIMIT, "a notebook with more than %d MB or %d million values",
			       NOTEBOOK_LIMIT >> 20, NOTEBOOK_VALUE_LIMIT >> 20);
	if (json_parse(&n->reader, text.p, text.n, &n->root, err) < 0)
		return err_wrap(err, "not a notebook, because not JSON");
	n->cells = json_get(n->root, "cells");
	if (!json_is(n->cells, JSON_ARRAY))
		return err_set(err, ERR_PARSE, "not a notebook of format 4: it has no list of cells");
	for (const struct json *c = json_first(n->cells); c; c = json_next(n->cells, c))
		if (!json_is(c, JSON_OBJECT))
			return err_set(err, ERR_PARSE, "not a notebook: one of its cells is no object");
	return 0;
}

void notebook_add_cell_name(struct buf *out, const struct json *cell, size_t index)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct str id = json_str(json_get(cell, "id"), &scratch);

	if (id.n)
		buf_add(out, id.p, id.n);
	else
		buf_addf(out, "cell-%zu", index);
}

const struct json *notebook_find(const struct notebook *n, struct str name)
{
	AUTO_BUF struct buf own = { 0 };
	size_t index = 0;

	for (const struct json *c = json_first(n->cells); c; c = json_next(n->cells, c), index++) {
		buf_clear(&own);
		notebook_add_cell_name(&own, c, index);
		if (str_eq(buf_str(&own), name))
			return c;
	}
	return NULL;
}

struct str notebook_language(const struct notebook *n, struct arena *arena)
{
	const struct json *metadata = json_get(n->root, "metadata");
	struct str name = json_str(json_get(json_get(metadata, "language_info"), "name"), arena);

	return name.n ? name : json_str(json_get(json_get(metadata, "kernelspec"), "language"), arena);
}

void notebook_add_text(struct buf *out, const struct json *value)
{
	AUTO_ARENA struct arena scratch = { 0 };

	if (json_is(value, JSON_STRING)) {
		struct str text = json_str(value, &scratch);
		buf_add(out, text.p, text.n);
		return;
	}
	if (!json_is(value, JSON_ARRAY))
		return;
	for (const struct json *line = json_first(value); line; line = json_next(value, line)) {
		struct str text = json_str(line, &scratch);
		buf_add(out, text.p, text.n);
	}
}

bool notebook_cell_is(const struct json *cell, const char *type)
{
	return json_str_is(json_get(cell, "cell_type"), type);
}

bool notebook_has_ids(const struct notebook *n)
{
	int64_t major = 0, minor = 0;

	(void)json_i64(json_get(n->root, "nbformat"), &major);
	(void)json_i64(json_get(n->root, "nbformat_minor"), &minor);
	return major > 4 || (major == 4 && minor >= 5);
}
