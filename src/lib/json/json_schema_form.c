/* SPDX-License-Identifier: MIT
 * json_schema_form.c - whether a text is a JSON Schema at all: each keyword that json_schema.c knows, and those that hold
 * schemas, has the form that the standard gives it. Keywords nobody knows are allowed. */
#include "lib/json/json_schema.h"

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

static int check_schema(const struct json *v, const char *where, unsigned depth, struct err *err);

static int fault(const char *keyword, const char *what, struct err *err)
{
	return err_set(err, ERR_PARSE, "'%s' must be %s", keyword, what);
}

static int check_list(const struct json *list, const char *keyword, unsigned depth, struct err *err)
{
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (check_schema(v, keyword, depth, err) < 0)
			return -(int)err->kind;
	return 0;
}

static int check_map(const struct json *map, const char *keyword, unsigned depth, struct err *err)
{
	if (!json_is(map, JSON_OBJECT))
		return fault(keyword, "an object of schemas", err);
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m))
		if (check_schema(m.value, keyword, depth, err) < 0)
			return -(int)err->kind;
	return 0;
}

static bool is_type_name(const struct json *v)
{
	static const char *const names[] = { "array", "boolean", "integer", "null", "number", "object", "string" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (json_str_is(v, names[i]))
			return true;
	return false;
}

/* test holds for every one of the list, and there is at least one. */
static bool all_are(const struct json *list, bool (*test)(const struct json *v))
{
	if (!json_is(list, JSON_ARRAY) || !list->count)
		return false;
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (!test(v))
			return false;
	return true;
}

static bool is_text(const struct json *v)
{
	return json_is(v, JSON_STRING);
}

static int check_keyword(const char *keyword, enum form form, const struct json *v, unsigned depth, struct err *err)
{
	uint64_t count;
	bool empty = json_is(v, JSON_ARRAY) && !v->count;

	switch (form) {
	case FORM_SCHEMA:
		return check_schema(v, keyword, depth, err);
	case FORM_SCHEMAS:
		return !json_is(v, JSON_ARRAY) || empty ? fault(keyword, "a list of at least one schema", err)
							: check_list(v, keyword, depth, err);
	case FORM_ITEMS:
		return json_is(v, JSON_ARRAY) ? check_list(v, keyword, depth, err)
					      : check_schema(v, keyword, depth, err);
	case FORM_SCHEMA_MAP:
		return check_map(v, keyword, depth, err);
	case FORM_TYPE:
		return is_type_name(v) || all_are(v, is_type_name)
			       ? 0
			       : fault(keyword,
				       "array, boolean, integer, null, number, object or string, or a list of them",
				       err);
	case FORM_NAMES:
		return empty || all_are(v, is_text) ? 0 : fault(keyword, "a list of names", err);
	case FORM_LIST:
		return json_is(v, JSON_ARRAY) ? 0 : fault(keyword, "a list", err);
	case FORM_NUMBER:
		return json_is(v, JSON_NUMBER) ? 0 : fault(keyword, "a number", err);
	case FORM_COUNT:
		return json_u64(v, &count) ? 0 : fault(keyword, "a whole number from 0 on", err);
	case FORM_TEXT:
		break;
	}
	return is_text(v) ? 0 : fault(keyword, "a string", err);
}

static int check_schema(const struct json *v, const char *where, unsigned depth, struct err *err)
{
	if (json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE))
		return 0;
	if (!json_is(v, JSON_OBJECT))
		return err_set(err, ERR_PARSE, "a schema is an object or a boolean, which is not what stands in %s",
			       where);
	if (depth == NESTING_MAX)
		return err_set(err, ERR_LIMIT, "it is nested too deeply");
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		const struct json *value = json_get(v, forms[i].keyword);
		if (value && check_keyword(forms[i].keyword, forms[i].form, value, depth + 1, err) < 0)
			return -(int)err->kind;
	}
	return 0;
}

int json_schema_form(const struct json *schema, struct err *err)
{
	return check_schema(schema, "the whole", 0, err);
}
