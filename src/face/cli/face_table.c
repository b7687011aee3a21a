/* SPDX-License-Identifier: MIT
 * face_table.c - the faces by name. */
#include "face/cli/view.h"

static const struct face *const faces[] = { &face_json, &face_line, &face_stream, &face_text, NULL };

const struct face *face_find(const char *name)
{
	for (const struct face *const *f = faces; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}
