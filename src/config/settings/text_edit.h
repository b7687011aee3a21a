/* SPDX-License-Identifier: MIT
 * text_edit.h - something is added to a JSON text that belongs to others as well. The text is never written anew: all bytes
 * that are there stay, and what is added looks like its neighbours. */
#pragma once
#include "config/settings/settings_file.h"

struct text_addition {
	const struct str *names; /* members in each other, from the outside in; those that are not there yet */
	size_t count;            /* 0: into an array */
	bool list;               /* the last of them is an array, with the value in it */
	struct str value;        /* JSON, on one line */
};

/* The text of the file with the addition at the end of container, an object or array in it. out gets the whole text. */
void text_append(struct buf *out, const struct settings_file *file, const struct json *container,
		 const struct text_addition *addition);
/* The same with new in place of the value old. */
void text_replace_value(struct buf *out, const struct settings_file *file, const struct json *old, struct str new);
/* The same without the last member of that name, and without its comma. The name must be there. */
void text_remove_member(struct buf *out, const struct settings_file *file, const struct json *object, struct str name);
