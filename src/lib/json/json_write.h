/* SPDX-License-Identifier: MIT
 * json_write.h - JSON writer for buffers. It places commas and quotes and asserts correct nesting.
 *
 *     struct json_out w = json_out(&buf);
 *     json_putf(&w, "{name:'%s', running:!!%d, pid?:%d, list:[", name, is_running, pid);
 *     json_put_i64(&w, 1);
 *     json_putf(&w, "]}");
 *
 * Text is any bytes: invalid UTF-8 and surrogates become U+FFFD, control characters and NUL are escaped, so the output
 * is always valid JSON in valid UTF-8. */
#pragma once
#include "lib/base/buf.h"

struct json_out {
	struct buf *buf;  /* borrowed */
	uint64_t objects; /* bit i: level i is an object (depth is limited to 64 for writing) */
	unsigned depth;
	bool comma; /* a comma is due before the next value */
};

static inline struct json_out json_out(struct buf *buf)
{
	return (struct json_out){ .buf = buf };
}
void json_open(struct json_out *w, char bracket); /* '{' or '[' */
void json_close(struct json_out *w);
void json_key_str(struct json_out *w, struct str key);
void json_put_raw(struct json_out *w, struct str json); /* one complete value, trusted to be valid */

static inline void json_key(struct json_out *w, const char *key)
{
	json_key_str(w, str_from(key));
}

void json_put_str(struct json_out *w, struct str s);
void json_put_cstr(struct json_out *w, const char *s); /* NULL writes null */
void json_put_i64(struct json_out *w, int64_t v);
void json_put_double(struct json_out *w, double v); /* shortest form that reads back the same; not finite: null */
static inline void json_put_bool(struct json_out *w, bool v)
{
	json_put_raw(w, v ? STR("true") : STR("false"));
}

static inline void json_put_null(struct json_out *w)
{
	json_put_raw(w, STR("null"));
}

/* Key and value in one call. */
static inline void json_kstr(struct json_out *w, const char *key, struct str s)
{
	json_key(w, key);
	json_put_str(w, s);
}

static inline void json_kcstr(struct json_out *w, const char *key, const char *s)
{
	json_key(w, key);
	json_put_cstr(w, s);
}

static inline void json_ki64(struct json_out *w, const char *key, int64_t v)
{
	json_key(w, key);
	json_put_i64(w, v);
}

static inline void json_kbool(struct json_out *w, const char *key, bool v)
{
	json_key(w, key);
	json_put_bool(w, v);
}

static inline void json_kraw(struct json_out *w, const char *key, struct str json)
{
	json_key(w, key);
	json_put_raw(w, json);
}

static inline void json_kopen(struct json_out *w, const char *key, char bracket)
{
	json_key(w, key);
	json_open(w, bracket);
}

/* The members of an object, but those that the list except (NULL behind the last) or the object replaced names; both may be NULL.
 * Of a repeated one the last. */
struct json;
void json_put_members(struct json_out *w, const struct json *object, const char *const *except,
		      const struct json *replaced);

/* Writes a template: an object or array, or a part of one, with conversions that the compiler checks as those of printf.
 *   '%s' '%.*s'               a string; null for NULL
 *   %s %.*s                   a complete value, trusted to be valid; null for NULL or an empty one
 *   %d %u %zu %lld %llu %g    a number
 *   '%u' '%llu'               a number as a string
 *   !!%d                      a boolean
 *   ?CONVERSION               null for NULL, 0 and an empty %.*s
 *   KEY?:CONVERSION           no member then
 *   'text' null true 7        a constant
 * A template may leave brackets open and may end behind a key; the next call continues there. */
void json_putf(struct json_out *w, const char *template, ...) printf_like(2, 3);
void json_vputf(struct json_out *w, const char *template, va_list args);
void json_addf(struct buf *out, const char *template, ...) printf_like(2, 3); /* a whole value, appended to out */

void json_add_quoted(struct buf *out, struct str s);  /* "..." with quotes, repaired and escaped */
void json_add_escaped(struct buf *out, struct str s); /* the same without the quotes */
