/* SPDX-License-Identifier: MIT
 * json.h - JSON reader: strict RFC 8259, zero-copy, lossless.
 *
 * json_parse() checks the whole text (UTF-8, escapes, numbers, depth, size) and lays its values out as a flat array of
 * nodes in document order. A node is a slice of the text: numbers keep their digits, strings keep their escapes, so
 * that values can be forwarded byte for byte. The children of a node follow it; `span` leads to its next sibling.
 *
 *     const struct json *root;
 *     if (json_parse(&reader, text, n, &root, &err) < 0) ...
 *     struct str id = json_str(json_get(root, "id"), &arena);      (empty when absent or not a string)
 *     for (const struct json *v = json_first(list); v; v = json_next(list, v)) ...
 *
 * Nodes belong to the reader and point into the text: both must outlive them, and the next json_parse() of the same
 * reader ends them. All accessors accept NULL and values of another type and return NULL, "", 0 or false, so a chain
 * json_get(json_get(v, "a"), "b") needs no checks in between. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

enum json_type { JSON_NULL = 1, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	const char *text; /* string: between the quotes, raw; all others: the whole value with its brackets */
	uint32_t len;
	uint32_t span;  /* nodes of this value including itself (an object's keys are nodes too) */
	uint32_t count; /* elements of an array, members of an object */
	uint8_t type;   /* enum json_type */
	bool escaped;   /* string: has a backslash, so text differs from the value */
};

struct json_limits {
	size_t bytes;
	unsigned depth;
};

struct json_reader {
	struct json_limits limits; /* zeroed: 512 MB, depth 512 */
	struct json *nodes;        /* kept between parses */
	size_t used, cap;
};

/* A zeroed reader is ready. The text need not be NUL-terminated. Errors name line and byte: "line 3, column 14:
 * expected ',' or '}'". Duplicate keys are allowed; json_get() finds the last one. Lone surrogate escapes (\ud800) are
 * accepted here (they are legal JSON) and become U+FFFD when a string is decoded. Nodes can take up to 24 times the
 * text (an array of digits; a conversation takes a quarter): lower limits.bytes for untrusted input. */
int json_parse(struct json_reader *r, const char *text, size_t n, const struct json **ret_root, struct err *err);
/* The same, for callers that do not report the error. NULL: the text is not JSON. */
static inline const struct json *json_read(struct json_reader *r, struct str text)
{
	const struct json *root;

	return text.n && json_parse(r, text.p, text.n, &root, NULL) == 0 ? root : NULL;
}
static inline void json_reader_release(struct json_reader *r)
{
	free(r->nodes);
	*r = (struct json_reader){ .limits = r->limits };
}
#define AUTO_JSON CLEANUP(json_reader_release)

const struct json *json_get_str(const struct json *object, struct str key);

static inline const struct json *json_get(const struct json *object, const char *key)
{
	return json_get_str(object, str_from(key));
}

/* The first element of an array or the first KEY of an object. */
static inline const struct json *json_first(const struct json *container)
{
	return container && container->count ? container + 1 : NULL;
}

/* The first element of an array; NULL for anything else. */
static inline const struct json *json_items(const struct json *v)
{
	return v && v->type == JSON_ARRAY ? json_first(v) : NULL;
}

/* Next element of an array. For an object: json_first gives the key, the value of a key is key + 1, and json_next of
 * the VALUE gives the next key. Use json_member() for objects instead where possible. */
static inline const struct json *json_next(const struct json *container, const struct json *value)
{
	if (!container || !value)
		return NULL;
	const struct json *next = value + value->span;
	return next < container + container->span ? next : NULL;
}

/* False for NULL. */
static inline bool json_is(const struct json *v, enum json_type type)
{
	return v && v->type == type;
}

struct json_member {
	const struct json *key, *value;
};
/* for (struct json_member m = json_members(obj); m.key; m = json_member_next(obj, m)) */
static inline struct json_member json_members(const struct json *object)
{
	if (!json_is(object, JSON_OBJECT) || !object->count)
		return (struct json_member){ 0 };
	return (struct json_member){ object + 1, object + 2 };
}

static inline struct json_member json_member_next(const struct json *object, struct json_member m)
{
	const struct json *key = json_next(object, m.value);

	return key ? (struct json_member){ key, key + 1 } : (struct json_member){ 0 };
}

static inline bool json_bool(const struct json *v)
{
	return json_is(v, JSON_TRUE);
}

/* False if not a number, has a fraction or does not fit. 1.0 and 25e2 have none. *ret is then left alone. */
bool json_i64(const struct json *v, int64_t *ret);
bool json_u64(const struct json *v, uint64_t *ret);
double json_double(const struct json *v); /* 0 if not a number, infinite if too large */
/* the raw value, a string with quotes */
static inline struct str json_raw(const struct json *v)
{
	if (!v)
		return STR("");
	if (v->type == JSON_STRING)
		return (struct str){ v->text - 1, (size_t)v->len + 2 };
	return (struct str){ v->text, v->len };
}

#define JSON_ARG(v) STR_ARG(json_raw(v)) /* for %.*s of json_putf: the value; none for NULL */

/* The value of a string: borrowed from the text when nothing is escaped, else decoded into the arena. */
struct str json_str(const struct json *v, struct arena *arena);
/* A copy with NUL; NULL if v is not a string or has a NUL inside. */
char *json_cstr(const struct json *v, struct arena *arena);
/* Of a member, as json_cstr; "" where that is NULL */
static inline const char *json_text(const struct json *object, const char *key, struct arena *arena)
{
	const char *text = json_cstr(json_get(object, key), arena);

	return text ? text : "";
}
/* Compare the decoded value without allocating. */
bool json_str_eq(const struct json *v, struct str text);

static inline bool json_str_is(const struct json *v, const char *text)
{
	return json_str_eq(v, str_from(text));
}

/* Equal values: order of members, spelling of numbers and strings do not count. Of a repeated key the last one does. */
bool json_same(const struct json *a, const struct json *b);
