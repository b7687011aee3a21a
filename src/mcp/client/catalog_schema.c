/* SPDX-License-Identifier: MIT
 * catalog_schema.c - input schemas as the API takes them: an object at the root, no anyOf, oneOf or allOf there.
 *
 * Alternatives are flattened: their properties come together (one that stands in several with different schemas gets an
 * anyOf of them), and what is required is what the root or an allOf requires, or all alternatives of an anyOf or oneOf do.
 * The result allows at least what the original allows; the server checks the rest. All other schemas stay as they are. */
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

enum { ALTERNATIVES_LIMIT = 256 }; /* what is behind them adds nothing; keeps the work bounded */

static const char *const combiners[] = { "anyOf", "oneOf", "allOf" };

/* Properties by name while they are collected */
struct property {
	const struct json *schemas[8]; /* more different ones than this are dropped: the first ones stay */
	size_t count;
};
struct flat {
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
static const struct json *follow(const struct flat *f, const struct json *schema)
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

static void add_property(struct flat *f, struct str name, const struct json *schema)
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

static void add_properties(struct flat *f, const struct json *schema)
{
	const struct json *list = json_get(schema, "properties");

	for (struct json_member m = json_members(list); m.key; m = json_member_next(list, m))
		add_property(f, json_str(m.key, f->arena), m.value);
}

static void require_all(struct flat *f, const struct json *schema)
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

/* What the first alternative requires counts if the others do so too. */
static void require_common(struct flat *f, const struct json *alternatives)
{
	const struct json *list = json_get(follow(f, json_first(alternatives)), "required");

	if (!list || list->count > ALTERNATIVES_LIMIT)
		return;
	for (const struct json *name = json_first(list); json_is(list, JSON_ARRAY) && name;
	     name = json_next(list, name)) {
		bool common = true;
		for (const struct json *v = json_first(alternatives); v && common; v = json_next(alternatives, v))
			common = is_required_by(follow(f, v), name);
		if (common)
			map_set(&f->required, json_str(name, f->arena), f);
	}
}

static void add_alternatives(struct flat *f, const char *combiner)
{
	const struct json *list = json_get(f->root, combiner);

	if (!json_is(list, JSON_ARRAY))
		return;
	size_t n = 0;
	for (const struct json *v = json_first(list); v && n < ALTERNATIVES_LIMIT; v = json_next(list, v), n++) {
		add_properties(f, follow(f, v));
		if (!strcmp(combiner, "allOf"))
			require_all(f, follow(f, v));
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

static void put_collected(struct json_out *w, const struct flat *f)
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

static bool is_written_anew(const struct json *key)
{
	static const char *const keys[] = { "type", "properties", "required", "anyOf", "oneOf", "allOf", "$schema" };

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (json_str_is(key, keys[i]))
			return true;
	return false;
}

static const char *write_flat(const struct json *schema, const struct flat *f, struct arena *arena)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	json_open(&w, '{');
	put_collected(&w, f);
	for (struct json_member m = json_members(schema); m.key; m = json_member_next(schema, m))
		if (!is_written_anew(m.key)) {
			json_key_str(&w, json_str(m.key, f->arena));
			json_put_raw(&w, json_raw(m.value));
		}
	json_close(&w);
	return arena_dup(arena, out.p, out.n);
}

const char *mcp_schema_flat(const struct json *schema, struct arena *arena)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct flat f = { .root = schema, .arena = &scratch };
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
