/* SPDX-License-Identifier: MIT
 * notebook.h - Jupyter notebooks: reading them, changing one cell, showing them. */
#pragma once
#include "lib/json/json.h"
#include "tools/media/read_blocks.h"

/* A Jupyter notebook (format 4): a JSON object with an array of cells. Nothing is copied: a change of a notebook changes the
 * text around these nodes. */

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
static inline void notebook_release(struct notebook *n)
{
	json_reader_release(&n->reader);
}
#define AUTO_NOTEBOOK CLEANUP(notebook_release)

const struct json *notebook_find(const struct notebook *n, struct str name); /* NULL: no cell has it */
struct str notebook_language(const struct notebook *n, struct arena *arena);
/* Texts are one string or a list of strings, one for each line. */
void notebook_add_text(struct buf *out, const struct json *value);
static inline bool notebook_cell_is(const struct json *cell, const char *type)
{
	return json_str_is(json_get(cell, "cell_type"), type);
}

bool notebook_has_ids(const struct notebook *n); /* its format (4.5) wants each cell to have one */

/* A notebook with one cell changed, added or removed. The text of all other cells, of the metadata and of
 * what is not touched in the cell itself stays byte for byte, blanks and line ends included; what is new is laid out like its
 * neighbours. */

enum notebook_verb { NOTEBOOK_REPLACE, NOTEBOOK_INSERT, NOTEBOOK_DELETE };

struct notebook_edit {
	enum notebook_verb verb;
	const struct json *cell; /* replace, delete: this one; insert: after this one, NULL: before all */
	const char *type;        /* "code" or "markdown"; replace: NULL keeps it */
	struct str source;
	const char *id; /* of a new cell; NULL: it gets none */
};

/* Appends the whole text. */
void notebook_change(const struct notebook *n, const struct notebook_edit *edit, struct buf *out);

/* A notebook as the model sees it: each cell in its tags, behind it what it printed and drew. Only for
 * workers: pictures may have to be made smaller. */

struct notebook_view {
	size_t first;     /* cell, from 1 */
	size_t limit;     /* cells; 0: to the end */
	size_t cap_bytes; /* of the text; a cell that does not fit is not shown, the first one is cut */
	/* filled */
	struct read_blocks blocks;
	struct buf cells; /* a JSON array for SDK consumers, without pictures */
	size_t shown, total;
	bool cut; /* the cap came before the end */
};

void notebook_show(const struct notebook *n, struct notebook_view *view);
static inline void notebook_view_release(struct notebook_view *view)
{
	read_blocks_release(&view->blocks);
	buf_release(&view->cells);
}
