/* SPDX-License-Identifier: MIT
 * test_value.c - the accessors: members, strings, numbers, equality. */
#include "unit.h"
#include <math.h>
#include "test_json.h"

TEST(accessors_give_nothing_for_null_and_for_other_types)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_DOC struct doc d = doc_parse(STR("[null,true,1,\"s\",[],{}]"));
	int64_t i = 7;
	uint64_t u = 7;

	CHECK(!json_get(json_get(NULL, "a"), "b"));
	CHECK(!json_first(NULL) && !json_next(NULL, NULL) && !json_next(d.root, NULL));
	CHECK(!json_is(NULL, JSON_NULL) && !json_bool(NULL) && !json_cstr(NULL, &a) && !json_str_is(NULL, ""));
	CHECK_INT(json_raw(NULL).n, 0);
	for (const struct json *v = json_first(d.root); v; v = json_next(d.root, v)) {
		CHECK(!json_get(v, "a") && !json_first(v) && !json_members(v).key);
		CHECK_INT(json_str(v, &a).n, json_is(v, JSON_STRING));
		CHECK_INT(json_cstr(v, &a) != NULL, json_is(v, JSON_STRING));
		CHECK_INT(json_i64(v, &i), json_is(v, JSON_NUMBER));
		CHECK_INT(json_u64(v, &u), json_is(v, JSON_NUMBER));
		CHECK(json_double(v) == (json_is(v, JSON_NUMBER) ? 1 : 0));
		CHECK_INT(json_bool(v), json_is(v, JSON_TRUE));
	}
	CHECK(i == 1 && u == 1);
}

TEST(the_last_of_several_members_with_one_key_is_found)
{
	AUTO_DOC struct doc d =
		doc_parse(STR("{\"a\":1,\"b\":[{\"a\":5}],\"\\u0061\":3,\"aa\":4,\"\":6,\"x\\u0000y\":7}"));

	CHECK_STR(json_raw(json_get(d.root, "a")), "3");
	CHECK_STR(json_raw(json_get(json_first(json_get(d.root, "b")), "a")), "5");
	CHECK_STR(json_raw(json_get(d.root, "")), "6");
	CHECK_STR(json_raw(json_get_str(d.root, STR("x\0y"))), "7");
	CHECK(!json_get(d.root, "x") && !json_get(d.root, "c"));
}

TEST(members_and_elements_are_walked_in_order_over_nested_values)
{
	AUTO_DOC struct doc d = doc_parse(STR("{\"a\":[1,[2,{\"x\":3}],4],\"b\":{\"c\":{}},\"d\":5}"));
	AUTO_BUF struct buf trail = { 0 };

	for (struct json_member m = json_members(d.root); m.key; m = json_member_next(d.root, m))
		buf_addf(&trail, STR_FMT "=" STR_FMT " ", STR_ARG(json_raw(m.key)), STR_ARG(json_raw(m.value)));
	const struct json *list = json_get(d.root, "a");
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		buf_addf(&trail, STR_FMT " ", STR_ARG(json_raw(v)));

	CHECK_CSTR(trail.p, "\"a\"=[1,[2,{\"x\":3}],4] \"b\"={\"c\":{}} \"d\"=5 1 [2,{\"x\":3}] 4 ");
}

TEST(strings_are_decoded)
{
	static const struct {
		struct str raw, value;
	} table[] = {
		{ STR("\"\""), STR("") },
		{ STR("\"plain \xc3\xa9\""), STR("plain \xc3\xa9") },
		{ STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR("\"\\/\b\f\n\r\t") },
		{ STR("\"\\u0041\\u00e9\\u20AC\\uFFFF\""), STR("A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf") },
		{ STR("\"\\ud83d\\uDE00\""), STR("\xf0\x9f\x98\x80") },
		{ STR("\"\\udbff\\udfff\\ud800\\udc00\""), STR("\xf4\x8f\xbf\xbf\xf0\x90\x80\x80") },
		{ STR("\"a\\u0000b\""), STR("a\0b") },
		{ STR("\"\\ud800\""), STR("\xef\xbf\xbd") },
		{ STR("\"\\udc00\""), STR("\xef\xbf\xbd") },
		{ STR("\"\\udc00\\udc00\""), STR("\xef\xbf\xbd\xef\xbf\xbd") },
		{ STR("\"\\ude00\\ud83d\""), STR("\xef\xbf\xbd\xef\xbf\xbd") },
		{ STR("\"\\ud800\\ud83d\\ude00\""), STR("\xef\xbf\xbd\xf0\x9f\x98\x80") },
		{ STR("\"\\ud83d\\u0041\""), STR("\xef\xbf\xbd"
						 "A") },
		{ STR("\"\\ud83dude00\""), STR("\xef\xbf\xbdude00") },
		{ STR("\"\\ud83d\\n\""), STR("\xef\xbf\xbd\n") },
		{ STR("\"0123456789abcde\\n0123456789abcdef\\\\0123456\\t\""),
		  STR("0123456789abcde\n0123456789abcdef\\0123456\t") },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_DOC struct doc d = doc_parse(table[i].raw);
		struct str value = json_str(d.root, &a);
		char *copy = json_cstr(d.root, &a);
		bool has_nul = table[i].value.n && memchr(table[i].value.p, 0, table[i].value.n);
		CHECK(str_eq(value, table[i].value));
		CHECK(str_eq(json_raw(d.root), table[i].raw));
		CHECK(has_nul ? !copy : !strcmp(copy, table[i].value.p));
		CHECK_INT(json_str_is(d.root, table[i].value.p), !has_nul);
		CHECK(!json_str_is(d.root, "something else"));
	}
}

TEST(an_escape_is_decoded_at_every_place_of_a_string)
{
	for (size_t len = 0; len < 40; len++) {
		for (size_t at = 0; at <= len; at++) {
			AUTO_ARENA struct arena a = { 0 };
			AUTO_BUF struct buf raw = { 0 }, value = { 0 };
			buf_addf(&raw, "\"%.*s\\u00e9%.*s\"", (int)at, "0123456789012345678901234567890123456789",
				 (int)(len - at), "abcdefghijklmnopqrstuvwxyzabcdefghijklmn");
			buf_addf(&value, "%.*s\xc3\xa9%.*s", (int)at, "0123456789012345678901234567890123456789",
				 (int)(len - at), "abcdefghijklmnopqrstuvwxyzabcdefghijklmn");
			AUTO_DOC struct doc d = doc_parse(buf_str(&raw));
			CHECK(str_eq(json_str(d.root, &a), buf_str(&value)));
			CHECK(json_str_is(d.root, value.p));
		}
	}
}

TEST(a_string_without_escapes_is_borrowed_from_the_text)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_DOC struct doc d = doc_parse(STR("\"borrowed\""));

	CHECK(json_str(d.root, &a).p == d.text + 1);
	CHECK(!a.block);
}

TEST(a_comparison_tells_prefixes_from_the_whole)
{
	AUTO_DOC struct doc d = doc_parse(STR("[\"abc\",\"a\\u0062c\"]"));

	for (const struct json *v = json_first(d.root); v; v = json_next(d.root, v)) {
		CHECK(json_str_is(v, "abc"));
		CHECK(!json_str_is(v, "ab") && !json_str_is(v, "abcd") && !json_str_is(v, "") &&
		      !json_str_is(v, "abd"));
	}
}

TEST(numbers_keep_their_text_and_become_integers_only_without_loss)
{
	static const struct {
		const char *text;
		bool is_i64, is_u64;
		int64_t i64;
		uint64_t u64;
		double real;
	} table[] = {
		{ "0", true, true, 0, 0, 0 },
		{ "-0", true, true, 0, 0, 0 },
		{ "-0.0e5", true, true, 0, 0, 0 },
		{ "42", true, true, 42, 42, 42 },
		{ "-1", true, false, -1, 0, -1 },
		{ "1.0", true, true, 1, 1, 1 },
		{ "25e2", true, true, 2500, 2500, 2500 },
		{ "1.25E2", true, true, 125, 125, 125 },
		{ "1200e-2", true, true, 12, 12, 12 },
		{ "100.00", true, true, 100, 100, 100 },
		{ "0.001e3", true, true, 1, 1, 1 },
		{ "0e99999999999999999999", true, true, 0, 0, 0 },
		{ "1.5", false, false, 0, 0, 1.5 },
		{ "1e-1", false, false, 0, 0, 0.1 },
		{ "125e-2", false, false, 0, 0, 1.25 },
		{ "9007199254740993", true, true, 9007199254740993, 9007199254740993u, 9007199254740992.0 },
		{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX, 9223372036854775807.0 },
		{ "-9223372036854775808", true, false, INT64_MIN, 0, -9223372036854775808.0 },
		{ "-9223372036854775809", false, false, 0, 0, -9223372036854775808.0 },
		{ "9223372036854775808", false, true, 0, 9223372036854775808u, 9223372036854775808.0 },
		{ "18446744073709551615", false, true, 0, UINT64_MAX, 18446744073709551615.0 },
		{ "18446744073709551616", false, false, 0, 0, 18446744073709551616.0 },
		{ "1e19", false, true, 0, 10000000000000000000u, 1e19 },
		{ "1e20", false, false, 0, 0, 1e20 },
		{ "1e400", false, false, 0, 0, INFINITY },
		{ "1e-400", false, false, 0, 0, 0 },
		{ "0.1000000000000000000000000000000000000000000000000000000000000000000000001", false, false, 0, 0,
		  0.1 },
		{ "1e99999999999999999999", false, false, 0, 0, INFINITY },
		{ "1e-99999999999999999999", false, false, 0, 0, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		int64_t i64 = 0;
		uint64_t u64 = 0;
		AUTO_DOC struct doc d = doc_parse(str_from(table[i].text));
		CHECK_INT(json_i64(d.root, &i64), table[i].is_i64);
		CHECK_INT(json_u64(d.root, &u64), table[i].is_u64);
		CHECK(i64 == table[i].i64 && u64 == table[i].u64);
		CHECK(json_double(d.root) == table[i].real);
		CHECK_STR(json_raw(d.root), table[i].text);
	}
}

TEST(values_are_the_same_whatever_their_spelling)
{
	static const struct {
		const char *a, *b;
		bool same;
	} table[] = {
		{ "1", "1.0", true },
		{ "1", "10e-1", true },
		{ "1", "2", false },
		{ "0.5", "5e-1", true },
		{ "0.5", "1", false },
		{ "9007199254740992", "9007199254740993", false },
		{ "18446744073709551614", "18446744073709551615", false },
		{ "30000000000000000000000", "3e22", true },
		{ "30000000000000000000000", "30000000000000000000000.5", false },
		{ "\"a\"", "\"\\u0061\"", true },
		{ "\"\\u0061\"", "\"\\u0061\"", true },
		{ "\"a\"", "\"b\"", false },
		{ "\"1\"", "1", false },
		{ "true", "false", false },
		{ "null", "null", true },
		{ "[1,[2]]", "[ 1.0, [2e0] ]", true },
		{ "[1,2]", "[2,1]", false },
		{ "[1]", "[1,2]", false },
		{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"\\u0061\":1}", true },
		{ "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
		{ "{\"a\":1,\"b\":2}", "{\"a\":1}", false },
		{ "{\"a\":1,\"a\":2}", "{\"a\":2}", true },
		{ "{\"a\":1,\"a\":2}", "{\"a\":1}", false },
		{ "{}", "[]", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_DOC struct doc a = doc_parse(str_from(table[i].a)), b = doc_parse(str_from(table[i].b));
		if (json_same(a.root, b.root) != table[i].same || json_same(b.root, a.root) != table[i].same)
			fail_msg("%s and %s", table[i].a, table[i].b);
	}
}

int test_value(void)
{
	return RUN_TESTS(T(accessors_give_nothing_for_null_and_for_other_types),
			 T(the_last_of_several_members_with_one_key_is_found),
			 T(members_and_elements_are_walked_in_order_over_nested_values), T(strings_are_decoded),
			 T(an_escape_is_decoded_at_every_place_of_a_string),
			 T(a_string_without_escapes_is_borrowed_from_the_text),
			 T(a_comparison_tells_prefixes_from_the_whole),
			 T(numbers_keep_their_text_and_become_integers_only_without_loss),
			 T(values_are_the_same_whatever_their_spelling));
}
