/* SPDX-License-Identifier: MIT
 * request_text.c - the texts of a request that rules look at. Nothing is decoded before a rule asks for it. */
#include "core/scenario/request.h"

struct collector {
	struct texts texts;
	size_t cap;
	struct arena *arena;
};

static void collect(struct collector *c, const struct json *string)
{
	if (!json_is(string, JSON_STRING))
		return;
	if (c->texts.n == c->cap) {
		struct str *more = arena_alloc(c->arena, (c->cap * 2 + 4) * sizeof *more);
		if (c->texts.n)
			memcpy(more, c->texts.items, c->texts.n * sizeof *more);
		c->texts.items = more;
		c->cap = c->cap * 2 + 4;
	}
	c->texts.items[c->texts.n++] = json_str(string, c->arena);
}

/* content is a string or a list of blocks; texts of blocks inside a tool result come in their place. */
static void collect_content(struct collector *c, const struct json *content)
{
	if (!json_is(content, JSON_ARRAY)) {
		collect(c, content);
		return;
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		collect(c, json_get(b, "text"));
		if (json_str_is(json_get(b, "type"), "tool_result"))
			collect_content(c, json_get(b, "content"));
	}
}

static const struct json *next_result(const struct json *content, const struct json *after)
{
	const struct json *b = after ? json_next(content, after) : json_first(content);

	while (b && !json_str_is(json_get(b, "type"), "tool_result"))
		b = json_next(content, b);
	return b;
}

static const struct json *content_of(const struct json *message)
{
	const struct json *content = json_get(message, "content");

	return json_is(content, JSON_ARRAY) ? content : NULL;
}

static const struct json *last_result(const struct request *r)
{
	const struct json *content = content_of(r->last);
	const struct json *result = NULL;

	for (const struct json *b = next_result(content, NULL); b; b = next_result(content, b))
		result = b;
	return result;
}

static const struct json *nth_result(const struct request *r, uint64_t nth)
{
	for (const struct json *m = r->prompt; m; m = json_next(r->messages, m)) {
		const struct json *content = content_of(m);
		for (const struct json *b = next_result(content, NULL); b; b = next_result(content, b))
			if (--nth == 0)
				return b;
	}
	return NULL;
}

struct texts request_texts(const struct request *r, struct source source, struct arena *arena)
{
	struct collector c = { .arena = arena };

	switch (source.kind) {
	case SOURCE_PROMPT:
		collect_content(&c, json_get(r->prompt, "content"));
		break;
	case SOURCE_LAST:
		collect_content(&c, json_get(r->last, "content"));
		break;
	case SOURCE_SYSTEM:
		collect_content(&c, r->system);
		break;
	case SOURCE_LAST_RESULT:
		collect_content(&c, json_get(last_result(r), "content"));
		break;
	case SOURCE_RESULT:
		collect_content(&c, json_get(nth_result(r, source.index), "content"));
		break;
	}
	return c.texts;
}
