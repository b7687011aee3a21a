/* SPDX-License-Identifier: MIT
 * dialect_gemini.c - generateContent of Gemini: converts its requests to the Messages API, and writes answers as its chunks. What was
 * thought leaves as a signature (base64 of model and text) on the first call, without a call on an empty text at the end; it
 * must come back unchanged. Gemini 2 has calls without ids. */
#include "dialect.h"

static bool has_ids(struct str model)
{
	return !str_has(model, STR("gemini-1")) && !str_has(model, STR("gemini-2"));
}

/* False: not a path of Gemini. */
static bool read_path(struct str path, struct str *ret_model, bool *ret_stream)
{
	const struct str models = STR("/models/"), stream = STR(":streamGenerateContent"),
			 whole = STR(":generateContent");
	const char *at = memmem(path.p, path.n, models.p, models.n);
	struct str end = str_ends(path, stream) ? stream : whole;

	if (!at || !str_ends(path, end) || str_has(path, STR("/publishers/anthropic/")))
		return false;
	*ret_stream = end.n == stream.n;
	ret_model->p = at + models.n;
	ret_model->n = path.n - end.n - (size_t)(ret_model->p - path.p);
	return true;
}

struct turn_call {
	struct str id, name;
	bool answered;
};

struct turns_reader {
	struct json_out w;
	struct arena *arena;
	struct err *err;
	struct str model;
	size_t turn;
	struct turn_call *calls; /* of the turn before, which results answer */
	size_t call_count, next_call, made;
};

static int refuse_turn(const struct turns_reader *c, const char *what)
{
	return err_set(c->err, ERR_PARSE, "contents[%zu]: %s", c->turn, what);
}

static int put_call(struct turns_reader *c, const struct json *call)
{
	struct str input = json_get(call, "args") ? json_raw(json_get(call, "args")) : STR("{}");
	struct str id = json_str(json_get(call, "id"), c->arena), name = json_str(json_get(call, "name"), c->arena);

	if (!name.n)
		return refuse_turn(c, "functionCall: a name is required");
	if (!id.n)
		id = str_from(arena_printf(c->arena, "call_g%zu", c->made++));
	c->calls[c->call_count++] = (struct turn_call){ .id = id, .name = name };
	json_putf(&c->w, "{type:'tool_use', id:'%.*s', name:'%.*s', input:%.*s}", STR_ARG(id), STR_ARG(name),
		  STR_ARG(input));
	return 0;
}

/* Without an id it answers the first call of that name that has no answer yet. */
static int put_result(struct turns_reader *c, const struct json *result)
{
	struct str id = json_str(json_get(result, "id"), c->arena), name = json_str(json_get(result, "name"), c->arena);
	const struct json *response = json_get(result, "response");
	const struct json *output = json_get(response, "output"), *error = json_get(response, "error");
	size_t i = c->next_call;

	while (i < c->call_count &&
	       (c->calls[i].answered || !str_eq(c->calls[i].name, name) || (id.n && !str_eq(c->calls[i].id, id))))
		i++;
	if (i == c->call_count)
		return refuse_turn(c,
				   "the number of function response parts is not that of the function call parts, or "
				   "their names differ");
	c->calls[i].answered = true;
	while (c->next_call < c->call_count && c->calls[c->next_call].answered)
		c->next_call++;
	if (!json_is(response, JSON_OBJECT))
		return refuse_turn(c, "functionResponse: response must be an object");
	json_putf(&c->w, "{type:'tool_result', tool_use_id:'%.*s', is_error?:!!%d", STR_ARG(c->calls[i].id),
		  json_is(error, JSON_STRING));
	if (json_is(error, JSON_STRING) || json_is(output, JSON_STRING))
		json_kraw(&c->w, "content", json_raw(json_is(error, JSON_STRING) ? error : output));
	else
		json_kstr(&c->w, "content", json_raw(response));
	json_close(&c->w);
	return 0;
}

static int put_part(struct turns_reader *c, const struct json *part, bool user)
{
	const struct json *text = json_get(part, "text"), *data = json_get(part, "inlineData");
	const struct json *call = json_get(part, "functionCall"), *result = json_get(part, "functionResponse");

	if (result && user)
		return put_result(c, result);
	if (call && !user)
		return put_call(c, call);
	if (json_is(text, JSON_STRING)) {
		if (text->len) /* else it only had a signature */
			other_put_text(&c->w, text);
		return 0;
	}
	if (!json_is(json_get(data, "data"), JSON_STRING) || !user)
		return refuse_turn(c, "a part has text, inlineData, functionCall or functionResponse");
	json_putf(&c->w, "{type:'%s', source:{type:'base64', media_type:%.*s, data:%.*s}}",
		  json_str_is(json_get(data, "mimeType"), "application/pdf") ? "document" : "image",
		  JSON_ARG(json_get(data, "mimeType")), JSON_ARG(json_get(data, "data")));
	return 0;
}

static int put_turn(struct turns_reader *c, const struct json *turn)
{
	const struct json *role = json_get(turn, "role"), *parts = json_get(turn, "parts");
	bool user = !role || json_str_is(role, "user"), first = true;

	if ((!user && !json_str_is(role, "model")) || !json_is(parts, JSON_ARRAY) || !parts->count)
		return refuse_turn(c, "a turn has the role user or model, and parts");
	json_putf(&c->w, "{role:'%s', content:[", user ? "user" : "assistant");
	if (!user) {
		c->calls = arena_alloc(c->arena, parts->count * sizeof *c->calls);
		c->call_count = c->next_call = 0;
	}
	/* One thinking block in front stands for all signatures of the turn. */
	for (const struct json *p = json_first(parts); p && !user; p = json_next(parts, p)) {
		struct str sealed = json_str(json_get(p, "thoughtSignature"), c->arena);
		int rc = 0;
		if (sealed.n && !str_is(sealed, "skip_thought_signature_validator"))
			rc = other_put_sealed(&c->w, c->model, sealed);
		if (rc < 0)
			return refuse_turn(c, rc == -1
						      ? "Thought signature is not valid."
						      : "Thought signature is not valid: it is that of another model.");
		if (json_get(p, "functionCall") && first && !sealed.n && has_ids(c->model))
			return refuse_turn(c, "Function call is missing a thought_signature in functionCall parts.");
		first = first && !json_get(p, "functionCall");
	}
	for (const struct json *p = json_first(parts); p; p = json_next(parts, p))
		if (!json_bool(json_get(p, "thought")) && put_part(c, p, user) < 0)
			return -(int)c->err->kind;
	json_putf(&c->w, "]}");
	return 0;
}

static int put_tools(struct turns_reader *c, const struct json *tools)
{
	if (!tools)
		return 0;
	json_kopen(&c->w, "tools", '[');
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t)) {
		const struct json *list = json_get(t, "functionDeclarations");
		for (const struct json *f = json_first(list); f; f = json_next(list, f)) {
			const struct json *schema = json_get(f, "parametersJsonSchema");
			if (!schema)
				schema = json_get(f, "parameters");
			if (json_get(schema, "$schema") || json_get(schema, "$id"))
				return err_set(c->err, ERR_PARSE, "tools: Unknown name \"$schema\"");
			other_put_tool(&c->w, f, json_str_is(json_get(schema, "type"), "object") ? schema : NULL);
		}
	}
	json_close(&c->w);
	return 0;
}

static bool gemini_takes(struct str path)
{
	return read_path(path, &(struct str){ 0 }, &(bool){ 0 });
}

static int gemini_request(struct translation *t, struct str path, struct str body, struct err *err)
{
	static const struct other_members known = {
		"contents|systemInstruction|tools|toolConfig|generationConfig|safetySettings",
		.before = "Invalid JSON payload received. Unknown name \"",
		.after = "\"",
	};
	struct turns_reader c = { .w = json_out(&t->body), .arena = t->arena, .err = err };
	bool stream = false;
	const struct json *root;
	int64_t tokens = OTHER_NO_LIMIT_TOKENS;

	read_path(path, &c.model, &stream);
	if (other_request(&t->reader, t->arena, body, &known, &root, err) < 0)
		return -(int)err->kind;
	const struct json *contents = json_get(root, "contents");
	const struct json *system = json_get(json_get(root, "systemInstruction"), "parts");
	(void)json_i64(json_get(json_get(root, "generationConfig"), "maxOutputTokens"), &tokens);
	/* prefixes are cached by themselves */
	json_putf(&c.w, "{model:'%.*s', max_tokens:%lld, stream:!!%d, cache_control:{type:'ephemeral'}",
		  STR_ARG(c.model), (long long)tokens, stream);
	if (put_tools(&c, json_get(root, "tools")) < 0)
		return -(int)err->kind;
	if (json_is(system, JSON_ARRAY) && system->count) {
		json_kopen(&c.w, "system", '[');
		for (const struct json *p = json_first(system); p; p = json_next(system, p))
			if (put_part(&c, p, true) < 0)
				return -(int)err->kind;
		json_close(&c.w);
	}
	if (!json_is(contents, JSON_ARRAY) || !contents->count)
		return err_set(err, ERR_PARSE, "contents: required, a list of at least one turn");
	json_kopen(&c.w, "messages", '[');
	for (const struct json *turn = json_first(contents); turn; turn = json_next(contents, turn), c.turn++)
		if (put_turn(&c, turn) < 0)
			return -(int)err->kind;
	json_putf(&c.w, "]}");
	return 0;
}

/* The signature of the answer; nothing if it did not think. */
static void put_signature(struct json_out *w, const struct reply *r)
{
	AUTO_BUF struct buf sealed = { 0 };

	if (r->first_thinking == SIZE_MAX || r->blocks[r->first_thinking].block->kind != BLOCK_THINKING)
		return;
	other_add_sealed(&sealed, r->model, r->blocks[r->first_thinking].text);
	json_kstr(w, "thoughtSignature", buf_str(&sealed));
}

static void put_call_part(struct json_out *w, const struct reply *r, size_t block, bool first)
{
	char id[DIGEST_ID_MAX];

	json_open(w, '{');
	if (first)
		put_signature(w, r);
	json_putf(w, "functionCall:{id?:'%s', name:'%.*s', args:%.*s}}",
		  has_ids(r->model) ? reply_tool_id(id, r, block) : NULL, STR_ARG(r->blocks[block].block->name),
		  STR_ARG(r->blocks[block].text));
}

static void put_text_part(struct json_out *w, const struct reply_block *b, uint64_t at, size_t n)
{
	AUTO_BUF struct buf made = { 0 };
	struct str text = reply_piece(b, at, n, &made);

	json_putf(w, "{text:'%.*s', thought?:!!%d}", STR_ARG(text), b->block->kind == BLOCK_THINKING);
}

static struct json_out begin_chunk(struct buf *out)
{
	struct json_out w = json_out(out);

	json_putf(&w, "{candidates:[{content:{role:'model', parts:[");
	return w;
}

static void end_chunk(struct json_out *w, const struct reply *r, bool over)
{
	const char *reason = reply_stop_reason(r);
	unsigned long long input = r->usage.input + r->usage.cache_read + r->usage.cache_write;
	unsigned long long output = over ? r->usage.output : 0;
	char id[DIGEST_ID_MAX];

	json_putf(w, "]}, finishReason?:'%s', index:0}]",
		  !over                           ? NULL
		  : !strcmp(reason, "max_tokens") ? "MAX_TOKENS"
		  : !strcmp(reason, "refusal")    ? "SAFETY"
						  : "STOP");
	json_putf(w, "usageMetadata:{promptTokenCount:%llu, cachedContentTokenCount?:%llu", input,
		  (unsigned long long)r->usage.cache_read);
	if (over)
		json_ki64(w, "candidatesTokenCount", (int64_t)output);
	json_putf(w, "totalTokenCount:%llu}, modelVersion:'%.*s', responseId:'%s'}", input + output, STR_ARG(r->model),
		  digest_id(id, "gemini", r->id_a, r->id_b));
}

static bool is_silent(const struct reply_block *b)
{
	return b->block->kind == BLOCK_GIVEN || b->block->kind == BLOCK_REDACTED;
}

/* One chunk: a piece of a text, a whole call, or the end. */
static void gemini_event_next(struct reply *r, struct buf *out)
{
	if (r->stage == STAGE_START)
		r->stage = STAGE_DELTA;
	while (r->block < r->block_count &&
	       (is_silent(&r->blocks[r->block]) ||
		(r->blocks[r->block].block->kind != BLOCK_CALL && r->at >= r->blocks[r->block].text.n))) {
		r->block++;
		r->at = 0;
	}
	buf_addstr(out, "data: ");
	struct json_out w = begin_chunk(out);
	bool over = r->block == r->block_count;
	if (over) {
		if (!r->calls && r->first_thinking != SIZE_MAX) {
			json_open(&w, '{');
			put_signature(&w, r);
			json_putf(&w, "text:''}");
		}
		r->stage = STAGE_OVER;
	} else if (r->blocks[r->block].block->kind == BLOCK_CALL) {
		put_call_part(&w, r, r->block++, r->calls++ == 0);
	} else {
		const struct reply_block *b = &r->blocks[r->block];
		size_t n = reply_delta_len(r, b);
		put_text_part(&w, b, r->at, n);
		r->at += n;
	}
	end_chunk(&w, r, over);
	buf_addstr(out, "\n\n");
}

static void gemini_json(const struct reply *r, struct buf *out)
{
	struct json_out w = begin_chunk(out);
	bool called = false;

	for (size_t i = 0; i < r->block_count; i++) {
		if (is_silent(&r->blocks[i]))
			continue;
		if (r->blocks[i].block->kind == BLOCK_CALL)
			put_call_part(&w, r, i, !called);
		else
			put_text_part(&w, &r->blocks[i], 0, r->blocks[i].text.n);
		called = called || r->blocks[i].block->kind == BLOCK_CALL;
	}
	end_chunk(&w, r, true);
}

static void gemini_error(struct buf *out, unsigned status, struct str type, struct str message)
{
	static const struct {
		unsigned status;
		const char *name;
	} names[] = { { 400, "INVALID_ARGUMENT" }, { 401, "UNAUTHENTICATED" },    { 403, "PERMISSION_DENIED" },
		      { 404, "NOT_FOUND" },        { 429, "RESOURCE_EXHAUSTED" }, { 503, "UNAVAILABLE" },
		      { 529, "UNAVAILABLE" } };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (names[i].status == status)
			type = str_from(names[i].name);
	json_addf(out, "{error:{code:%u, message:'%.*s', status:'%.*s'}}", status, STR_ARG(message), STR_ARG(type));
}

const struct dialect dialect_gemini = {
	.takes = gemini_takes,
	.request = gemini_request,
	.event_next = gemini_event_next,
	.error = gemini_error,
	.json = gemini_json,
	.call_id = { "call_01", "call_0T" },
};
