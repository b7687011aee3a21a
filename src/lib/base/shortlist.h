/* SPDX-License-Identifier: MIT
 * shortlist.h - named things and what they are, a line each, in a text for a model that must not grow over its budget: with
 * their whole descriptions if these fit, else with shorter ones, else by their names alone. */
#pragma once
#include "lib/base/buf.h"

struct shortlist_item {
	struct str name, description; /* one line each; description may be empty */
	struct str tail, short_tail;  /* behind a whole description, and behind a shorter one */
};

struct shortlist {
	const struct shortlist_item *items;
	size_t count;
};

enum shortlist_form { SHORTLIST_WHOLE, SHORTLIST_SHORTENED, SHORTLIST_NAMES };

/* Appends at most room bytes, and if the list is not whole, leaves reserve of them to the caller, who says so. *ret_named: how
 * many of the items are in it; may be NULL. */
enum shortlist_form shortlist_write(struct buf *out, const struct shortlist *l, size_t room, size_t reserve,
				    size_t *ret_named);
