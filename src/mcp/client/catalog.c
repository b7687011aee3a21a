/* SPDX-License-Identifier: MIT
 * catalog.c - what a server offers, read once from its lists. An entry without a name, or with the name of one before it,
 * is left out, and so is a tool that we could not call. */
#include "lib/base/map.h"
#include "mcp/client/client_int.h"

struct mcp_catalog *mcp_catalog_ref(struct mcp_catalog *c)
{
	c->refs++;
	return c;
}

void mcp_catalog_unref(struct mcp_catalog *c)
{
	if (!c || --c->refs)
		return;
	arena_release(&c->arena);
	free(c);
}

static const char *text_of(const struct json *object, const char *key, struct arena *a)
{
	const char *text = json_cstr(json_get(object, key), a);

	return text ? text : "";
}

static bool bool_of(const struct json *object, const char *key, bool otherwise)
{
	const struct json *v = json_get(object, key);

	return json_is(v, JSON_TRUE) || (otherwise && !json_is(v, JSON_FALSE));
}

static void read_tool(struct mcp_tool *t, const struct json *v, struct arena *a)
{
	const struct json *hints = json_get(v, "annotations");
	const struct json *meta = json_get(v, "_meta");
	uint64_t most = 0;

	t->name = text_of(v, "name", a);
	t->title = text_of(v, "title", a);
	if (!t->title[0])
		t->title = text_of(hints, "title", a);
	t->description = text_of(v, "description", a);
	t->schema = mcp_schema_flat(json_get(v, "inputSchema"), a);
	t->read_only = bool_of(hints, "readOnlyHint", false);
	t->destructive = bool_of(hints, "destructiveHint", true);
	t->open_world = bool_of(hints, "openWorldHint", true);
	t->always_load = bool_of(meta, "anthropic/alwaysLoad", false);
	t->needs_user = bool_of(meta, "anthropic/requiresUserInteraction", false);
	(void)json_u64(json_get(meta, "anthropic/maxResultSizeChars"), &most);
	t->most_chars = most;
}

static void read_arguments(struct mcp_prompt *p, const struct json *list, struct arena *a)
{
	struct mcp_prompt_argument *out;

	if (!json_is(list, JSON_ARRAY) || !list->count)
		return;
	out = arena_calloc(a, list->count * sizeof *out);
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const char *name = text_of(v, "name", a);
		if (name[0])
			out[p->argument_count++] =
				(struct mcp_prompt_argument){ .name = name,
							      .description = text_of(v, "description", a),
							      .required = bool_of(v, "required", false) };
	}
	p->arguments = out;
}

static void read_prompt(struct mcp_prompt *p, const struct json *v, struct arena *a)
{
	p->name = text_of(v, "name", a);
	p->title = text_of(v, "title", a);
	p->description = text_of(v, "description", a);
	read_arguments(p, json_get(v, "arguments"), a);
}

static void read_resource(struct mcp_resource *r, const struct json *v, struct arena *a)
{
	struct str raw = json_raw(v);

	r->uri = text_of(v, "uri", a);
	r->name = text_of(v, "name", a);
	r->title = text_of(v, "title", a);
	r->description = text_of(v, "description", a);
	r->mime_type = text_of(v, "mimeType", a);
	r->json = arena_dup(a, raw.p, raw.n);
}

/* The members by which entries are told apart, checked before anything is kept of them. */
static bool is_new(struct map *seen, const struct json *v, const char *member)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *name = text_of(v, member, &a);

	return name[0] && !map_set(seen, str_from(name), seen);
}

/* One that runs only as a task of its own; we do not offer tasks. */
static bool needs_task(const struct json *v)
{
	return json_str_is(json_get(json_get(v, "execution"), "taskSupport"), "required");
}

static void read_tools(struct mcp_catalog *c, const struct json *list)
{
	struct map seen = { 0 };

	c->tools = arena_calloc(&c->arena, list->count * sizeof *c->tools);
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (!needs_task(v) && is_new(&seen, v, "name"))
			read_tool(&c->tools[c->tool_count++], v, &c->arena);
	map_release(&seen);
}

static void read_prompts(struct mcp_catalog *c, const struct json *list)
{
	struct map seen = { 0 };

	c->prompts = arena_calloc(&c->arena, list->count * sizeof *c->prompts);
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (is_new(&seen, v, "name"))
			read_prompt(&c->prompts[c->prompt_count++], v, &c->arena);
	map_release(&seen);
}

static void read_resources(struct mcp_catalog *c, const struct json *list)
{
	struct map seen = { 0 };

	c->resources = arena_calloc(&c->arena, list->count * sizeof *c->resources);
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (is_new(&seen, v, "uri"))
			read_resource(&c->resources[c->resource_count++], v, &c->arena);
	map_release(&seen);
}

static void read_hello(struct mcp_catalog *c, struct str hello)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;

	(void)json_parse(&reader, hello.p, hello.n, &root, NULL);
	c->instructions = text_of(root, "instructions", &c->arena);
	c->server_name = text_of(json_get(root, "serverInfo"), "name", &c->arena);
	c->server_version = text_of(json_get(root, "serverInfo"), "version", &c->arena);
}

struct mcp_catalog *mcp_catalog_new(struct str hello, const struct str texts[MCP_LIST_KINDS], bool has_resources)
{
	static void (*const readers[MCP_LIST_KINDS])(struct mcp_catalog * c, const struct json *list) = {
		[MCP_LIST_TOOLS] = read_tools,
		[MCP_LIST_PROMPTS] = read_prompts,
		[MCP_LIST_RESOURCES] = read_resources,
	};
	struct mcp_catalog *c = xcalloc(1, sizeof *c);
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *list;

	c->refs = 1;
	c->has_resources = has_resources;
	read_hello(c, hello);
	for (size_t i = 0; i < MCP_LIST_KINDS; i++)
		if (texts[i].n && json_parse(&reader, texts[i].p, texts[i].n, &list, NULL) == 0 && list->count)
			readers[i](c, list);
	return c;
}
