/* SPDX-License-Identifier: MIT
 * json_same.c - equality of values, not of texts. Recursion is bounded by the depth limit of the reader. */
#include "lib/json/json.h"
#include "lib/json/json_int.h"

static bool equal(const struct json *a, const struct json *b, struct arena *arena);

static bool equal_numbers(const struct json *a, const struct json *b)
{
	int64_t ia, ib;
	uint64_t ua, ub;

	if (str_eq(json_raw(a), json_raw(b)))
		return true;
	if (json_i64(a, &ia) && json_i64(b, &ib))
		return ia == ib;
	if (json_u64(a, &ua) && json_u64(b, &ub))
		return ua == ub;
	return json_is_whole(a) == json_is_whole(b) && json_double(a) == json_double(b);
}

static bool equal_arrays(const struct json *a, const struct json *b, struct arena *arena)
{
	const struct json *x = json_first(a), *y = json_first(b);

	if (a->count != b->count)
		return false;
	for (; x; x = json_next(a, x), y = json_next(b, y)) {
		if (!equal(x, y, arena))
			return false;
	}
	return true;
}

/* Each key of a is in b with an equal value. Of several members with one key only the last counts. */
static bool covers(const struct json *a, const struct json *b, struct arena *arena)
{
	for (struct json_member m = json_members(a); m.key; m = json_member_next(a, m)) {
		struct str key = json_str(m.key, arena);
		if (json_get_str(a, key) == m.value && !equal(m.value, json_get_str(b, key), arena))
			return false;
	}
	return true;
}

static bool has_all_keys(const struct json *object, const struct json *of, struct arena *arena)
{
	for (struct json_member m = json_members(of); m.key; m = json_member_next(of, m)) {
		if (!json_get_str(object, json_str(m.key, arena)))
			return false;
	}
	return true;
}

static bool equal(const struct json *a, const struct json *b, struct arena *arena)
{
	if (!a || !b || a->type != b->type)
		return a == b;
	switch ((enum json_type)a->type) {
	case JSON_NUMBER:
		return equal_numbers(a, b);
	case JSON_STRING:
		return json_str_eq(a, json_str(b, arena));
	case JSON_ARRAY:
		return equal_arrays(a, b, arena);
	case JSON_OBJECT:
		return covers(a, b, arena) && has_all_keys(a, b, arena);
	default:
		return true;
	}
}

bool json_same(const struct json *a, const struct json *b)
{
	AUTO_ARENA struct arena arena = { 0 };

	return equal(a, b, &arena);
}
