/* SPDX-License-Identifier: MIT
 * name_list.h - a list of names in a frontmatter: a text with commas or blanks between them, a list, JSON in a text, a map of
 * booleans. Parentheses hold together: `Bash(git add *), Read` is two names. */
#pragma once
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* Of tools or skills, as written, in order, without doubles */
struct name_list {
	bool present; /* the key is there: present and empty means none, absent means inherit */
	bool all;     /* "*" */
	const char **names;
	size_t count;
};

struct name_list_spec {
	struct arena *arena;                            /* gets the names */
	struct arena *scratch;                          /* may be the same */
	void (*complain)(void *data, const char *what); /* a part cannot be read and is left out */
	void (*note)(void *data, const char *what);     /* something was guessed */
	void *data;                                     /* of both */
};

/* ret need not be initialised. */
void name_list_read(struct name_list *ret, const struct json *value, const struct name_list_spec *spec);
