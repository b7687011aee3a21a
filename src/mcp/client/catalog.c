/* SPDX-License-Identifier: MIT
 * catalog.c - parses the lists of a server. Skips entries without a name, duplicates, and tools that cannot be
 * called. */
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

/* Input schemas as the API takes them: an object at the root, no anyOf, oneOf or allOf there.
 *
 * Alternatives are flattened: their properties are merged (a property with different schemas gets an anyOf of them). A
 * property is required if the root, an allOf, or all alternatives of an anyOf or oneOf require it. The result allows at
 * least what the original allows; the server checks the rest. All other schemas stay as they are. ---- */

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

/* Alternatives are often references to "#/$defs/NAME". */
static const struct json *resolve_ref(const struct flat_schema *f, const struct json *schema)
{
	struct str ref = json_str(json_get(schema, "$ref"), f->arena);
	static const char *const sections[] = { "$defs", "definitions" };

	for (size_t i = 0; i < COUNT_OF(sections); i++) {
		struct str prefix = str_from(arena_printf(f->arena, "#/%s/", sections[i]));
		if (str_starts(ref, prefix))
			return json_get_str(json_get(f->root, sections[i]), str_tail(ref, prefix.n));
	}
	return schema;
}

static void add_properties(struct flat_schema *f, const struct json *schema)
{
	const struct json *list = json_get(schema, "properties");

	for (struct json_member m = json_members(list); m.key; m = json_member_next(list, m)) {
		struct str name = json_str(m.key, f->arena);
		struct property *p = map_get(&f->properties, name);
		size_t i = 0;
		if (!p) {
			p = arena_calloc(f->arena, sizeof *p);
			map_set(&f->properties, name, p);
		}
		while (i < p->count && !json_same(p->schemas[i], m.value))
			i++;
		if (i == p->count && i < COUNT_OF(p->schemas))
			p->schemas[p->count++] = m.value;
	}
}

static void require_all(struct flat_schema *f, const struct json *schema)
{
	const struct json *list = json_get(schema, "required");

	for (const struct json *v = json_items(list); v; v = json_next(list, v))
		map_set(&f->required, json_str(v, f->arena), f);
}

static bool schema_requires(const struct json *schema, const struct json *name)
{
	const struct json *list = json_get(schema, "required");

	for (const struct json *v = json_items(list); v; v = json_next(list, v))
		if (json_same(v, name))
			return true;
	return false;
}

static void add_alternatives(struct flat_schema *f, const char *combiner)
{
	const struct json *list = json_get(f->root, combiner);
	bool all = !strcmp(combiner, "allOf");
	size_t n = 0;

	if (!json_is(list, JSON_ARRAY))
		return;
	for (const struct json *v = json_first(list); v && n < ALTERNATIVES_LIMIT; v = json_next(list, v), n++) {
		add_properties(f, resolve_ref(f, v));
		if (all)
			require_all(f, resolve_ref(f, v));
	}
	const struct json *names = json_get(resolve_ref(f, json_first(list)), "required");
	if (all || list->count > ALTERNATIVES_LIMIT || !json_is(names, JSON_ARRAY) || names->count > ALTERNATIVES_LIMIT)
		return;
	for (const struct json *name = json_first(names); name; name = json_next(names, name)) {
		bool common = true;
		for (const struct json *v = json_first(list); v && common; v = json_next(list, v))
			common = schema_requires(resolve_ref(f, v), name);
		if (common)
			map_set(&f->required, json_str(name, f->arena), f);
	}
}

static void write_flat(struct buf *out, const struct flat_schema *f)
{
	static const char *const rewritten[] = { "type",  "properties", "required", "anyOf",
						 "oneOf", "allOf",      "$schema",  NULL };
	struct json_out w = json_out(out);

	json_putf(&w, "{type:'object', properties:{");
	for (struct map_entry *e = map_next(&f->properties, NULL); e; e = map_next(&f->properties, e)) {
		const struct property *p = e->value;
		json_key_str(&w, (struct str){ e->key, e->key_len });
		if (p->count == 1) {
			json_put_raw(&w, json_raw(p->schemas[0]));
			continue;
		}
		json_putf(&w, "{anyOf:[");
		for (size_t i = 0; i < p->count; i++)
			json_put_raw(&w, json_raw(p->schemas[i]));
		json_putf(&w, "]}");
	}
	json_close(&w);
	if (f->required.count) {
		json_kopen(&w, "required", '[');
		for (struct map_entry *e = map_next(&f->required, NULL); e; e = map_next(&f->required, e))
			json_put_str(&w, (struct str){ e->key, e->key_len });
		json_close(&w);
	}
	json_put_members(&w, f->root, rewritten, NULL);
	json_close(&w);
}

const char *mcp_schema_flat(const struct json *schema, struct arena *arena)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct flat_schema f = { .root = schema, .arena = &scratch };
	struct str raw = json_raw(schema);
	bool combined = false;

	if (!json_is(schema, JSON_OBJECT))
		return "{\"type\":\"object\",\"properties\":{}}";
	for (size_t i = 0; i < COUNT_OF(combiners); i++)
		combined = combined || json_is(json_get(schema, combiners[i]), JSON_ARRAY);
	if (!combined && json_str_is(json_get(schema, "type"), "object"))
		return arena_dup(arena, raw.p, raw.n);
	add_properties(&f, schema);
	require_all(&f, schema);
	for (size_t i = 0; i < COUNT_OF(combiners); i++)
		add_alternatives(&f, combiners[i]);
	write_flat(&out, &f);
	map_release(&f.properties);
	map_release(&f.required);
	return arena_dup(arena, out.p, out.n);
}

void mcp_catalog_unref(struct mcp_catalog *c)
{
	if (!c || --c->refs)
		return;
	arena_release(&c->arena);
	free(c);
}

static bool bool_of(const struct json *object, const char *key, bool otherwise)
{
	const struct json *v = json_get(object, key);

	return json_is(v, JSON_TRUE) || (otherwise && !json_is(v, JSON_FALSE));
}

/* Whether the entry has a name (or another key) that no entry before it has. */
static bool is_new(struct map *seen, const struct json *v, const char *member)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *name = json_text(v, member, &a);

	return name[0] && !map_set(seen, str_from(name), seen);
}

static void read_tools(struct mcp_catalog *c, const struct json *list)
{
	struct arena *a = &c->arena;
	struct map seen = { 0 };

	c->tools = arena_calloc(a, list->count * sizeof *c->tools);
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const struct json *hints = json_get(v, "annotations");
		const struct json *meta = json_get(v, "_meta");
		uint64_t most = 0;
		/* A tool that runs only as an MCP task is not supported. */
		if (json_str_is(json_get(json_get(v, "execution"), "taskSupport"), "required") ||
		    !is_new(&seen, v, "name"))
			continue;
		struct mcp_tool *t = &c->tools[c->tool_count++];
		t->name = json_text(v, "name", a);
		t->title = json_text(v, "title", a);
		if (!t->title[0])
			t->title = json_text(hints, "title", a);
		t->description = json_text(v, "description", a);
		t->schema = mcp_schema_flat(json_get(v, "inputSchema"), a);
		t->read_only = bool_of(hints, "readOnlyHint", false);
		t->destructive = bool_of(hints, "destructiveHint", true);
		t->open_world = bool_of(hints, "openWorldHint", true);
		t->always_load = bool_of(meta, "anthropic/alwaysLoad", false);
		t->needs_user = bool_of(meta, "anthropic/requiresUserInteraction", false);
		(void)json_u64(json_get(meta, "anthropic/maxResultSizeChars"), &most);
		t->most_chars = most;
	}
	map_release(&seen);
}

static void read_prompts(struct mcp_catalog *c, const struct json *list)
{
	struct arena *a = &c->arena;
	struct map seen = { 0 };

	c->prompts = arena_calloc(a, list->count * sizeof *c->prompts);
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const struct json *arguments = json_get(v, "arguments");
		if (!is_new(&seen, v, "name"))
			continue;
		struct mcp_prompt *p = &c->prompts[c->prompt_count++];
		p->name = json_text(v, "name", a);
		p->title = json_text(v, "title", a);
		p->description = json_text(v, "description", a);
		if (!json_is(arguments, JSON_ARRAY) || !arguments->count)
			continue;
		struct mcp_prompt_argument *out = arena_calloc(a, arguments->count * sizeof *out);
		p->arguments = out;
		for (const struct json *arg = json_first(arguments); arg; arg = json_next(arguments, arg)) {
			const char *name = json_text(arg, "name", a);
			if (name[0])
				out[p->argument_count++] =
					(struct mcp_prompt_argument){ .name = name,
								      .description = json_text(arg, "description", a),
								      .required = bool_of(arg, "required", false) };
		}
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
			r->uri = json_text(v, "uri", &c->arena);
			r->name = json_text(v, "name", &c->arena);
			r->title = json_text(v, "title", &c->arena);
			r->description = json_text(v, "description", &c->arena);
			r->mime_type = json_text(v, "mimeType", &c->arena);
			r->json = arena_dup(&c->arena, raw.p, raw.n);
		}
	map_release(&seen);
}

struct mcp_catalog *mcp_catalog_new(struct str hello, const struct str texts[MCP_LIST_KINDS], bool has_resources)
{
	static void (*const readers[MCP_LIST_KINDS])(struct mcp_catalog * c, const struct json *list) = {
		[MCP_LIST_TOOLS] = read_tools,
		[MCP_LIST_PROMPTS] = read_prompts,
		[MCP_LIST_RESOURCES] = read_resources,
	};
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;
	const struct json *list;
	struct mcp_catalog *c = xnew(struct mcp_catalog, .refs = 1, .has_resources = has_resources);

	(void)json_parse(&reader, hello.p, hello.n, &root, NULL);
	c->instructions = json_text(root, "instructions", &c->arena);
	c->server_name = json_text(json_get(root, "serverInfo"), "name", &c->arena);
	c->server_version = json_text(json_get(root, "serverInfo"), "version", &c->arena);
	for (size_t i = 0; i < MCP_LIST_KINDS; i++)
		if (texts[i].n && json_parse(&reader, texts[i].p, texts[i].n, &list, NULL) == 0 && list->count)
			readers[i](c, list);
	return c;
}

/* The lists of a server: fetched page by page, the failing page again up to 3 times, and all of it again
 * when the server reports a change. A list that cannot be fetched leaves the old one in place; at the first connection
 * that is an empty one. Limits hold for every list, so that a server that never stops has an end. */

enum {
	PAGE_LIMIT = 1000,
	ITEM_LIMIT = 10000,
	BYTE_LIMIT = 64 << 20,
	TRIES = 3,
	RETRY_MS = 500,
	DEBOUNCE_MS = 250, /* changes come in bursts */
	CALM_MS = 60000,
	DOUBLINGS = 8,
};

static const struct {
	const char *member; /* also the name of the capability */
	const char *method, *changed;
} classes[MCP_LIST_KINDS] = {
	[MCP_LIST_TOOLS] = { "tools", "tools/list", "notifications/tools/list_changed" },
	[MCP_LIST_PROMPTS] = { "prompts", "prompts/list", "notifications/prompts/list_changed" },
	[MCP_LIST_RESOURCES] = { "resources", "resources/list", "notifications/resources/list_changed" },
};

static void list_fetch_page(struct mcp_list *l);

static void list_fetch(struct mcp_list *l)
{
	l->busy = true;
	l->dirty = false;
	l->pages = l->failures = 0;
	l->count = 0;
	buf_clear(&l->cursor);
	buf_clear(&l->items);
	list_fetch_page(l);
}

static void on_list_timer(struct timer *timer)
{
	struct mcp_list *l = CONTAINER_OF(timer, struct mcp_list, timer);

	if (l->busy)
		list_fetch_page(l);
	else
		list_fetch(l);
}

/* Once no list is being fetched: publishes a new catalog if it differs, and makes the connection ready. */
static void lists_settle(struct mcp_client *c)
{
	bool first = c->phase == MCP_PHASE_LISTS;
	const struct mcp_catalog *old = c->catalog;
	struct str texts[MCP_LIST_KINDS];

	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		if (c->lists[i].busy)
			return;
		texts[i] = buf_str(&c->lists[i].text);
	}
	if (!first && !c->lists_differ)
		return;
	struct mcp_catalog *new = mcp_catalog_new(buf_str(&c->hello), texts, c->lists[MCP_LIST_RESOURCES].offered);
	if (old && !c->lists_differ && !strcmp(old->instructions, new->instructions) &&
	    !strcmp(old->server_name, new->server_name) && !strcmp(old->server_version, new->server_version) &&
	    old->has_resources == new->has_resources) {
		mcp_catalog_unref(new);
	} else {
		mcp_catalog_unref(c->catalog);
		c->catalog = new;
		c->catalog_changed = true;
		loop_kick(c->loop, &c->kick);
	}
	c->lists_differ = false;
	if (first) {
		mcp_client_set_phase(c, MCP_PHASE_READY);
		mcp_rpc_ready(&c->rpc);
	}
}

/* A list that keeps changing is fetched at growing intervals: agents keep each version that they have seen. */
static void list_start_debounce(struct mcp_list *l)
{
	timer_start(l->client->loop, &l->timer, (uint64_t)DEBOUNCE_MS << MIN(l->changes, (unsigned)DOUBLINGS));
}

static void list_finish(struct mcp_list *l)
{
	l->busy = false;
	if (l->dirty)
		list_start_debounce(l);
	lists_settle(l->client);
}

static void list_complete(struct mcp_list *l)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addch(&text, '[');
	buf_append(&text, buf_str(&l->items));
	buf_addch(&text, ']');
	buf_release(&l->items);
	if (!str_eq(buf_str(&text), buf_str(&l->text))) {
		buf_release(&l->text);
		l->text = text;
		text = (struct buf){ 0 };
		l->client->lists_differ = true;
		uint64_t now_ms = loop_now_ms(l->client->loop);
		l->changes = l->changed_ms && now_ms - l->changed_ms < CALM_MS ? l->changes + 1 : 0;
		l->changed_ms = now_ms;
	}
	list_finish(l);
}

static void on_page(void *data, const struct json *result, const struct err *err)
{
	struct mcp_list *l = data;
	struct mcp_client *c = l->client;
	const struct json *list = json_get(result, classes[l->kind].member);
	const struct json *next = json_get(result, "nextCursor");
	struct err bad = { 0 };

	if (!err && !json_is(list, JSON_ARRAY)) {
		(void)err_set(&bad, ERR_PROTOCOL, "the answer has no list");
		err = &bad;
	}
	if (err) {
		if (!c->transport || c->closing)
			return; /* mcp_lists_stop() resets it */
		if (err->kind == ERR_NOT_FOUND) {
			list_complete(l);
		} else if (++l->failures < TRIES) {
			timer_start(c->loop, &l->timer, (uint64_t)RETRY_MS * l->failures);
		} else {
			mcp_client_log(c, "error", "%s failed: %s", classes[l->kind].method, err->text);
			list_finish(l);
		}
		return;
	}
	for (const struct json *v = json_first(list); v && l->count < ITEM_LIMIT; v = json_next(list, v)) {
		struct str raw = json_raw(v);
		if (l->count++)
			buf_addch(&l->items, ',');
		buf_append(&l->items, raw);
	}
	l->pages++;
	if (!json_is(next, JSON_STRING)) {
		list_complete(l);
		return;
	}
	struct str cursor = json_raw(next);
	const char *limit = l->count >= ITEM_LIMIT                ? "more than 10,000 entries"
			    : l->pages >= PAGE_LIMIT              ? "more than 1,000 pages"
			    : l->items.n >= BYTE_LIMIT            ? "more than 64 MB"
			    : str_eq(cursor, buf_str(&l->cursor)) ? "the same page again"
								  : NULL;
	if (limit) {
		mcp_client_log(c, "warning", "%s: %s; the rest is left out", classes[l->kind].method, limit);
		list_complete(l);
		return;
	}
	buf_clear(&l->cursor);
	buf_append(&l->cursor, cursor);
	list_fetch_page(l);
}

static void list_fetch_page(struct mcp_list *l)
{
	AUTO_BUF struct buf params = { 0 };

	json_addf(&params, "{cursor?:%.*s}", STR_ARG(buf_str(&l->cursor)));
	struct mcp_call call = {
		.method = classes[l->kind].method, .params = buf_str(&params), .answer = on_page, .data = l
	};
	(void)mcp_rpc_call(&l->client->rpc, &call, l->client->connect_ms, 0, true);
}

void mcp_lists_init(struct mcp_client *c)
{
	for (unsigned i = 0; i < MCP_LIST_KINDS; i++)
		c->lists[i] =
			(struct mcp_list){ .client = c, .kind = (enum mcp_list_kind)i, .timer.fire = on_list_timer };
}

void mcp_lists_start(struct mcp_client *c, const struct json *capabilities)
{
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		struct mcp_list *l = &c->lists[i];
		l->offered = json_is(json_get(capabilities, classes[i].member), JSON_OBJECT);
		if (l->offered) {
			list_fetch(l);
		} else if (l->text.n) {
			buf_release(&l->text);
			c->lists_differ = true;
		}
	}
	lists_settle(c);
}

bool mcp_lists_take_notice(struct mcp_client *c, struct str method)
{
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		struct mcp_list *l = &c->lists[i];
		if (!str_is(method, classes[i].changed))
			continue;
		if (l->busy)
			l->dirty = l->offered;
		else if (l->offered && !timer_running(&l->timer))
			list_start_debounce(l);
		return true;
	}
	return false;
}

void mcp_lists_stop(struct mcp_client *c)
{
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		struct mcp_list *l = &c->lists[i];
		timer_stop(c->loop, &l->timer);
		l->busy = l->dirty = false;
		buf_release(&l->items);
	}
}
