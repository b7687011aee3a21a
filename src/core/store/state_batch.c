/* SPDX-License-Identifier: MIT
 * state_batch.c - writes that wait for a commit, one per row, in the order of their first put. */
#include "core/store/state_int.h"

/* Bookkeeping per row, about: map entry, slots, key, block. */
enum { ROW_OVERHEAD = 160 };

static const char *text_at(const void *row, const struct column *c)
{
	const char *text = *(const char *const *)((const char *)row + c->offset);

	return text ? text : "";
}

static struct str make_key(struct buf *key, enum row_kind_id kind, const void *row)
{
	const struct row_kind *k = &row_kinds[kind];

	buf_clear(key);
	buf_addch(key, (char)('0' + kind));
	for (size_t i = 0; i < k->key_count; i++) {
		const char *text = text_at(row, &k->columns[i]);
		buf_add(key, text, strlen(text) + 1); /* with its NUL: "a" "bc" is not "ab" "c" */
	}
	return buf_str(key);
}

/* Into old if there is room, or into a new block; the other one is freed. */
static struct queued *copy_row(struct queued *old, enum row_kind_id kind, const void *row)
{
	const struct row_kind *k = &row_kinds[kind];
	size_t lens[ROW_COLUMNS_MAX], need = k->row_size;

	for (size_t i = 0; i < k->column_count; i++) {
		lens[i] = k->columns[i].type == COLUMN_TEXT ? strlen(text_at(row, &k->columns[i])) + 1 : 0;
		need += lens[i];
	}
	struct queued *q = old;
	if (!q || q->cap < need) {
		q = xmalloc(sizeof *q + need);
		*q = (struct queued){ .kind = kind, .cap = need };
		free(old);
	}
	memcpy(q->row, row, k->row_size);
	char *at = q->row + k->row_size;
	for (size_t i = 0; i < k->column_count; i++) {
		if (!lens[i])
			continue;
		memcpy(at, text_at(row, &k->columns[i]), lens[i]);
		*(const char **)(void *)(q->row + k->columns[i].offset) = at;
		at += lens[i];
	}
	return q;
}

void batch_put(struct batch *b, enum row_kind_id kind, const void *row)
{
	struct str key = make_key(&b->key, kind, row);
	struct queued *old = map_get(&b->rows, key);

	b->bytes -= old ? old->cap + ROW_OVERHEAD : 0;
	struct queued *q = copy_row(old, kind, row);
	b->bytes += q->cap + ROW_OVERHEAD;
	if (q != old)
		map_set(&b->rows, key, q);
}

void batch_merge(struct batch *b, struct batch *newer)
{
	if (!b->rows.count) {
		struct batch empty = *b;
		*b = *newer;
		*newer = empty;
		return;
	}
	for (struct map_entry *e = map_next(&newer->rows, NULL); e; e = map_next(&newer->rows, e)) {
		struct queued *old = map_set(&b->rows, (struct str){ e->key, e->key_len }, e->value);
		b->bytes -= old ? old->cap + ROW_OVERHEAD : 0;
		free(old);
	}
	b->bytes += newer->bytes;
	map_release(&newer->rows);
	newer->bytes = 0;
}

void batch_release(struct batch *b)
{
	for (struct map_entry *e = map_next(&b->rows, NULL); e; e = map_next(&b->rows, e))
		free(e->value);
	map_release(&b->rows);
	buf_release(&b->key);
	b->bytes = 0;
}
