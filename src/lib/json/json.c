/* SPDX-License-Identifier: MIT
 * json.c - walking the nodes. */
#include "lib/json/json.h"
#include "lib/json/json_int.h"

bool json_is(const struct json *v, enum json_type type)
{
	return v && v->type == type;
}

bool json_bool(const struct json *v)
{
	return json_is(v, JSON_TRUE);
}

struct str json_raw(const struct json *v)
{
	if (!v)
		return STR("");
	if (v->type == JSON_STRING)
		return (struct str){ v->text - 1, (size_t)v->len + 2 };
	return (struct str){ v->text, v->len };
}

const struct json *json_first(const struct json *container)
{
	return container && container->count ? container + 1 : NULL;
}

const struct json *json_next(const struct json *container, const struct json *value)
{
	if (!container || !value)
		return NULL;
	const struct json *next = value + value->span;
	return next < container + container->span ? next : NULL;
}

struct json_member json_members(const struct json *object)
{
	if (!json_is(object, JSON_OBJECT) || !object->count)
		return (struct json_member){ 0 };
	return (struct json_member){ object + 1, object + 2 };
}

struct json_member json_member_next(const struct json *object, struct json_member m)
{
	const struct json *key = json_next(object, m.value);

	return key ? (struct json_member){ key, key + 1 } : (struct json_member){ 0 };
}

const struct json *json_get_str(const struct json *object, struct str key)
{
	const struct json *found = NULL;

	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		if (json_str_eq(m.key, key))
			found = m.value;
	}
	return found;
}

const struct json *json_get(const struct json *object, const char *key)
{
	return json_get_str(object, str_from(key));
}
