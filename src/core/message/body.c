/* SPDX-License-Identifier: MIT
 * body.c - reads a request out of its head, its packed chunks and its tail, with cache marks put in on the way. */
#include "core/message/body.h"

static const struct str mark_texts[] = {
	[MARKS_USUAL] = { ",\"cache_control\":{\"type\":\"ephemeral\"}", 37 },
	[MARKS_HOUR] = { ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}", 48 },
	[MARKS_NONE] = { "", 0 },
};
static const struct str end_text = { TRANSCRIPT_CLOSING "]}", 4 };

/* Adds the nearest markable block at or before i, keeping the list ascending and without doubles. */
static void add_mark(struct body *b, uint32_t i)
{
	if (i >= b->count)
		return;
	while (!transcript_block(b->transcript, i).markable) {
		if (i == 0)
			return;
		i--;
	}
	uint32_t place = 0;
	while (place < b->mark_count && b->marks[place] < i)
		place++;
	if (place < b->mark_count && b->marks[place] == i)
		return;
	memmove(&b->marks[place + 1], &b->marks[place], (b->mark_count - place) * sizeof *b->marks);
	b->marks[place] = i;
	b->mark_count++;
}

void body_init(struct body *b, struct head *head, const struct transcript *t, uint32_t previous)
{
	*b = (struct body){ .head = head, .transcript = t, .count = transcript_count(t) };
	if (head->marks != MARKS_NONE) {
		add_mark(b, previous);
		add_mark(b, t->forked_at ? t->forked_at - 1 : UINT32_MAX);
		add_mark(b, b->count ? b->count - 1 : UINT32_MAX);
	}
	b->blocks_size = t->bytes;
	b->size = head->bytes.n + t->bytes + b->mark_count * mark_texts[head->marks].n + end_text.n;
	body_rewind(b);
}

void body_remind(struct body *b, struct str block)
{
	if (!block.n || !b->count || transcript_role(b->transcript, b->count - 1) != ROLE_USER)
		return;
	b->reminder = block;
	b->size += block.n;
}

void body_drop_marks(struct body *b)
{
	b->size -= b->mark_count * mark_texts[b->head->marks].n;
	b->mark_count = 0;
}

bool body_has_calls(const struct body *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (transcript_block(b->transcript, i).kind == SEGMENT_TOOL_USE)
			return true;
	return false;
}

void body_rewind(struct body *b)
{
	b->part = BODY_HEAD;
	b->at = b->chunk = b->sent = b->next_mark = 0;
	b->role = -1;
	b->offset = b->mark_offset = 0;
}

/* The block as it is sent */
static struct str block_text(const struct body *b, uint32_t i)
{
	for (uint32_t k = 0; k < b->replaced_count; k++)
		if (b->replaced[k].block == i)
			return b->replaced[k].json;
	return transcript_block(b->transcript, i).json;
}

/* The text of the current part. */
static struct str part_text(const struct body *b)
{
	const struct transcript *t = b->transcript;

	switch (b->part) {
	case BODY_HEAD:
		return b->head->bytes;
	case BODY_PACKED:
		return (struct str){ t->packed_chunks[b->at]->bytes, t->packed_chunks[b->at]->len };
	case BODY_OPENING:
		return role_opening(b->role, transcript_role(t, b->at));
	case BODY_BLOCK:
		return block_text(b, b->at);
	case BODY_REMINDER:
		return b->reminder.n ? b->reminder : STR("");
	case BODY_END:
		return end_text;
	default:
		return STR("");
	}
}

/* Where in the part the next mark goes: just before the closing brace of its block. SIZE_MAX: not in this part. */
static size_t mark_place(const struct body *b)
{
	uint32_t block = b->next_mark < b->mark_count ? b->marks[b->next_mark] : UINT32_MAX;

	if (b->part == BODY_PACKED) {
		const struct packed_chunk *s = b->transcript->packed_chunks[b->at];
		if (block - s->before < s->count)
			return s->blocks[block - s->before].end - 1;
	}
	if (b->part == BODY_BLOCK && block == b->at)
		return block_text(b, b->at).n - 1;
	return SIZE_MAX;
}

static bool is_sent(const struct body *b, uint16_t origin)
{
	return !b->origin || !origin || origin == b->origin || (origin == ORIGIN_UNKNOWN && !b->known_only);
}

static bool is_as_it_is(const struct body *b, const struct packed_chunk *s)
{
	for (uint32_t k = 0; k < b->replaced_count; k++)
		if (b->replaced[k].block - s->before < s->count)
			return false;
	return is_sent(b, s->origin);
}

/* From block i on: a chunk as a whole, unless something of it, or the block that its first bytes join, is left out or replaced. */
static void body_enter_block(struct body *b, uint32_t i)
{
	const struct transcript *t = b->transcript;

	for (; i < b->count; i++) {
		const struct packed_chunk *s = NULL;
		for (; b->chunk < t->packed_chunk_count; b->chunk++) {
			s = t->packed_chunks[b->chunk];
			if (i < s->before + s->count)
				break;
			s = NULL;
		}
		bool whole = s && s->before == i && b->sent == i && is_as_it_is(b, s);
		if (!whole && b->origin && !is_sent(b, transcript_block(t, i).origin))
			continue;
		b->part = whole ? BODY_PACKED : BODY_OPENING;
		b->at = whole ? b->chunk : i;
		return;
	}
	b->part = BODY_REMINDER;
}

static void body_next_part(struct body *b)
{
	const struct transcript *t = b->transcript;

	b->offset = 0;
	switch (b->part) {
	case BODY_OPENING:
		b->part = BODY_BLOCK;
		return;
	case BODY_PACKED:
		b->sent = t->packed_chunks[b->at]->before + t->packed_chunks[b->at]->count;
		b->role = (int)transcript_role(t, b->sent - 1);
		body_enter_block(b, b->sent);
		return;
	case BODY_BLOCK:
		b->sent = b->at + 1;
		b->role = (int)transcript_role(t, b->at);
		body_enter_block(b, b->sent);
		return;
	case BODY_HEAD:
		body_enter_block(b, 0);
		return;
	case BODY_REMINDER:
		b->part = BODY_END;
		return;
	default:
		b->part = BODY_OVER;
	}
}

static bool is_all_sent(const struct body *b)
{
	const struct transcript *t = b->transcript;

	for (uint32_t i = 0; i < t->packed_chunk_count; i++)
		if (!is_sent(b, t->packed_chunks[i]->origin))
			return false;
	for (uint32_t i = 0; i < t->tail_count; i++)
		if (!is_sent(b, t->tail[i].segment->origin))
			return false;
	return true;
}

void body_set_origin(struct body *b, uint16_t origin, bool known_only)
{
	uint64_t size = 0;

	b->origin = origin;
	b->known_only = known_only;
	if (is_all_sent(b))
		b->origin = ORIGIN_NONE;
	if (!b->origin && !b->replaced_count) { /* mostly: no block is looked at again */
		size = b->transcript->bytes;
	} else {
		body_rewind(b);
		for (body_next_part(b); b->part < BODY_REMINDER; body_next_part(b))
			size += part_text(b).n;
	}
	b->size = b->size - b->blocks_size + size;
	b->blocks_size = size;
	body_rewind(b);
}

/* What stands in place of an image or document, as the content of a JSON string: the text of one that is text, else a line. Empty: it is
 * sent. */
static struct str text_in_place(const struct json *part, unsigned media)
{
	const struct json *type = json_get(part, "type"), *source = json_get(part, "source");
	bool image = json_str_is(type, "image") && media & BODY_IMAGES;
	bool document = json_str_is(type, "document") && media & BODY_DOCUMENTS;
	const struct json *text = json_str_is(json_get(source, "type"), "text") ? json_get(source, "data") : NULL;

	if (document && json_is(text, JSON_STRING) && text->len)
		return (struct str){ text->text, text->len };
	return image      ? STR("[An image was left out: this server takes none.]")
	       : document ? STR("[A document was left out: this model takes none.]")
			  : STR("");
}

/* A result in which texts stand in place of such parts. If only texts are left they are one: some servers take no list. */
static bool replace_result(const struct json *block, unsigned media, struct buf *out)
{
	const struct json *content = json_get(block, "content");
	struct str all = json_raw(block), parts = json_raw(content);
	bool replaces = false, texts = true;

	for (const struct json *p = json_items(content); p; p = json_next(content, p)) {
		bool is_replaced = text_in_place(p, media).n > 0;
		replaces = replaces || is_replaced;
		texts = texts && (is_replaced || json_is(json_get(p, "text"), JSON_STRING));
	}
	if (!replaces)
		return false;
	buf_add(out, all.p, (size_t)(parts.p - all.p));
	const char *before = texts ? "\"" : "[";
	for (const struct json *p = json_items(content); p; p = json_next(content, p)) {
		struct str raw = json_raw(p), text = text_in_place(p, media);
		buf_addstr(out, before);
		before = texts ? "\\n" : ",";
		if (texts && !text.n)
			text = (struct str){ json_get(p, "text")->text, json_get(p, "text")->len };
		if (texts)
			buf_append(out, text);
		else if (text.n)
			buf_addf(out, "{\"type\":\"text\",\"text\":\"" STR_FMT "\"}", STR_ARG(text));
		else
			buf_append(out, raw);
	}
	buf_addstr(out, texts ? "\"" : "]");
	buf_add(out, parts.p + parts.n, (size_t)(all.p + all.n - parts.p) - parts.n);
	return true;
}

/* A block of the user. False: it is sent as it is. */
static bool replace_block(const struct json *block, unsigned media, struct buf *out)
{
	struct str text = text_in_place(block, media);

	if (json_str_is(json_get(block, "type"), "tool_result"))
		return replace_result(block, media & BODY_RESULT_MEDIA ? BODY_IMAGES | BODY_DOCUMENTS : media, out);
	if (text.n)
		buf_addf(out, "{\"type\":\"text\",\"text\":\"" STR_FMT "\"}", STR_ARG(text));
	return text.n > 0;
}

void body_replace_media(struct body *b, unsigned media, struct arena *a)
{
	struct body_replacement *list = NULL;
	uint32_t count = 0, cap = 0;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };

	for (uint32_t i = 0; media && i < b->count; i++) {
		struct block block = transcript_block(b->transcript, i);
		const struct json *root;
		bool may_have = str_has(block.json, STR("\"image\"")) || str_has(block.json, STR("\"document\""));
		buf_clear(&text);
		if (block.role != ROLE_USER || !may_have ||
		    json_parse(&reader, block.json.p, block.json.n, &root, NULL) < 0 ||
		    !replace_block(root, media, &text))
			continue;
		if (count == cap) {
			struct body_replacement *more = arena_alloc(a, (cap = cap ? cap * 2 : 8) * sizeof *more);
			if (count)
				memcpy(more, list, count * sizeof *more);
			list = more;
		}
		list[count++] = (struct body_replacement){ i, arena_str(a, buf_str(&text)) };
	}
	b->replaced = list;
	b->replaced_count = count;
}

size_t body_read(struct body *b, char *out, size_t room)
{
	size_t done = 0;

	while (done < room && b->part != BODY_OVER) {
		struct str text = part_text(b), run;
		size_t mark_at = mark_place(b);
		if (b->offset == mark_at) {
			struct str mark = mark_texts[b->head->marks];
			run = (struct str){ mark.p + b->mark_offset, MIN(mark.n - b->mark_offset, room - done) };
			b->mark_offset += run.n;
			if (b->mark_offset == mark.n) {
				b->mark_offset = 0;
				b->next_mark++;
			}
		} else {
			run = (struct str){ text.p + b->offset, MIN(MIN(text.n, mark_at) - b->offset, room - done) };
			b->offset += run.n;
			if (b->offset == text.n)
				body_next_part(b);
		}
		memcpy(out + done, run.p, run.n);
		done += run.n;
	}
	return done;
}
