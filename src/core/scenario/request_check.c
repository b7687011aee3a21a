/* SPDX-License-Identifier: MIT
 * request_check.c - walks through a request in the order of the prompt (tools, system, messages), checks it, and
 * collects the prefix hashes and the texts that rules look at. */
#include "core/scenario/request_int.h"

enum { MIN_THINKING_BUDGET = 1024, KEEP_NODES = 1 << 18 };

static const char *const known_fields[] = {
	"model",         "max_tokens",     "messages",
	"system",        "tools",          "tool_choice",
	"stream",        "stop_sequences", "thinking",
	"output_config", "cache_control",  "metadata",
	"service_tier",  "inference_geo",  "speed",
	"container",     "diagnostics",    "temperature",
	"top_p",         "top_k",          "context_management",
	"compaction",    "fallbacks",      "fallback_credit_token",
	"mcp_servers",   "thread",         "output_format",
};

struct checker *checker_new(void)
{
	return xcalloc(1, sizeof(struct checker));
}

void checker_free(struct checker *c)
{
	if (!c)
		return;
	json_reader_release(&c->reader);
	arena_release(&c->arena);
	map_release(&c->tools);
	map_release(&c->ids);
	free(c->prefixes);
	free(c->calls);
	free(c);
}

int check_fail(const struct checker *c, const char *fmt, ...)
{
	char text[sizeof c->err->text];

	PRINT_ARGS(text, fmt);
	if (!c->list)
		return err_set(c->err, ERR_PARSE, "%s", text);
	if (!c->in_block)
		return err_set(c->err, ERR_PARSE, "%s.%zu: %s", c->list, c->item, text);
	return err_set(c->err, ERR_PARSE, "%s.%zu.content.%zu: %s", c->list, c->item, c->block, text);
}

/* Member by member, so that a cache_control somewhere changes nothing; inside tool results too, but no deeper. */
static uint64_t digest_block(uint64_t h, const struct json *block, uint64_t *bytes)
{
	if (!json_is(block, JSON_OBJECT)) {
		*bytes += json_raw(block).n;
		return digest(h, json_raw(block));
	}
	for (struct json_member m = json_members(block); m.key; m = json_member_next(block, m)) {
		if (json_str_is(m.key, "cache_control"))
			continue;
		h = digest(h, json_raw(m.key));
		*bytes += json_raw(m.key).n + 2;
		if (!json_is(m.value, JSON_ARRAY) || !json_str_is(m.key, "content")) {
			h = digest(h, json_raw(m.value));
			*bytes += json_raw(m.value).n;
			continue;
		}
		for (const struct json *v = json_first(m.value); v; v = json_next(m.value, v))
			h = digest_block(h, v, bytes);
	}
	return h;
}

static void prefix_add(struct checker *c, uint64_t salt, const struct json *value)
{
	c->prefixes = xgrow(c->prefixes, c->prefix_count, &c->prefix_cap, sizeof *c->prefixes);
	struct prefix p = c->prefix_count ? c->prefixes[c->prefix_count - 1] : (struct prefix){ 0 };
	p.hash = digest_block(digest_mix(p.hash ^ c->beside, salt), value, &p.bytes);
	c->beside = 0;
	c->prefixes[c->prefix_count++] = p;
}

static int check_members(struct checker *c, const struct json *root, uint64_t *ret_max_tokens)
{
	const struct json *max_tokens = json_get(root, "max_tokens"), *stream = json_get(root, "stream");

	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		size_t i = 0;
		while (i < COUNT_OF(known_fields) && !json_str_is(m.key, known_fields[i]))
			i++;
		if (i == COUNT_OF(known_fields))
			return check_fail(c, STR_FMT ": unknown field", STR_ARG(json_str(m.key, &c->arena)));
	}
	c->request->model = json_str(json_get(root, "model"), &c->arena);
	if (!c->request->model.n)
		return check_fail(c, "model: required, a string");
	*ret_max_tokens = UINT64_MAX;
	if ((max_tokens || !(c->flags & REQUEST_COUNT_ONLY)) &&
	    (!json_u64(max_tokens, ret_max_tokens) || !*ret_max_tokens))
		return check_fail(c, "max_tokens: required, a number of at least 1");
	if (stream && !json_is(stream, JSON_TRUE) && !json_is(stream, JSON_FALSE))
		return check_fail(c, "stream: must be true or false");
	c->request->stream = json_bool(stream);
	return 0;
}

static int check_thinking_config(struct checker *c, const struct json *root, uint64_t max_tokens)
{
	const struct json *thinking = json_get(root, "thinking");
	const struct json *type = json_get(thinking, "type");
	const struct json *choice = json_get(json_get(root, "tool_choice"), "type");
	uint64_t budget;

	if (!thinking || json_str_is(type, "adaptive") || json_str_is(type, "disabled"))
		return 0;
	if (!json_str_is(type, "enabled"))
		return check_fail(c, "thinking: type must be adaptive, enabled or disabled");
	if (!json_u64(json_get(thinking, "budget_tokens"), &budget) || budget < MIN_THINKING_BUDGET)
		return check_fail(c, "thinking: budget_tokens must be at least %d", MIN_THINKING_BUDGET);
	if (budget >= max_tokens)
		return check_fail(c, "thinking: budget_tokens must be less than max_tokens");
	if (json_str_is(choice, "any") || json_str_is(choice, "tool"))
		return check_fail(c, "tool_choice: a tool cannot be forced while thinking is enabled");
	return 0;
}

static int check_tools(struct checker *c, const struct json *root)
{
	const struct json *tools = json_get(root, "tools"), *choice = json_get(root, "tool_choice");
	const struct json *type = json_get(choice, "type");

	if (tools && !json_is(tools, JSON_ARRAY))
		return check_fail(c, "tools: must be a list");
	c->list = "tools";
	c->item = 0;
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t), c->item++) {
		struct str name = json_str(json_get(t, "name"), &c->arena);
		bool client_tool = !json_get(t, "type") || json_str_is(json_get(t, "type"), "custom");
		if (!is_tool_name(name))
			return check_fail(c, "name: must match ^[a-zA-Z0-9_-]{1,128}$");
		if (map_set(&c->tools, name, c))
			return check_fail(c, "name: there are two tools " STR_FMT, STR_ARG(name));
		if (client_tool && !json_str_is(json_get(json_get(t, "input_schema"), "type"), "object"))
			return check_fail(c, "input_schema: required, of type object");
		prefix_add(c, 't', t);
		c->last_markable = c->prefix_count;
		int rc = check_mark(c, json_get(t, "cache_control"));
		if (rc < 0)
			return rc;
	}
	c->list = NULL;
	if (json_first(tools) && json_str_is(type, "none")) /* those of the past need not be there then */
		c->flags |= REQUEST_UNKNOWN_TOOLS;
	if (!choice || json_str_is(type, "auto") || json_str_is(type, "any") || json_str_is(type, "none"))
		return 0;
	if (!json_str_is(type, "tool"))
		return check_fail(c, "tool_choice: type must be auto, any, tool or none");
	if (!map_get(&c->tools, json_str(json_get(choice, "name"), &c->arena)))
		return check_fail(c, "tool_choice: name must be one of tools");
	return 0;
}

static int check_system(struct checker *c, const struct json *root)
{
	const struct json *system = c->request->system = json_get(root, "system");
	struct message_facts facts = { 0 };

	if (!system)
		return 0;
	if (json_is(system, JSON_STRING)) {
		prefix_add(c, 's', system);
		c->last_markable = c->prefix_count;
		return has_ink(system) ? 0 : check_fail(c, "system: must not be empty");
	}
	if (!json_is(system, JSON_ARRAY) || !system->count)
		return check_fail(c, "system: must be a string or a list of text blocks");
	c->list = "system";
	c->item = 0;
	for (const struct json *b = json_first(system); b; b = json_next(system, b), c->item++) {
		prefix_add(c, 's', b);
		int rc = check_block(c, b, HOME_SYSTEM, &facts);
		if (rc < 0)
			return rc;
	}
	c->list = NULL;
	return 0;
}

static int check_content(struct checker *c, const struct json *content, enum block_home home,
			 struct message_facts *facts)
{
	if (json_is(content, JSON_STRING)) {
		prefix_add(c, (uint64_t)home << 8, content);
		c->last_markable = c->prefix_count;
		facts->has_other = true;
		return has_ink(content) ? 0 : check_fail(c, "content: must hold something else than white space");
	}
	if (!json_is(content, JSON_ARRAY))
		return check_fail(c, "content: required, a string or a list of blocks");
	if (!content->count)
		return check_fail(c, "content: must not be empty");
	c->in_block = true;
	c->block = 0;
	for (const struct json *b = json_first(content); b; b = json_next(content, b), c->block++) {
		prefix_add(c, c->block ? 'b' : (uint64_t)home << 8, b);
		int rc = check_block(c, b, home, facts);
		if (rc < 0)
			return rc;
	}
	c->in_block = false;
	return 0;
}

/* A system message in the middle follows a user message and changes nothing in the alternation around it. */
static int check_message(struct checker *c, const struct json *message, enum block_home *before)
{
	const struct json *role = json_get(message, "role");
	struct message_facts facts = { 0 };

	if (json_str_is(role, "system") && *before == HOME_USER) {
		*before = HOME_SYSTEM;
		return check_content(c, json_get(message, "content"), HOME_SYSTEM, &facts);
	}
	bool user = json_str_is(role, "user");
	if (!user && !json_str_is(role, "assistant"))
		return check_fail(c, "role: must be user or assistant, or system after a user message");
	if (c->item == 0 && !user)
		return check_fail(c, "role: the first message must be the user's");
	if (c->item > 0 && user != (*before == HOME_ASSISTANT))
		return check_fail(c, "role: user and assistant must alternate");
	*before = user ? HOME_USER : HOME_ASSISTANT;
	c->request->turn += !user;
	int rc = check_content(c, json_get(message, "content"), *before, &facts);
	if (rc < 0 || !user)
		return rc;
	for (size_t i = 0; i < c->call_count; i++)
		if (!c->calls[i].answered)
			return check_fail(c, "tool_use " STR_FMT " of the message before has no tool_result here",
					  STR_ARG(c->calls[i].id));
	c->call_count = 0;
	if (!facts.has_result) {
		c->request->prompt = message;
		c->request->turn = 1;
	}
	return 0;
}

static int check_messages(struct checker *c, const struct json *root)
{
	const struct json *messages = c->request->messages = json_get(root, "messages");
	enum block_home before = 0;

	if (!json_is(messages, JSON_ARRAY) || !messages->count)
		return check_fail(c, "messages: required, a list of at least one message");
	c->list = "messages";
	c->item = 0;
	for (const struct json *m = json_first(messages); m; m = json_next(messages, m), c->item++) {
		int rc = check_message(c, m, &before);
		if (rc < 0)
			return rc;
		c->request->last = m;
	}
	c->item--;
	if (c->call_count)
		return check_fail(c, "tool_use " STR_FMT " has no tool_result in a next message",
				  STR_ARG(c->calls[0].id));
	if (before == HOME_ASSISTANT && !(c->flags & REQUEST_PAUSES))
		return check_fail(c, "role: the last message must be the user's");
	c->list = NULL;
	return 0;
}

/* The mark at the top of the request means: the last block that can have one. */
static int check_automatic_mark(struct checker *c, const struct json *root)
{
	unsigned before = c->marks;
	int rc = check_mark(c, json_get(root, "cache_control"));

	if (rc < 0)
		return rc;
	if (c->marks > REQUEST_MAX_MARKS)
		return check_fail(c, "cache_control: %u blocks are marked, at most %d can be", c->marks,
				  REQUEST_MAX_MARKS);
	if (c->marks > before && c->last_markable)
		c->request->marks[before].block = c->last_markable - 1;
	c->request->mark_count = c->marks;
	return 0;
}

/* Parameters that the cache depends on: the model for the whole prefix, thinking and tool choice for the messages.
 * Hashed into the next block. */
static void add_beside(struct checker *c, const struct json *root, const char *field)
{
	c->beside = digest(digest_mix(c->beside, c->beside), json_raw(json_get(root, field)));
}

int request_check(struct checker *c, struct str body, unsigned flags, struct request *ret, struct err *err)
{
	const struct json *root;
	uint64_t max_tokens = 0;
	struct err why;

	if (body.n > REQUEST_LIMIT_BYTES)
		return err_set(err, ERR_LIMIT, "the request has %zu bytes, more than the %d that are allowed", body.n,
			       REQUEST_LIMIT_BYTES);
	if (c->reader.cap > KEEP_NODES)
		json_reader_release(&c->reader);
	if (json_parse(&c->reader, body.n ? body.p : "", body.n, &root, &why) < 0)
		return err_set(err, ERR_PARSE, "the body is not valid JSON: %s", why.text);
	if (!json_is(root, JSON_OBJECT))
		return err_set(err, ERR_PARSE, "the body must be a JSON object");
	arena_reset(&c->arena);
	map_release(&c->tools);
	map_release(&c->ids);
	c->prefix_count = c->call_count = c->last_markable = 0;
	c->marks = 0;
	c->beside = 0;
	c->list = NULL;
	c->in_block = false;
	c->flags = flags;
	c->request = ret;
	c->err = err;
	*ret = (struct request){ 0 };
	int rc = check_members(c, root, &max_tokens);
	if (rc == 0)
		rc = check_thinking_config(c, root, max_tokens);
	add_beside(c, root, "model");
	if (rc == 0)
		rc = check_tools(c, root);
	if (rc == 0)
		rc = check_system(c, root);
	add_beside(c, root, "thinking");
	add_beside(c, root, "tool_choice");
	add_beside(c, root, "output_config");
	if (rc == 0)
		rc = check_messages(c, root);
	if (rc == 0)
		rc = check_automatic_mark(c, root);
	ret->prefixes = c->prefixes;
	ret->prefix_count = c->prefix_count;
	return rc;
}

/* Nothing is decoded before a rule asks for it. */

struct collector {
	struct texts texts;
	struct arena *arena;
};

static void collect_text(struct collector *c, const struct json *string)
{
	if (json_is(string, JSON_STRING))
		*arena_push(c->arena, c->texts.items, c->texts.n) = json_str(string, c->arena);
}

/* content is a string or a list of blocks; texts of blocks inside a tool result come in their place. */
static void collect_content(struct collector *c, const struct json *content)
{
	if (!json_is(content, JSON_ARRAY)) {
		collect_text(c, content);
		return;
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		collect_text(c, json_get(b, "text"));
		if (json_str_is(json_get(b, "type"), "tool_result"))
			collect_content(c, json_get(b, "content"));
	}
}

/* The nth tool_result of the messages from `message` on; 0: the last one. */
static const struct json *find_result(const struct request *r, const struct json *message, uint64_t nth)
{
	const struct json *result = NULL;

	for (const struct json *m = message; m; m = json_next(r->messages, m)) {
		const struct json *content = json_get(m, "content");
		if (!json_is(content, JSON_ARRAY))
			continue;
		for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
			if (!json_str_is(json_get(b, "type"), "tool_result"))
				continue;
			result = b;
			if (nth && --nth == 0)
				return b;
		}
	}
	return nth ? NULL : result;
}

struct texts request_texts(const struct request *r, struct source source, struct arena *arena)
{
	struct collector c = { .arena = arena };

	switch (source.kind) {
	case SOURCE_PROMPT:
		collect_content(&c, json_get(r->prompt, "content"));
		break;
	case SOURCE_LAST:
		collect_content(&c, json_get(r->last, "content"));
		break;
	case SOURCE_SYSTEM:
		collect_content(&c, r->system);
		break;
	case SOURCE_LAST_RESULT:
		collect_content(&c, json_get(find_result(r, r->last, 0), "content"));
		break;
	case SOURCE_RESULT:
		collect_content(&c, json_get(find_result(r, r->prompt, source.index), "content"));
		break;
	}
	return c.texts;
}
