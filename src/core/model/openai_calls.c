/* SPDX-License-Identifier: MIT
 * openai_calls.c - pieces of calls find their call, calls get ids that are theirs alone. */
#include "core/model/openai_calls.h"
#include "lib/base/id.h"
#include "lib/json/json_write.h"

enum { LONGEST_ID = 128, MADE_DIGITS = 24, MOST_CALLS = 1024 };

/* Pieces belong together by their index. Without one they belong to the call before, unless they name a tool. Some servers
 * give every call the same index, and a new id. */
static struct chat_call *find_call(struct chat_calls *c, int64_t index, struct str id, bool named)
{
	for (uint32_t i = c->count; i-- > 0;) {
		struct chat_call *call = &c->list[i];
		bool other_id = id.n && call->id.n && !str_eq(id, buf_str(&call->id));
		if (call->index == index && !other_id && (index >= 0 || !named || (id.n && call->id.n)))
			return call;
	}
	if (c->count == MOST_CALLS)
		return NULL;
	if (c->count == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 4;
		c->list = xrealloc(c->list, c->cap * sizeof *c->list);
	}
	struct chat_call *call = &c->list[c->count++];
	*call = (struct chat_call){ .index = index };
	return call;
}

int chat_calls_add(struct chat_calls *c, const struct json *piece, struct arena *scratch, size_t *ret_bytes)
{
	const struct json *function = json_get(piece, "function");
	const struct json *arguments = json_get(function, "arguments");
	struct str id = json_str(json_get(piece, "id"), scratch);
	struct str name = json_str(json_get(function, "name"), scratch);
	struct str text = json_is(arguments, JSON_OBJECT) ? json_raw(arguments) : json_str(arguments, scratch);
	int64_t index = -1;

	(void)json_i64(json_get(piece, "index"), &index);
	struct chat_call *call = find_call(c, index, id, name.n > 0);
	if (!call)
		return -ERR_LIMIT;
	if (!call->id.n)
		buf_add(&call->id, id.p, id.n);
	if (!call->name.n)
		buf_add(&call->name, name.p, name.n);
	buf_add(&call->arguments, text.p, text.n);
	*ret_bytes = text.n;
	return 0;
}

static bool holds(struct str bytes, const struct buf *quoted)
{
	return memmem(bytes.p, bytes.n, quoted->p, quoted->n) != NULL;
}

/* A text that quotes the id counts too: then a new one is made without need. */
static bool is_in_history(const struct transcript *t, struct str id)
{
	AUTO_BUF struct buf quoted = { 0 };
	bool found = false;

	json_add_quoted(&quoted, id);
	for (uint32_t i = 0; t && i < t->shelf_count && !found; i++)
		found = holds((struct str){ t->shelves[i]->bytes, t->shelves[i]->len }, &quoted);
	for (uint32_t i = 0; t && i < t->tail_count && !found; i++)
		found = holds(segment_json(t->tail[i].segment), &quoted);
	return found;
}

static bool is_usable(const struct chat_calls *c, uint32_t call, const struct transcript *history)
{
	struct str id = buf_str(&c->list[call].id);

	if (!id.n || id.n > LONGEST_ID || is_in_history(history, id))
		return false;
	for (uint32_t i = 0; i < call; i++)
		if (str_eq(buf_str(&c->list[i].id), id))
			return false;
	return true;
}

void chat_calls_settle_ids(struct chat_calls *c, const struct transcript *history)
{
	char digits[MADE_DIGITS + 1];

	for (uint32_t i = 0; i < c->count; i++) {
		if (is_usable(c, i, history))
			continue;
		id_random(digits, MADE_DIGITS, "0123456789abcdefghijklmnopqrstuvwxyz");
		buf_clear(&c->list[i].id);
		buf_addf(&c->list[i].id, "call_%s", digits);
	}
}

void chat_calls_release(struct chat_calls *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		buf_release(&c->list[i].id);
		buf_release(&c->list[i].name);
		buf_release(&c->list[i].arguments);
	}
	free(c->list);
}
