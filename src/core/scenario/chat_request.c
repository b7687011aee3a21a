/* SPDX-License-Identifier: MIT
 * chat_request.c - a request for chat completions, written as one of the Messages API, so that one set of checks and rules
 * serves both. As strict as the other side: unknown members are refused, a role never follows itself, arguments are JSON.
 *
 *     system, developer (in front)  -> system            user, tool        -> one user message, results first
 *     assistant with tool_calls     -> tool_use blocks    image_url         -> image */
#include "core/scenario/engine_int.h"
#include "lib/json/json_write.h"

enum { NO_LIMIT_TOKENS = 1000000 };

static const char *const known_members[] = {
	"model",
	"messages",
	"tools",
	"tool_choice",
	"parallel_tool_calls",
	"stream",
	"stream_options",
	"max_tokens",
	"temperature",
	"max_completion_tokens",
	"top_p",
	"stop",
	"n",
	"seed",
	"reasoning_effort",
	"user",
	"metadata",
	"store",
	"response_format",
	"frequency_penalty",
	"logprobs",
	"presence_penalty",
};

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

/* ---- content --------------------------------------------------------------------------------------------------- */

static void put_text(struct chat_reader *c, const struct json *text)
{
	json_putf(&c->w, "{type:'text', text:%.*s}", STR_ARG(json_raw(text)));
}

static int put_image(struct chat_reader *c, const struct json *image)
{
	struct str rest = json_str(json_get(image, "url"), c->arena);
	struct str scheme = str_cut(&rest, ':');
	struct str type = str_cut(&rest, ';');
	struct str encoding = str_cut(&rest, ',');

	if (!str_is(scheme, "data") || !str_is(encoding, "base64") || !rest.n)
		return refuse_message(c, "image_url: must be a data: address in base64");
	json_putf(&c->w, "{type:'image', source:{type:'base64', media_type:'%.*s', data:'%.*s'}}", STR_ARG(type),
		  STR_ARG(rest));
	return 0;
}

/* As blocks, without the brackets around them. */
static int put_content(struct chat_reader *c, const struct json *content)
{
	if (json_is(content, JSON_STRING)) {
		put_text(c, content);
		return 0;
	}
	if (!json_is(content, JSON_ARRAY) || !content->count)
		return refuse_message(c, "content: required, a string or a list of parts");
	for (const struct json *p = json_first(content); p; p = json_next(content, p)) {
		const struct json *type = json_get(p, "type");
		int rc = 0;
		if (json_str_is(type, "text") && json_is(json_get(p, "text"), JSON_STRING))
			put_text(c, json_get(p, "text"));
		else if (json_str_is(type, "image_url"))
			rc = put_image(c, json_get(p, "image_url"));
		else
			return refuse_message(c, "content: a part is of type text or image_url");
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void close_message(struct chat_reader *c)
{
	if (c->last <= ROLE_SYSTEM)
		return;
	json_close(&c->w);
	json_close(&c->w);
}

static void open_message(struct chat_reader *c, const char *role)
{
	close_message(c);
	json_putf(&c->w, "{role:'%s', content:[", role);
}

static int put_call(struct chat_reader *c, const struct json *call)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *function = json_get(call, "function");
	struct str arguments = json_str(json_get(function, "arguments"), c->arena);
	const struct json *input;

	if (!json_str_is(json_get(call, "type"), "function") || !json_is(json_get(call, "id"), JSON_STRING) ||
	    !json_is(json_get(function, "name"), JSON_STRING))
		return refuse_message(c, "tool_calls: a call has id, type function and a name");
	if (json_parse(&reader, arguments.p, arguments.n, &input, NULL) < 0 || !json_is(input, JSON_OBJECT))
		return refuse_message(c, "tool_calls: arguments must be an object of JSON in a string");
	json_putf(&c->w, "{type:'tool_use', id:%.*s, name:%.*s, input:%.*s}", STR_ARG(json_raw(json_get(call, "id"))),
		  STR_ARG(json_raw(json_get(function, "name"))), STR_ARG(arguments));
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
	const struct json *content = json_get(message, "content");

	if (c->last != ROLE_TOOL && c->last != ROLE_ASSISTANT)
		return refuse_message(c, "role: a result follows the calls of the assistant, or another result");
	if (!json_is(json_get(message, "tool_call_id"), JSON_STRING))
		return refuse_message(c, "tool_call_id: required");
	if (!json_is(content, JSON_STRING))
		return refuse_message(c, "content: a result is a string");
	if (c->last != ROLE_TOOL)
		open_message(c, "user");
	json_putf(&c->w, "{type:'tool_result', tool_use_id:%.*s, content:%.*s}",
		  STR_ARG(json_raw(json_get(message, "tool_call_id"))), STR_ARG(json_raw(content)));
	return 0;
}

static enum chat_role role_of(const struct json *message)
{
	static const struct {
		const char *name;
		enum chat_role role;
	} roles[] = { { "system", ROLE_SYSTEM },
		      { "developer", ROLE_SYSTEM },
		      { "user", ROLE_USER },
		      { "assistant", ROLE_ASSISTANT },
		      { "tool", ROLE_TOOL } };

	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (json_str_is(json_get(message, "role"), roles[i].name))
			return roles[i].role;
	return ROLE_NONE;
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
	if (rc == 0) {
		close_message(c);
		json_close(&c->w);
	}
	return rc;
}

static int put_tools(struct chat_reader *c, const struct json *tools)
{
	if (!tools)
		return 0;
	json_kopen(&c->w, "tools", '[');
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t)) {
		const struct json *function = json_get(t, "function");
		const struct json *schema = json_get(function, "parameters");
		if (!json_str_is(json_get(t, "type"), "function") || !json_is(json_get(function, "name"), JSON_STRING))
			return err_set(c->err, ERR_PARSE, "tools: a tool is of type function and has a name");
		json_putf(&c->w, "{name:%.*s", STR_ARG(json_raw(json_get(function, "name"))));
		if (json_get(function, "description"))
			json_kraw(&c->w, "description", json_raw(json_get(function, "description")));
		json_kraw(&c->w, "input_schema", schema ? json_raw(schema) : STR("{\"type\":\"object\"}"));
		json_close(&c->w);
	}
	json_close(&c->w);
	return 0;
}

int chat_request(struct json_reader *reader, struct arena *arena, struct str body, struct buf *out, bool *ret_usage,
		 struct err *err)
{
	struct chat_reader c = { .w = json_out(out), .arena = arena, .err = err };
	const struct json *root;
	struct err why;

	if (json_parse(reader, body.n ? body.p : "", body.n, &root, &why) < 0)
		return err_set(err, ERR_PARSE, "the body is not valid JSON: %s", why.text);
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		size_t i = 0;
		while (i < COUNT_OF(known_members) && !json_str_is(m.key, known_members[i]))
			i++;
		if (i == COUNT_OF(known_members))
			return err_set(err, ERR_PARSE, STR_FMT ": unknown field", STR_ARG(json_str(m.key, arena)));
	}
	if (json_get(root, "stream_options") && !json_bool(json_get(root, "stream")))
		return err_set(err, ERR_PARSE, "stream_options: only with stream");
	if (json_get(root, "max_tokens") && json_get(root, "max_completion_tokens"))
		return err_set(err, ERR_PARSE, "max_tokens and max_completion_tokens: only one of them");
	json_open(&c.w, '{');
	const struct json *limit = json_get(root, "max_tokens");
	const struct json *stream = json_get(root, "stream");
	if (!limit)
		limit = json_get(root, "max_completion_tokens");
	if (json_get(root, "model"))
		json_kraw(&c.w, "model", json_raw(json_get(root, "model")));
	if (limit)
		json_kraw(&c.w, "max_tokens", json_raw(limit));
	else
		json_ki64(&c.w, "max_tokens", NO_LIMIT_TOKENS);
	if (stream)
		json_kraw(&c.w, "stream", json_raw(stream));
	if (put_tools(&c, json_get(root, "tools")) < 0 || put_messages(&c, json_get(root, "messages")) < 0)
		return -(int)err->kind;
	json_close(&c.w);
	*ret_usage = !json_bool(json_get(root, "stream")) ||
		     json_bool(json_get(json_get(root, "stream_options"), "include_usage"));
	return 0;
}
