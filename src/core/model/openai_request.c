/* SPDX-License-Identifier: MIT
 * openai_request.c - a request of chat completions: head, messages, calls and their results. */
#include "core/model/openai_request.h"
#include "lib/json/json_write.h"
#include "core/model/head_json.h"
#include "core/model/openai_calls.h"
#include "lib/base/id.h"

/* ---- from blocks to messages ------------------------------------------------------------------------------------- */

/* JSON strings are passed on raw, with their escapes; only arguments of calls are rewritten, because they become JSON
 * inside a string.
 *
 * An answer's blocks become one message: first its texts, then its calls. Results precede all other blocks of a user's
 * message, and their images follow the last one in a user message, because role tool has only text. */

enum { LONGEST_ID = 40 };

/* One run on its way */
struct chat_writer {
	struct translation *out;
	enum chat_state state;
	struct json_reader reader;
	struct translation *images; /* parts that wait for the last result; NULL: none */
	size_t image_count;
};

static void add_constant(struct chat_writer *w, const char *constant)
{
	translation_add(w->out, str_from(constant));
}

/* The raw content of a JSON string; empty for anything else. */
static struct str raw(const struct json *v)
{
	return json_is(v, JSON_STRING) ? (struct str){ v->text, v->len } : STR("");
}

static void close_message(struct chat_writer *w)
{
	static const char *const closings[CHAT_STATES] = {
		[CHAT_FIRST] = "",   [CHAT_CLOSED] = "",  [CHAT_USER] = "\"}", [CHAT_PARTS] = "]}",
		[CHAT_TEXT] = "\"}", [CHAT_CALLS] = "]}", [CHAT_RESULT] = "",
	};

	add_constant(w, closings[w->state]);
	if (w->state != CHAT_FIRST)
		w->state = CHAT_CLOSED;
}

const char chat_between[] = "{\"role\":\"assistant\",\"content\":\"Done.\"},";
const char chat_call_open[] = "{\"id\":\"";
const char chat_result_open[] = "{\"role\":\"tool\",\"tool_call_id\":\"";

static void open_message(struct chat_writer *w, const char *beginning, enum chat_state state)
{
	bool user_behind_tool = w->state == CHAT_RESULT && (state == CHAT_USER || state == CHAT_PARTS);

	close_message(w);
	if (w->state != CHAT_FIRST)
		add_constant(w, ",");
	if (user_behind_tool)
		translation_add_optional(w->out, str_from(chat_between));
	add_constant(w, beginning);
	w->state = state;
}

/* ---- the user's side ------------------------------------------------------------------------------------------- */

static void begin_part(struct chat_writer *w)
{
	if (w->state == CHAT_PARTS)
		add_constant(w, ",");
	else
		open_message(w, "{\"role\":\"user\",\"content\":[", CHAT_PARTS);
}

static void add_user_text(struct chat_writer *w, struct str text, bool parts)
{
	bool goes_on = w->state == CHAT_USER;

	if (w->state == CHAT_PARTS || (parts && !goes_on)) {
		begin_part(w);
		add_constant(w, "{\"type\":\"text\",\"text\":\"");
		translation_add(w->out, text);
		add_constant(w, "\"}");
		return;
	}
	if (goes_on)
		add_constant(w, "\\n\\n");
	else
		open_message(w, "{\"role\":\"user\",\"content\":\"", CHAT_USER);
	translation_add(w->out, text);
}

static bool is_image(const struct json *block)
{
	const struct json *source = json_get(block, "source");

	return json_str_is(json_get(block, "type"), "image") && (json_get(source, "data") || json_get(source, "url"));
}

const char chat_image_open[] = "{\"type\":\"image_url\",\"image_url\":{\"url\":\"";
const char chat_image_close[] = "\"}}";

static void add_image(struct translation *out, const struct json *block)
{
	const struct json *source = json_get(block, "source");

	translation_add(out, str_from(chat_image_open));
	if (json_get(source, "data")) {
		translation_add(out, STR("data:"));
		translation_add(out, raw(json_get(source, "media_type")));
		translation_add(out, STR(";base64,"));
		translation_add(out, raw(json_get(source, "data")));
	} else {
		translation_add(out, raw(json_get(source, "url")));
	}
	translation_add(out, str_from(chat_image_close));
}

/* A block without an equivalent: its text, otherwise a line that names what is missing. */
static struct str described(struct chat_writer *w, const struct json *block)
{
	const struct json *source = json_get(block, "source");

	if (json_str_is(json_get(source, "type"), "text"))
		return raw(json_get(source, "data"));
	struct str type = raw(json_get(block, "type"));
	return str_from(arena_printf(&w->out->arena,
				     "[A block of type " STR_FMT " was left out: it cannot be sent to this model.]",
				     STR_ARG(type)));
}

static void add_user(struct chat_writer *w, const struct block *b, bool parts)
{
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	if (b->kind == SEGMENT_TEXT) {
		add_user_text(w, raw(json_get(block, "text")), parts);
	} else if (is_image(block)) {
		begin_part(w);
		add_image(w->out, block);
	} else {
		add_user_text(w, described(w, block), parts);
	}
}

static void keep_image(struct chat_writer *w, const struct json *block)
{
	if (!w->images)
		w->images = translation_new();
	if (w->image_count++)
		translation_add(w->images, STR(","));
	add_image(w->images, block);
}

/* OpenAI takes 40 characters. */
static void add_id(struct chat_writer *w, struct str id)
{
	if (id.n > LONGEST_ID)
		id = str_from(arena_printf(&w->out->arena, "call_%016llx", (unsigned long long)str_hash(id)));
	translation_add(w->out, id);
}

/* Names of tools have up to 64 letters, digits, '_' and '-' there. A longer or odd one is cut and told apart by a hash. */
static struct str chat_name(struct arena *a, struct str own)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t n = 0;

	while (n < own.n && char_in(own.p[n], allowed))
		n++;
	if (n == own.n && n <= 64)
		return own;
	char *name = arena_printf(a, STR_FMT "_%08x", (int)MIN(own.n, (size_t)55), own.p, (unsigned)str_hash(own));
	for (char *p = name; *p; p++)
		if (!char_in(*p, allowed))
			*p = '_';
	return str_from(name);
}

static void add_result_blocks(struct chat_writer *w, const struct json *content)
{
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		if (b != json_first(content))
			add_constant(w, "\\n");
		if (json_str_is(json_get(b, "type"), "text")) {
			translation_add(w->out, raw(json_get(b, "text")));
		} else if (is_image(b)) {
			keep_image(w, b);
			add_constant(w, "[The image is in the next message of the user.]");
		} else {
			translation_add(w->out, described(w, b));
		}
	}
}

static void add_result(struct chat_writer *w, const struct block *b)
{
	const struct json *block, *content;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	content = json_get(block, "content");
	open_message(w, chat_result_open, CHAT_RESULT);
	add_id(w, raw(json_get(block, "tool_use_id")));
	add_constant(w, "\",\"content\":\"");
	if (json_bool(json_get(block, "is_error")))
		add_constant(w, "Error: ");
	if (json_is(content, JSON_ARRAY))
		add_result_blocks(w, content);
	else
		translation_add(w->out, raw(content));
	add_constant(w, "\"}");
}

/* ---- the assistant's side -------------------------------------------------------------------------------------- */

const char chat_thought_open[] = "\"reasoning_content\":\"";
const char chat_thought_close[] = "\",";

/* Servers that want the reasoning back want the member in every answer, also an empty one. */
static void open_answer(struct chat_writer *w, struct str thought, enum chat_state state)
{
	open_message(w, "{\"role\":\"assistant\",", state);
	translation_add_optional(w->out, str_from(chat_thought_open));
	translation_add_optional(w->out, thought);
	translation_add_optional(w->out, str_from(chat_thought_close));
}

static void add_answer_text(struct chat_writer *w, const struct block *b, struct str thought)
{
	const struct json *block;

	if (w->state == CHAT_CALLS || json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	if (w->state == CHAT_TEXT) {
		add_constant(w, "\\n\\n");
	} else {
		open_answer(w, thought, CHAT_TEXT);
		add_constant(w, "\"content\":\"");
	}
	translation_add(w->out, raw(json_get(block, "text")));
}

static void add_call(struct chat_writer *w, const struct block *b, struct str thought)
{
	AUTO_BUF struct buf arguments = { 0 };
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	json_add_quoted(&arguments, json_raw(json_get(block, "input")));
	if (w->state == CHAT_CALLS) {
		add_constant(w, ",");
	} else if (w->state == CHAT_TEXT) {
		add_constant(w, "\",\"tool_calls\":[");
		w->state = CHAT_CALLS;
	} else {
		open_answer(w, thought, CHAT_CALLS);
		add_constant(w, "\"content\":null,\"tool_calls\":[");
	}
	add_constant(w, chat_call_open);
	add_id(w, raw(json_get(block, "id")));
	add_constant(w, "\",\"type\":\"function\",\"function\":{\"name\":\"");
	translation_add(w->out, chat_name(&w->out->arena, raw(json_get(block, "name"))));
	add_constant(w, "\",\"arguments\":");
	translation_add(w->out, arena_str(&w->out->arena, buf_str(&arguments)));
	add_constant(w, "}}");
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

/* Thinking with a signature and what belongs to tools of the server are left out. */
static void add_answer(struct chat_writer *w, const struct transcript *t, uint32_t from, uint32_t to)
{
	struct str thought = STR("");

	for (uint32_t i = from; i < to && !thought.n; i++) {
		struct str json = transcript_block(t, i).thought;
		const struct json *block;
		if (json.n && json_parse(&w->reader, json.p, json.n, &block, NULL) == 0)
			thought = raw(json_get(block, "thinking"));
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TEXT)
			add_answer_text(w, &b, thought);
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TOOL_USE)
			add_call(w, &b, thought);
	}
}

static void add_users(struct chat_writer *w, const struct transcript *t, uint32_t from, uint32_t to)
{
	bool parts = false;

	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TOOL_RESULT)
			add_result(w, &b);
		parts = parts || b.kind == SEGMENT_OTHER;
	}
	if (w->images) {
		begin_part(w);
		translation_append(w->out, w->images);
		translation_free(w->images);
		w->images = NULL;
		w->image_count = 0;
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(t, i);
		if (b.kind != SEGMENT_TOOL_RESULT)
			add_user(w, &b, parts);
	}
}

static void add_blocks(struct chat_writer *w, const struct transcript *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = from, end; i < to; i = end) {
		enum role role = transcript_block(t, i).role;
		end = i + 1;
		while (end < to && transcript_block(t, end).role == role)
			end++;
		if (role == ROLE_USER)
			add_users(w, t, i, end);
		else
			add_answer(w, t, i, end);
	}
}

static void chat_writer_finish(struct chat_writer *w)
{
	w->out->state = (int)w->state;
	json_reader_release(&w->reader);
}

enum chat_state chat_shelves(const struct head *h, const struct transcript *t)
{
	enum chat_state state = (enum chat_state)h->translation->state;

	for (uint32_t i = 0; i < t->shelf_count; i++) {
		struct packed_chunk *s = t->shelves[i];
		if (!s->translation) {
			struct chat_writer w = { .out = translation_new(), .state = state };
			add_blocks(&w, t, s->before, s->before + s->count);
			chat_writer_finish(&w);
			s->translation = w.out;
		}
		state = (enum chat_state)s->translation->state;
	}
	return state;
}

struct translation *chat_tail(const struct transcript *t, uint32_t count, struct str reminder, enum chat_state before)
{
	struct chat_writer w = { .out = translation_new(), .state = before };

	add_blocks(&w, t, transcript_packed_count(t), count);
	if (reminder.n) {
		struct block b = { { reminder.p + 1, reminder.n - 1 }, ROLE_USER, SEGMENT_TEXT, false, STR("") };
		add_user(&w, &b, false);
	}
	close_message(&w);
	chat_writer_finish(&w);
	return w.out;
}

/* ---- model, tools and system prompt of a request, out of a head of the Messages API ------------------------------ */

static void openai_head_add(struct translation *out, const char *constant)
{
	translation_add(out, str_from(constant));
}

static void add_member(struct translation *out, const char *name, const struct json *value)
{
	if (!value)
		return;
	openai_head_add(out, name);
	translation_add(out, json_raw(value));
}

static bool is_any(const struct json *key, const char *const *words)
{
	for (; *words; words++)
		if (json_str_is(key, *words))
			return true;
	return false;
}

/* A schema in the words that all servers take. llama.cpp makes a grammar of every constraint and fails on some, Mistral and
 * Gemini refuse others. The tools check their input themselves. */
static void add_schema(struct buf *out, const struct json *schema, bool root)
{
	static const char *const dropped[] = {
		"$schema",          "$id",       "$comment",      "pattern",       "format",
		"minLength",        "maxLength", "minimum",       "maximum",       "exclusiveMinimum",
		"exclusiveMaximum", "minItems",  "maxItems",      "propertyNames", "multipleOf",
		"uniqueItems",      "default",   "minProperties", "maxProperties", NULL
	};
	static const char *const not_at_root[] = { "anyOf", "oneOf", "allOf", "enum", "not", "type", NULL };
	static const char *const maps[] = { "properties", "$defs", "definitions", NULL };
	static const char *const inner[] = { "items", "not", "additionalProperties", NULL };
	static const char *const lists[] = { "anyOf", "oneOf", "allOf", "prefixItems", NULL };
	const char *before = "";

	buf_addch(out, '{');
	if (root) {
		buf_addstr(out, "\"type\":\"object\"");
		if (!json_get(schema, "properties"))
			buf_addstr(out, ",\"properties\":{}");
		before = ",";
	}
	for (struct json_member m = json_members(schema); m.key; m = json_member_next(schema, m)) {
		bool closed = json_str_is(m.key, "additionalProperties") && !json_is(m.value, JSON_OBJECT);
		if (is_any(m.key, dropped) || closed || (root && is_any(m.key, not_at_root)))
			continue;
		struct str key = json_raw(m.key), value = json_raw(m.value);
		bool is_const = json_str_is(m.key, "const");
		buf_addf(out, "%s" STR_FMT ":", before, STR_ARG(is_const ? STR("\"enum\"") : key));
		before = ",";
		if (is_const) {
			buf_addf(out, "[" STR_FMT "]", STR_ARG(value));
		} else if (is_any(m.key, inner) && json_is(m.value, JSON_OBJECT)) {
			add_schema(out, m.value, false);
		} else if (is_any(m.key, lists) && json_is(m.value, JSON_ARRAY)) {
			for (const struct json *v = json_first(m.value); v; v = json_next(m.value, v)) {
				buf_addch(out, v == json_first(m.value) ? '[' : ',');
				add_schema(out, v, false);
			}
			buf_addstr(out, json_first(m.value) ? "]" : "[]");
		} else if (is_any(m.key, maps) && json_is(m.value, JSON_OBJECT)) {
			const char *comma = "{";
			for (struct json_member p = json_members(m.value); p.key; p = json_member_next(m.value, p)) {
				struct str name = json_raw(p.key);
				buf_addf(out, "%s" STR_FMT ":", comma, STR_ARG(name));
				add_schema(out, p.value, false);
				comma = ",";
			}
			buf_addstr(out, comma[0] == '{' ? "{}" : "}");
		} else {
			buf_add(out, value.p, value.n);
		}
	}
	buf_addch(out, '}');
}

/* A tool that runs at the server of another API has no schema: it cannot be offered here. */
static bool add_tool(struct translation *out, struct chat_head *facts, const struct json *tool, bool first)
{
	AUTO_BUF struct buf lowered = { 0 };
	const struct json *schema = json_get(tool, "input_schema");
	struct str own = raw(json_get(tool, "name"));
	struct str sent = chat_name(&out->arena, own);

	if (!schema)
		return false;
	if (sent.p != own.p) {
		struct chat_name *name = arena_alloc(&out->arena, sizeof *name);
		*name = (struct chat_name){ sent, arena_str(&out->arena, own), facts->names };
		facts->names = name;
	}
	openai_head_add(out, first ? "\"tools\":[" : ",");
	openai_head_add(out, "{\"type\":\"function\",\"function\":{\"name\":\"");
	translation_add(out, sent);
	add_member(out, "\",\"description\":", json_get(tool, "description"));
	if (!json_get(tool, "description"))
		openai_head_add(out, "\"");
	openai_head_add(out, ",\"parameters\":");
	add_schema(&lowered, schema, true);
	translation_add(out, arena_str(&out->arena, buf_str(&lowered)));
	openai_head_add(out, "}}");
	return true;
}

static void add_system(struct translation *out, const struct json *system)
{
	out->state = CHAT_FIRST;
	for (const struct json *b = json_first(system); b; b = json_next(system, b)) {
		const struct json *text = json_get(b, "text");
		if (!json_is(text, JSON_STRING))
			continue;
		openai_head_add(out, out->state == CHAT_FIRST ? "{\"role\":\"system\",\"content\":\"" : "\\n\\n");
		translation_add(out, (struct str){ text->text, text->len });
		out->state = CHAT_CLOSED;
	}
	if (out->state == CHAT_CLOSED)
		openai_head_add(out, "\"}");
}

static struct translation *translate(struct str bytes)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct translation *out = translation_new();
	const struct json *root = head_parse(&reader, &out->arena, bytes);
	struct chat_head *facts = arena_calloc(&out->arena, sizeof *facts);

	facts->model = json_str(json_get(root, "model"), &out->arena);
	/* The Messages API has two levels above "high" that other servers do not know. */
	struct str effort = json_str(json_get(json_get(root, "output_config"), "effort"), &out->arena);
	facts->effort = str_is(effort, "max") || str_is(effort, "xhigh") ? STR("high") : effort;
	(void)json_i64(json_get(root, "max_tokens"), &facts->max_tokens);
	out->facts = facts;
	add_member(out, "{\"model\":", json_get(root, "model"));
	openai_head_add(out, ",");
	const struct json *tools = json_get(root, "tools");
	bool any = false;
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t))
		any = add_tool(out, facts, t, !any) || any;
	if (any)
		openai_head_add(out, "],");
	facts->has_tools = any;
	openai_head_add(out, "\"messages\":[");
	add_system(out, json_get(root, "system"));
	return out;
}

const struct chat_head *chat_head(struct head *h)
{
	if (!h->translation)
		h->translation = translate(h->bytes);
	return h->translation->facts;
}

/* ---- pieces of calls find their call, calls get ids that are theirs alone ---------------------------------------- */

enum { MADE_DIGITS = 24, MOST_CALLS = 1024 };

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

/* Also matches a text that quotes the id, which only costs a new id. */
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

	/* The pattern of the Messages API: a session may go there later. */
	for (size_t i = 0; i < id.n; i++)
		if (!char_in(id.p[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"))
			return false;
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
