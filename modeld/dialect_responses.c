/* SPDX-License-Identifier: MIT
 * dialect_responses.c - the Responses API: converts its requests to the Messages API, and writes answers as its events. Reasoning
 * leaves encrypted (base64 of model and text) and must come back unchanged, to the same model.
 *
 *     instructions, system, developer -> system       function_call_output -> tool_result
 *     reasoning                       -> thinking     function_call        -> tool_use */
#include "dialect.h"

enum { CREATED_S = 1767225600 };

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
	if (c->role)
		json_putf(&c->w, "]}");
	json_putf(&c->w, "{role:'%s', content:[", role);
	c->role = role;
}

static int put_content(struct items_reader *c, const struct json *content, const char *text_type)
{
	bool data_allowed = !strcmp(text_type, "input_text");

	if (json_is(content, JSON_STRING)) {
		other_put_text(&c->w, content);
		return 0;
	}
	if (!json_is(content, JSON_ARRAY) || !content->count)
		return refuse_item(c, "content: required, a string or a list of parts");
	for (const struct json *p = json_first(content); p; p = json_next(content, p)) {
		const struct json *type = json_get(p, "type");
		bool image = json_str_is(type, "input_image"), file = json_str_is(type, "input_file");
		struct str data = json_str(json_get(p, image ? "image_url" : "file_data"), c->arena);
		if (json_str_is(type, text_type) && json_is(json_get(p, "text"), JSON_STRING))
			other_put_text(&c->w, json_get(p, "text"));
		else if (!data_allowed || (!image && !file))
			return refuse_item(c, "content: a part of this type cannot stand here");
		else if (!other_put_data(&c->w, image ? "image" : "document", data))
			return refuse_item(c, "an image or a file must be a data: address in base64");
	}
	return 0;
}

static int put_reasoning(struct items_reader *c, const struct json *item)
{
	struct str sealed = json_str(json_get(item, "encrypted_content"), c->arena);
	bool redacted = str_starts(sealed, STR("red."));

	if (!json_is(json_get(item, "summary"), JSON_ARRAY))
		return refuse_item(c, "summary: required, a list");
	if (!redacted && !str_starts(sealed, STR("enc.")))
		return refuse_item(c, "invalid_encrypted_content: it could not be verified");
	sealed = str_tail(sealed, 4);
	open_message(c, "assistant");
	if (redacted) {
		json_putf(&c->w, "{type:'redacted_thinking', data:'%.*s'}", STR_ARG(sealed));
		return 0;
	}
	int rc = other_put_sealed(&c->w, c->model, sealed);
	return rc == -1  ? refuse_item(c, "invalid_encrypted_content: it could not be verified")
	       : rc < -1 ? refuse_item(c, "invalid_encrypted_content: it is that of another model")
			 : 0;
}

static int put_call(struct items_reader *c, const struct json *item)
{
	const struct json *id = json_get(item, "call_id"), *name = json_get(item, "name");

	if (!json_is(id, JSON_STRING) || !json_is(name, JSON_STRING))
		return refuse_item(c, "a call has call_id and name");
	open_message(c, "assistant");
	if (!other_put_call(&c->w, id, name, json_str(json_get(item, "arguments"), c->arena)))
		return refuse_item(c, "arguments: must be an object of JSON in a string");
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
	json_putf(&c->w, "{type:'tool_result', tool_use_id:%.*s, content:", JSON_ARG(json_get(item, "call_id")));
	if (json_is(json_get(item, "output"), JSON_STRING)) {
		json_put_raw(&c->w, json_raw(json_get(item, "output")));
	} else {
		json_open(&c->w, '[');
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
		const struct json *name = json_get(t, "name"), *schema = json_get(t, "parameters");
		if (!json_str_is(json_get(t, "type"), "function") || !json_is(name, JSON_STRING))
			return err_set(c->err, ERR_PARSE, "tools: a tool is of type function and has a name");
		if (!name->len || name->len > 64)
			return err_set(c->err, ERR_PARSE, "tools: a name has 1 to 64 characters");
		if (json_get(schema, "$schema"))
			return err_set(c->err, ERR_PARSE, "tools: $schema is not permitted");
		other_put_tool(&c->w, t, schema);
	}
	json_close(&c->w);
	return 0;
}

static bool responses_takes(struct str path)
{
	return str_is(path, "/v1/responses") || str_is(path, "/openai/v1/responses");
}

static int responses_request(struct translation *t, struct str path, struct str body, struct err *err)
{
	static const struct other_members known = {
		"model|input|instructions|tools|tool_choice|stream|store|include|reasoning|text|max_output_tokens|"
		"parallel_tool_calls|temperature|top_p|metadata|prompt_cache_key|service_tier|truncation|user|"
		"safety_identifier",
		.before = "Unknown parameter: '",
		.after = "'.",
	};
	struct items_reader c = { .w = json_out(&t->body), .arena = t->arena, .err = err };
	const struct json *root;
	int64_t tokens = OTHER_NO_LIMIT_TOKENS;

	if (other_request(&t->reader, t->arena, body, &known, &root, err) < 0)
		return -(int)err->kind;
	const struct json *input = json_get(root, "input"), *limit = json_get(root, "max_output_tokens");
	const struct json *system = json_get(root, "instructions");
	c.model = json_str(json_get(root, "model"), t->arena);
	if (limit && (!json_i64(limit, &tokens) || tokens < 16))
		return err_set(err, ERR_PARSE, "max_output_tokens: at least 16");
	/* prefixes are cached by themselves */
	json_putf(&c.w, "{model?:%.*s, max_tokens:%lld, cache_control:{type:'ephemeral'}, stream?:%.*s",
		  JSON_ARG(json_get(root, "model")), (long long)tokens, JSON_ARG(json_get(root, "stream")));
	if (put_tools(&c, json_get(root, "tools")) < 0)
		return -(int)err->kind;
	json_putf(&c.w, "system?:%.*s, messages:[", JSON_ARG(json_is(system, JSON_STRING) ? system : NULL));
	if (json_is(input, JSON_STRING)) {
		open_message(&c, "user");
		other_put_text(&c.w, input);
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

static const char *item_id(char out[DIGEST_ID_MAX], const struct reply *r, size_t block)
{
	enum block_kind kind = r->blocks[block].block->kind;
	const char *prefix = kind == BLOCK_CALL                                 ? "fc_"
			     : kind == BLOCK_THINKING || kind == BLOCK_REDACTED ? "rs_"
										: "msg_";

	return digest_id(out, prefix, r->id_a, digest_mix(r->id_b, block + 1));
}

/* Begun items are empty: their content comes in deltas. */
static void put_item_value(struct json_out *w, const struct reply *r, size_t block, bool begun)
{
	const struct reply_block *b = &r->blocks[block];
	const char *status = begun ? "in_progress" : "completed";
	struct str text = begun ? STR("") : b->text;
	AUTO_BUF struct buf made = { 0 };
	char id[REDACTED_MAX], call_id[DIGEST_ID_MAX];

	json_putf(w, "{id:'%s'", item_id(id, r, block));
	switch (b->block->kind) {
	case BLOCK_CALL:
		json_putf(w, "type:'function_call', status:'%s', call_id:'%s', name:'%.*s', arguments:'%.*s'", status,
			  reply_tool_id(call_id, r, block), STR_ARG(b->block->name), STR_ARG(text));
		break;
	case BLOCK_THINKING:
		json_putf(w, "type:'reasoning', summary:[");
		if (!begun) {
			buf_addstr(&made, "enc.");
			other_add_sealed(&made, r->model, text);
			json_putf(w, "{type:'summary_text', text:'%.*s'}", STR_ARG(text));
		}
		json_putf(w, "], encrypted_content?:'%.*s'", STR_ARG(buf_str(&made)));
		break;
	case BLOCK_REDACTED:
		json_putf(w, "type:'reasoning', summary:[]");
		if (!begun) {
			buf_addf(&made, "red.%s", redacted_make(id, r->id_a, digest_mix(r->id_b, block + 1)));
			json_kstr(w, "encrypted_content", buf_str(&made));
		}
		break;
	default:
		json_putf(w, "type:'message', status:'%s', role:'assistant', phase:'%s', content:[", status,
			  strcmp(reply_stop_reason(r), "tool_use") ? "final_answer" : "commentary");
		if (!begun) {
			text = reply_piece(b, 0, b->text.n, &made);
			json_putf(w, "{type:'output_text', annotations:[], text:'%.*s'}", STR_ARG(text));
		}
		json_close(w);
	}
	json_close(w);
}

/* status: in_progress, completed, incomplete, failed */
static void put_response(struct json_out *w, const struct reply *r, const char *status, const struct fault *fault)
{
	const struct usage *u = &r->usage;
	unsigned long long input = u->input + u->cache_read + u->cache_write, output = u->output;
	bool incomplete = !strcmp(status, "incomplete"), done = incomplete || !strcmp(status, "completed");
	char id[DIGEST_ID_MAX];

	json_putf(w, "{id:'%s', object:'response', created_at:%d, status:'%s', model:'%.*s'",
		  digest_id(id, "resp_", r->id_a, r->id_b), CREATED_S, status, STR_ARG(r->model));
	if (fault)
		json_putf(w, "error:{code:'%.*s', message:'%.*s'}", STR_ARG(fault->type), STR_ARG(fault->message));
	else
		json_putf(w, "error:null");
	if (incomplete)
		json_putf(w, "incomplete_details:{reason:'%s'}",
			  strcmp(reply_stop_reason(r), "refusal") ? "max_output_tokens" : "content_filter");
	else
		json_putf(w, "incomplete_details:null");
	json_kopen(w, "output", '[');
	for (size_t i = 0; done && i < r->block_count; i++)
		if (r->blocks[i].block->kind != BLOCK_GIVEN)
			put_item_value(w, r, i, false);
	json_putf(w, "], tools:[], parallel_tool_calls:true");
	if (done)
		json_putf(w,
			  "usage:{input_tokens:%llu, input_tokens_details:{cached_tokens:%llu}, output_tokens:%llu, "
			  "output_tokens_details:{reasoning_tokens:0}, total_tokens:%llu}}",
			  input, (unsigned long long)u->cache_read, output, input + output);
	else
		json_putf(w, "usage:null}");
}

static const char *end_status(const struct reply *r)
{
	const char *reason = reply_stop_reason(r);

	return !strcmp(reason, "max_tokens") || !strcmp(reason, "refusal") ? "incomplete" : "completed";
}

static struct json_out begin_event(struct reply *r, struct buf *out, const char *name)
{
	buf_addf(out, "event: %s\ndata: ", name);
	struct json_out w = json_out(out);
	json_putf(&w, "{type:'%s', sequence_number:%llu", name, (unsigned long long)r->sequence++);
	return w;
}

static void end_event(struct json_out *w)
{
	json_close(w);
	buf_addstr(w->buf, "\n\n");
}

static void response_event(struct reply *r, struct buf *out, const char *name, const char *status,
			   const struct fault *fault)
{
	struct json_out w = begin_event(r, out, name);

	json_key(&w, "response");
	put_response(&w, r, status, fault);
	end_event(&w);
}

static void item_event(struct reply *r, struct buf *out, const char *name, bool begun)
{
	struct json_out w = begin_event(r, out, name);

	json_putf(&w, "output_index:%zu, item:", r->block);
	put_item_value(&w, r, r->block, begun);
	end_event(&w);
}

/* Up to what the event is about; the caller ends it */
static struct json_out begin_part(struct reply *r, struct buf *out, const char *name)
{
	enum block_kind kind = r->blocks[r->block].block->kind;
	struct json_out w = begin_event(r, out, name);
	char id[DIGEST_ID_MAX];

	json_putf(&w, "item_id:'%s', output_index:%zu", item_id(id, r, r->block), r->block);
	if (kind != BLOCK_CALL)
		json_ki64(&w, kind == BLOCK_THINKING ? "summary_index" : "content_index", 0);
	return w;
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
	struct json_out w = begin_part(r, out, names[b->block->kind]);

	json_kstr(&w, "delta", reply_piece(b, r->at, n, &made));
	end_event(&w);
	r->at += n;
}

static void begin_block(struct reply *r, struct buf *out)
{
	enum block_kind kind = r->blocks[r->block].block->kind;
	struct json_out w;

	r->at = 0;
	if (kind == BLOCK_GIVEN)
		return;
	item_event(r, out, "response.output_item.added", true);
	if (kind == BLOCK_THINKING) {
		w = begin_part(r, out, "response.reasoning_summary_part.added");
		json_putf(&w, "part:{type:'summary_text', text:''}");
		end_event(&w);
	} else if (kind == BLOCK_TEXT || kind == BLOCK_FILLER) {
		w = begin_part(r, out, "response.content_part.added");
		json_putf(&w, "part:{type:'output_text', annotations:[], text:''}");
		end_event(&w);
	}
}

static void end_block(struct reply *r, struct buf *out)
{
	const struct reply_block *b = &r->blocks[r->block];
	bool call = b->block->kind == BLOCK_CALL;

	if (call || b->block->kind == BLOCK_TEXT) {
		struct json_out w = begin_part(
			r, out, call ? "response.function_call_arguments.done" : "response.output_text.done");
		json_kstr(&w, call ? "arguments" : "text", b->text);
		end_event(&w);
	}
	if (b->block->kind != BLOCK_GIVEN)
		item_event(r, out, "response.output_item.done", false);
	r->calls += call;
	r->block++;
}

static enum reply_stage stage_in_block(const struct reply *r)
{
	const struct reply_block *b = &r->blocks[r->block];
	bool grows = b->block->kind != BLOCK_GIVEN && b->block->kind != BLOCK_REDACTED;

	return grows && r->at < b->text.n ? STAGE_DELTA : STAGE_BLOCK_STOP;
}

static void responses_event_next(struct reply *r, struct buf *out)
{
	size_t from = out->n;

	while (out->n == from && r->stage != STAGE_OVER) {
		switch (r->stage) {
		case STAGE_START:
			response_event(r, out, "response.created", "in_progress", NULL);
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
			response_event(r, out,
				       strcmp(end_status(r), "completed") ? "response.incomplete"
									  : "response.completed",
				       end_status(r), NULL);
			r->stage = STAGE_OVER;
		}
	}
}

static void responses_event_error(struct reply *r, const struct fault *fault, struct buf *out)
{
	response_event(r, out, "response.failed", "failed", fault);
}

static void responses_json(const struct reply *r, struct buf *out)
{
	struct json_out w = json_out(out);

	put_response(&w, r, end_status(r), NULL);
}

const struct dialect dialect_responses = {
	.takes = responses_takes,
	.request = responses_request,
	.event_next = responses_event_next,
	.event_error = responses_event_error,
	.error = chat_error,
	.json = responses_json,
	.call_id = { "call_01", "call_0T" },
};
