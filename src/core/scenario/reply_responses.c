/* SPDX-License-Identifier: MIT
 * reply_responses.c - the Responses API: converts its requests to the Messages API, and writes answers as its events. Reasoning
 * leaves encrypted (base64 of model and text) and must come back unchanged, to the same model.
 *
 *     instructions, system, developer -> system       function_call_output -> tool_result
 *     reasoning                       -> thinking     function_call        -> tool_use */
#include "core/scenario/engine_int.h"
#include "lib/base/base64.h"
#include "lib/json/json_write.h"

enum { NO_LIMIT_TOKENS = 1000000, CREATED_S = 1767225600 };

/* ---- requests -------------------------------------------------------------------------------------------------- */

struct items_reader {
	struct json_out w;
	struct arena *arena;
	struct err *err;
	struct str model;
	const char *role; /* of the open message; NULL: none */
	size_t item;
};

static int refuse_item(const struct items_reader *c, const char *what)
{
	return err_set(c->err, ERR_PARSE, "input[%zu]: %s", c->item, what);
}

static void open_message(struct items_reader *c, const char *role)
{
	if (c->role && !strcmp(c->role, role))
		return;
	if (c->role) {
		json_close(&c->w);
		json_close(&c->w);
	}
	json_putf(&c->w, "{role:'%s', content:[", role);
	c->role = role;
}

static void put_text(struct items_reader *c, const struct json *text)
{
	json_putf(&c->w, "{type:'text', text:%.*s}", STR_ARG(json_raw(text)));
}

static int put_source(struct items_reader *c, const char *kind, const struct json *address)
{
	struct str rest = json_str(address, c->arena);
	struct str scheme = str_cut(&rest, ':');
	struct str type = str_cut(&rest, ';');
	struct str encoding = str_cut(&rest, ',');

	if (!str_is(scheme, "data") || !str_is(encoding, "base64") || !rest.n)
		return refuse_item(c, "an image or a file must be a data: address in base64");
	json_putf(&c->w, "{type:'%s', source:{type:'base64', media_type:'%.*s', data:'%.*s'}}", kind, STR_ARG(type),
		  STR_ARG(rest));
	return 0;
}

static int put_content(struct items_reader *c, const struct json *content, const char *text_type)
{
	if (json_is(content, JSON_STRING)) {
		put_text(c, content);
		return 0;
	}
	if (!json_is(content, JSON_ARRAY) || !content->count)
		return refuse_item(c, "content: required, a string or a list of parts");
	for (const struct json *p = json_first(content); p; p = json_next(content, p)) {
		const struct json *type = json_get(p, "type");
		int rc = 0;
		if (json_str_is(type, text_type) && json_is(json_get(p, "text"), JSON_STRING))
			put_text(c, json_get(p, "text"));
		else if (json_str_is(type, "input_image") && !strcmp(text_type, "input_text"))
			rc = put_source(c, "image", json_get(p, "image_url"));
		else if (json_str_is(type, "input_file") && !strcmp(text_type, "input_text"))
			rc = put_source(c, "document", json_get(p, "file_data"));
		else
			return refuse_item(c, "content: a part of this type cannot stand here");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int put_reasoning(struct items_reader *c, const struct json *item)
{
	AUTO_BUF struct buf plain = { 0 };
	struct str sealed = json_str(json_get(item, "encrypted_content"), c->arena);
	char signature[DIGEST_ID_MAX];
	struct err why;

	if (!json_is(json_get(item, "summary"), JSON_ARRAY))
		return refuse_item(c, "summary: required, a list");
	if (str_starts(sealed, STR("red."))) {
		open_message(c, "assistant");
		json_putf(&c->w, "{type:'redacted_thinking'");
		json_kstr(&c->w, "data", (struct str){ sealed.p + 4, sealed.n - 4 });
		json_close(&c->w);
		return 0;
	}
	if (!str_starts(sealed, STR("enc.")) ||
	    base64_decode(&plain, (struct str){ sealed.p + 4, sealed.n - 4 }, &why) < 0)
		return refuse_item(c, "invalid_encrypted_content: it could not be verified");
	struct str text = buf_str(&plain);
	if (!str_eq(str_cut(&text, '\n'), c->model) || !text.p)
		return refuse_item(c, "invalid_encrypted_content: it is that of another model");
	open_message(c, "assistant");
	json_putf(&c->w, "{type:'thinking', thinking:'%.*s', signature:'%s'}", STR_ARG(text),
		  signature_of(signature, text));
	return 0;
}

static int put_call(struct items_reader *c, const struct json *item)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct str arguments = json_str(json_get(item, "arguments"), c->arena);
	const struct json *input;

	if (!json_is(json_get(item, "call_id"), JSON_STRING) || !json_is(json_get(item, "name"), JSON_STRING))
		return refuse_item(c, "a call has call_id and name");
	if (json_parse(&reader, arguments.p, arguments.n, &input, NULL) < 0 || !json_is(input, JSON_OBJECT))
		return refuse_item(c, "arguments: must be an object of JSON in a string");
	open_message(c, "assistant");
	json_putf(&c->w, "{type:'tool_use', id:%.*s, name:%.*s, input:%.*s}",
		  STR_ARG(json_raw(json_get(item, "call_id"))), STR_ARG(json_raw(json_get(item, "name"))),
		  STR_ARG(arguments));
	return 0;
}

static int put_item(struct items_reader *c, const struct json *item)
{
	const struct json *type = json_get(item, "type"), *role = json_get(item, "role");
	bool message = !type || json_str_is(type, "message");
	int rc = 0;

	if (message && json_str_is(role, "user")) {
		open_message(c, "user");
		return put_content(c, json_get(item, "content"), "input_text");
	}
	if (message && json_str_is(role, "assistant")) {
		open_message(c, "assistant");
		return put_content(c, json_get(item, "content"), "output_text");
	}
	if (json_str_is(type, "reasoning"))
		return put_reasoning(c, item);
	if (json_str_is(type, "function_call"))
		return put_call(c, item);
	if (!json_str_is(type, "function_call_output") || !json_is(json_get(item, "call_id"), JSON_STRING))
		return refuse_item(c, "an item is a message, reasoning, a call or its output");
	open_message(c, "user");
	json_putf(&c->w, "{type:'tool_result', tool_use_id:%.*s", STR_ARG(json_raw(json_get(item, "call_id"))));
	if (json_is(json_get(item, "output"), JSON_STRING)) {
		json_kraw(&c->w, "content", json_raw(json_get(item, "output")));
	} else {
		json_kopen(&c->w, "content", '[');
		rc = put_content(c, json_get(item, "output"), "input_text");
		json_close(&c->w);
	}
	json_close(&c->w);
	return rc;
}

static int put_tools(struct items_reader *c, const struct json *tools)
{
	if (!tools)
		return 0;
	json_kopen(&c->w, "tools", '[');
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t)) {
		if (!json_str_is(json_get(t, "type"), "function") || !json_is(json_get(t, "name"), JSON_STRING))
			return err_set(c->err, ERR_PARSE, "tools: a tool is of type function and has a name");
		if (json_str_is(json_get(t, "name"), "") || json_raw(json_get(t, "name")).n > 64 + 2)
			return err_set(c->err, ERR_PARSE, "tools: a name has 1 to 64 characters");
		if (json_get(json_get(t, "parameters"), "$schema"))
			return err_set(c->err, ERR_PARSE, "tools: $schema is not permitted");
		json_putf(&c->w, "{name:%.*s", STR_ARG(json_raw(json_get(t, "name"))));
		if (json_get(t, "description"))
			json_kraw(&c->w, "description", json_raw(json_get(t, "description")));
		json_putf(&c->w, "input_schema:%.*s}", STR_ARG(json_raw(json_get(t, "parameters"))));
	}
	json_close(&c->w);
	return 0;
}

int responses_request(struct json_reader *reader, struct arena *arena, struct str body, struct buf *out,
		      struct err *err)
{
	static const char *const known[] = { "model",
					     "input",
					     "instructions",
					     "tools",
					     "tool_choice",
					     "stream",
					     "store",
					     "include",
					     "reasoning",
					     "text",
					     "max_output_tokens",
					     "parallel_tool_calls",
					     "temperature",
					     "top_p",
					     "metadata",
					     "prompt_cache_key",
					     "service_tier",
					     "truncation",
					     "user",
					     "safety_identifier" };
	struct items_reader c = { .w = json_out(out), .arena = arena, .err = err };
	const struct json *root, *input, *limit;
	int64_t tokens = NO_LIMIT_TOKENS;
	struct err why;

	if (json_parse(reader, body.n ? body.p : "", body.n, &root, &why) < 0)
		return err_set(err, ERR_PARSE, "the body is not valid JSON: %s", why.text);
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		size_t i = 0;
		while (i < COUNT_OF(known) && !json_str_is(m.key, known[i]))
			i++;
		if (i == COUNT_OF(known))
			return err_set(err, ERR_PARSE, "Unknown parameter: '" STR_FMT "'.",
				       STR_ARG(json_str(m.key, arena)));
	}
	input = json_get(root, "input");
	limit = json_get(root, "max_output_tokens");
	c.model = json_str(json_get(root, "model"), arena);
	if (limit && (!json_i64(limit, &tokens) || tokens < 16))
		return err_set(err, ERR_PARSE, "max_output_tokens: at least 16");
	json_open(&c.w, '{');
	if (json_get(root, "model"))
		json_kraw(&c.w, "model", json_raw(json_get(root, "model")));
	json_ki64(&c.w, "max_tokens", tokens);
	json_kraw(&c.w, "cache_control", STR("{\"type\":\"ephemeral\"}")); /* prefixes are cached by themselves */
	if (json_get(root, "stream"))
		json_kraw(&c.w, "stream", json_raw(json_get(root, "stream")));
	if (put_tools(&c, json_get(root, "tools")) < 0)
		return -(int)err->kind;
	if (json_is(json_get(root, "instructions"), JSON_STRING))
		json_kraw(&c.w, "system", json_raw(json_get(root, "instructions")));
	json_kopen(&c.w, "messages", '[');
	if (json_is(input, JSON_STRING)) {
		open_message(&c, "user");
		put_text(&c, input);
	} else if (!json_is(input, JSON_ARRAY) || !input->count) {
		return err_set(err, ERR_PARSE, "input: required, a string or a list of items");
	} else {
		for (const struct json *i = json_first(input); i; i = json_next(input, i), c.item++)
			if (put_item(&c, i) < 0)
				return -(int)err->kind;
	}
	json_putf(&c.w, "]}]}");
	return 0;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static const char *item_id(char out[DIGEST_ID_MAX], const struct reply *r, size_t block)
{
	enum block_kind kind = r->blocks[block].block->kind;
	const char *prefix = kind == BLOCK_CALL                                 ? "fc_"
			     : kind == BLOCK_THINKING || kind == BLOCK_REDACTED ? "rs_"
										: "msg_";

	return digest_id(out, prefix, r->id_a, digest_mix(r->id_b, block + 1));
}

/* Begun items are empty: their content comes in deltas. */
static void add_item(struct buf *out, const struct reply *r, size_t block, bool begun)
{
	const struct reply_block *b = &r->blocks[block];
	AUTO_BUF struct buf made = { 0 };
	AUTO_BUF struct buf plain = { 0 };
	struct json_out w = json_out(out);
	char id[REDACTED_MAX];

	json_putf(&w, "{id:'%s'", item_id(id, r, block));
	switch (b->block->kind) {
	case BLOCK_CALL:
		json_putf(&w, "type:'function_call', status:'%s', call_id:'%s', name:'%.*s'",
			  begun ? "in_progress" : "completed", reply_tool_id(id, r, block), STR_ARG(b->block->name));
		json_kstr(&w, "arguments", begun ? STR("") : b->text);
		break;
	case BLOCK_THINKING:
	case BLOCK_REDACTED:
		json_putf(&w, "type:'reasoning', summary:[");
		if (!begun && b->block->kind == BLOCK_THINKING)
			json_putf(&w, "{type:'summary_text', text:'%.*s'}", STR_ARG(b->text));
		json_close(&w);
		if (!begun) {
			buf_addf(&plain, STR_FMT "\n" STR_FMT, STR_ARG(r->model), STR_ARG(b->text));
			buf_addstr(&made, b->block->kind == BLOCK_THINKING ? "enc." : "red.");
			if (b->block->kind == BLOCK_THINKING)
				base64_add(&made, buf_str(&plain));
			else
				buf_addstr(&made, redacted_make(id, r->id_a, digest_mix(r->id_b, block + 1)));
			json_kstr(&w, "encrypted_content", buf_str(&made));
		}
		break;
	default:
		if (b->block->kind == BLOCK_FILLER && !begun)
			reply_add_filler(&made, 0, b->text.n);
		json_putf(&w, "type:'message', status:'%s', role:'assistant', phase:'%s', content:[",
			  begun ? "in_progress" : "completed",
			  strcmp(reply_stop_reason(r), "tool_use") ? "final_answer" : "commentary");
		if (!begun) {
			json_putf(&w, "{type:'output_text', annotations:[]");
			json_kstr(&w, "text", b->block->kind == BLOCK_FILLER ? buf_str(&made) : b->text);
			json_close(&w);
		}
		json_close(&w);
	}
	json_close(&w);
}

/* status: in_progress, completed, incomplete, failed */
static void add_response(struct buf *out, const struct reply *r, const char *status, const struct fault *fault)
{
	const struct usage *u = &r->usage;
	uint64_t input = u->input + u->cache_read + u->cache_write;
	bool done = !strcmp(status, "completed") || !strcmp(status, "incomplete");
	struct json_out w = json_out(out);
	char id[DIGEST_ID_MAX];

	json_putf(&w, "{id:'%s', object:'response', created_at:%lld, status:'%s', model:'%.*s', error:",
		  digest_id(id, "resp_", r->id_a, r->id_b), (long long)CREATED_S, status, STR_ARG(r->model));
	if (fault) {
		json_putf(&w, "{code:'%.*s', message:'%.*s'}", STR_ARG(fault->type), STR_ARG(fault->message));
	} else {
		json_put_null(&w);
	}
	json_key(&w, "incomplete_details");
	if (!strcmp(status, "incomplete")) {
		json_putf(&w, "{reason:'%s'}",
			  strcmp(reply_stop_reason(r), "refusal") ? "max_output_tokens" : "content_filter");
	} else {
		json_put_null(&w);
	}
	json_kopen(&w, "output", '[');
	for (size_t i = 0; done && i < r->block_count; i++) {
		if (r->blocks[i].block->kind == BLOCK_GIVEN)
			continue;
		AUTO_BUF struct buf item = { 0 };
		add_item(&item, r, i, false);
		json_put_raw(&w, buf_str(&item));
	}
	json_putf(&w, "], tools:[], parallel_tool_calls:true, usage:");
	if (done) {
		json_putf(&w, "{input_tokens:%lld, input_tokens_details:{cached_tokens:%lld}, output_tokens:%lld",
			  (long long)input, (long long)u->cache_read, (long long)u->output);
		json_kraw(&w, "output_tokens_details", STR("{\"reasoning_tokens\":0}"));
		json_putf(&w, "total_tokens:%lld}", (long long)(input + u->output));
	} else {
		json_put_null(&w);
	}
	json_close(&w);
}

static const char *end_status(const struct reply *r)
{
	const char *reason = reply_stop_reason(r);

	return !strcmp(reason, "max_tokens") || !strcmp(reason, "refusal") ? "incomplete" : "completed";
}

static void begin_event(struct reply *r, struct buf *out, const char *name)
{
	buf_addf(out, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%llu", name, name,
		 (unsigned long long)r->sequence++);
}

static void put_response(struct reply *r, struct buf *out, const char *name, const char *status,
			 const struct fault *fault)
{
	begin_event(r, out, name);
	buf_addstr(out, ",\"response\":");
	add_response(out, r, status, fault);
	buf_addstr(out, "}\n\n");
}

static void put_item_event(struct reply *r, struct buf *out, const char *name, bool begun)
{
	begin_event(r, out, name);
	buf_addf(out, ",\"output_index\":%zu,\"item\":", r->block);
	add_item(out, r, r->block, begun);
	buf_addstr(out, "}\n\n");
}

/* Up to the value that the event is about; the caller closes it */
static void begin_part(struct reply *r, struct buf *out, const char *name)
{
	enum block_kind kind = r->blocks[r->block].block->kind;
	char id[DIGEST_ID_MAX];

	begin_event(r, out, name);
	buf_addf(out, ",\"item_id\":\"%s\",\"output_index\":%zu", item_id(id, r, r->block), r->block);
	if (kind != BLOCK_CALL)
		buf_addf(out, ",\"%s\":0", kind == BLOCK_THINKING ? "summary_index" : "content_index");
}

static void put_delta(struct reply *r, struct buf *out)
{
	static const char *const names[] = {
		[BLOCK_TEXT] = "response.output_text.delta",
		[BLOCK_FILLER] = "response.output_text.delta",
		[BLOCK_THINKING] = "response.reasoning_summary_text.delta",
		[BLOCK_CALL] = "response.function_call_arguments.delta",
	};
	const struct reply_block *b = &r->blocks[r->block];
	size_t n = reply_delta_len(r, b);
	AUTO_BUF struct buf made = { 0 };

	begin_part(r, out, names[b->block->kind]);
	buf_addstr(out, ",\"delta\":");
	if (b->block->kind == BLOCK_FILLER)
		reply_add_filler(&made, r->at, n);
	json_add_quoted(out, made.n ? buf_str(&made) : (struct str){ b->text.p + r->at, n });
	buf_addstr(out, "}\n\n");
	r->at += n;
}

static void begin_block(struct reply *r, struct buf *out)
{
	enum block_kind kind = r->blocks[r->block].block->kind;

	r->at = 0;
	if (kind == BLOCK_GIVEN)
		return;
	put_item_event(r, out, "response.output_item.added", true);
	if (kind == BLOCK_THINKING) {
		begin_part(r, out, "response.reasoning_summary_part.added");
		buf_addstr(out, ",\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}\n\n");
	} else if (kind == BLOCK_TEXT || kind == BLOCK_FILLER) {
		begin_part(r, out, "response.content_part.added");
		buf_addstr(out, ",\"part\":{\"type\":\"output_text\",\"annotations\":[],\"text\":\"\"}}\n\n");
	}
}

static void end_block(struct reply *r, struct buf *out)
{
	const struct reply_block *b = &r->blocks[r->block];

	if (b->block->kind == BLOCK_CALL) {
		begin_part(r, out, "response.function_call_arguments.done");
		buf_addstr(out, ",\"arguments\":");
		json_add_quoted(out, b->text);
		buf_addstr(out, "}\n\n");
	} else if (b->block->kind == BLOCK_TEXT) {
		begin_part(r, out, "response.output_text.done");
		buf_addstr(out, ",\"text\":");
		json_add_quoted(out, b->text);
		buf_addstr(out, "}\n\n");
	}
	if (b->block->kind != BLOCK_GIVEN)
		put_item_event(r, out, "response.output_item.done", false);
	r->calls += b->block->kind == BLOCK_CALL;
	r->block++;
}

static enum stage stage_in_block(const struct reply *r)
{
	const struct reply_block *b = &r->blocks[r->block];
	bool grows = b->block->kind != BLOCK_GIVEN && b->block->kind != BLOCK_REDACTED;

	return grows && r->at < b->text.n ? STAGE_DELTA : STAGE_BLOCK_STOP;
}

void responses_event_next(struct reply *r, struct buf *out)
{
	size_t from = out->n;

	while (out->n == from && r->stage != STAGE_OVER) {
		switch (r->stage) {
		case STAGE_START:
			put_response(r, out, "response.created", "in_progress", NULL);
			r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
			break;
		case STAGE_BLOCK_START:
			begin_block(r, out);
			r->stage = stage_in_block(r);
			break;
		case STAGE_DELTA:
			put_delta(r, out);
			r->stage = stage_in_block(r);
			break;
		case STAGE_BLOCK_STOP:
			end_block(r, out);
			r->stage = r->block < r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
			break;
		default:
			put_response(r, out,
				     strcmp(end_status(r), "completed") ? "response.incomplete" : "response.completed",
				     end_status(r), NULL);
			r->stage = STAGE_OVER;
		}
	}
}

void responses_event_error(struct reply *r, const struct fault *fault, struct buf *out)
{
	put_response(r, out, "response.failed", "failed", fault);
}

void responses_json(const struct reply *r, struct buf *out)
{
	add_response(out, r, end_status(r), NULL);
}
