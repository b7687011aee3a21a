/* SPDX-License-Identifier: MIT
 * oracle_jansson.c - jansson's reading of a text, in a neutral form. Apart because its names collide with
 * ours, which is also why test_json.h is not included: only the declaration below is shared. */
#include <jansson.h>
#include "lib/base/buf.h"

enum oracle_reason { ORACLE_SYNTAX = 1, ORACLE_NUMBER, ORACLE_NUL_IN_KEY };
int oracle_dump(struct str text, struct buf *out, enum oracle_reason *ret_reason);

static void dump(struct buf *out, json_t *v)
{
	size_t i;
	const char *key;
	json_t *child;

	switch (json_typeof(v)) {
	case JSON_NULL:
		buf_addstr(out, "null ");
		break;
	case JSON_TRUE:
		buf_addstr(out, "true ");
		break;
	case JSON_FALSE:
		buf_addstr(out, "false ");
		break;
	case JSON_INTEGER:
		buf_addf(out, "int %lld ", (long long)json_integer_value(v));
		break;
	case JSON_REAL:
		buf_addf(out, "real %a ", json_real_value(v));
		break;
	case JSON_STRING:
		buf_addf(out, "string %zu ", json_string_length(v));
		buf_add(out, json_string_value(v), json_string_length(v));
		break;
	case JSON_ARRAY:
		buf_addf(out, "array %zu ", json_array_size(v));
		json_array_foreach(v, i, child) dump(out, child);
		break;
	case JSON_OBJECT:
		buf_addf(out, "object %zu ", json_object_size(v));
		json_object_foreach(v, key, child)
		{
			buf_addf(out, "%s=", key);
			dump(out, child);
		}
		break;
	}
}

int oracle_dump(struct str text, struct buf *out, enum oracle_reason *ret_reason)
{
	json_error_t error;
	json_t *root = json_loadb(text.p, text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

	if (!root) {
		enum json_error_code code = json_error_code(&error);
		*ret_reason = code == json_error_numeric_overflow   ? ORACLE_NUMBER
			      : code == json_error_null_byte_in_key ? ORACLE_NUL_IN_KEY
								    : ORACLE_SYNTAX;
		return -1;
	}
	dump(out, root);
	json_decref(root);
	return 0;
}
