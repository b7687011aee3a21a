/* SPDX-License-Identifier: MIT
 * json_write.h - JSON writer for buffers. It places commas and quotes and asserts correct nesting.
 *
 *     struct json_out w = json_out(&buf);
 *     json_open(&w, '{');
 *     json_kstr(&w, "name", name);
 *     json_kopen(&w, "list", '[');  json_put_i64(&w, 1);  json_close(&w);
 *     json_close(&w);
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
void json_key(struct json_out *w, const char *key);
void json_key_str(struct json_out *w, struct str key);
void json_put_str(struct json_out *w, struct str s);
void json_put_cstr(struct json_out *w, const char *s); /* NULL writes null */
void json_put_i64(struct json_out *w, int64_t v);
void json_put_u64(struct json_out *w, uint64_t v);
void json_put_double(struct json_out *w, double v); /* shortest form that reads back the same; not finite: null */
void json_put_bool(struct json_out *w, bool v);
void json_put_null(struct json_out *w);
void json_put_raw(struct json_out *w, struct str json); /* one complete value, trusted to be valid */

/* Key and value in one call. */
void json_kstr(struct json_out *w, const char *key, struct str s);
void json_kcstr(struct json_out *w, const char *key, const char *s);
void json_ki64(struct json_out *w, const char *key, int64_t v);
void json_kbool(struct json_out *w, const char *key, bool v);
void json_kraw(struct json_out *w, const char *key, struct str json);
void json_kopen(struct json_out *w, const char *key, char bracket);
void json_kcstr_if(struct json_out *w, const char *key, const char *s); /* only if s is not NULL */

void json_add_quoted(struct buf *out, struct str s);  /* "..." with quotes, repaired and escaped */
void json_add_escaped(struct buf *out, struct str s); /* the same without the quotes */
