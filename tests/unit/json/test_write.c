/* SPDX-License-Identifier: MIT
 * test_write.c - the writer: punctuation, repair, numbers. */
#include "unit.h"
#include <math.h>
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "test_json.h"

TEST(commas_and_colons_are_placed_by_the_writer)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_open(&w, '{');
	json_kstr(&w, "s", STR("x"));
	json_kcstr(&w, "none", NULL);
	json_ki64(&w, "i", -5);
	json_kbool(&w, "t", true);
	json_kraw(&w, "raw", STR("{\"a\": 1.50}"));
	json_key_str(&w, STR("q\"\0"));
	json_open(&w, '[');
	json_put_bool(&w, false);
	json_open(&w, '{');
	json_close(&w);
	json_open(&w, '[');
	json_close(&w);
	json_put_null(&w);
	json_close(&w);
	json_key(&w, "last");
	json_putf(&w, "%llu", (unsigned long long)UINT64_MAX);
	json_close(&w);

	CHECK_CSTR(b.p, "{\"s\":\"x\",\"none\":null,\"i\":-5,\"t\":true,\"raw\":{\"a\": 1.50},"
			"\"q\\\"\\u0000\":[false,{},[],null],\"last\":18446744073709551615}");
	CHECK_INT(w.depth, 0);
}

TEST(sixty_four_levels_can_be_written)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	for (int i = 0; i < 64; i++) {
		json_open(&w, i % 2 ? '{' : '[');
		if (i % 2)
			json_key(&w, "k");
	}
	json_put_null(&w);
	for (int i = 0; i < 64; i++)
		json_close(&w);
	AUTO_DOC struct doc d = doc_parse(buf_str(&b));

	CHECK_INT(d.rc, 0);
	CHECK_INT(d.root->span, 64 + 32 + 1);
}

TEST(any_bytes_become_a_valid_string)
{
	static const struct {
		struct str in;
		const char *out;
	} table[] = {
		{ STR(""), "" },
		{ STR("plain / text"), "plain / text" },
		{ STR("\"\\\b\f\n\r\t"), "\\\"\\\\\\b\\f\\n\\r\\t" },
		{ STR("\0\x01\x1f\x7f"), "\\u0000\\u0001\\u001f\x7f" },
		{ STR("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80" },
		{ STR("a\xff\xfe"
		      "b"),
		  "a\xef\xbf\xbd\xef\xbf\xbd"
		  "b" },
		{ STR("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ STR("\xf0\x9f\x98"), "\xef\xbf\xbd" },
		{ STR("\xf0\x9f\n\x98"), "\xef\xbf\xbd\\n\xef\xbf\xbd" },
		{ STR("\xc3\""), "\xef\xbf\xbd\\\"" },
		{ STR("0123456789abcdef0123456789abcdef\n0123456789abcdef\xc3"),
		  "0123456789abcdef0123456789abcdef\\n0123456789abcdef\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf escaped = { 0 }, quoted = { 0 };
		json_add_escaped(&escaped, table[i].in);
		json_add_quoted(&quoted, table[i].in);
		AUTO_DOC struct doc d = doc_parse(buf_str(&quoted));
		CHECK_STR(buf_str(&escaped), table[i].out);
		CHECK_INT(d.rc, 0);
		CHECK_INT(quoted.n, escaped.n + 2);
	}
}

TEST(every_byte_at_every_place_of_a_block_is_read_back_or_replaced)
{
	for (unsigned i = 0; i < 256 * 33; i++) {
		AUTO_BUF struct buf in = { 0 }, expected = { 0 }, out = { 0 };
		AUTO_ARENA struct arena a = { 0 };
		char c = (char)(i % 256);
		buf_addf(&in, "%.*s", (int)(i / 256), "0123456789abcdef0123456789abcdef");
		buf_add(&in, &c, 1);
		buf_addstr(&in, "0123456789");
		utf8_add_repaired(&expected, buf_str(&in));
		json_add_quoted(&out, buf_str(&in));
		AUTO_DOC struct doc d = doc_parse(buf_str(&out));
		CHECK_INT(d.rc, 0);
		CHECK(str_eq(json_str(d.root, &a), buf_str(&expected)));
	}
}

static void check_double(double v, const char *expected)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_put_double(&w, v);
	CHECK_CSTR(b.p, expected);
	AUTO_DOC struct doc d = doc_parse(buf_str(&b));
	CHECK(!isfinite(v) || json_double(d.root) == v);
}

TEST(doubles_are_written_in_the_shortest_form_that_reads_back)
{
	check_double(0, "0");
	check_double(-0.0, "-0");
	check_double(1, "1");
	check_double(0.1, "0.1");
	check_double(0.1 + 0.2, "0.30000000000000004");
	check_double(1.0 / 3, "0.3333333333333333");
	check_double(1e22, "1e+22");
	check_double(-1.5e-300, "-1.5e-300");
	check_double(1.7976931348623157e308, "1.7976931348623157e+308");
	check_double(INFINITY, "null");
	check_double(-INFINITY, "null");
	check_double(NAN, "null");
}

TEST(integers_are_written_to_their_ends)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_open(&w, '[');
	json_put_i64(&w, INT64_MIN);
	json_put_i64(&w, INT64_MAX);
	json_put_i64(&w, 0);
	json_put_i64(&w, 10);
	json_close(&w);

	CHECK_CSTR(b.p, "[-9223372036854775808,9223372036854775807,0,10]");
}

TEST(a_template_writes_what_the_single_calls_write)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);
	struct str text = STR("a\"b");

	json_putf(&w,
		  "{s:'%s', part:'%.*s', none:'%s', const:'x y', raw:%s, rest:%.*s, on:!!%d, off:!!%d, no:null, n:7, ",
		  "\n", STR_ARG(text), (const char *)NULL, "[1]", 2, "{}x", 5, 0);
	json_putf(&w, "d:%d, u:%u, z:%zu, l:%lld, m:%llu, g:%g, list:[", -1, 4294967295u, SIZE_MAX,
		  (long long)INT64_MIN, (unsigned long long)UINT64_MAX, 0.1);
	json_putf(&w, "'%s', {}, [%d, %d]], open:", "", 1, 2);
	json_put_null(&w);
	json_putf(&w, "}");
	CHECK_CSTR(
		b.p,
		"{\"s\":\"\\n\",\"part\":\"a\\\"b\",\"none\":null,\"const\":\"x y\",\"raw\":[1],\"rest\":{},"
		"\"on\":true,\"off\":false,\"no\":null,\"n\":7,\"d\":-1,\"u\":4294967295,\"z\":18446744073709551615,"
		"\"l\":-9223372036854775808,\"m\":18446744073709551615,\"g\":0.1,\"list\":[\"\",{},[1,2]],\"open\":null}");
}

TEST(a_template_leaves_out_optional_members_without_a_value)
{
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	json_putf(&w, "{a?:'%s', b?:'%.*s', c?:%d, d?:!!%d, e?:%g, f?:%s}", (const char *)NULL, 0, "x", 0, 0, 0.0,
		  (const char *)NULL);
	json_putf(&w, "{a?:'%s', b?:'%.*s', c?:%d, d?:!!%d, e?:%g, f?:%s}", "", 1, "xy", -2, 1, 0.5, "[]");
	json_putf(&w, "{a:?%u, b:?%u, c:?'%.*s', d:?'%.*s', e:%.*s, f:'%.*s'}", 0u, 7u, 0, "x", 1, "x", 0, "x", 0, "x");
	CHECK_CSTR(b.p, "{},{\"a\":\"\",\"b\":\"x\",\"c\":-2,\"d\":true,\"e\":0.5,\"f\":[]},"
			"{\"a\":null,\"b\":7,\"c\":null,\"d\":\"x\",\"e\":null,\"f\":\"\"}");
}

TEST(a_template_writes_a_quoted_number_as_a_string)
{
	AUTO_BUF struct buf b = { 0 };

	json_addf(&b, "{id:'%u', none:'%u', large:'%llu', list:['%zu']}", 7u, 0u, 18446744073709551615ull, (size_t)12);
	CHECK_CSTR(b.p, "{\"id\":\"7\",\"none\":\"0\",\"large\":\"18446744073709551615\",\"list\":[\"12\"]}");
}

int test_write(void)
{
	return RUN_TESTS(T(commas_and_colons_are_placed_by_the_writer), T(sixty_four_levels_can_be_written),
			 T(any_bytes_become_a_valid_string),
			 T(every_byte_at_every_place_of_a_block_is_read_back_or_replaced),
			 T(doubles_are_written_in_the_shortest_form_that_reads_back),
			 T(integers_are_written_to_their_ends), T(a_template_writes_what_the_single_calls_write),
			 T(a_template_leaves_out_optional_members_without_a_value),
			 T(a_template_writes_a_quoted_number_as_a_string));
}
