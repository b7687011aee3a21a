/* SPDX-License-Identifier: MIT
 * dialect_chat.c - chat completions: converts requests to the Messages API, so that one set of checks and rules serves both, and
 * writes answers as chunks or as one object. As strict as the other side: unknown members are refused, a role never follows
 * itself, arguments are JSON.
 *
 *     system, developer (in front)  -> system            user, tool        -> one user message, results first
 *     assistant with tool_calls     -> tool_use blocks    image_url         -> image */
#include "dialect.h"
#include "lib/base/base64.h"

enum { CREATED_S = 1767225600 }; /* always the same: answers are compared */

int other_request(struct json_reader *reader, struct arena *arena, struct str body, const struct other_members *known,
		  const struct json **ret_root, struct err *err)
{
	struct err why;

	if (json_parse(reader, body.n ? body.p : "", body.n, ret_root, &why) < 0)
		return err_set(err, ERR_PARSE, "the body is not valid JSON: %s", why.text);
	for (struct json_member m = json_members(*ret_root); m.key; m = json_member_next(*ret_root, m)) {
		struct str name = json_str(m.key, arena);
		if (!str_is_one_of(name, known->names))
			return err_set(err, ERR_PARSE, "%s" STR_FMT "%s", known->before, STR_ARG(name), known->after);
	}
	return 0;
}

void other_put_text(struct json_out *w, const struct json *text)
{
	json_putf(w, "{type:'text', text:%.*s}", JSON_ARG(text));
}

bool other_put_data(struct json_out *w, const char *kind, struct str address)
{
	struct str scheme = str_cut(&address, ':');
	struct str type = str_cut(&address, ';');
	struct str encoding = str_cut(&address, ',');

	if (!str_is(scheme, "data") || !str_is(encoding, "base64") || !address.n)
		return false;
	json_putf(w, "{type:'%s', source:{type:'base64', media_type:'%.*s', data:'%.*s'}}", kind, STR_ARG(type),
		  STR_ARG(address));
	return true;
}

bool other_put_call(struct json_out *w, const struct json *id, const struct json *name, struct str arguments)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *input;

	if (json_parse(&reader, arguments.p, arguments.n, &input, NULL) < 0 || !json_is(input, JSON_OBJECT))
		return false;
	json_putf(w, "{type:'tool_use', id:%.*s, name:%.*s, input:%.*s}", JSON_ARG(id), JSON_ARG(name),
		  STR_ARG(arguments));
	return true;
}

void other_put_tool(struct json_out *w, const struct json *tool, const struct json *schema)
{
	json_putf(w, "{name:%.*s, description?:%.*s, input_schema:", JSON_ARG(json_get(tool, "name")),
		  JSON_ARG(json_get(tool, "description")));
	if (schema)
		json_put_raw(w, json_raw(schema));
	else
		json_putf(w, "{type:'object'}");
	json_close(w);
}

int other_put_sealed(struct json_out *w, struct str model, struct str sealed)
{
	AUTO_BUF struct buf plain = { 0 };
	char signature[DIGEST_ID_MAX];
	struct err why;

	if (base64_decode(&plain, sealed, &why) < 0)
		return -1;
	struct str text = buf_str(&plain);
	if (!str_eq(str_cut(&text, '\n'), model) || !text.p)
		return -2;
	json_putf(w, "{type:'thinking', thinking:'%.*s', signature:'%s'}", STR_ARG(text),
		  signature_of(signature, model, text));
	return 0;
}

void other_add_sealed(struct buf *out, struct str model, struct str text)
{
	AUTO_BUF struct buf plain = { 0 };

	buf_addf(&plain, STR_FMT "\n" STR_FMT, STR_ARG(model), STR_ARG(text));
	base64_add(out, buf_str(&plain));
}

enum chat_role { ROLE_NONE, ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };

struct chat_reader {
	struct json_out w;
	struct arena *arena;
	struct err *err;
	enum chat_role last;
	size_t item; /* message */
};

static int refuse_message(const struct chat_reader *c, const char *what)
{
	return err_set(c->err, ERR_PARSE, "messages.%zu: %s", c->item, what);
}

/* As blocks, without the brackets around them. */
static int put_content(struct chat_reader *c, const struct json *content)
{
	if (json_is(content, JSON_STRING)) {
		other_put_text(&c->w, content);
		return 0;
	}
	if (!json_is(content, JSON_ARRAY) || !content->count)
		return refuse_message(c, "content: required, a string or a list of parts");
	for (const struct json *p = json_first(content); p; p = json_next(content, p)) {
		const struct json *type = json_get(p, "type"), *url = json_get(json_get(p, "image_url"), "url");
		if (json_str_is(type, "text") && json_is(json_get(p, "text"), JSON_STRING))
			other_put_text(&c->w, json_get(p, "text"));
		else if (!json_str_is(type, "image_url"))
			return refuse_message(c, "content: a part is of type text or image_url");
		else if (!other_put_data(&c->w, "image", json_str(url, c->arena)))
			return refuse_message(c, "image_url: must be a data: address in base64");
	}
	return 0;
}

static void open_message(struct chat_reader *c, const char *role)
{
	json_putf(&c->w, c->last > ROLE_SYSTEM ? "]}, {role:'%s', content:[" : "{role:'%s', content:[", role);
}

static int put_call(struct chat_reader *c, const struct json *call)
{
	const struct json *function = json_get(call, "function"), *id = json_get(call, "id");
	const struct json *name = json_get(function, "name");

	if (!json_str_is(json_get(call, "type"), "function") || !json_is(id, JSON_STRING) ||
	    !json_is(name, JSON_STRING))
		return refuse_message(c, "tool_calls: a call has id, type function and a name");
	if (!other_put_call(&c->w, id, name, json_str(json_get(function, "arguments"), c->arena)))
		return refuse_message(c, "tool_calls: arguments must be an object of JSON in a string");
	return 0;
}

static int put_assistant(struct chat_reader *c, const struct json *message)
{
	const struct json *calls = json_get(message, "tool_calls");
	const struct json *content = json_get(message, "content");
	bool is_empty = json_is(content, JSON_STRING) && !content->len && calls; /* beside calls it means nothing */
	bool has_content = content && !json_is(content, JSON_NULL) && !is_empty;

	if (c->last == ROLE_ASSISTANT)
		return refuse_message(c, "role: two messages of the assistant in a row");
	if (!has_content && !calls)
		return refuse_message(c, "an answer has content, calls or both");
	open_message(c, "assistant");
	if (has_content && put_content(c, content) < 0)
		return -(int)c->err->kind;
	for (const struct json *call = json_first(calls); call; call = json_next(calls, call))
		if (put_call(c, call) < 0)
			return -(int)c->err->kind;
	return 0;
}

static int put_tool(struct chat_reader *c, const struct json *message)
{
	const struct json *content = json_get(message, "content"), *id = json_get(message, "tool_call_id");

	if (c->last != ROLE_TOOL && c->last != ROLE_ASSISTANT)
		return refuse_message(c, "role: a result follows the calls of the assistant, or another result");
	if (!json_is(id, JSON_STRING))
		return refuse_message(c, "tool_call_id: required");
	if (!json_is(content, JSON_STRING))
		return refuse_message(c, "content: a result is a string");
	if (c->last != ROLE_TOOL)
		open_message(c, "user");
	json_putf(&c->w, "{type:'tool_result', tool_use_id:%.*s, content:%.*s}", JSON_ARG(id), JSON_ARG(content));
	return 0;
}

static enum chat_role role_of(const struct json *message)
{
	static const char *const names[] = { [ROLE_SYSTEM] = "system|developer",
					     [ROLE_USER] = "user",
					     [ROLE_ASSISTANT] = "assistant",
					     [ROLE_TOOL] = "tool" };
	const struct json *role = json_get(message, "role");
	enum chat_role i = json_is(role, JSON_STRING) ? ROLE_TOOL : ROLE_NONE;

	while (i && !str_is_one_of((struct str){ role->text, role->len }, names[i]))
		i--;
	return i;
}

static int put_messages(struct chat_reader *c, const struct json *messages)
{
	int rc = 0;

	if (!json_is(messages, JSON_ARRAY) || !messages->count)
		return err_set(c->err, ERR_PARSE, "messages: required, a list of at least one message");
	const struct json *m = json_first(messages);
	if (role_of(m) == ROLE_SYSTEM) {
		json_kopen(&c->w, "system", '[');
		for (; m && role_of(m) == ROLE_SYSTEM && rc == 0; m = json_next(messages, m), c->item++)
			rc = put_content(c, json_get(m, "content"));
		json_close(&c->w);
	}
	json_kopen(&c->w, "messages", '[');
	for (; m && rc == 0; m = json_next(messages, m), c->item++) {
		enum chat_role role = role_of(m);
		if (role == ROLE_ASSISTANT) {
			rc = put_assistant(c, m);
		} else if (role == ROLE_TOOL) {
			rc = put_tool(c, m);
		} else if (role != ROLE_USER) {
			rc = refuse_message(c, "role: must be system (in front), user, assistant or tool");
		} else if (c->last == ROLE_USER) {
			rc = refuse_message(c, "role: two messages of the user in a row");
		} else {
			if (c->last != ROLE_TOOL)
				open_message(c, "user");
			rc = put_content(c, json_get(m, "content"));
		}
		c->last = role;
	}
	if (rc == 0)
		json_putf(&c->w, c->last > ROLE_SYSTEM ? "]}]" : "]");
	return rc;
}

static bool chat_takes(struct str path)
{
	return str_is(path, "/v1/chat/completions");
}

static int chat_request(struct translation *t, struct str path, struct str body, struct err *err)
{
	static const struct other_members known = {
		"model|messages|tools|tool_choice|parallel_tool_calls|stream|stream_options|max_tokens|temperature|"
		"max_completion_tokens|top_p|stop|n|seed|reasoning_effort|user|metadata|store|response_format|"
		"frequency_penalty|logprobs|presence_penalty",
		.before = "",
		.after = ": unknown field",
	};
	struct chat_reader c = { .w = json_out(&t->body), .arena = t->arena, .err = err };
	const struct json *root;

	if (other_request(&t->reader, t->arena, body, &known, &root, err) < 0)
		return -(int)err->kind;
	const struct json *limit = json_get(root, "max_tokens"), *limit2 = json_get(root, "max_completion_tokens");
	const struct json *stream = json_get(root, "stream"), *options = json_get(root, "stream_options");
	const struct json *tools = json_get(root, "tools");
	if (options && !json_bool(stream))
		return err_set(err, ERR_PARSE, "stream_options: only with stream");
	if (limit && limit2)
		return err_set(err, ERR_PARSE, "max_tokens and max_completion_tokens: only one of them");
	limit = limit ? limit : limit2;
	json_putf(&c.w, "{model?:%.*s, max_tokens?:%.*s, max_tokens?:%d, stream?:%.*s",
		  JSON_ARG(json_get(root, "model")), JSON_ARG(limit), limit ? 0 : OTHER_NO_LIMIT_TOKENS,
		  JSON_ARG(stream));
	if (tools)
		json_kopen(&c.w, "tools", '[');
	for (const struct json *tool = json_first(tools); tool; tool = json_next(tools, tool)) {
		const struct json *function = json_get(tool, "function");
		if (!json_str_is(json_get(tool, "type"), "function") ||
		    !json_is(json_get(function, "name"), JSON_STRING))
			return err_set(err, ERR_PARSE, "tools: a tool is of type function and has a name");
		other_put_tool(&c.w, function, json_get(function, "parameters"));
	}
	if (tools)
		json_close(&c.w);
	if (put_messages(&c, json_get(root, "messages")) < 0)
		return -(int)err->kind;
	json_close(&c.w);
	t->wants_usage = !json_bool(stream) || json_bool(json_get(options, "include_usage"));
	return 0;
}

/* Answers: the stages of core/scenario/reply_event.c. A stage without a chunk passes with the one before, so that a call is
 * complete with its last piece. */

static const char *finish_reason(const struct reply *r)
{
	const char *reason = reply_stop_reason(r);

	return !strcmp(reason, "tool_use")     ? "tool_calls"
	       : !strcmp(reason, "max_tokens") ? "length"
	       : !strcmp(reason, "refusal")    ? "content_filter"
					       : "stop";
}

static void put_usage(struct json_out *w, const struct usage *u)
{
	unsigned long long input = u->input + u->cache_read + u->cache_write, output = u->output;

	json_putf(w,
		  "usage:{prompt_tokens:%llu, completion_tokens:%llu, total_tokens:%llu, "
		  "prompt_tokens_details:{cached_tokens:%llu}}}",
		  input, output, input + output, (unsigned long long)u->cache_read);
}

/* An object up to its open list of choices */
static struct json_out begin_object(const struct reply *r, const char *object, struct buf *out)
{
	struct json_out w = json_out(out);
	char id[DIGEST_ID_MAX];

	json_putf(&w, "{id:'%s', object:'%s', created:%d, model:'%.*s', choices:[",
		  digest_id(id, "chatcmpl-", r->id_a, r->id_b), object, CREATED_S, STR_ARG(r->model));
	return w;
}

/* A chunk up to the open delta of its one choice */
static struct json_out begin_chunk(const struct reply *r, struct buf *out)
{
	buf_addstr(out, "data: ");
	struct json_out w = begin_object(r, "chat.completion.chunk", out);
	json_putf(&w, "{index:0, delta:{");
	return w;
}

static void end_chunk(struct json_out *w, const char *reason)
{
	json_putf(w, "}, finish_reason:'%s'}]}", reason);
	buf_addstr(w->buf, "\n\n");
}

static void put_delta(struct reply *r, struct buf *out)
{
	const struct reply_block *b = &r->blocks[r->block];
	size_t n = reply_delta_len(r, b);
	AUTO_BUF struct buf made = { 0 };
	struct str piece = reply_piece(b, r->at, n, &made);
	struct json_out w = begin_chunk(r, out);

	if (b->block->kind == BLOCK_CALL)
		json_putf(&w, "tool_calls:[{index:%llu, function:{arguments:'%.*s'}}]", (unsigned long long)r->calls,
			  STR_ARG(piece));
	else
		json_kstr(&w, b->block->kind == BLOCK_THINKING ? "reasoning_content" : "content", piece);
	end_chunk(&w, NULL);
	r->at += n;
}

static enum reply_stage stage_in_block(const struct reply *r)
{
	return r->at < r->blocks[r->block].text.n ? STAGE_DELTA : STAGE_BLOCK_STOP;
}

/* True: the stage has no chunk, and is over. */
static bool skip_stage(struct reply *r)
{
	enum block_kind kind = r->block < r->block_count ? r->blocks[r->block].block->kind : 0;

	if (r->stage == STAGE_BLOCK_STOP) {
		r->calls += kind == BLOCK_CALL;
		r->block++;
		r->stage = r->block < r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		return true;
	}
	if (r->stage != STAGE_BLOCK_START || kind == BLOCK_CALL)
		return false;
	r->at = 0;
	r->stage = kind == BLOCK_REDACTED || kind == BLOCK_GIVEN ? STAGE_BLOCK_STOP : stage_in_block(r);
	return true;
}

static void chat_event_next(struct reply *r, struct buf *out)
{
	struct json_out w;
	char id[DIGEST_ID_MAX];

	switch (r->stage) {
	case STAGE_START:
		w = begin_chunk(r, out);
		json_putf(&w, "role:'assistant', content:''");
		end_chunk(&w, NULL);
		r->stage = r->block_count ? STAGE_BLOCK_START : STAGE_MESSAGE_DELTA;
		break;
	case STAGE_BLOCK_START:
		r->at = 0;
		w = begin_chunk(r, out);
		json_putf(&w,
			  "tool_calls:[{index:%llu, id:'%s', type:'function', function:{name:'%.*s', arguments:''}}]",
			  (unsigned long long)r->calls, reply_tool_id(id, r, r->block),
			  STR_ARG(r->blocks[r->block].block->name));
		end_chunk(&w, NULL);
		r->stage = stage_in_block(r);
		break;
	case STAGE_DELTA:
		put_delta(r, out);
		r->stage = stage_in_block(r);
		break;
	case STAGE_MESSAGE_DELTA:
		w = begin_chunk(r, out);
		end_chunk(&w, finish_reason(r));
		r->stage = r->wants_usage ? STAGE_USAGE : STAGE_MESSAGE_STOP;
		break;
	case STAGE_USAGE:
		buf_addstr(out, "data: ");
		w = begin_object(r, "chat.completion.chunk", out);
		json_close(&w);
		put_usage(&w, &r->usage);
		buf_addstr(out, "\n\n");
		r->stage = STAGE_MESSAGE_STOP;
		break;
	case STAGE_MESSAGE_STOP:
		buf_addstr(out, "data: [DONE]\n\n");
		r->stage = STAGE_OVER;
		break;
	default:
		break;
	}
	while (skip_stage(r))
		;
}

void chat_error(struct buf *out, unsigned status, struct str type, struct str message)
{
	json_addf(out, "{error:{message:'%.*s', type:'%.*s', param:null, code:null}}", STR_ARG(message), STR_ARG(type));
}

static void chat_json(const struct reply *r, struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf thinking = { 0 };
	AUTO_BUF struct buf calls = { 0 };
	struct json_out list = json_out(&calls);
	char id[DIGEST_ID_MAX];

	json_open(&list, '[');
	for (size_t i = 0; i < r->block_count; i++) {
		const struct reply_block *b = &r->blocks[i];
		if (b->block->kind == BLOCK_CALL)
			json_putf(&list, "{id:'%s', type:'function', function:{name:'%.*s', arguments:'%.*s'}}",
				  reply_tool_id(id, r, i), STR_ARG(b->block->name), STR_ARG(b->text));
		else if (b->block->kind == BLOCK_FILLER)
			reply_add_filler(&text, 0, b->text.n);
		else if (b->block->kind == BLOCK_TEXT || b->block->kind == BLOCK_THINKING)
			buf_append(b->block->kind == BLOCK_TEXT ? &text : &thinking, b->text);
	}
	json_close(&list);
	struct json_out w = begin_object(r, "chat.completion", out);
	json_putf(&w,
		  "{index:0, message:{role:'assistant', content:?'%.*s', reasoning_content?:'%.*s', tool_calls?:%s}, ",
		  STR_ARG(buf_str(&text)), STR_ARG(buf_str(&thinking)), calls.n > 2 ? calls.p : NULL);
	json_putf(&w, "finish_reason:'%s'}], ", finish_reason(r));
	put_usage(&w, &r->usage);
}

static const struct dialect dialect_chat = {
	.takes = chat_takes,
	.request = chat_request,
	.event_next = chat_event_next,
	.error = chat_error,
	.json = chat_json,
	.call_id = { "call_01", "call_01" }, /* thinking does not come back */
};

const struct dialect *const dialects[] = { &dialect_chat,   &dialect_responses, &dialect_gemini,
					   &dialect_frames, &dialect_cloud,     NULL };
