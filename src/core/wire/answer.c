/* SPDX-License-Identifier: MIT
 * answer.c - assembles blocks from the events of the Messages API. */
#include "core/wire/answer.h"
#include <assert.h>
#include "lib/json/json_write.h"

/* A block is nested four levels deep in its line of the transcript. The limit leaves room below the reader's own of 512. */
enum { DEEPEST_BLOCK = 256 };

/* How each block type grows. The member that accumulates is written last, the others are kept as they came. */
static const struct growth {
	const char *type;
	enum answer_block kind;
	const char *member;
} growths[] = {
	{ "text", ANSWER_TEXT, "text" },           { "thinking", ANSWER_THINKING, "thinking" },
	{ "tool_use", ANSWER_INPUT, "input" },     { "server_tool_use", ANSWER_INPUT, "input" },
	{ "mcp_tool_use", ANSWER_INPUT, "input" },
};

static void protocol_error(struct answer *a, const char *what)
{
	if (!a->failure.kind && !a->stop_reason[0])
		failure_set(&a->failure, FAIL_GARBAGE, "the answer breaks the protocol: %s", what);
}

static struct str raw_text(const struct json *v)
{
	return json_is(v, JSON_STRING) ? (struct str){ v->text, v->len } : STR("");
}

static void copy_text(char *out, size_t size, const struct json *v, struct arena *scratch)
{
	struct str s = json_str(v, scratch);

	snprintf(out, size, STR_FMT, STR_ARG(s));
}

static void on_message_start(struct answer *a, const struct json *event)
{
	const struct json *message = json_get(event, "message");

	if (a->started) {
		/* Gateways send the first event twice. Another message is that of a gateway that asked again: what came
		 * before is not its beginning. */
		if (!json_str_is(json_get(message, "id"), a->message_id))
			protocol_error(a, "a second message_start");
		return;
	}
	a->started = true;
	copy_text(a->message_id, sizeof a->message_id, json_get(message, "id"), &a->scratch);
	copy_text(a->model, sizeof a->model, json_get(message, "model"), &a->scratch);
	usage_merge(&a->usage, json_get(message, "usage"));
	const struct json *changes = json_get(message, "input_transformations");
	for (const struct json *v = json_first(changes); v; v = json_next(changes, v)) {
		a->dropped += json_str_is(json_get(v, "type"), "thinking_dropped");
		copy_text(a->dropped_why, sizeof a->dropped_why, json_get(v, "reason"), &a->scratch);
	}
	if (!a->message_id[0])
		protocol_error(a, "message_start without an id");
}

static void add_piece(struct answer *a, const char *name, const struct json *piece)
{
	struct str raw = raw_text(piece);

	buf_add(&a->text, raw.p, raw.n);
	if (raw.n && a->sink->on_delta)
		a->sink->on_delta(a->data, name, json_str(piece, &a->scratch));
}

void answer_end(struct answer *a)
{
	if (a->held)
		a->sink->on_block(a->data, TAKE(a->held));
}

/* Of gateways: JSON in a text where an object is usual, or the other way round */
static struct str input_text(struct answer *a, const struct json *v)
{
	return json_is(v, JSON_STRING) ? json_str(v, &a->scratch) : v && v->count ? json_raw(v) : STR("");
}

void answer_turn_into_thinking(struct answer *a)
{
	assert(a->block == ANSWER_TEXT);
	a->block = ANSWER_THINKING;
	buf_clear(&a->bytes);
	buf_addstr(&a->bytes, "{\"type\":\"thinking\"");
}

static void on_block_start(struct answer *a, const struct json *event)
{
	const struct json *block = json_get(event, "content_block");
	const struct growth *g = NULL;

	for (size_t i = 0; i < COUNT_OF(growths) && !g; i++)
		if (json_str_is(json_get(block, "type"), growths[i].type))
			g = &growths[i];
	if (!a->started || a->block || !json_is(block, JSON_OBJECT)) {
		protocol_error(a, "a block starts where none may start");
		return;
	}
	answer_end(a);
	buf_clear(&a->bytes);
	buf_clear(&a->text);
	buf_clear(&a->signature);
	buf_clear(&a->citations);
	a->block = g ? g->kind : ANSWER_WHOLE;
	if (!g) {
		struct str raw = json_raw(block);
		buf_add(&a->bytes, raw.p, raw.n);
		return;
	}
	for (struct json_member m = json_members(block); m.key; m = json_member_next(block, m)) {
		bool grows = json_str_is(m.key, g->member) ||
			     (json_str_is(m.key, "signature") && g->kind == ANSWER_THINKING) ||
			     (json_str_is(m.key, "citations") && g->kind == ANSWER_TEXT);
		if (grows)
			continue;
		buf_addch(&a->bytes, a->bytes.n ? ',' : '{');
		struct str key = json_raw(m.key), value = json_raw(m.value);
		buf_addf(&a->bytes, STR_FMT ":" STR_FMT, STR_ARG(key), STR_ARG(value));
	}
	/* Some servers put the beginning, or all of it, into the start event. */
	const struct json *initial = json_get(block, g->member);
	const struct json *citations = json_get(block, "citations");
	if (g->kind != ANSWER_INPUT) {
		add_piece(a, g->member, initial);
	} else if (json_is(initial, JSON_STRING) || (initial && initial->count)) {
		buf_append(&a->text, input_text(a, initial));
	}
	if (g->kind == ANSWER_THINKING) {
		struct str raw = raw_text(json_get(block, "signature"));
		buf_add(&a->signature, raw.p, raw.n);
	}
	if (g->kind == ANSWER_TEXT && json_is(citations, JSON_ARRAY) && citations->count)
		buf_add(&a->citations, citations->text + 1, citations->len - 2);
}

static void on_block_delta(struct answer *a, const struct json *event)
{
	const struct json *delta = json_get(event, "delta");
	const struct json *type = json_get(delta, "type");

	if (json_str_is(type, "text_delta") && a->block == ANSWER_TEXT) {
		add_piece(a, "text", json_get(delta, "text"));
	} else if (json_str_is(type, "input_json_delta") && a->block == ANSWER_INPUT) {
		buf_append(&a->text, input_text(a, json_get(delta, "partial_json")));
	} else if (json_str_is(type, "thinking_delta") && a->block == ANSWER_THINKING) {
		add_piece(a, "thinking", json_get(delta, "thinking"));
	} else if (json_str_is(type, "signature_delta") && a->block == ANSWER_THINKING) {
		struct str raw = raw_text(json_get(delta, "signature"));
		buf_add(&a->signature, raw.p, raw.n);
	} else if (json_str_is(type, "citations_delta") && a->block == ANSWER_TEXT) {
		struct str raw = json_raw(json_get(delta, "citation"));
		buf_addf(&a->citations, "%s" STR_FMT, a->citations.n ? "," : "", STR_ARG(raw));
	} else if (!a->block) {
		protocol_error(a, "a delta outside a block");
	}
}

static void on_block_stop(struct answer *a)
{
	const struct json *root;

	if (!a->block) {
		protocol_error(a, "a block stops that did not start");
		return;
	}
	switch (a->block) {
	case ANSWER_TEXT:
		if (a->citations.n)
			buf_addf(&a->bytes, ",\"citations\":[%s]", a->citations.p);
		buf_addstr(&a->bytes, ",\"text\":\"");
		buf_add(&a->bytes, a->text.p, a->text.n);
		buf_addstr(&a->bytes, "\"}");
		break;
	case ANSWER_THINKING:
		buf_addstr(&a->bytes, ",\"thinking\":\"");
		buf_add(&a->bytes, a->text.p, a->text.n);
		buf_addstr(&a->bytes, "\",\"signature\":\"");
		buf_add(&a->bytes, a->signature.p, a->signature.n);
		buf_addstr(&a->bytes, "\"}");
		break;
	case ANSWER_INPUT: {
		/* Input that is not a JSON object is kept as text in INVALID_JSON, which the tool rejects. There are servers
		 * with an empty object in front of it, and models that write it as a JSON string. */
		AUTO_JSON struct json_reader reader = { .limits.depth = DEEPEST_BLOCK - 1 };
		const struct json *input = NULL;
		struct str text = str_trim(buf_str(&a->text));
		if (str_starts(text, STR("{}{")))
			text = str_tail(text, 2);
		(void)json_parse(&reader, text.p, text.n, &input, NULL);
		if (json_is(input, JSON_STRING)) {
			text = json_str(input, &a->scratch);
			input = NULL;
			(void)json_parse(&reader, text.p, text.n, &input, NULL);
		}
		buf_addstr(&a->bytes, ",\"input\":");
		if (!str_trim(buf_str(&a->text)).n) {
			buf_addstr(&a->bytes, "{}");
		} else if (json_is(input, JSON_OBJECT)) {
			buf_append(&a->bytes, text);
		} else {
			buf_addstr(&a->bytes, "{\"INVALID_JSON\":");
			json_add_quoted(&a->bytes, buf_str(&a->text));
			buf_addch(&a->bytes, '}');
		}
		buf_addch(&a->bytes, '}');
		break;
	}
	default:
		break;
	}
	bool is_call = a->block == ANSWER_INPUT;
	a->block = ANSWER_NO_BLOCK;
	if (json_parse(&a->reader, a->bytes.p, a->bytes.n, &root, NULL) < 0) {
		protocol_error(a, "a block is not valid");
		return;
	}
	/* A call that cannot be answered would make every later request invalid. */
	if (is_call && (!raw_text(json_get(root, "id")).n || !raw_text(json_get(root, "name")).n)) {
		protocol_error(a, "a call without an id or a name");
		return;
	}
	a->held = segment_from_json(root); /* an empty text is nothing */
	if (a->held && a->origin && (a->held->kind == SEGMENT_THINKING || a->unsigned_too))
		segment_set_origin(a->held, a->origin);
}

static void on_message_delta(struct answer *a, const struct json *event)
{
	const struct json *delta = json_get(event, "delta");

	if (json_is(json_get(delta, "stop_reason"), JSON_STRING))
		copy_text(a->stop_reason, sizeof a->stop_reason, json_get(delta, "stop_reason"), &a->scratch);
	if (json_is(json_get(delta, "stop_sequence"), JSON_STRING))
		copy_text(a->stop_sequence, sizeof a->stop_sequence, json_get(delta, "stop_sequence"), &a->scratch);
	const struct json *details = json_get(delta, "stop_details");
	struct str category = json_str(json_get(details, "category"), &a->scratch);
	struct str why = json_str(json_get(details, "explanation"), &a->scratch);
	if (details)
		snprintf(a->refusal, sizeof a->refusal, STR_FMT "%s" STR_FMT, STR_ARG(category),
			 category.n && why.n ? ": " : "", STR_ARG(why));
	struct usage before = a->usage, said = { 0 };
	usage_merge(&said, json_get(event, "usage"));
	usage_merge(&a->usage, json_get(event, "usage"));
	if (said.input + said.cache_read + said.cache_write ==
	    0) { /* gateways repeat the counts of the prompt as zeros */
		said = a->usage;
		a->usage = before;
		a->usage.output = said.output;
		a->usage.web_searches = said.web_searches;
		a->usage.cost_usd = said.cost_usd;
		a->usage.estimated = said.estimated;
	}
	if (a->stop_reason[0])
		answer_end(a);
}

/* Gateways leave the reason out; the end itself says that the answer is whole. */
static void on_message_stop(struct answer *a)
{
	a->ended = true;
	if (a->stop_reason[0] || !a->started || a->block)
		return;
	snprintf(a->stop_reason, sizeof a->stop_reason, "%s",
		 a->held && a->held->kind == SEGMENT_TOOL_USE ? "tool_use" : "end_turn");
	answer_end(a);
}

/* The stop reason completes the answer: later events change nothing but the usage. */
void answer_event(struct answer *a, struct str payload)
{
	struct err err = { 0 };
	const struct json *event;

	if (a->failure.kind || a->ended)
		return;
	if (json_parse(&a->reader, payload.p, payload.n, &event, &err) < 0) {
		protocol_error(a, arena_printf(&a->scratch, "%s: %.*s", err.text, (int)MIN(payload.n, (size_t)100),
					       payload.p));
		arena_reset(&a->scratch);
		return;
	}
	if (a->sink->on_event)
		a->sink->on_event(a->data, payload);
	const struct json *type = json_get(event, "type");
	if (json_str_is(type, "message_delta"))
		on_message_delta(a, event);
	else if (json_str_is(type, "message_stop"))
		on_message_stop(a);
	else if (a->stop_reason[0])
		; /* too late */
	else if (json_str_is(type, "content_block_delta"))
		on_block_delta(a, event);
	else if (json_str_is(type, "content_block_start"))
		on_block_start(a, event);
	else if (json_str_is(type, "content_block_stop"))
		on_block_stop(a);
	else if (json_str_is(type, "message_start"))
		on_message_start(a, event);
	else
		(void)failure_in_event(&a->failure, event); /* pings and unknown events are ignored */
	arena_reset(&a->scratch);
}

bool answer_whole(struct answer *a, struct str json)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf event = { 0 };
	const struct json *root;

	if (json_parse(&reader, json.p, json.n, &root, NULL) < 0)
		return false;
	const struct json *content = json_get(root, "content"), *type = json_get(root, "type");
	if (failure_in_event(&a->failure, root))
		return true;
	if (!json_str_is(type, "message") || !json_is(content, JSON_ARRAY))
		return false;
	buf_addf(&event, "{\"type\":\"message_start\",\"message\":" STR_FMT "}", STR_ARG(json));
	answer_event(a, buf_str(&event));
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		struct str block = json_raw(b);
		buf_clear(&event);
		buf_addf(&event, "{\"type\":\"content_block_start\",\"content_block\":" STR_FMT "}", STR_ARG(block));
		answer_event(a, buf_str(&event));
		answer_event(a, STR("{\"type\":\"content_block_stop\"}"));
	}
	buf_clear(&event);
	buf_addf(&event, "{\"type\":\"message_delta\",\"delta\":" STR_FMT "}", STR_ARG(json));
	answer_event(a, buf_str(&event));
	answer_event(a, STR("{\"type\":\"message_stop\"}"));
	return true;
}

static int on_sse(void *data, struct str name, struct str payload)
{
	(void)name;              /* the payload names its type too, and some servers leave the event line out */
	if (str_trim(payload).n) /* else a gateway keeps the connection alive */
		answer_event(data, payload);
	return 0;
}

void answer_init(struct answer *a, const struct answer_sink *sink, void *data)
{
	*a = (struct answer){ .sink = sink, .data = data };
	a->sse.event = on_sse;
	a->sse.data = a;
	a->sse.bare = true;
	a->reader.limits.depth = DEEPEST_BLOCK + 1;
	a->failure.retry_after_ms = -1;
}

void answer_feed(struct answer *a, const char *p, size_t n)
{
	struct err err = { 0 };

	if (a->failure.kind || a->ended)
		return;
	if (sse_feed(&a->sse, p, n, &err) < 0)
		protocol_error(a, err.text);
}

void answer_release(struct answer *a)
{
	segment_unref(a->held);
	sse_release(&a->sse);
	json_reader_release(&a->reader);
	arena_release(&a->scratch);
	buf_release(&a->bytes);
	buf_release(&a->text);
	buf_release(&a->signature);
	buf_release(&a->citations);
}
