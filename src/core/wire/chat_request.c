/* SPDX-License-Identifier: MIT
 * chat_request.c - translates a request to chat completions. The text of a head ends inside the list of messages, that
 * of the tail after the last member. Only arguments of calls are rewritten, because they become JSON inside a string.
 *
 * An answer's blocks become one message: first its texts, then its calls. Results precede all other blocks of a user's
 * message, and their images follow the last one in a user message, because role tool has only text. */
#include "core/wire/wire.h"
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

/* Pieces that are compared by address: chat_piece() replaces or drops the text between or after them. */
static const char chat_between[] = "{\"role\":\"assistant\",\"content\":\"Done.\"},";
static const char chat_call_open[] = "{\"id\":\"";
static const char chat_user_open[] = "{\"role\":\"user\",\"content\":\"", chat_user_close[] = "\"}";
static const char chat_parts_open[] = "{\"role\":\"user\",\"content\":[", chat_parts_close[] = "]}";
static const char chat_part_open[] = "{\"type\":\"text\",\"text\":\"", chat_part_close[] = "\"}";
static const char chat_answer_open[] = "{\"role\":\"assistant\",";
static const char chat_system_open[] = "{\"role\":\"system\",\"content\":\"", chat_system_close[] = "\"}";
static const char chat_result_close[] = "\"}";
static const char chat_result_open[] = "{\"role\":\"tool\",\"tool_call_id\":\"";
static const char chat_image_open[] = "{\"type\":\"image_url\",\"image_url\":{\"url\":\"";
static const char chat_image_close[] = "\"}}";
/* Between the two, if the answer has reasoning: its origin, the member that it came in, and its text */
static const char chat_thought_open[] = "\1", chat_thought_close[] = "\",";
enum { THOUGHT_PIECES = 5 };
static const char chat_text_open[] = "\"content\":\"", chat_text_close[] = "\"}";
static const char chat_text_calls[] = "\",\"tool_calls\":[";
static const char chat_only_calls[] = "\"content\":null,\"tool_calls\":[";
/* Gemini accepts this where the signature is lost, or the call is one of another model. */
static const char chat_no_signature[] =
	",\"extra_content\":{\"google\":{\"thought_signature\":\"skip_thought_signature_validator\"}}";

static void close_message(struct wire_writer *w)
{
	static const char *const closings[CHAT_STATES] = {
		[CHAT_FIRST] = "",
		[CHAT_CLOSED] = "",
		[CHAT_USER] = chat_user_close,
		[CHAT_PARTS] = chat_parts_close,
		[CHAT_TEXT] = chat_text_close,
		[CHAT_CALLS] = "]}",
		[CHAT_RESULT] = "",
	};

	wire_put(w, closings[w->state]);
	if (w->state != CHAT_FIRST)
		w->state = CHAT_CLOSED;
}

static void open_message(struct wire_writer *w, const char *beginning, int state)
{
	bool user_behind_tool = w->state == CHAT_RESULT && (state == CHAT_USER || state == CHAT_PARTS);

	close_message(w);
	if (w->state != CHAT_FIRST)
		wire_put(w, ",");
	if (user_behind_tool)
		translation_add_optional(w->out, str_from(chat_between));
	wire_put(w, beginning);
	w->state = state;
}

static void open_part(struct wire_writer *w)
{
	if (w->state == CHAT_PARTS)
		wire_put(w, wire_part_comma);
	else
		open_message(w, chat_parts_open, CHAT_PARTS);
}

static void add_user_text(struct wire_writer *w, struct str text, bool parts)
{
	bool is_open = w->state == CHAT_USER;

	if (w->state == CHAT_PARTS || (parts && !is_open)) {
		open_part(w);
		wire_put_text(w, chat_part_open, text, chat_part_close);
		return;
	}
	if (is_open)
		wire_put(w, "\\n\\n");
	else
		open_message(w, chat_user_open, CHAT_USER);
	translation_add(w->out, text);
}

static void put_image(struct translation *out, const struct json *block)
{
	translation_add(out, str_from(chat_image_open));
	wire_put_source(out, block);
	translation_add(out, str_from(chat_image_close));
}

static void add_user(struct wire_writer *w, const struct block *b, bool parts)
{
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	if (b->kind == SEGMENT_TEXT) {
		add_user_text(w, wire_raw(json_get(block, "text")), parts);
	} else if (wire_is_image(block)) {
		open_part(w);
		put_image(w->out, block);
	} else {
		add_user_text(w, wire_description(w, block), parts);
	}
}

static void add_result(struct wire_writer *w, const struct block *b)
{
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	open_message(w, chat_result_open, CHAT_RESULT);
	wire_put_id(w, wire_raw(json_get(block, "tool_use_id")));
	wire_put(w, "\",\"content\":\"");
	if (json_bool(json_get(block, "is_error")))
		wire_put(w, "Error: ");
	wire_put_result(w, json_get(block, "content"), "[The image is in the next message of the user.]");
	wire_put(w, chat_result_close);
}

/* What an answer thought, by the members of its seals: {"field": of the text}, and a list that goes back as it came. All have one origin. */
struct chat_thoughts {
	struct str field, text, details, origin;
	const char *name; /* of the list */
	bool called;      /* a call was written */
};

/* A member of the object that a seal of this API has; empty: none. *at: see wire_next_seal(). */
static struct str sealed_member(struct wire_writer *w, struct str thought, const char *key, size_t *at,
				struct wire_seal *ret_seal)
{
	AUTO_JSON struct json_reader reader = { 0 };

	while (wire_next_seal(w, thought, at, ret_seal)) {
		const struct json *root = NULL;
		if (json_parse(&reader, ret_seal->rest.p, ret_seal->rest.n, &root, NULL) == 0 && json_get(root, key))
			return json_raw(json_get(root, key));
	}
	return STR("");
}

static void open_answer(struct wire_writer *w, const struct chat_thoughts *answer, enum chat_state state)
{
	open_message(w, chat_answer_open, state);
	if (answer->details.n)
		wire_put_sealed(w, answer->origin, answer->name, answer->details, ",");
	translation_add_optional(w->out, str_from(chat_thought_open));
	if (answer->text.n) {
		translation_add_optional(w->out, answer->origin);
		translation_add_optional(w->out, answer->field);
		translation_add_optional(w->out, answer->text);
	}
	translation_add_optional(w->out, str_from(chat_thought_close));
}

static void add_call(struct wire_writer *w, const struct block *b, struct chat_thoughts *answer)
{
	struct wire_seal seal;
	size_t at = 0;
	struct str extra = sealed_member(w, b->thought, "extra_content", &at, &seal);
	AUTO_BUF struct buf arguments = { 0 };
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	json_add_quoted(&arguments, json_raw(json_get(block, "input")));
	if (w->state == CHAT_CALLS) {
		wire_put(w, ",");
	} else if (w->state == CHAT_TEXT) {
		wire_put(w, chat_text_calls);
		w->state = CHAT_CALLS;
	} else {
		open_answer(w, answer, CHAT_CALLS);
		wire_put(w, chat_only_calls);
	}
	wire_put(w, chat_call_open);
	wire_put_id(w, wire_raw(json_get(block, "id")));
	wire_put_text(w, "\",\"type\":\"function\",\"function\":{\"name\":\"",
		      wire_name(&w->out->arena, wire_raw(json_get(block, "name"))), "");
	wire_put_text(w, "\",\"arguments\":", arena_str(&w->out->arena, buf_str(&arguments)), "}");
	if (extra.n)
		wire_put_sealed(w, seal.origin, ",\"extra_content\":", extra, "");
	if (!answer->called)
		translation_add_optional(w->out, str_from(chat_no_signature));
	answer->called = true;
	wire_put(w, "}");
}

/* Thinking of other APIs and blocks of server tools are dropped. */
static void add_answer(struct wire_writer *w, uint32_t from, uint32_t to)
{
	static const struct {
		const char *key, *member;
	} lists[] = { { "reasoning_details", "\"reasoning_details\":" },
		      { "thinking_blocks", "\"thinking_blocks\":" } };
	struct chat_thoughts answer = { .called = w->state == CHAT_CALLS };
	AUTO_BUF struct buf text = { 0 };

	for (uint32_t i = from; i < to; i++) {
		struct str thought = transcript_block(w->t, i).thought, field;
		struct wire_seal seal;
		size_t at = 0;
		while ((field = sealed_member(w, thought, "field", &at, &seal)).n > 2) { /* with its quotes */
			buf_append(&text, seal.thinking);
			answer.field = arena_str(&w->out->arena, field);
			answer.origin = seal.origin;
		}
		for (size_t k = 0; k < COUNT_OF(lists) && !answer.details.n; k++) {
			at = 0;
			answer.details = sealed_member(w, thought, lists[k].key, &at, &seal);
			answer.name = lists[k].member;
			answer.origin = answer.details.n ? seal.origin : answer.origin;
		}
	}
	answer.text = arena_str(&w->out->arena, buf_str(&text));
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		const struct json *block;
		if (b.kind != SEGMENT_TEXT || w->state == CHAT_CALLS ||
		    json_parse(&w->reader, b.json.p, b.json.n, &block, NULL) < 0)
			continue;
		if (w->state == CHAT_TEXT) {
			wire_put(w, "\\n\\n");
		} else {
			open_answer(w, &answer, CHAT_TEXT);
			wire_put(w, chat_text_open);
		}
		translation_add(w->out, wire_raw(json_get(block, "text")));
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		if (b.kind == SEGMENT_TOOL_USE)
			add_call(w, &b, &answer);
	}
}

/* Results come first, then their images, then everything else. */
static void add_users(struct wire_writer *w, uint32_t from, uint32_t to)
{
	bool parts = false;

	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		if (b.kind == SEGMENT_TOOL_RESULT)
			add_result(w, &b);
		parts = parts || b.kind == SEGMENT_OTHER;
	}
	if (w->images) {
		open_part(w);
		wire_put_images(w);
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		if (b.kind != SEGMENT_TOOL_RESULT)
			add_user(w, &b, parts);
	}
}

static void chat_run(struct wire_writer *w, uint32_t from, uint32_t to, enum role role)
{
	if (role == ROLE_USER)
		add_users(w, from, to);
	else
		add_answer(w, from, to);
}

/* Model, tools and system prompt of a request, out of a head of the Messages API. */

static void chat_write_head(struct wire_writer *w, struct wire_head *facts, const struct json *root)
{
	static const struct wire_tool_form tools = {
		",\"tools\":[",        "{\"type\":\"function\",\"function\":{\"name\":\"",
		"\",\"description\":", "\"",
		",\"parameters\":",    "}}"
	};

	wire_put_text(w, "{\"model\":", json_raw(json_get(root, "model")), "");
	wire_put_tools(w, facts, root, &tools);
	wire_put(w, facts->has_tools ? "],\"messages\":[" : ",\"messages\":[");
	bool any = wire_put_system(w, root, chat_system_open, "\\n\\n", chat_system_close);
	w->state = any ? CHAT_CLOSED : CHAT_FIRST;
}

static void chat_ending(struct buf *out, const struct wire_head *head, const struct wire_model *model)
{
	unsigned quirks = model->quirks;
	int64_t limit = model->limit ? MIN(model->limit, head->max_tokens) : head->max_tokens;

	buf_addstr(out, quirks & WIRE_NO_STREAM ? "]" : "],\"stream\":true");
	if (!(quirks & (CHAT_NO_STREAM_OPTIONS | WIRE_NO_STREAM)))
		buf_addstr(out, ",\"stream_options\":{\"include_usage\":true}");
	if (!(quirks & CHAT_NO_LIMIT))
		buf_addf(out, ",\"%s\":%lld", quirks & CHAT_COMPLETION_TOKENS ? "max_completion_tokens" : "max_tokens",
			 (long long)limit);
	if (!head->has_tools && quirks & CHAT_EMPTY_TOOLS)
		buf_addstr(out, ",\"tools\":[]");
	if (head->has_tools && !(quirks & CHAT_NO_PARALLEL_CALLS))
		buf_addstr(out, ",\"parallel_tool_calls\":true");
	struct str effort = quirks & CHAT_EFFORT_NONE ? STR("none") : wire_effort(&form_chat, head, quirks);
	if (effort.n && !(quirks & CHAT_NO_EFFORT)) {
		buf_addstr(out, ",\"reasoning_effort\":");
		json_add_quoted(out, effort);
	}
	if (quirks & CHAT_KEEP_THINKING)
		buf_addstr(out, ",\"thinking\":{\"type\":\"enabled\",\"clear_thinking\":false}");
	if (quirks & CHAT_SESSION_KEY && model->session) {
		buf_addstr(out, ",\"prompt_cache_key\":");
		json_add_quoted(out, str_from(model->session));
	}
	buf_addch(out, '}');
}

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* Whether the message that begins there is the last one. The piece behind all of them is the ending. */
static bool is_last_message(const struct translation *part, size_t at)
{
	static const char *const openings[] = { chat_user_open, chat_parts_open, chat_answer_open, chat_result_open };

	while (++at < part->count)
		for (size_t i = 0; i < COUNT_OF(openings); i++)
			if (part->pieces[at].p == openings[i])
				return false;
	return true;
}

/* Marks where the prompt is cached: at the end of the system prompt and of the last message. A marked text is a part of a list. */
static struct str marked_piece(const struct wire_body *b, const struct translation *part, size_t at)
{
	struct str piece = part->pieces[at];
	bool ends = part == b->tail && at + 2 == part->count, opens = false;

	if (piece.p == chat_system_open)
		return STR("{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"");
	if (piece.p == chat_system_close)
		return STR("\"" MARK "}]}");
	if (ends && piece.p == chat_result_close)
		return STR("\"" MARK "}");
	if (part == b->tail && piece.p == chat_user_open && is_last_message(part, at))
		return STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
	for (size_t i = at; ends && piece.p == chat_user_close && !opens && i-- > 0;)
		opens = part->pieces[i].p == chat_user_open;
	return opens ? STR("\"" MARK "}]}") : piece;
}

/* Whether the reasoning whose pieces end there has a text, and the server gets it back. */
static bool thought_is_sent(const struct wire_body *b, const struct translation *part, size_t end)
{
	return end + 1 >= THOUGHT_PIECES && part->pieces[end].p == chat_thought_close &&
	       part->pieces[end - 1].p != chat_thought_open && str_eq(part->pieces[end - 3], b->origin);
}

/* The opening of the reasoning's member. Servers that want it want the member in every answer, also an empty one. */
static struct str thought_piece(const struct wire_body *b, const struct translation *part, size_t at, size_t *ret_count)
{
	bool empty = part->pieces[at + 1].p == chat_thought_close, plain = b->quirks & CHAT_ECHO_PLAIN;
	bool always = b->quirks & (CHAT_ECHO | CHAT_ECHO_PLAIN), parts = b->quirks & CHAT_ECHO_PARTS;
	struct str field = empty ? STR("") : part->pieces[at + 2];
	bool same = b->quirks & CHAT_ECHO_SAME && !str_is(field, "\"content\"");

	if (empty || !thought_is_sent(b, part, at + THOUGHT_PIECES - 1) || !(always || parts || same)) {
		*ret_count = empty ? 2 : THOUGHT_PIECES;
		return !always || parts ? STR("")
		       : plain          ? STR("\"reasoning\":\"\",")
					: STR("\"reasoning_content\":\"\",");
	}
	*ret_count = THOUGHT_PIECES - 2;
	if (parts)
		return STR("\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"");
	static const struct str openings[] = { { "\"reasoning_content\":\"", 21 },
					       { "\"reasoning\":\"", 13 },
					       { "\"reasoning_text\":\"", 18 },
					       { "\"thinking\":\"", 12 } };
	for (size_t i = 1; i < COUNT_OF(openings) && !always; i++)
		if (str_starts(openings[i], field))
			return openings[i];
	return openings[plain];
}

/* The content of every answer as a list of parts, its reasoning first. */
static struct str part_piece(const struct wire_body *b, const struct translation *part, size_t at, struct str piece)
{
	bool thought = at && thought_is_sent(b, part, at - 1);

	if (piece.p == chat_thought_close)
		return STR("\"}]}");
	if (piece.p == chat_text_open)
		return thought ? STR(",{\"type\":\"text\",\"text\":\"")
			       : STR("\"content\":[{\"type\":\"text\",\"text\":\"");
	if (piece.p == chat_text_close)
		return STR("\"}]}");
	if (piece.p == chat_text_calls)
		return STR("\"}],\"tool_calls\":[");
	return thought && piece.p == chat_only_calls ? STR("],\"tool_calls\":[") : piece;
}

/* Servers without images want a text for the content: without them all parts are texts. */
static struct str text_piece(struct str piece)
{
	const struct {
		const char *list, *text;
	} pieces[] = { { chat_parts_open, chat_user_open },
		       { chat_part_open, "" },
		       { wire_part_comma, "\\n\\n" },
		       { chat_part_close, "" },
		       { chat_parts_close, chat_user_close } };

	for (size_t i = 0; i < COUNT_OF(pieces); i++)
		if (piece.p == pieces[i].list)
			return str_from(pieces[i].text);
	return piece;
}

static struct str chat_piece(struct wire_body *b, const struct translation *part, size_t at, size_t *ret_count)
{
	struct str piece = b->quirks & CHAT_MARKS ? marked_piece(b, part, at) : part->pieces[at];

	if (piece.p == chat_between && !(b->quirks & CHAT_ANSWER_BETWEEN))
		return STR("");
	if (piece.p == chat_no_signature && (!(b->quirks & GEMINI_SIGNED) || wire_seal_is_sent(b, part, at - 1)))
		return STR("");
	if (piece.p == chat_thought_open)
		return thought_piece(b, part, at, ret_count);
	if (b->quirks & CHAT_ECHO_PARTS)
		piece = part_piece(b, part, at, piece);
	if (b->quirks & CHAT_NO_IMAGES)
		piece = text_piece(piece);
	if (b->quirks & CHAT_SHORT_IDS && at &&
	    (part->pieces[at - 1].p == chat_call_open || part->pieces[at - 1].p == chat_result_open)) {
		uint64_t hash = str_hash(piece);
		for (size_t i = 0; i < 9; i++, hash /= 36)
			b->short_id[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
		piece = (struct str){ b->short_id, 9 };
	}
	return piece;
}

const struct wire_form form_chat = {
	.name = "chat",
	.slot = TRANSLATION_CHAT,
	.highest_effort = "high",
	.head = chat_write_head,
	.run = chat_run,
	.user = add_user,
	.close = close_message,
	.is_media = wire_is_image,
	.put_media = put_image,
	.ending = chat_ending,
	.piece = chat_piece,
	.image_open = chat_image_open,
	.image_close = chat_image_close,
	.image_instead = "[An image was left out: this server takes none.]",
	.take = chat_take,
};
