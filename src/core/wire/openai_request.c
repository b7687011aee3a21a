/* SPDX-License-Identifier: MIT
 * openai_request.c - translates a request to chat completions. The text of a head ends inside the list of messages, that
 * of the tail after the last member. JSON strings are passed on raw, with their escapes; only arguments of calls are
 * rewritten, because they become JSON inside a string.
 *
 * An answer's blocks become one message: first its texts, then its calls. Results precede all other blocks of a user's
 * message, and their images follow the last one in a user message, because role tool has only text. */
#include "core/wire/openai_request.h"
#include "lib/json/json_write.h"

/* The open element at the end of a part */
enum chat_state {
	CHAT_FIRST,  /* none, and no message was written */
	CHAT_CLOSED, /* nothing */
	CHAT_USER,   /* the string of a user's message */
	CHAT_PARTS,  /* the list of parts of a user's message */
	CHAT_TEXT,   /* the string of the assistant's message */
	CHAT_CALLS,  /* its list of calls */
	CHAT_RESULT, /* nothing, and the last message is a tool's */
	CHAT_STATES
};

/* Pieces that are compared by address: chat_body replaces or drops the text between or after them. */
static const char chat_between[] = "{\"role\":\"assistant\",\"content\":\"Done.\"},";
static const char chat_call_open[] = "{\"id\":\"";
static const char chat_result_open[] = "{\"role\":\"tool\",\"tool_call_id\":\"";
static const char chat_image_open[] = "{\"type\":\"image_url\",\"image_url\":{\"url\":\"";
static const char chat_image_close[] = "\"}}";
static const char chat_thought_open[] = "\"reasoning_content\":\"";
static const char chat_thought_close[] = "\",";

/* Consecutive blocks of one role, being translated */
struct chat_writer {
	struct translation *out;
	enum chat_state state;
	struct json_reader reader;
	struct translation *images; /* parts that wait for the last result; NULL: none */
	size_t image_count;
};

static void add_constant(struct translation *out, const char *constant)
{
	translation_add(out, str_from(constant));
}

/* The raw content of a JSON string; empty for anything else. */
static struct str raw_text(const struct json *v)
{
	return json_is(v, JSON_STRING) ? (struct str){ v->text, v->len } : STR("");
}

static void close_message(struct chat_writer *w)
{
	static const char *const closings[CHAT_STATES] = {
		[CHAT_FIRST] = "",   [CHAT_CLOSED] = "",  [CHAT_USER] = "\"}", [CHAT_PARTS] = "]}",
		[CHAT_TEXT] = "\"}", [CHAT_CALLS] = "]}", [CHAT_RESULT] = "",
	};

	add_constant(w->out, closings[w->state]);
	if (w->state != CHAT_FIRST)
		w->state = CHAT_CLOSED;
}

static void open_message(struct chat_writer *w, const char *beginning, enum chat_state state)
{
	bool user_behind_tool = w->state == CHAT_RESULT && (state == CHAT_USER || state == CHAT_PARTS);

	close_message(w);
	if (w->state != CHAT_FIRST)
		add_constant(w->out, ",");
	if (user_behind_tool)
		translation_add_optional(w->out, str_from(chat_between));
	add_constant(w->out, beginning);
	w->state = state;
}

/* ---- the user's side ------------------------------------------------------------------------------------------- */

static void open_part(struct chat_writer *w)
{
	if (w->state == CHAT_PARTS)
		add_constant(w->out, ",");
	else
		open_message(w, "{\"role\":\"user\",\"content\":[", CHAT_PARTS);
}

static void add_user_text(struct chat_writer *w, struct str text, bool parts)
{
	bool is_open = w->state == CHAT_USER;

	if (w->state == CHAT_PARTS || (parts && !is_open)) {
		open_part(w);
		add_constant(w->out, "{\"type\":\"text\",\"text\":\"");
		translation_add(w->out, text);
		add_constant(w->out, "\"}");
		return;
	}
	if (is_open)
		add_constant(w->out, "\\n\\n");
	else
		open_message(w, "{\"role\":\"user\",\"content\":\"", CHAT_USER);
	translation_add(w->out, text);
}

static bool is_image(const struct json *block)
{
	const struct json *source = json_get(block, "source");

	return json_str_is(json_get(block, "type"), "image") && (json_get(source, "data") || json_get(source, "url"));
}

static void add_image(struct translation *out, const struct json *block)
{
	const struct json *source = json_get(block, "source");

	translation_add(out, str_from(chat_image_open));
	if (json_get(source, "data")) {
		translation_add(out, STR("data:"));
		translation_add(out, raw_text(json_get(source, "media_type")));
		translation_add(out, STR(";base64,"));
		translation_add(out, raw_text(json_get(source, "data")));
	} else {
		translation_add(out, raw_text(json_get(source, "url")));
	}
	translation_add(out, str_from(chat_image_close));
}

/* A block without an equivalent: its text, otherwise a line that names what is missing. */
static struct str block_description(struct chat_writer *w, const struct json *block)
{
	const struct json *source = json_get(block, "source");

	if (json_str_is(json_get(source, "type"), "text"))
		return raw_text(json_get(source, "data"));
	struct str type = raw_text(json_get(block, "type"));
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
		add_user_text(w, raw_text(json_get(block, "text")), parts);
	} else if (is_image(block)) {
		open_part(w);
		add_image(w->out, block);
	} else {
		add_user_text(w, block_description(w, block), parts);
	}
}

static void add_id(struct chat_writer *w, struct str id)
{
	if (id.n > CHAT_LONGEST_ID)
		id = str_from(arena_printf(&w->out->arena, "call_%016llx", (unsigned long long)str_hash(id)));
	translation_add(w->out, id);
}

/* The API accepts up to 64 letters, digits, '_' and '-'. Other names are cut and get a hash as suffix. */
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

static void add_result(struct chat_writer *w, const struct block *b)
{
	const struct json *block, *content;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	content = json_get(block, "content");
	open_message(w, chat_result_open, CHAT_RESULT);
	add_id(w, raw_text(json_get(block, "tool_use_id")));
	add_constant(w->out, "\",\"content\":\"");
	if (json_bool(json_get(block, "is_error")))
		add_constant(w->out, "Error: ");
	if (json_is(content, JSON_ARRAY)) {
		for (const struct json *part = json_first(content); part; part = json_next(content, part)) {
			if (part != json_first(content))
				add_constant(w->out, "\\n");
			if (json_str_is(json_get(part, "type"), "text")) {
				translation_add(w->out, raw_text(json_get(part, "text")));
			} else if (is_image(part)) {
				if (!w->images)
					w->images = xcalloc(1, sizeof(struct translation));
				if (w->image_count++)
					translation_add(w->images, STR(","));
				add_image(w->images, part);
				add_constant(w->out, "[The image is in the next message of the user.]");
			} else {
				translation_add(w->out, block_description(w, part));
			}
		}
	} else {
		translation_add(w->out, raw_text(content));
	}
	add_constant(w->out, "\"}");
}

/* ---- the assistant's side -------------------------------------------------------------------------------------- */

/* Servers that want the reasoning back want the member in every answer, also an empty one. */
static void open_answer(struct chat_writer *w, struct str thought, enum chat_state state)
{
	open_message(w, "{\"role\":\"assistant\",", state);
	translation_add_optional(w->out, str_from(chat_thought_open));
	translation_add_optional(w->out, thought);
	translation_add_optional(w->out, str_from(chat_thought_close));
}

static void add_call(struct chat_writer *w, const struct block *b, struct str thought)
{
	AUTO_BUF struct buf arguments = { 0 };
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	json_add_quoted(&arguments, json_raw(json_get(block, "input")));
	if (w->state == CHAT_CALLS) {
		add_constant(w->out, ",");
	} else if (w->state == CHAT_TEXT) {
		add_constant(w->out, "\",\"tool_calls\":[");
		w->state = CHAT_CALLS;
	} else {
		open_answer(w, thought, CHAT_CALLS);
		add_constant(w->out, "\"content\":null,\"tool_calls\":[");
	}
	add_constant(w->out, chat_call_open);
	add_id(w, raw_text(json_get(block, "id")));
	add_constant(w->out, "\",\"type\":\"function\",\"function\":{\"name\":\"");
	translation_add(w->out, chat_name(&w->out->arena, raw_text(json_get(block, "name"))));
	add_constant(w->out, "\",\"arguments\":");
	translation_add(w->out, arena_str(&w->out->arena, buf_str(&arguments)));
	add_constant(w->out, "}}");
}

/* Signed thinking and blocks of server tools are dropped. */
static void add_answer(struct chat_writer *w, const struct transcript *t, uint32_t from, uint32_t to)
{
	struct str thought = STR("");

	for (uint32_t i = from; i < to && !thought.n; i++) {
		struct str json = transcript_block(t, i).thought;
		const struct json *block;
		if (json.n && json_parse(&w->reader, json.p, json.n, &block, NULL) == 0)
			thought = raw_text(json_get(block, "thinking"));
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(t, i);
		const struct json *block;
		if (b.kind != SEGMENT_TEXT || w->state == CHAT_CALLS ||
		    json_parse(&w->reader, b.json.p, b.json.n, &block, NULL) < 0)
			continue;
		if (w->state == CHAT_TEXT) {
			add_constant(w->out, "\\n\\n");
		} else {
			open_answer(w, thought, CHAT_TEXT);
			add_constant(w->out, "\"content\":\"");
		}
		translation_add(w->out, raw_text(json_get(block, "text")));
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
		open_part(w);
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

/* ---- model, tools and system prompt of a request, out of a head of the Messages API ------------------------------ */

static bool key_is_any(const struct json *key, const char *const *words)
{
	for (; *words; words++)
		if (json_str_is(key, *words))
			return true;
	return false;
}

/* Writes the part of a schema that all servers accept. llama.cpp makes a grammar of every constraint and fails on some,
 * Mistral and Gemini reject others. The tools check their input themselves. */
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
		if (key_is_any(m.key, dropped) || closed || (root && key_is_any(m.key, not_at_root)))
			continue;
		struct str key = json_raw(m.key), value = json_raw(m.value);
		bool is_const = json_str_is(m.key, "const");
		buf_addf(out, "%s" STR_FMT ":", before, STR_ARG(is_const ? STR("\"enum\"") : key));
		before = ",";
		if (is_const) {
			buf_addf(out, "[" STR_FMT "]", STR_ARG(value));
		} else if (key_is_any(m.key, inner) && json_is(m.value, JSON_OBJECT)) {
			add_schema(out, m.value, false);
		} else if (key_is_any(m.key, lists) && json_is(m.value, JSON_ARRAY)) {
			for (const struct json *v = json_first(m.value); v; v = json_next(m.value, v)) {
				buf_addch(out, v == json_first(m.value) ? '[' : ',');
				add_schema(out, v, false);
			}
			buf_addstr(out, json_first(m.value) ? "]" : "[]");
		} else if (key_is_any(m.key, maps) && json_is(m.value, JSON_OBJECT)) {
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

/* Returns false for a tool without a schema: it runs at the server of another API. */
static bool add_tool(struct translation *out, struct chat_head *facts, const struct json *tool, bool first)
{
	AUTO_BUF struct buf lowered = { 0 };
	const struct json *schema = json_get(tool, "input_schema");
	struct str own = raw_text(json_get(tool, "name"));
	struct str sent = chat_name(&out->arena, own);

	if (!schema)
		return false;
	if (sent.p != own.p) {
		struct chat_name *name = arena_alloc(&out->arena, sizeof *name);
		*name = (struct chat_name){ sent, arena_str(&out->arena, own), facts->names };
		facts->names = name;
	}
	add_constant(out, first ? "\"tools\":[" : ",");
	add_constant(out, "{\"type\":\"function\",\"function\":{\"name\":\"");
	translation_add(out, sent);
	add_constant(out, "\"");
	if (json_get(tool, "description")) {
		add_constant(out, ",\"description\":");
		translation_add(out, json_raw(json_get(tool, "description")));
	}
	add_constant(out, ",\"parameters\":");
	add_schema(&lowered, schema, true);
	translation_add(out, arena_str(&out->arena, buf_str(&lowered)));
	add_constant(out, "}}");
	return true;
}

const struct chat_head *chat_head(struct head *h)
{
	if (h->translation)
		return h->translation->facts;
	AUTO_JSON struct json_reader reader = { 0 };
	struct translation *out = xcalloc(1, sizeof(struct translation));
	const struct json *root = head_parse(&reader, &out->arena, h->bytes);
	struct chat_head *facts = arena_calloc(&out->arena, sizeof *facts);

	facts->model = json_str(json_get(root, "model"), &out->arena);
	/* The Messages API has two levels above "high" that other servers do not know. */
	struct str effort = json_str(json_get(json_get(root, "output_config"), "effort"), &out->arena);
	facts->effort = str_is(effort, "max") || str_is(effort, "xhigh") ? STR("high") : effort;
	(void)json_i64(json_get(root, "max_tokens"), &facts->max_tokens);
	out->facts = facts;
	add_constant(out, "{\"model\":");
	translation_add(out, json_raw(json_get(root, "model")));
	add_constant(out, ",");
	const struct json *tools = json_get(root, "tools");
	bool any = false;
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t))
		any = add_tool(out, facts, t, !any) || any;
	if (any)
		add_constant(out, "],");
	facts->has_tools = any;
	add_constant(out, "\"messages\":[");
	const struct json *system = json_get(root, "system");
	out->state = CHAT_FIRST;
	for (const struct json *b = json_first(system); b; b = json_next(system, b)) {
		const struct json *text = json_get(b, "text");
		if (!json_is(text, JSON_STRING))
			continue;
		add_constant(out, out->state == CHAT_FIRST ? "{\"role\":\"system\",\"content\":\"" : "\\n\\n");
		translation_add(out, (struct str){ text->text, text->len });
		out->state = CHAT_CLOSED;
	}
	if (out->state == CHAT_CLOSED)
		add_constant(out, "\"}");
	h->translation = out;
	return facts;
}

/* ---- the body ------------------------------------------------------------------------------------------------- */

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

static uint64_t part_size(struct chat_body *b, const struct translation *part)
{
	const unsigned rewriting = CHAT_NO_IMAGES | CHAT_ANSWER_BETWEEN | CHAT_SHORT_IDS | CHAT_ECHO;
	uint64_t size = 0;

	if (!(b->quirks & rewriting))
		return part->size - part->optional;
	for (size_t i = 0, count; i < part->count; i += count)
		size += piece_at(b, part, i, &count).n;
	return size;
}

/* Translates the blocks up to `to`. Returns owned. */
static struct translation *translate_blocks(const struct transcript *t, uint32_t from, uint32_t to,
					    enum chat_state state, struct str reminder, bool is_last)
{
	struct chat_writer w = { .out = xcalloc(1, sizeof(struct translation)), .state = state };

	for (uint32_t i = from, end; i < to; i = end) {
		enum role role = transcript_block(t, i).role;
		end = i + 1;
		while (end < to && transcript_block(t, end).role == role)
			end++;
		if (role == ROLE_USER)
			add_users(&w, t, i, end);
		else
			add_answer(&w, t, i, end);
	}
	if (reminder.n) { /* with its comma, see body.h */
		struct block b = { { reminder.p + 1, reminder.n - 1 }, ROLE_USER, SEGMENT_TEXT, false, STR("") };
		add_user(&w, &b, false);
	}
	if (is_last)
		close_message(&w);
	w.out->state = (int)w.state;
	json_reader_release(&w.reader);
	return w.out;
}

void chat_body_init(struct chat_body *b, const struct body *body, const struct chat_model *model)
{
	const struct transcript *t = body->transcript;
	const struct chat_head *head = chat_head(body->head);
	enum chat_state state = (enum chat_state)body->head->translation->state;

	*b = (struct chat_body){ .body = body, .quirks = model->quirks, .size = body->head->translation->size };
	for (uint32_t i = 0; i < t->packed_chunk_count; i++) {
		struct packed_chunk *s = t->packed_chunks[i];
		if (!s->translation)
			s->translation = translate_blocks(t, s->before, s->before + s->count, state, STR(""), false);
		state = (enum chat_state)s->translation->state;
		b->size += part_size(b, s->translation);
	}
	b->tail = translate_blocks(t, transcript_packed_count(t), body->count, state, body->reminder, true);
	add_ending(b->tail, head, model);
	b->size += part_size(b, b->tail);
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

size_t chat_body_read(struct chat_body *b, char *out, size_t room)
{
	const struct transcript *t = b->body->transcript;
	size_t done = 0, count;

	while (done < room && b->part <= t->packed_chunk_count + 1) {
		const struct translation *part = !b->part ? b->body->head->translation
						 : b->part <= t->packed_chunk_count
							 ? t->packed_chunks[b->part - 1]->translation
							 : b->tail;
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
