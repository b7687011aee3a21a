/* SPDX-License-Identifier: MIT
 * message.c - segments, usage and heads: the parts of a request. */
#include <assert.h>
#include "core/message/message.h"
#include "lib/json/json_write.h"

struct segment *segment_new(enum segment_kind kind, struct str json)
{
	struct segment *s = xmalloc(sizeof *s + json.n);

	s->refs = 1;
	s->len = (uint32_t)json.n;
	s->kind = (uint8_t)kind;
	s->markable = kind != SEGMENT_THINKING && kind != SEGMENT_UNSENT;
	s->origin = kind == SEGMENT_THINKING ? ORIGIN_UNKNOWN : ORIGIN_NONE;
	memcpy(s->bytes, json.p, json.n);
	return s;
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

/* The value of the \uXXXX at this place, or 0 if there is none. */
static unsigned unicode_escape(const char *p, size_t n, size_t at)
{
	char digits[5] = { 0 };

	if (at + 6 > n || p[at] != '\\' || p[at + 1] != 'u')
		return 0;
	memcpy(digits, p + at + 2, 4);
	return (unsigned)strtoul(digits, NULL, 16);
}

struct segment *segment_from_json(const struct json *block)
{
	AUTO_BUF struct buf unmarked = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *type = json_get(block, "type");
	enum segment_kind kind = SEGMENT_OTHER;

	if (!json_is(type, JSON_STRING))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (json_str_is(type, kinds[i].type))
			kind = kinds[i].kind;
	if (kind == SEGMENT_TEXT && !str_trim(json_str(json_get(block, "text"), &arena)).n)
		return NULL;
	/* Signatures of the Messages API are base64, seals of other APIs have their name and a colon in front. */
	struct str signature = json_str(json_get(block, "signature"), &arena);
	if (json_str_is(type, "thinking") && (!signature.n || memchr(signature.p, ':', MIN(signature.n, 12u))))
		kind = SEGMENT_UNSENT;
	/* Marks are put in while sending; a mark of another program could be one too many for the API. */
	if (json_get(block, "cache_control")) {
		for (struct json_member m = json_members(block); m.key; m = json_member_next(block, m))
			if (!json_str_is(m.key, "cache_control"))
				buf_addf(&unmarked, "%c" STR_FMT ":" STR_FMT, unmarked.n ? ',' : '{', JSON_ARG(m.key),
					 JSON_ARG(m.value));
		buf_addch(&unmarked, '}');
	}
	struct segment *s = segment_new(kind, unmarked.n ? buf_str(&unmarked) : json_raw(block));
	/* Lone surrogate escapes become \ufffd, which has the same length: everything else keeps its bytes. */
	char *p = s->bytes;
	size_t n = s->len;
	for (size_t i = 0; i + 1 < n; i++) {
		if (p[i] != '\\')
			continue;
		unsigned unit = unicode_escape(p, n, i);
		unsigned next = unicode_escape(p, n, i + 6);
		if (unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff)
			i += 6;
		else if (unit >= 0xd800 && unit <= 0xdfff)
			memcpy(p + i, "\\ufffd", 6);
		i++; /* the character behind the backslash */
	}
	return s;
}

void segment_set_origin(struct segment *s, uint16_t origin)
{
	if (s->kind != SEGMENT_THINKING && s->kind != SEGMENT_UNSENT)
		return;
	s->kind = SEGMENT_THINKING;
	s->origin = origin;
}

struct segment *segment_text(struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	json_addf(&b, "{type:'text', text:'%.*s'}", STR_ARG(text));
	return segment_new(SEGMENT_TEXT, buf_str(&b));
}

struct str segment_plain_text(const struct segment *s)
{
	struct str json = segment_json(s), from = STR("{\"type\":\"text\",\"text\":");

	if (!str_starts(json, from) || json.n < from.n + 3)
		return (struct str){ 0 };
	struct str text = { json.p + from.n, json.n - from.n - 1 };
	for (size_t i = 1; i + 1 < text.n; i++) {
		if (text.p[i] == '"')
			return (struct str){ 0 }; /* it ends here, and a further member follows */
		i += text.p[i] == '\\';
	}
	return text.p[0] == '"' && text.p[text.n - 1] == '"' ? text : (struct str){ 0 };
}

/* A string is content as well. */
struct segment *segment_tool_blocks(struct str call_id, struct str content, bool is_error)
{
	AUTO_BUF struct buf b = { 0 };

	json_addf(&b, "{type:'tool_result', tool_use_id:'%.*s', content:%.*s, is_error?:!!%d}", STR_ARG(call_id),
		  STR_ARG(content), is_error);
	return segment_new(SEGMENT_TOOL_RESULT, buf_str(&b));
}

struct segment *segment_tool_result(struct str call_id, struct str text, bool is_error)
{
	AUTO_BUF struct buf quoted = { 0 };

	json_add_quoted(&quoted, text);
	return segment_tool_blocks(call_id, buf_str(&quoted), is_error);
}

struct segment *segment_lost_result(struct str call_id)
{
	return segment_tool_result(call_id,
				   STR("The program ended before this call had a result. It may or may not have run: "
				       "check the current state before you repeat it."),
				   true);
}

struct head *head_intern(struct head_pool *pool, struct str bytes)
{
	struct head *h = map_get(&pool->heads, bytes);

	if (h)
		return head_ref(h);
	h = xcalloc(1, sizeof *h);
	map_set(&pool->heads, bytes, h);
	/* The map's copy of the key is the copy: the last entry is the new one. */
	h->bytes = (struct str){ pool->heads.entries[pool->heads.used - 1].key, bytes.n };
	h->pool = pool;
	h->refs = 1;
	return h;
}

void head_unref(struct head *h)
{
	if (!h || --h->refs)
		return;
	map_remove(&h->pool->heads, h->bytes);
	for (int i = 0; i < TRANSLATIONS; i++)
		translation_free(h->translations[i]);
	free(h->hash);
	free(h);
}

const struct json *head_parse(struct json_reader *reader, struct arena *a, struct str bytes)
{
	return json_read(reader, str_from(arena_printf(a, STR_FMT "]}", STR_ARG(bytes))));
}

void head_pool_release(struct head_pool *pool)
{
	assert(!pool->heads.count);
	map_release(&pool->heads);
}

#define MOST_COST_USD 1e6
#define MOST_TOKENS   (INT64_C(1) << 48) /* larger values are not token counts; sums of smaller ones never overflow */

static const struct {
	const char *name;
	const char *inside; /* NULL: top level */
	size_t offset;
} fields[] = {
	{ "input_tokens", NULL, offsetof(struct usage, input) },
	{ "cache_creation_input_tokens", NULL, offsetof(struct usage, cache_write) },
	{ "cache_read_input_tokens", NULL, offsetof(struct usage, cache_read) },
	{ "output_tokens", NULL, offsetof(struct usage, output) },
	{ "ephemeral_5m_input_tokens", "cache_creation", offsetof(struct usage, cache_write_5m) },
	{ "ephemeral_1h_input_tokens", "cache_creation", offsetof(struct usage, cache_write_1h) },
	{ "web_search_requests", "server_tool_use", offsetof(struct usage, web_searches) },
};

static int64_t *usage_field(const struct usage *u, size_t i)
{
	return (int64_t *)((uintptr_t)u + fields[i].offset);
}

bool usage_count(const struct json *v, int64_t *ret_tokens)
{
	int64_t n;

	if (!json_i64(v, &n) || n < 0 || n > MOST_TOKENS)
		return false;
	*ret_tokens = n;
	return true;
}

void usage_merge(struct usage *u, const struct json *object)
{
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		const struct json *from = fields[i].inside ? json_get(object, fields[i].inside) : object;
		(void)usage_count(json_get(from, fields[i].name), usage_field(u, i));
	}
	double cost = json_double(json_get(object, "cost"));
	if (cost > 0 && cost < MOST_COST_USD)
		u->cost_usd = cost;
	u->estimated = u->estimated || json_bool(json_get(object, "estimated"));
}

void usage_add(struct usage *sum, const struct usage *u)
{
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		*usage_field(sum, i) += *usage_field(u, i);
	sum->cost_usd += u->cost_usd;
	sum->estimated = sum->estimated || u->estimated;
}

void usage_write(struct json_out *w, const struct usage *u)
{
	const char *inside = NULL;

	json_open(w, '{');
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		if (fields[i].inside && (!inside || strcmp(inside, fields[i].inside) != 0)) {
			if (inside)
				json_close(w);
			inside = fields[i].inside;
			json_kopen(w, inside, '{');
		}
		json_ki64(w, fields[i].name, *usage_field(u, i));
	}
	if (inside)
		json_close(w);
	json_putf(w, "cost?:%g, estimated?:!!%d}", MAX(u->cost_usd, 0), u->estimated);
}

void translation_free(struct translation *t)
{
	if (!t)
		return;
	arena_release(&t->arena);
	free(t->pieces);
	free(t);
}

void translation_add(struct translation *t, struct str piece)
{
	if (!piece.n)
		return;
	*xpush(t->pieces, t->count, t->cap) = piece;
	t->size += piece.n;
}

void translation_append(struct translation *t, const struct translation *other)
{
	for (size_t i = 0; i < other->count; i++)
		translation_add(t, other->pieces[i]);
}
