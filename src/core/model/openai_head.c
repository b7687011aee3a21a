/* SPDX-License-Identifier: MIT
 * openai_head.c - model, tools and system prompt of a request, out of a head of the Messages API. */
#include "core/model/head_json.h"
#include "core/model/openai_request.h"

static void add(struct translation *out, const char *constant)
{
	translation_add(out, str_from(constant));
}

static void add_member(struct translation *out, const char *name, const struct json *value)
{
	if (!value)
		return;
	add(out, name);
	translation_add(out, json_raw(value));
}

/* A tool that runs at the server of another API has no schema: it cannot be offered here. */
static bool add_tool(struct translation *out, const struct json *tool, bool first)
{
	const struct json *schema = json_get(tool, "input_schema");

	if (!schema)
		return false;
	add(out, first ? "\"tools\":[" : ",");
	add_member(out, "{\"type\":\"function\",\"function\":{\"name\":", json_get(tool, "name"));
	add_member(out, ",\"description\":", json_get(tool, "description"));
	add_member(out, ",\"parameters\":", schema);
	add(out, "}}");
	return true;
}

static void add_system(struct translation *out, const struct json *system)
{
	out->state = CHAT_FIRST;
	for (const struct json *b = json_first(system); b; b = json_next(system, b)) {
		const struct json *text = json_get(b, "text");
		if (!json_is(text, JSON_STRING))
			continue;
		add(out, out->state == CHAT_FIRST ? "{\"role\":\"system\",\"content\":\"" : "\\n\\n");
		translation_add(out, (struct str){ text->text, text->len });
		out->state = CHAT_CLOSED;
	}
	if (out->state == CHAT_CLOSED)
		add(out, "\"}");
}

static struct translation *translate(struct str bytes)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct translation *out = translation_new();
	const struct json *root = head_parse(&reader, &out->arena, bytes);
	struct chat_head *facts = arena_calloc(&out->arena, sizeof *facts);

	facts->model = json_str(json_get(root, "model"), &out->arena);
	/* Ours has two words above "high" that other servers do not know. */
	struct str effort = json_str(json_get(json_get(root, "output_config"), "effort"), &out->arena);
	facts->effort = str_is(effort, "max") || str_is(effort, "xhigh") ? STR("high") : effort;
	(void)json_i64(json_get(root, "max_tokens"), &facts->max_tokens);
	out->facts = facts;
	add_member(out, "{\"model\":", json_get(root, "model"));
	add(out, ",");
	const struct json *tools = json_get(root, "tools");
	bool any = false;
	for (const struct json *t = json_first(tools); t; t = json_next(tools, t))
		any = add_tool(out, t, !any) || any;
	if (any)
		add(out, "],");
	facts->has_tools = any;
	add(out, "\"messages\":[");
	add_system(out, json_get(root, "system"));
	return out;
}

const struct chat_head *chat_head(struct head *h)
{
	if (!h->translation)
		h->translation = translate(h->bytes);
	return h->translation->facts;
}
