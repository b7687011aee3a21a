/* SPDX-License-Identifier: MIT
 * notebook_change.h - a notebook with one cell changed, added or removed. The text of all other cells, of the metadata and of
 * what is not touched in the cell itself stays byte for byte, blanks and line ends included; what is new is laid out like its
 * neighbours. */
#pragma once
#include "tools/media/notebook.h"

enum notebook_verb { NOTEBOOK_REPLACE, NOTEBOOK_INSERT, NOTEBOOK_DELETE };

struct notebook_edit {
	enum notebook_verb verb;
	const struct json *cell; /* replace, delete: this one; insert: behind this one, NULL: before all */
	const char *type;        /* "code" or "markdown"; replace: NULL keeps it */
	struct str source;
	const char *id; /* of a new cell; NULL: it gets none */
};

/* Appends the whole text. */
void notebook_change(const struct notebook *n, const struct notebook_edit *edit, struct buf *out);
