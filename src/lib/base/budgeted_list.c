/* SPDX-License-Identifier: MIT
 * budgeted_list.c - a list within its budget. */
#include "lib/base/budgeted_list.h"
#include "lib/base/utf8.h"

enum { SHORTEST_DESCRIPTION = 40 };

static void add_lines(struct buf *out, const struct budgeted_list *l, size_t limit)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct budgeted_item *item = &l->items[i];
		struct str whole = item->description;
		struct str shown = whole.n <= limit ? whole : str_trim(utf8_cut(whole, limit - 3));
		struct str tail = limit == SIZE_MAX ? item->tail : item->short_tail;
		/* Not buf_addf(): every session writes these lists, and formats take several times as long. */
		buf_addstr(out, "- ");
		buf_append(out, item->name);
		buf_addstr(out, shown.n ? ": " : "");
		buf_append(out, shown);
		buf_addstr(out, shown.n < whole.n ? "..." : "");
		buf_append(out, tail);
		buf_addch(out, '\n');
	}
}

static bool list_fits(const struct budgeted_list *l, size_t limit, size_t room)
{
	AUTO_BUF struct buf text = { 0 };

	add_lines(&text, l, limit);
	return text.n <= room;
}

/* The longest limit for descriptions whose lines fit; 0: not even the shortest does. */
static size_t find_limit(const struct budgeted_list *l, size_t room)
{
	size_t low = SHORTEST_DESCRIPTION;
	size_t high = low;
	size_t best = 0;

	for (size_t i = 0; i < l->count; i++)
		high = MAX(high, l->items[i].description.n);
	while (low <= high) {
		size_t limit = low + (high - low) / 2;
		if (list_fits(l, limit, room)) {
			best = limit;
			low = limit + 1;
		} else {
			high = limit - 1;
		}
	}
	return best;
}

enum budgeted_form budgeted_list_write(struct buf *out, const struct budgeted_list *l, size_t room, size_t reserve,
				       size_t *ret_named)
{
	size_t less = room > reserve ? room - reserve : 0;
	size_t limit = list_fits(l, SIZE_MAX, room) ? SIZE_MAX : find_limit(l, less);
	size_t start = out->n, named = 0;

	if (limit) {
		add_lines(out, l, limit);
		named = l->count;
	} else {
		for (; named < l->count && out->n - start + l->items[named].name.n + 3 <= less; named++)
			buf_addf(out, "%s" STR_FMT, named ? ", " : "", STR_ARG(l->items[named].name));
		buf_addch(out, '\n');
	}
	if (ret_named)
		*ret_named = named;
	return limit == SIZE_MAX ? BUDGETED_WHOLE : limit ? BUDGETED_SHORTENED : BUDGETED_NAMES;
}
