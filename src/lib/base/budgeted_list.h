/* SPDX-License-Identifier: MIT
 * budgeted_list.h - a list of names and descriptions for a model, within a size budget: with full descriptions if they fit,
 * else with shortened ones, else names only. */
#pragma once
#include "lib/base/buf.h"

struct budgeted_item {
	struct str name, description; /* one line each; description may be empty */
	struct str tail, short_tail;  /* behind a whole description, and behind a shorter one */
};

struct budgeted_list {
	const struct budgeted_item *items;
	size_t count;
};

enum budgeted_form { BUDGETED_WHOLE, BUDGETED_SHORTENED, BUDGETED_NAMES };

/* Appends at most room bytes. If the list is incomplete, it leaves reserve bytes for the caller's note. *ret_named:
 * number of listed items; may be NULL. */
enum budgeted_form budgeted_list_write(struct buf *out, const struct budgeted_list *l, size_t room, size_t reserve,
				       size_t *ret_named);
