/* SPDX-License-Identifier: MIT
 * responses_request.c - translates a request to the Responses API of OpenAI. Stateless: the server keeps nothing, reasoning
 * comes back to it encrypted. Every block is an item of its own; only the parts of a user's message share one.
 *
 * A seal is PHASE:ITEM. The phase is that of the message behind it, ITEM the reasoning item as JSON; both may be empty. */
#include "core/wire/wire.h"

enum responses_state { ITEM_FIRST, ITEM_CLOSED, ITEM_USER /* its list of parts is open */ };

static const char image_open[] = "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":\"";
static const char image_close[] = "\"}";
static const char document_open[] = "{\"type\":\"input_file\",\"filename\":\"document.pdf\",\"file_data\":\"";
static const char document_close[] = "\"}";

static void close_item(struct wire_writer *w)
{
	if (w->state == ITEM_USER)
		wire_put(w, "]}");
	if (w->state != ITEM_FIRST)
		w->state = ITEM_CLOSED;
}

static void open_item(struct wire_writer *w, const char *beginning)
{
	close_item(w);
	if (w->state != ITEM_FIRST)
		wire_put(w, ",");
	wire_put(w, beginning);
	w->state = ITEM_CLOSED;
}

static void put_part(struct wire_writer *w, const struct json *block)
{
	const struct json *source = json_get(block, "source");
	bool document = json_str_is(json_get(block, "type"), "document") && json_get(source, "media_type") &&
			json_str_is(json_get(source, "type"), "base64");

	if (wire_is_image(block)) {
		wire_put(w, image_open);
		wire_put_source(w->out, block);
		wire_put(w, image_close);
	} else if (document) {
		wire_put(w, document_open);
		wire_put_source(w->out, block);
		wire_put(w, document_close);
	} else {
		bool text = json_str_is(json_get(block, "type"), "text");
		wire_put_text(w, "{\"type\":\"input_text\",\"text\":\"",
			      text ? wire_raw(json_get(block, "text")) : wire_description(w, block), "\"}");
	}
}

static void put_user(struct wire_writer *w, const struct block *b, bool parts)
{
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	if (w->state == ITEM_USER)
		wire_put(w, ",");
	else
		open_item(w, "{\"role\":\"user\",\"content\":[");
	w->state = ITEM_USER;
	put_part(w, block);
}

/* A list of parts only where there is an image or a document: not every server knows it. */
static void put_result(struct wire_writer *w, const struct json *block)
{
	const struct json *content = json_get(block, "content");
	bool is_error = json_bool(json_get(block, "is_error")), list = false;

	open_item(w, "{\"type\":\"function_call_output\",\"call_id\":\"");
	wire_put_id(w, wire_raw(json_get(block, "tool_use_id")));
	for (const struct json *p = json_items(content); p; p = json_next(content, p))
		list = list || !json_str_is(json_get(p, "type"), "text");
	wire_put(w, list ? "\",\"output\":[" : "\",\"output\":\"");
	if (is_error)
		wire_put(w, list ? "{\"type\":\"input_text\",\"text\":\"Error:\"}," : "Error: ");
	translation_add(w->out, wire_raw(content));
	for (const struct json *p = json_items(content); p; p = json_next(content, p)) {
		if (p != json_first(content))
			wire_put(w, list ? "," : "\\n");
		if (list)
			put_part(w, p);
		else
			translation_add(w->out, wire_raw(json_get(p, "text")));
	}
	wire_put(w, list ? "]}" : "\"}");
}

/* Reasoning goes back without its id: with one the server would look for the other items of that answer. */
static void put_reasoning(struct wire_writer *w, struct str thought, struct str *ret_origin, struct str *ret_phase)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct wire_seal seal;
	size_t at = 0;

	*ret_phase = STR("");
	while (wire_next_seal(w, thought, &at, &seal)) {
		const struct json *root;
		struct str item = seal.rest, phase = str_cut(&item, ':');
		if (phase.n) {
			*ret_phase = phase;
			*ret_origin = seal.origin;
		}
		if (!item.n || json_parse(&reader, item.p, item.n, &root, NULL) < 0 || !json_is(root, JSON_OBJECT))
			continue;
		close_item(w);
		wire_seal_open(w, seal.origin);
		if (w->state != ITEM_FIRST)
			translation_add_optional(w->out, STR(","));
		const char *before = "{";
		for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
			if (json_str_is(m.key, "id") || json_str_is(m.key, "status"))
				continue;
			translation_add_optional(w->out, str_from(before));
			translation_add_optional(w->out, json_raw(m.key));
			translation_add_optional(w->out, STR(":"));
			translation_add_optional(w->out, json_raw(m.value));
			before = ",";
		}
		translation_add_optional(w->out, STR("}"));
		wire_seal_close(w);
	}
}

static void put_answer(struct wire_writer *w, const struct block *b)
{
	AUTO_BUF struct buf arguments = { 0 };
	struct str origin = STR(""), phase;
	const struct json *block;

	if (b->kind != SEGMENT_TEXT && b->kind != SEGMENT_TOOL_USE)
		return; /* thinking of others, and blocks of server tools */
	put_reasoning(w, b->thought, &origin, &phase);
	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	if (b->kind == SEGMENT_TEXT) {
		open_item(w, "{\"type\":\"message\",\"role\":\"assistant\",");
		if (phase.n)
			wire_put_sealed(w, origin, "\"phase\":\"", phase, "\",");
		wire_put_text(w, "\"content\":[{\"type\":\"output_text\",\"text\":\"",
			      wire_raw(json_get(block, "text")), "\"}]}");
		return;
	}
	json_add_quoted(&arguments, json_raw(json_get(block, "input")));
	open_item(w, "{\"type\":\"function_call\",\"call_id\":\"");
	wire_put_id(w, wire_raw(json_get(block, "id")));
	wire_put_text(w, "\",\"name\":\"", wire_name(&w->out->arena, wire_raw(json_get(block, "name"))), "");
	wire_put_text(w, "\",\"arguments\":", arena_str(&w->out->arena, buf_str(&arguments)), "}");
}

static void responses_run(struct wire_writer *w, uint32_t from, uint32_t to, enum role role)
{
	const struct json *block;

	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		if (role == ROLE_ASSISTANT)
			put_answer(w, &b);
		else if (b.kind != SEGMENT_TOOL_RESULT)
			put_user(w, &b, false);
		else if (json_parse(&w->reader, b.json.p, b.json.n, &block, NULL) == 0)
			put_result(w, block);
	}
}

static void responses_write_head(struct wire_writer *w, struct wire_head *facts, const struct json *root)
{
	static const struct wire_tool_form tools = { ",\"tools\":[",
						     "{\"type\":\"function\",\"name\":\"",
						     "\",\"description\":",
						     "\",\"description\":\"\"",
						     ",\"strict\":false,\"parameters\":",
						     "}" };

	wire_put_text(w, "{\"model\":", json_raw(json_get(root, "model")), "");
	wire_put_tools(w, facts, root, &tools);
	wire_put(w, facts->has_tools ? "]," : ",");
	(void)wire_put_system(w, root, "\"instructions\":\"", "\\n\\n", "\",");
	wire_put(w, "\"input\":[");
	w->state = ITEM_FIRST;
}

static void responses_ending(struct buf *out, const struct wire_head *head, const struct wire_model *model)
{
	enum { LEAST_OUTPUT = 16 };
	unsigned quirks = model->quirks;
	int64_t limit = model->limit ? MIN(model->limit, head->max_tokens) : head->max_tokens;
	struct str effort = wire_effort(&form_responses, head, quirks);
	struct json_out w = { .buf = out, .objects = 1, .depth = 1, .comma = true }; /* inside the request's object */

	buf_addstr(out, "]");
	if (!(quirks & WIRE_NO_STREAM))
		json_kbool(&w, "stream", true);
	if (!(quirks & WIRE_NO_STORE))
		json_kbool(&w, "store", false);
	if (!(quirks & WIRE_NO_REASONING)) {
		json_kraw(&w, "include", STR("[\"reasoning.encrypted_content\"]"));
		json_kopen(&w, "reasoning", '{');
		if (effort.n && !(quirks & CHAT_NO_EFFORT))
			json_kstr(&w, "effort", effort);
		if (!(quirks & WIRE_NO_SUMMARY))
			json_kcstr(&w, "summary", "auto");
		json_close(&w);
	}
	if (!(quirks & CHAT_NO_LIMIT))
		json_ki64(&w, "max_output_tokens", MAX(limit, LEAST_OUTPUT));
	if (head->has_tools && !(quirks & CHAT_NO_PARALLEL_CALLS))
		json_kbool(&w, "parallel_tool_calls", true);
	if (quirks & CHAT_SESSION_KEY && model->session)
		json_kcstr(&w, "prompt_cache_key", model->session);
	json_close(&w);
}

const struct wire_form form_responses = {
	.name = "responses",
	.slot = TRANSLATION_RESPONSES,
	.highest_effort = "xhigh",
	.head = responses_write_head,
	.run = responses_run,
	.user = put_user,
	.close = close_item,
	.ending = responses_ending,
	.image_open = image_open,
	.image_close = image_close,
	.image_instead = "{\"type\":\"input_text\",\"text\":\"[An image was left out: this server takes none.]\"}",
	.document_open = document_open,
	.document_close = document_close,
	.document_instead = "{\"type\":\"input_text\",\"text\":\"[A document was left out: this model takes none.]\"}",
	.skips = responses_skips,
	.take = responses_take,
};
