/* SPDX-License-Identifier: MIT
 * request_block.c - validates one content block: its position and members. */
#include "core/scenario/request_int.h"

enum { LIMIT_TOOL_NAME = 128 };

bool is_tool_name(struct str name)
{
	return str_is_name(name, "_-") && name.n <= LIMIT_TOOL_NAME;
}

bool has_ink(const struct json *string)
{
	if (!json_is(string, JSON_STRING))
		return false;
	for (size_t i = 0; i < string->len; i++) {
		char c = string->text[i];
		if (c == '\\' && i + 1 < string->len && char_in(string->text[i + 1], "nrt"))
			i++;
		else if (c != ' ')
			return true;
	}
	return false;
}

int check_mark(struct checker *c, const struct json *cache_control)
{
	const struct json *ttl = json_get(cache_control, "ttl");

	if (!cache_control || json_is(cache_control, JSON_NULL))
		return 0;
	if (!json_str_is(json_get(cache_control, "type"), "ephemeral"))
		return check_fail(c, "cache_control: type must be \"ephemeral\"");
	if (ttl && !json_str_is(ttl, "5m") && !json_str_is(ttl, "1h"))
		return check_fail(c, "cache_control: ttl must be \"5m\" or \"1h\"");
	if (c->marks < REQUEST_MAX_MARKS)
		c->request->marks[c->marks] = (struct mark){
			.block = c->prefix_count ? c->prefix_count - 1 : 0,
			.ttl_ms = json_str_is(ttl, "1h") ? CACHE_TTL_LONG_MS : CACHE_TTL_SHORT_MS,
		};
	c->marks++;
	return 0;
}

static int check_text(struct checker *c, const struct json *block, struct message_facts *facts)
{
	const struct json *text = json_get(block, "text");

	if (!json_is(text, JSON_STRING))
		return check_fail(c, "text: a string is required");
	if (!text->len && json_get(block, "cache_control"))
		return check_fail(c, "cache_control cannot be set for an empty text block");
	if (!has_ink(text))
		return check_fail(c, "text: must hold something else than white space");
	return 0;
}

static int check_source(struct checker *c, const struct json *block, struct message_facts *facts)
{
	const struct json *source = json_get(block, "source");

	if (!json_is(source, JSON_OBJECT) && !json_is(source, JSON_STRING))
		return check_fail(c, "source: required");
	return 0;
}

static int check_thinking(struct checker *c, const struct json *block, struct message_facts *facts)
{
	const struct json *thinking = json_get(block, "thinking"), *given = json_get(block, "signature");
	char signature[DIGEST_ID_MAX];

	if (!json_is(thinking, JSON_STRING) || !json_is(given, JSON_STRING))
		return check_fail(c, "a thinking block has the strings thinking and signature");
	if (!json_str_is(given, signature_of(signature, c->request->model, json_str(thinking, &c->arena))))
		return check_fail(c, "the signature does not fit: a thinking block must come back unchanged");
	facts->has_thinking = true;
	return 0;
}

static int check_redacted(struct checker *c, const struct json *block, struct message_facts *facts)
{
	if (!redacted_is_ours(json_str(json_get(block, "data"), &c->arena)))
		return check_fail(c, "data: a redacted_thinking block must come back unchanged");
	facts->has_thinking = true;
	return 0;
}

static int check_tool_use(struct checker *c, const struct json *block, struct message_facts *facts)
{
	struct str id = json_str(json_get(block, "id"), &c->arena);
	struct str name = json_str(json_get(block, "name"), &c->arena);
	char bound[TOOL_MODEL_MAX];

	if (!is_tool_name(id))
		return check_fail(c, "id: must match ^[a-zA-Z0-9_-]{1,128}$");
	if (!is_tool_name(name))
		return check_fail(c, "name: must match ^[a-zA-Z0-9_-]{1,128}$");
	if (!json_is(json_get(block, "input"), JSON_OBJECT))
		return check_fail(c, "input: must be an object");
	if (map_set(&c->ids, id, c))
		return check_fail(c, "id: " STR_FMT " was used before; tool_use ids must be unique", STR_ARG(id));
	if (!(c->flags & REQUEST_UNKNOWN_TOOLS) && !map_get(&c->tools, name))
		return check_fail(c, "name: there is no tool " STR_FMT " in tools", STR_ARG(name));
	/* Ids that begin so belong to answers that thought first (reply_event.c). */
	if ((str_starts(id, str_from(tool_model_prefix(bound, c->request->model))) ||
	     (str_starts(id, STR("call_0T")) && c->flags & REQUEST_SEALED)) &&
	    !facts->has_thinking)
		return check_fail(c, "the thinking block before tool_use " STR_FMT " is missing", STR_ARG(id));
	*xpush(c->calls, c->call_count, c->call_cap) = (struct pending_call){ .id = id };
	return 0;
}

static int check_tool_result(struct checker *c, const struct json *block, struct message_facts *facts)
{
	const struct json *content = json_get(block, "content"), *is_error = json_get(block, "is_error");
	struct str id = json_str(json_get(block, "tool_use_id"), &c->arena);
	struct pending_call *call = NULL;
	struct message_facts inner = { 0 };
	bool empty = !content || (json_is(content, JSON_STRING) ? !content->len : !content->count);

	/* Results are usually in the order of their calls. */
	for (size_t i = 0; i < c->call_count && !call; i++) {
		struct pending_call *next = &c->calls[(facts->answered + i) % c->call_count];
		if (str_eq(next->id, id))
			call = next;
	}
	if (!call)
		return check_fail(c, "tool_use_id: the message before has no tool_use " STR_FMT, STR_ARG(id));
	if (call->answered)
		return check_fail(c, "tool_use_id: " STR_FMT " has two results", STR_ARG(id));
	if (facts->has_other)
		return check_fail(c, "tool_result blocks must come first in the message");
	if (is_error && !json_is(is_error, JSON_TRUE) && !json_is(is_error, JSON_FALSE))
		return check_fail(c, "is_error: must be true or false");
	if (json_bool(is_error) && empty)
		return check_fail(c, "content: must not be empty when is_error is true");
	call->answered = true;
	facts->answered++;
	facts->has_result = true;
	if (!content || json_is(content, JSON_STRING))
		return 0;
	if (!json_is(content, JSON_ARRAY))
		return check_fail(c, "content: must be a string or a list of blocks");
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		int rc = check_block(c, b, HOME_RESULT, &inner);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_server_tool(struct checker *c, const struct json *block, struct message_facts *facts)
{
	if (!json_is(json_get(block, "id"), JSON_STRING) || !json_is(json_get(block, "name"), JSON_STRING) ||
	    !json_is(json_get(block, "input"), JSON_OBJECT))
		return check_fail(c, "a server_tool_use block has id, name and input");
	return 0;
}

static const struct block_rule {
	const char *type;
	unsigned homes;
	bool markable;
	int (*check)(struct checker *c, const struct json *block, struct message_facts *facts);
} block_rules[] = {
	{ "text", HOME_USER | HOME_ASSISTANT | HOME_RESULT | HOME_SYSTEM, true, check_text },
	{ "tool_use", HOME_ASSISTANT, true, check_tool_use },
	{ "tool_result", HOME_USER, true, check_tool_result },
	{ "thinking", HOME_ASSISTANT, false, check_thinking },
	{ "redacted_thinking", HOME_ASSISTANT, false, check_redacted },
	{ "image", HOME_USER | HOME_RESULT, true, check_source },
	{ "document", HOME_USER | HOME_RESULT, true, check_source },
	{ "search_result", HOME_USER | HOME_RESULT, true, check_source },
	{ "tool_reference", HOME_RESULT, false, NULL },
	{ "server_tool_use", HOME_ASSISTANT, true, check_server_tool },
	{ "web_search_tool_result", HOME_ASSISTANT, true, NULL },
	{ "web_fetch_tool_result", HOME_ASSISTANT, true, NULL },
	{ "code_execution_tool_result", HOME_ASSISTANT, true, NULL },
	{ "tool_search_tool_result", HOME_ASSISTANT, true, NULL },
};

int check_block(struct checker *c, const struct json *block, enum block_home home, struct message_facts *facts)
{
	if (!json_is(block, JSON_OBJECT))
		return check_fail(c, "a block must be an object");
	const struct json *type = json_get(block, "type"), *mark = json_get(block, "cache_control");
	const struct block_rule *rule = NULL;
	for (size_t i = 0; i < COUNT_OF(block_rules) && !rule; i++)
		if (json_str_is(type, block_rules[i].type))
			rule = &block_rules[i];
	if (!rule)
		return check_fail(c, "type: unknown block type '" STR_FMT "'", STR_ARG(json_str(type, &c->arena)));
	if (!(rule->homes & home))
		return check_fail(c, "type: a %s block cannot stand here", rule->type);
	if (mark && !rule->markable)
		return check_fail(c, "cache_control cannot be set for a %s block", rule->type);
	int rc = rule->check ? rule->check(c, block, facts) : 0;
	if (rc < 0)
		return rc;
	if (rule->check != check_tool_result)
		facts->has_other = true;
	if (rule->markable && home != HOME_RESULT)
		c->last_markable = c->prefix_count;
	return check_mark(c, mark);
}
