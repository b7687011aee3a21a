/* SPDX-License-Identifier: MIT
 * notebook.h - a Jupyter notebook (format 4) as its text says it: a JSON object with an array of cells. Nothing is copied:
 * whoever changes a notebook changes the text around these nodes. */
#pragma once
#include "lib/json/json.h"

enum {
	NOTEBOOK_LIMIT = 100 << 20,     /* bytes */
	NOTEBOOK_VALUE_LIMIT = 4 << 20, /* JSON values: what a reader needs for more would be too much memory */
};

struct notebook {
	struct json_reader reader;
	struct str text; /* borrowed */
	const struct json *root, *cells;
};

/* text must stay while the notebook is used. -ERR_PARSE: it is none; -ERR_LIMIT. */
int notebook_open(struct notebook *n, struct str text, struct err *err);
void notebook_release(struct notebook *n);
#define AUTO_NOTEBOOK CLEANUP(notebook_release)

/* A cell's name is its id, or cell-N, counted from 0, where it has none. */
void notebook_add_cell_name(struct buf *out, const struct json *cell, size_t index);
const struct json *notebook_find(const struct notebook *n, struct str name); /* NULL: no cell has it */
struct str notebook_language(const struct notebook *n, struct arena *arena);
/* Texts are one string or a list of strings, one for each line. */
void notebook_add_text(struct buf *out, const struct json *value);
bool notebook_cell_is(const struct json *cell, const char *type);
bool notebook_has_ids(const struct notebook *n); /* its format (4.5) wants each cell to have one */
