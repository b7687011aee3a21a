/* SPDX-License-Identifier: MIT
 * text_edit.h - edits JSON text in place. Existing bytes stay, and additions follow the formatting of their
 * neighbours. */
#pragma once
#include "config/settings/settings_file.h"

struct text_addition {
	const struct str *names; /* missing members, nested, from the outside in */
	size_t count;            /* 0: into an array */
	bool list;               /* the innermost is an array with the value in it */
	struct str value;        /* JSON, on one line */
};

/* Appends the value to container, an object or array of the text. out gets the whole text. */
void text_append(struct buf *out, const struct settings_file *file, const struct json *container,
		 const struct text_addition *addition);
/* The same with new in place of the value old. */
void text_replace_value(struct buf *out, const struct settings_file *file, const struct json *old, struct str new);
/* The same without the last member of that name and its comma. The member must exist. */
void text_remove_member(struct buf *out, const struct settings_file *file, const struct json *object, struct str name);
