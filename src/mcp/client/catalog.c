/* SPDX-License-Identifier: MIT
 * catalog.c - parses the lists of a server. Skips entries without a name, duplicates, and tools that cannot be
 * called. */
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

/* ---- input schemas as the API takes them: an object at the root, no anyOf, oneOf or allOf there.
 *
 * Alternatives are flattened: their properties come together (one that stands in several with different schemas gets an
 * anyOf of them), and what is required is what the root or an allOf requires, or all alternatives of an anyOf or oneOf do.
 * The result allows at least what the original allows; the server checks the rest. All other schemas stay as they are. ---- */

enum { ALTERNATIVES_LIMIT = 256 }; /* bounds the work */

static const char *const combiners[] = { "anyOf", "oneOf", "allOf" };

/* Properties by name while they are collected */
struct property {
	const struct json *schemas[8]; /* more different ones than this are dropped: the first ones stay */
	size_t count;
};
struct flat_schema {
	const struct json *root;
	struct arena *arena;
	struct map properties; /* struct property, in the arena */
	struct map required;
};

static bool is_combined(const struct json *schema)
{
	for (size_t i = 0; i < COUNT_OF(combiners); i++)
		if (json_is(json_get(schema, combiners[i]), JSON_ARRAY))
			return true;
	return false;
}

/* Alternatives are often references to "#/$defs/NAME". */
static const struct json *resolve_ref(const struct flat_schema *f, const struct json *schema)
{
	struct str ref = json_str(json_get(schema, "$ref"), f->arena);
	static const char *const places[] = { "$defs", "definitions" };

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct str prefix = str_from(arena_printf(f->arena, "#/%s/", places[i]));
		if (str_starts(ref, prefix))
			return json_get_str(json_get(f->root, places[i]),
					    (struct str){ ref.p + prefix.n, ref.n - prefix.n });
	}
	return schema;
}

static void add_property(struct flat_schema *f, struct str name, const struct json *schema)
{
	struct property *p = map_get(&f->properties, name);

	if (!p) {
		p = arena_calloc(f->arena, sizeof *p);
		map_set(&f->properties, name, p);
	}
	for (size_t i = 0; i < p->count; i++)
		if (json_same(p->schemas[i], schema))
			return;
	if (p->count < COUNT_OF(p->schemas))
		p->schemas[p->count++] = schema;
}

static void add_properties(struct flat_schema *f, const struct json *schema)
{
	const struct json *list = json_get(schema, "properties");

	for (struct json_member m = json_members(list); m.key; m = json_member_next(list, m))
		add_property(f, json_str(m.key, f->arena), m.value);
}

static void require_all(struct flat_schema *f, const struct json *schema)
{
	const struct json *list = json_get(schema, "required");

	for (const struct json *v = json_first(list); json_is(list, JSON_ARRAY) && v; v = json_next(list, v))
		map_set(&f->required, json_str(v, f->arena), f);
}

static bool is_required_by(const struct json *schema, const struct json *name)
{
	const struct json *list = json_get(schema, "required");

	for (const struct json *v = json_first(list); json_is(list, JSON_ARRAY) && v; v = json_next(list, v))
		if (json_same(v, name))
			return true;
	return false;
}

/* Members that all alternatives require. */
static void require_common(struct flat_schema *f, const struct json *alternatives)
{
	const struct json *list = json_get(resolve_ref(f, json_first(alternatives)), "required");

	if (!list || list->count > ALTERNATIVES_LIMIT)
		return;
	for (const struct json *name = json_first(list); json_is(list, JSON_ARRAY) && name;
	     name = json_next(list, name)) {
		bool common = true;
		for (const struct json *v = json_first(alternatives); v && common; v = json_next(alternatives, v))
			common = is_required_by(resolve_ref(f, v), name);
		if (common)
			map_set(&f->required, json_str(name, f->arena), f);
	}
}

static void add_alternatives(struct flat_schema *f, const char *combiner)
{
	const struct json *list = json_get(f->root, combiner);

	if (!json_is(list, JSON_ARRAY))
		return;
	size_t n = 0;
	for (const struct json *v = json_first(list); v && n < ALTERNATIVES_LIMIT; v = json_next(list, v), n++) {
		add_properties(f, resolve_ref(f, v));
		if (!strcmp(combiner, "allOf"))
			require_all(f, resolve_ref(f, v));
	}
	if (strcmp(combiner, "allOf") != 0 && list->count <= ALTERNATIVES_LIMIT)
		require_common(f, list);
}

static void put_property(struct json_out *w, const struct property *p)
{
	if (p->count == 1) {
		json_put_raw(w, json_raw(p->schemas[0]));
		return;
	}
	json_open(w, '{');
	json_key(w, "anyOf");
	json_open(w, '[');
	for (size_t i = 0; i < p->count; i++)
		json_put_raw(w, json_raw(p->schemas[i]));
	json_close(w);
	json_close(w);
}

static void put_collected(struct json_out *w, const struct flat_schema *f)
{
	json_kcstr(w, "type", "object");
	json_key(w, "properties");
	json_open(w, '{');
	for (struct map_entry *e = map_next(&f->properties, NULL); e; e = map_next(&f->properties, e)) {
		json_key_str(w, (struct str){ e->key, e->key_len });
		put_property(w, e->value);
	}
	json_close(w);
	if (!f->required.count)
		return;
	json_key(w, "required");
	json_open(w, '[');
	for (struct map_entry *e = map_next(&f->required, NULL); e; e = map_next(&f->required, e))
		json_put_str(w, (struct str){ e->key, e->key_len });
	json_close(w);
}

static bool is_rewritten(const struct json *key)
{
	static const char *const keys[] = { "type", "properties", "required", "anyOf", "oneOf", "allOf", "$schema" };

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (json_str_is(key, keys[i]))
			return true;
	return false;
}

static const char *write_flat(const struct json *schema, const struct flat_schema *f, struct arena *arena)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	json_open(&w, '{');
	put_collected(&w, f);
	for (struct json_member m = json_members(schema); m.key; m = json_member_next(schema, m))
		if (!is_rewritten(m.key)) {
			json_key_str(&w, json_str(m.key, f->arena));
			json_put_raw(&w, json_raw(m.value));
		}
	json_close(&w);
	return arena_dup(arena, out.p, out.n);
}

const char *mcp_schema_flat(const struct json *schema, struct arena *arena)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct flat_schema f = { .root = schema, .arena = &scratch };
	struct str raw = json_raw(schema);
	const char *out;

	if (!json_is(schema, JSON_OBJECT))
		return "{\"type\":\"object\",\"properties\":{}}";
	if (!is_combined(schema) && json_str_is(json_get(schema, "type"), "object"))
		return arena_dup(arena, raw.p, raw.n);
	add_properties(&f, schema);
	require_all(&f, schema);
	for (size_t i = 0; i < COUNT_OF(combiners); i++)
		add_alternatives(&f, combiners[i]);
	out = write_flat(schema, &f, arena);
	map_release(&f.properties);
	map_release(&f.required);
	return out;
}

/* ---- catalogs ---- */

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

/* The members by which entries are told apart, checked before anything is kept of them. */
static bool is_new(struct map *seen, const struct json *v, const char *member)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *name = text_of(v, member, &a);

	return name[0] && !map_set(seen, str_from(name), seen);
}

/* Runs only as an MCP task, which is not supported. */
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
		if (is_new(&seen, v, "name")) {
			struct mcp_prompt *p = &c->prompts[c->prompt_count++];
			p->name = text_of(v, "name", &c->arena);
			p->title = text_of(v, "title", &c->arena);
			p->description = text_of(v, "description", &c->arena);
			read_arguments(p, json_get(v, "arguments"), &c->arena);
		}
	map_release(&seen);
}

static void read_resources(struct mcp_catalog *c, const struct json *list)
{
	struct map seen = { 0 };

	c->resources = arena_calloc(&c->arena, list->count * sizeof *c->resources);
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (is_new(&seen, v, "uri")) {
			struct mcp_resource *r = &c->resources[c->resource_count++];
			struct str raw = json_raw(v);
			r->uri = text_of(v, "uri", &c->arena);
			r->name = text_of(v, "name", &c->arena);
			r->title = text_of(v, "title", &c->arena);
			r->description = text_of(v, "description", &c->arena);
			r->mime_type = text_of(v, "mimeType", &c->arena);
			r->json = arena_dup(&c->arena, raw.p, raw.n);
		}
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
