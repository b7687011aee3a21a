/* SPDX-License-Identifier: MIT
 * json_schema.c - checks values against a subset of JSON Schema, and schemas themselves. */
#include "lib/json/json_schema.h"
#include "lib/json/json_int.h"

/* The first fault ends the check.
 *
 * One function per keyword, in a table; each sees the whole schema, so keywords that work together
 * (properties and additionalProperties) are one entry. To add a keyword: write check_NAME() and add its row
 * to `keywords`. Schemas come from MCP servers too: references may loop and alternatives may multiply, so depth and steps
 * are limited. */

enum { DEPTH_MAX = 256, STEPS_BASE = 10000, STEPS_PER_NODE = 64 };

struct check {
	const struct json *root;
	struct arena arena;
	uint64_t steps_left;
	unsigned depth;
};

/* Where in the value we are; lives on the stack of the check above. */
struct path {
	const struct path *up;
	const struct json *key; /* NULL: an element of an array */
	uint32_t index;
};

/* One value under one schema: the input of every keyword. */
struct site {
	struct check *c;
	const struct json *schema, *v;
	const struct path *path; /* of v */
	struct err *err;
};

static int check_value(struct check *c, const struct json *schema, const struct json *v, const struct path *path,
		       struct err *err);

/* The kind of a value and how a sentence names it. An integer is a number too. */
static const struct type_name {
	const char *name, *phrase;
	enum json_type type;
} type_names[] = {
	{ "string", "a string", JSON_STRING },  { "integer", "an integer", JSON_NUMBER },
	{ "number", "a number", JSON_NUMBER },  { "boolean", "a boolean", JSON_TRUE },
	{ "boolean", "a boolean", JSON_FALSE }, { "null", "null", JSON_NULL },
	{ "array", "an array", JSON_ARRAY },    { "object", "an object", JSON_OBJECT },
};

static void add_path(struct buf *out, struct check *c, const struct path *path)
{
	if (!path)
		return;
	add_path(out, c, path->up);
	if (!path->key) {
		buf_addf(out, "[%u]", path->index);
		return;
	}
	struct str name = json_str(path->key, &c->arena);
	if (out->n)
		buf_addch(out, '.');
	buf_append(out, name);
}

printf_like(3, 4) static int schema_fault(const struct site *site, const struct path *path, const char *fmt, ...)
{
	AUTO_BUF struct buf where = { 0 };
	char what[sizeof site->err->text];

	PRINT_ARGS(what, fmt);
	add_path(&where, site->c, path);
	return err_set(site->err, ERR_PARSE, "%s%s%s", where.n ? where.p : "", where.n ? ": " : "", what);
}

static bool has_type(const struct json *v, const struct json *name)
{
	for (size_t i = 0; i < COUNT_OF(type_names); i++) {
		if (json_is(v, type_names[i].type) && json_str_is(name, type_names[i].name))
			return !json_str_is(name, "integer") || json_is_whole(v);
	}
	return false;
}

static void add_type_phrase(struct buf *out, struct check *c, const struct json *name, const char *joint)
{
	if (out->n)
		buf_addstr(out, joint);
	for (size_t i = 0; i < COUNT_OF(type_names); i++) {
		if (json_str_is(name, type_names[i].name)) {
			buf_addstr(out, type_names[i].phrase);
			return;
		}
	}
	buf_append(out, json_str(name, &c->arena));
}

static int check_type(const struct site *site)
{
	const struct json *type = json_get(site->schema, "type");
	AUTO_BUF struct buf expected = { 0 };
	const char *got = "nothing";

	if (json_is(type, JSON_STRING)) {
		if (has_type(site->v, type))
			return 0;
		add_type_phrase(&expected, site->c, type, "");
	}
	for (const struct json *name = json_items(type); name; name = json_next(type, name)) {
		if (has_type(site->v, name))
			return 0;
		add_type_phrase(&expected, site->c, name, " or ");
	}
	if (!expected.n)
		return 0;
	for (size_t i = 0; i < COUNT_OF(type_names); i++)
		if (json_is(site->v, type_names[i].type))
			got = type_names[i].phrase;
	bool fraction = json_is(site->v, JSON_NUMBER) && !json_is_whole(site->v);
	return schema_fault(site, site->path, "expected %s, got %s%s", expected.p, got,
			    fraction ? " with a fraction" : "");
}

static int check_enum(const struct site *site)
{
	const struct json *list = json_get(site->schema, "enum");
	AUTO_BUF struct buf names = { 0 };

	if (!json_is(list, JSON_ARRAY))
		return 0;
	for (const struct json *e = json_first(list); e; e = json_next(list, e)) {
		if (json_same(e, site->v))
			return 0;
		buf_addf(&names, "%s" STR_FMT, names.n ? ", " : "", JSON_ARG(e));
	}
	return schema_fault(site, site->path, "expected one of %s", names.n ? names.p : "no value at all");
}

static int check_const(const struct site *site)
{
	const struct json *want = json_get(site->schema, "const");

	if (!want || json_same(want, site->v))
		return 0;
	return schema_fault(site, site->path, "expected " STR_FMT, JSON_ARG(want));
}

static int check_range(const struct site *site)
{
	static const struct {
		const char *keyword, *phrase;
		int sign;      /* of value minus bound in a value that is too far out */
		bool at_bound; /* the bound itself is too far out */
	} bounds[] = {
		{ "minimum", "at least", -1, false },
		{ "maximum", "at most", 1, false },
		{ "exclusiveMinimum", "more than", -1, true },
		{ "exclusiveMaximum", "less than", 1, true },
	};

	for (size_t i = 0; json_is(site->v, JSON_NUMBER) && i < COUNT_OF(bounds); i++) {
		const struct json *bound = json_get(site->schema, bounds[i].keyword);
		if (!json_is(bound, JSON_NUMBER))
			continue;
		double a = json_double(site->v), b = json_double(bound);
		if ((a > b) - (a < b) == bounds[i].sign || (a == b && bounds[i].at_bound))
			return schema_fault(site, site->path, "must be %s " STR_FMT, bounds[i].phrase, JSON_ARG(bound));
	}
	return 0;
}

static int check_count(const struct site *site, const char *keyword, uint64_t have, const char *unit)
{
	uint64_t bound;
	bool least = !strncmp(keyword, "min", 3);

	if (!json_u64(json_get(site->schema, keyword), &bound) || (least ? have >= bound : have <= bound))
		return 0;
	return schema_fault(site, site->path, "must have at %s %llu %s%s, has %llu", least ? "least" : "most",
			    (unsigned long long)bound, unit, bound == 1 ? "" : "s", (unsigned long long)have);
}

static int check_length(const struct site *site)
{
	if (!json_is(site->v, JSON_STRING) ||
	    (!json_get(site->schema, "minLength") && !json_get(site->schema, "maxLength")))
		return 0;
	struct str s = json_str(site->v, &site->c->arena);
	uint64_t have = 0;
	for (size_t i = 0; i < s.n; i++)
		have += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	int rc = check_count(site, "minLength", have, "character");
	return rc < 0 ? rc : check_count(site, "maxLength", have, "character");
}

static int check_required(const struct site *site)
{
	const struct json *list = json_get(site->schema, "required");

	if (!json_is(site->v, JSON_OBJECT) || !json_is(list, JSON_ARRAY))
		return 0;
	for (const struct json *name = json_first(list); name; name = json_next(list, name)) {
		struct path at = { .up = site->path, .key = name };
		if (json_is(name, JSON_STRING) && !json_get_str(site->v, json_str(name, &site->c->arena)))
			return schema_fault(site, &at, "required parameter is missing");
	}
	return 0;
}

static int check_properties(const struct site *site)
{
	const struct json *properties = json_get(site->schema, "properties");
	const struct json *others = json_get(site->schema, "additionalProperties");

	if (json_get(site->schema, "patternProperties"))
		others = NULL; /* patternProperties is not implemented: unnamed members may be allowed by it */
	for (struct json_member m = json_members(site->v); m.key; m = json_member_next(site->v, m)) {
		struct path at = { .up = site->path, .key = m.key };
		const struct json *sub = json_get_str(properties, json_str(m.key, &site->c->arena));
		if (!sub && json_is(others, JSON_FALSE)) {
			AUTO_BUF struct buf where = { 0 };
			add_path(&where, site->c, &at);
			return err_set(site->err, ERR_PARSE, "An unexpected parameter `%s` was provided",
				       where.n ? where.p : "");
		}
		int rc = check_value(site->c, sub ? sub : others, m.value, &at, site->err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* items is a schema for all elements behind those of the tuple. Tuples are written as prefixItems today; in
 * older schemas items itself is the list. */
static int check_items(const struct site *site)
{
	const struct json *items = json_get(site->schema, "items");
	const struct json *tuple = json_is(items, JSON_ARRAY) ? items : json_get(site->schema, "prefixItems");
	const struct json *next = json_items(tuple);
	struct path at = { .up = site->path };

	if (!json_is(site->v, JSON_ARRAY))
		return 0;
	int rc = check_count(site, "minItems", site->v->count, "item");
	if (!rc)
		rc = check_count(site, "maxItems", site->v->count, "item");
	for (const struct json *e = json_first(site->v); !rc && e; e = json_next(site->v, e), at.index++) {
		rc = check_value(site->c, next ? next : items, e, &at, site->err);
		next = json_next(tuple, next);
	}
	return rc;
}

/* The path leads from the root of the schema: "#/$defs/name". ~1 and ~0 stand for '/' and '~'. */
static int check_ref(const struct site *site)
{
	const struct json *ref = json_get(site->schema, "$ref");
	struct check *c = site->c;

	if (!json_is(ref, JSON_STRING))
		return 0;
	struct str rest = json_str(ref, &c->arena);
	const struct json *at = str_is(str_cut(&rest, '/'), "#") ? c->root : NULL;
	while (rest.p) {
		struct str part = str_cut(&rest, '/');
		char *name = arena_alloc(&c->arena, part.n + 1);
		size_t n = 0;
		for (size_t i = 0; i < part.n; i++) {
			bool tilde = part.p[i] == '~' && i + 1 < part.n;
			name[n++] = tilde ? (part.p[++i] == '1' ? '/' : '~') : part.p[i];
		}
		at = json_get_str(at, (struct str){ name, n });
	}
	if (!at)
		return schema_fault(site, site->path, "the schema has no " STR_FMT, JSON_ARG(ref));
	return check_value(c, at, site->v, site->path, site->err);
}

static int check_all_of(const struct site *site)
{
	const struct json *list = json_get(site->schema, "allOf");

	for (const struct json *sub = json_items(list); sub; sub = json_next(list, sub)) {
		int rc = check_value(site->c, sub, site->v, site->path, site->err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_alternatives(const struct site *site)
{
	static const char *const names[] = { "anyOf", "oneOf" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct json *list = json_get(site->schema, names[i]);
		AUTO_BUF struct buf reasons = { 0 };
		unsigned fits = 0;
		if (!json_is(list, JSON_ARRAY) || !list->count)
			continue;
		for (const struct json *sub = json_first(list); sub; sub = json_next(list, sub)) {
			struct err reason;
			int rc = check_value(site->c, sub, site->v, site->path, &reason);
			if (rc == -ERR_LIMIT)
				return err_set(site->err, ERR_LIMIT, "%s", reason.text);
			fits += !rc;
			if (rc < 0 && reasons.n < sizeof reason.text)
				buf_addf(&reasons, "%s%s", reasons.n ? "; or " : "", reason.text);
		}
		if (!fits)
			return err_set(site->err, ERR_PARSE, "%s", reasons.p);
		if (fits > 1 && i == 1)
			return schema_fault(site, site->path, "matches %u forms where exactly one is allowed", fits);
	}
	return 0;
}

typedef int keyword_fn(const struct site *site);

/* In the order in which faults are of use to the reader: the type first, what is missing before what is too
 * much. */
static keyword_fn *const keywords[] = {
	check_type,       check_enum,  check_const, check_range,  check_length,       check_required,
	check_properties, check_items, check_ref,   check_all_of, check_alternatives,
};

static int check_value(struct check *c, const struct json *schema, const struct json *v, const struct path *path,
		       struct err *err)
{
	const struct site site = { c, schema, v, path, err };
	int rc = 0;

	if (json_is(schema, JSON_FALSE))
		return schema_fault(&site, path, "no value is allowed here");
	if (!json_is(schema, JSON_OBJECT))
		return 0;
	if (c->depth == DEPTH_MAX || !c->steps_left)
		return err_set(err, ERR_LIMIT, "the schema is too complex to check");
	c->depth++;
	c->steps_left--;
	for (size_t i = 0; !rc && i < COUNT_OF(keywords); i++)
		rc = keywords[i](&site);
	c->depth--;
	return rc;
}

int json_schema_check(const struct json *schema, const struct json *value, struct err *err)
{
	struct check c = { .root = schema,
			   .steps_left = STEPS_BASE + STEPS_PER_NODE * (uint64_t)(value ? value->span : 0) };
	int rc = check_value(&c, schema, value, NULL, err);

	arena_release(&c.arena);
	return rc;
}

enum { NESTING_MAX = 128 };

enum form {
	FORM_SCHEMA,     /* an object, true or false */
	FORM_SCHEMAS,    /* a list of at least one */
	FORM_ITEMS,      /* one, or a list */
	FORM_SCHEMA_MAP, /* an object of schemas */
	FORM_TYPE,
	FORM_NAMES,
	FORM_LIST,
	FORM_NUMBER,
	FORM_COUNT,
	FORM_TEXT,
};

/* "... must be" */
static const char *const form_phrases[] = {
	[FORM_SCHEMAS] = "a list of at least one schema",
	[FORM_SCHEMA_MAP] = "an object of schemas",
	[FORM_TYPE] = "array, boolean, integer, null, number, object or string, or a list of them",
	[FORM_NAMES] = "a list of names",
	[FORM_LIST] = "a list",
	[FORM_NUMBER] = "a number",
	[FORM_COUNT] = "a whole number from 0 on",
	[FORM_TEXT] = "a string",
};

/* Unknown keywords are allowed. */
static const struct {
	const char *keyword;
	enum form form;
} forms[] = {
	{ "$defs", FORM_SCHEMA_MAP },
	{ "$ref", FORM_TEXT },
	{ "additionalProperties", FORM_SCHEMA },
	{ "allOf", FORM_SCHEMAS },
	{ "anyOf", FORM_SCHEMAS },
	{ "definitions", FORM_SCHEMA_MAP },
	{ "enum", FORM_LIST },
	{ "exclusiveMaximum", FORM_NUMBER },
	{ "exclusiveMinimum", FORM_NUMBER },
	{ "items", FORM_ITEMS },
	{ "maxItems", FORM_COUNT },
	{ "maxLength", FORM_COUNT },
	{ "maximum", FORM_NUMBER },
	{ "minItems", FORM_COUNT },
	{ "minLength", FORM_COUNT },
	{ "minimum", FORM_NUMBER },
	{ "not", FORM_SCHEMA },
	{ "oneOf", FORM_SCHEMAS },
	{ "pattern", FORM_TEXT },
	{ "patternProperties", FORM_SCHEMA_MAP },
	{ "properties", FORM_SCHEMA_MAP },
	{ "required", FORM_NAMES },
	{ "type", FORM_TYPE },
};

static bool is_type_name(const struct json *v)
{
	for (size_t i = 0; i < COUNT_OF(type_names); i++)
		if (json_str_is(v, type_names[i].name))
			return true;
	return false;
}

/* Whether v itself has the form; schemas in it are not looked at. */
static bool has_form(const struct json *v, enum form form)
{
	bool is_list = json_is(v, JSON_ARRAY);
	uint64_t count;

	switch (form) {
	case FORM_SCHEMA:
	case FORM_ITEMS:
		return true;
	case FORM_SCHEMAS:
		return is_list && v->count;
	case FORM_SCHEMA_MAP:
		return json_is(v, JSON_OBJECT);
	case FORM_TYPE:
	case FORM_NAMES:
		for (const struct json *e = is_list ? json_first(v) : NULL; e; e = json_next(v, e))
			if (form == FORM_TYPE ? !is_type_name(e) : !json_is(e, JSON_STRING))
				return false;
		return form == FORM_TYPE ? is_type_name(v) || (is_list && v->count) : is_list;
	case FORM_LIST:
		return is_list;
	case FORM_NUMBER:
		return json_is(v, JSON_NUMBER);
	case FORM_COUNT:
		return json_u64(v, &count);
	case FORM_TEXT:
		break;
	}
	return json_is(v, JSON_STRING);
}

static int check_schema(const struct json *v, const char *where, unsigned depth, struct err *err)
{
	if (json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE))
		return 0;
	if (!json_is(v, JSON_OBJECT))
		return err_set(err, ERR_PARSE, "a schema is an object or a boolean, but %s is neither", where);
	if (depth == NESTING_MAX)
		return err_set(err, ERR_LIMIT, "it is nested too deeply");
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		const char *keyword = forms[i].keyword;
		enum form form = forms[i].form;
		const struct json *value = json_get(v, keyword);
		int rc = 0;
		if (!value)
			continue;
		if (!has_form(value, form))
			return err_set(err, ERR_PARSE, "'%s' must be %s", keyword, form_phrases[form]);
		bool is_list = json_is(value, JSON_ARRAY) && (form == FORM_SCHEMAS || form == FORM_ITEMS);
		if (form == FORM_SCHEMA || (form == FORM_ITEMS && !is_list))
			rc = check_schema(value, keyword, depth + 1, err);
		for (const struct json *e = is_list ? json_first(value) : NULL; e && rc == 0; e = json_next(value, e))
			rc = check_schema(e, keyword, depth + 1, err);
		if (form == FORM_SCHEMA_MAP)
			for (struct json_member m = json_members(value); m.key && rc == 0;
			     m = json_member_next(value, m))
				rc = check_schema(m.value, keyword, depth + 1, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int json_schema_form(const struct json *schema, struct err *err)
{
	return check_schema(schema, "the whole", 0, err);
}
