/* SPDX-License-Identifier: MIT
 * fuzz_json.c - any bytes: parse, visit everything, write it back, parse that: the values must be the same.
 * The input is also written as a string, which must be valid JSON whatever it holds, and checked as a schema
 * against itself. */
#include "lib/base/utf8.h"
#include "lib/json/json.h"
#include "lib/json/json_schema.h"
#include "lib/json/json_write.h"

enum { WRITE_DEPTH = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds as well. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void write_value(struct json_out *w, const struct json *v, struct arena *arena)
{
	switch ((enum json_type)v->type) {
	case JSON_NULL:
		json_put_null(w);
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		json_put_bool(w, json_bool(v));
		return;
	case JSON_NUMBER:
		json_put_raw(w, json_raw(v));
		return;
	case JSON_STRING:
		json_put_str(w, json_str(v, arena));
		return;
	case JSON_ARRAY:
		json_open(w, '[');
		for (const struct json *e = json_first(v); e; e = json_next(v, e))
			write_value(w, e, arena);
		json_close(w);
		return;
	case JSON_OBJECT:
		json_open(w, '{');
		for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
			json_key_str(w, json_str(m.key, arena));
			write_value(w, m.value, arena);
		}
		json_close(w);
		return;
	}
	abort();
}

static void visit(const struct json *v, struct arena *arena)
{
	struct str s = json_str(v, arena);
	const char *copy = json_cstr(v, arena);
	int64_t i;
	uint64_t u;

	must(utf8_valid(s));
	must(!copy || json_str_is(v, copy));
	if (json_i64(v, &i) && json_u64(v, &u))
		must((uint64_t)i == u);
	(void)json_double(v);
	must(json_raw(v).n > 0);
}

static void check_document(const struct json *root)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf out = { 0 };
	AUTO_JSON struct json_reader again = { .limits.depth = WRITE_DEPTH };
	const struct json *copy;
	struct err err;

	for (const struct json *v = root; v < root + root->span; v++)
		visit(v, &arena);
	struct json_out w = json_out(&out);
	write_value(&w, root, &arena);
	must(json_parse(&again, out.p, out.n, &copy, &err) == 0);
	must(copy->span == root->span);
	must(json_same(root, copy));
	(void)json_schema_check(root, copy, &err);
}

static void check_string(struct str any)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf quoted = { 0 }, repaired = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *v;

	json_add_quoted(&quoted, any);
	utf8_add_repaired(&repaired, any);
	must(json_parse(&reader, quoted.p, quoted.n, &v, NULL) == 0);
	must(str_eq(json_str(v, &arena), buf_str(&repaired)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON struct json_reader reader = { .limits.depth = WRITE_DEPTH };
	const struct json *root;
	struct err err;
	struct str text = { (const char *)data, size };

	if (json_parse(&reader, text.p, text.n, &root, &err) == 0)
		check_document(root);
	check_string(text);
	return 0;
}
