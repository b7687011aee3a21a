/* SPDX-License-Identifier: MIT
 * segment.c - one content block as JSON bytes. */
#include "message/segment.h"
#include "json/json_write.h"

struct segment *segment_new(enum segment_kind kind, struct str json)
{
	struct segment *s = xmalloc(sizeof *s + json.n);

	s->refs = 1;
	s->len = (uint32_t)json.n;
	s->kind = (uint8_t)kind;
	s->markable = kind != SEGMENT_THINKING && !str_has(json, STR("\"text\":\"\""));
	memcpy(s->bytes, json.p, json.n);
	return s;
}

struct segment *segment_ref(struct segment *s)
{
	s->refs++;
	return s;
}

void segment_unref(struct segment *s)
{
	if (s && --s->refs == 0)
		free(s);
}

static const struct {
	const char *type;
	enum segment_kind kind;
} kinds[] = {
	{ "text", SEGMENT_TEXT },
	{ "thinking", SEGMENT_THINKING },
	{ "redacted_thinking", SEGMENT_THINKING },
	{ "tool_use", SEGMENT_TOOL_USE },
	{ "tool_result", SEGMENT_TOOL_RESULT },
};

static bool has_surrogate_escape(struct str raw)
{
	return str_has(raw, STR("\\ud")) || str_has(raw, STR("\\uD"));
}

/* Writes v again through the writer, whose strings are always valid. */
static void rewrite(struct json_out *w, const struct json *v, struct arena *arena)
{
	switch (v->type) {
	case JSON_OBJECT:
		json_open(w, '{');
		for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
			json_key_str(w, json_str(m.key, arena));
			rewrite(w, m.value, arena);
		}
		json_close(w);
		break;
	case JSON_ARRAY:
		json_open(w, '[');
		for (const struct json *e = json_first(v); e; e = json_next(v, e))
			rewrite(w, e, arena);
		json_close(w);
		break;
	case JSON_STRING:
		json_put_str(w, json_str(v, arena));
		break;
	default:
		json_put_raw(w, json_raw(v));
	}
}

struct segment *segment_from_json(const struct json *block)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf clean = { 0 };
	const struct json *type = json_get(block, "type");
	enum segment_kind kind = SEGMENT_OTHER;

	if (!json_is(type, JSON_STRING))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (json_str_is(type, kinds[i].type))
			kind = kinds[i].kind;
	if (kind == SEGMENT_TEXT && json_str_is(json_get(block, "text"), ""))
		return NULL;
	struct str raw = json_raw(block);
	if (has_surrogate_escape(raw)) {
		struct json_out w = json_out(&clean);
		rewrite(&w, block, &arena);
		raw = buf_str(&clean);
	}
	return segment_new(kind, raw);
}

struct segment *segment_text(struct str text)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_open(&w, '{');
	json_kcstr(&w, "type", "text");
	json_kstr(&w, "text", text);
	json_close(&w);
	return segment_new(SEGMENT_TEXT, buf_str(&b));
}

struct segment *segment_tool_result(struct str call_id, struct str text, bool is_error)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_open(&w, '{');
	json_kcstr(&w, "type", "tool_result");
	json_kstr(&w, "tool_use_id", call_id);
	json_kstr(&w, "content", text);
	if (is_error)
		json_kbool(&w, "is_error", true);
	json_close(&w);
	return segment_new(SEGMENT_TOOL_RESULT, buf_str(&b));
}

struct segment *segment_lost_result(struct str call_id)
{
	return segment_tool_result(call_id, STR("The program ended before this call had a result. It may or may not have run: "
						"look at the state of things before you do it again."), true);
}
