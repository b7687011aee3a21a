/* SPDX-License-Identifier: MIT
 * openai_body.c - head, shelves and tail one behind the other, piece by piece. */
#include "core/model/openai_body.h"
#include "lib/json/json_write.h"
#include "core/model/openai_request.h"

/* All other members follow the messages, so that dropping an unsupported one does not change the prefix. */
static void add_ending(struct translation *tail, const struct chat_head *head, const struct chat_model *model)
{
	AUTO_BUF struct buf end = { 0 };
	unsigned quirks = model->quirks;
	int64_t limit = model->limit ? MIN(model->limit, head->max_tokens) : head->max_tokens;

	buf_addstr(&end, "],\"stream\":true");
	if (!(quirks & CHAT_NO_STREAM_OPTIONS))
		buf_addstr(&end, ",\"stream_options\":{\"include_usage\":true}");
	if (!(quirks & CHAT_NO_LIMIT))
		buf_addf(&end, ",\"%s\":%lld", quirks & CHAT_COMPLETION_TOKENS ? "max_completion_tokens" : "max_tokens",
			 (long long)limit);
	if (head->has_tools && !(quirks & CHAT_NO_PARALLEL_CALLS))
		buf_addstr(&end, ",\"parallel_tool_calls\":true");
	struct str effort = quirks & CHAT_EFFORT_NONE ? STR("none") : head->effort;
	if (effort.n && !(quirks & CHAT_NO_EFFORT)) {
		buf_addstr(&end, ",\"reasoning_effort\":");
		json_add_quoted(&end, effort);
	}
	if (quirks & CHAT_SESSION_KEY && model->session) {
		buf_addstr(&end, ",\"prompt_cache_key\":");
		json_add_quoted(&end, str_from(model->session));
	}
	buf_addch(&end, '}');
	translation_add(tail, arena_str(&tail->arena, buf_str(&end)));
}

/* The bytes to send for this piece, and the number of pieces that they replace. */
static struct str piece_at(struct chat_body *b, const struct translation *part, size_t at, size_t *ret_count)
{
	struct str piece = part->pieces[at];
	size_t count = 1;

	if (piece.p == chat_between && !(b->quirks & CHAT_ANSWER_BETWEEN)) {
		piece.n = 0;
	} else if (piece.p == chat_thought_open && !(b->quirks & CHAT_ECHO)) {
		while (part->pieces[at + count - 1].p != chat_thought_close)
			count++;
		piece.n = 0;
	} else if (b->quirks & CHAT_NO_IMAGES && piece.p == chat_image_open) {
		while (part->pieces[at + count - 1].p != chat_image_close)
			count++;
		piece = STR("{\"type\":\"text\",\"text\":\"[An image was left out: this server takes none.]\"}");
	} else if (b->quirks & CHAT_SHORT_IDS && at &&
		   (part->pieces[at - 1].p == chat_call_open || part->pieces[at - 1].p == chat_result_open)) {
		uint64_t hash = str_hash(piece);
		for (size_t i = 0; i < 9; i++, hash /= 36)
			b->short_id[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
		piece = (struct str){ b->short_id, 9 };
	}
	*ret_count = count;
	return piece;
}

static uint64_t size_of(struct chat_body *b, const struct translation *part)
{
	const unsigned rewriting = CHAT_NO_IMAGES | CHAT_ANSWER_BETWEEN | CHAT_SHORT_IDS | CHAT_ECHO;
	uint64_t size = 0;

	if (!(b->quirks & rewriting))
		return part->size - part->optional;
	for (size_t i = 0, count; i < part->count; i += count)
		size += piece_at(b, part, i, &count).n;
	return size;
}

void chat_body_init(struct chat_body *b, const struct body *body, const struct chat_model *model)
{
	const struct transcript *t = body->transcript;
	const struct chat_head *head = chat_head(body->head);
	enum chat_state state = chat_shelves(body->head, t);

	*b = (struct chat_body){ .body = body,
				 .tail = chat_tail(t, body->count, body->reminder, state),
				 .quirks = model->quirks };
	add_ending(b->tail, head, model);
	b->size = body->head->translation->size + size_of(b, b->tail);
	for (uint32_t i = 0; i < t->shelf_count; i++)
		b->size += size_of(b, t->shelves[i]->translation);
}

void chat_body_release(struct chat_body *b)
{
	translation_free(b->tail);
	b->tail = NULL;
}

void chat_body_rewind(struct chat_body *b)
{
	b->part = 0;
	b->piece = b->offset = 0;
}

/* NULL: all was read. */
static const struct translation *part_of(const struct chat_body *b)
{
	const struct transcript *t = b->body->transcript;

	if (!b->part)
		return b->body->head->translation;
	if (b->part <= t->shelf_count)
		return t->shelves[b->part - 1]->translation;
	return b->part == t->shelf_count + 1 ? b->tail : NULL;
}

size_t chat_body_read(struct chat_body *b, char *out, size_t room)
{
	const struct translation *part;
	size_t done = 0, count;

	while (done < room && (part = part_of(b))) {
		if (b->piece == part->count) {
			b->part++;
			b->piece = 0;
			continue;
		}
		struct str piece = piece_at(b, part, b->piece, &count);
		size_t n = MIN(piece.n - b->offset, room - done);
		memcpy(out + done, piece.p + b->offset, n);
		done += n;
		b->offset += n;
		if (b->offset == piece.n) {
			b->piece += count;
			b->offset = 0;
		}
	}
	return done;
}
