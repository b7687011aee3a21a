/* SPDX-License-Identifier: MIT
 * test_read.c - what the parser takes, what it refuses and with which words. */
#include "unit.h"
#include "test_json.h"

TEST(valid_documents_are_accepted)
{
	static const struct str table[] = {
		STR("{}"),
		STR("[]"),
		STR("null"),
		STR("true"),
		STR("false"),
		STR("0"),
		STR("\"\""),
		STR("\"x\""),
		STR(" \t\r\n[ 1 , 2 ]\n "),
		STR("[[],{},[[]],{\"\":{}}]"),
		STR("{\"a\" : 1 , \"b\":2}"),
		STR("-0"),
		STR("-1"),
		STR("10"),
		STR("1.0"),
		STR("0.1"),
		STR("-0.0"),
		STR("0e1"),
		STR("0E+1"),
		STR("1e-0"),
		STR("1.5E10"),
		STR("123456789012345678901234567890"),
		STR("1e99999"),
		STR("-1e-99999"),
		STR("0.000000000000000000000000000000000000000000000001"),
		STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
		STR("\"\\u0000\""),
		STR("\"\\u00e9\\u00E9\\uabCD\""),
		STR("\"\\ud83d\\ude00\""),
		STR("\"\\ud800\""),
		STR("\"\\udc00\\ud800\""),
		STR("\"\\ud800\\n\""),
		STR("\"\\ud800x\""),
		STR("\"\x7f\""),
		STR("\"gr\xc3\xbc\xc3\x9f\""),
		STR("\"\xf0\x9f\x98\x80\""),
		STR("\"\xef\xbf\xbf\""),
		STR("\"\xf4\x8f\xbf\xbf\""),
		STR("\"\xed\x9f\xbf\""),
		STR("\"\xe2\x80\xa8\""),
		STR("\"\\\\\""),
		STR("\"\\\\\\\"\""),
		STR("[\"a\",\"a\"]"),
		STR("{\"a\":1,\"a\":2}"),
		STR("{\"\\u0061\":1}"),
		STR("\"// no comment /* at all */\""),
		STR("[1,\n\n2\r\n]"),
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_DOC struct doc d = doc_parse(table[i]);
		if (d.rc)
			fail_msg("" STR_FMT ": %s", STR_ARG(table[i]), d.err.text);
		CHECK(d.root == d.reader.nodes);
		CHECK_INT(d.root->span, d.reader.used);
	}
}

TEST(invalid_documents_are_rejected_with_place_and_reason)
{
	static const struct {
		struct str text;
		const char *error;
	} table[] = {
		{ STR(""), "line 1, column 1: expected a value, but the text ends here" },
		{ STR(" \n "), "line 2, column 2: expected a value, but the text ends here" },
		{ STR("\xef\xbb\xbf{}"), "line 1, column 1: expected a value" },
		{ STR("\0"), "line 1, column 1: expected a value" },
		{ STR("1\0"), "line 1, column 2: expected the end" },
		{ STR("{} {}"), "line 1, column 4: expected the end" },
		{ STR("[1]]"), "line 1, column 4: expected the end" },
		{ STR("1 2"), "line 1, column 3: expected the end" },
		{ STR("truex"), "line 1, column 5: expected the end" },
		{ STR("tru"), "line 1, column 1: expected a value" },
		{ STR("nul\n"), "line 1, column 1: expected a value" },
		{ STR("True"), "line 1, column 1: expected a value" },
		{ STR("NaN"), "line 1, column 1: expected a value" },
		{ STR("Infinity"), "line 1, column 1: expected a value" },
		{ STR("-Infinity"), "line 1, column 2: expected a digit" },
		{ STR("'a'"), "line 1, column 1: expected a value" },
		{ STR("\f1"), "line 1, column 1: expected a value" },
		{ STR("\xc2\xa0"
		      "1"),
		  "line 1, column 1: expected a value" },
		{ STR("// x\n1"), "line 1, column 1: expected a value" },
		{ STR("[1 /* x */]"), "line 1, column 4: expected ',' or ']'" },
		/* numbers */
		{ STR("+1"), "line 1, column 1: expected a value" },
		{ STR(".5"), "line 1, column 1: expected a value" },
		{ STR("-"), "line 1, column 2: expected a digit, but the text ends here" },
		{ STR("--1"), "line 1, column 2: expected a digit" },
		{ STR("01"), "line 1, column 2: expected the end" },
		{ STR("-01"), "line 1, column 3: expected the end" },
		{ STR("[00]"), "line 1, column 3: expected ',' or ']'" },
		{ STR("1."), "line 1, column 3: expected a digit, but the text ends here" },
		{ STR("1.e1"), "line 1, column 3: expected a digit" },
		{ STR("1e"), "line 1, column 3: expected a digit, but the text ends here" },
		{ STR("1e+"), "line 1, column 4: expected a digit, but the text ends here" },
		{ STR("1e1.5"), "line 1, column 4: expected the end" },
		{ STR("0x1"), "line 1, column 2: expected the end" },
		{ STR("1_000"), "line 1, column 2: expected the end" },
		{ STR("\xef\xbc\x91"), "line 1, column 1: expected a value" },
		/* arrays and objects */
		{ STR("["), "line 1, column 2: expected a value, but the text ends here" },
		{ STR("]"), "line 1, column 1: expected a value" },
		{ STR("[1"), "line 1, column 3: expected ',' or ']', but the text ends here" },
		{ STR("[1,]"), "line 1, column 4: expected a value" },
		{ STR("[,1]"), "line 1, column 2: expected a value" },
		{ STR("[1,,2]"), "line 1, column 4: expected a value" },
		{ STR("[1 2]"), "line 1, column 4: expected ',' or ']'" },
		{ STR("[1}"), "line 1, column 3: expected ',' or ']'" },
		{ STR("[1:2]"), "line 1, column 3: expected ',' or ']'" },
		{ STR("{"), "line 1, column 2: expected a key or '}', but the text ends here" },
		{ STR("{]"), "line 1, column 2: expected a key or '}'" },
		{ STR("{1:1}"), "line 1, column 2: expected a key or '}'" },
		{ STR("{a:1}"), "line 1, column 2: expected a key or '}'" },
		{ STR("{,}"), "line 1, column 2: expected a key or '}'" },
		{ STR("{\"a\"}"), "line 1, column 5: expected ':'" },
		{ STR("{\"a\" 1}"), "line 1, column 6: expected ':'" },
		{ STR("{\"a\""), "line 1, column 5: expected ':', but the text ends here" },
		{ STR("{\"a\":"), "line 1, column 6: expected a value, but the text ends here" },
		{ STR("{\"a\":}"), "line 1, column 6: expected a value" },
		{ STR("{\"a\"::1}"), "line 1, column 6: expected a value" },
		{ STR("{\"a\":1,}"), "line 1, column 8: expected a key" },
		{ STR("{\"a\":1 \"b\":2}"), "line 1, column 8: expected ',' or '}'" },
		{ STR("{\"a\":1]"), "line 1, column 7: expected ',' or '}'" },
		{ STR("{\n  \"a\": 1,\n  \"b\": 2 x\n}"), "line 3, column 10: expected ',' or '}'" },
		/* strings */
		{ STR("\""), "line 1, column 2: expected '\"', but the text ends here" },
		{ STR("\"abc"), "line 1, column 5: expected '\"', but the text ends here" },
		{ STR("\"a\nb\""), "line 1, column 3: control character in a string" },
		{ STR("\"a\tb\""), "line 1, column 3: control character in a string" },
		{ STR("\"a\0b\""), "line 1, column 3: control character in a string" },
		{ STR("\"\x1f\""), "line 1, column 2: control character in a string" },
		{ STR("\"\\"), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\\""), "line 1, column 4: expected '\"', but the text ends here" },
		{ STR("\"\\x41\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\'\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\0\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\\0\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\\xc3\xa9\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\u12\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\u123"), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\u12g4\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\U0041\""), "line 1, column 2: invalid escape in a string" },
		{ STR("\"\\ud800\\u1\""), "line 1, column 8: invalid escape in a string" },
		{ STR("\"\xff\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("\"ab\x80\""), "line 1, column 4: invalid UTF-8 in a string" },
		{ STR("\"\xc3\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("\"\xc0\xaf\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("\"\xe0\x80\xaf\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("\"\xed\xa0\x80\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("\"\xf4\x90\x80\x80\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("\"\xe2\x82\\n\""), "line 1, column 2: invalid UTF-8 in a string" },
		{ STR("{\"\xff\":1}"), "line 1, column 3: invalid UTF-8 in a string" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_DOC struct doc d = doc_parse(table[i].text);
		CHECK_INT(d.rc, -ERR_PARSE);
		CHECK(!d.root);
		CHECK_CSTR(d.err.text, table[i].error);
	}
}

TEST(no_beginning_of_a_document_is_taken_for_the_whole)
{
	struct str text = STR("{\"list\":[1.5e3,true,null,\"gr\xc3\xbc\xc3\x9f \\u00e9\\n and on it "
			      "goes\"],\"o\":{\"k\":false}}");

	for (size_t n = 0; n < text.n; n++) {
		AUTO_DOC struct doc d = doc_parse((struct str){ text.p, n });
		CHECK_INT(d.rc, -ERR_PARSE);
	}
	AUTO_DOC struct doc whole = doc_parse(text);
	CHECK_INT(whole.rc, 0);
}

/* The scan works on blocks of 16 and 8 bytes: every special byte must be seen at every place in them. */
TEST(special_bytes_are_seen_at_every_place_of_a_string)
{
	static const struct {
		char byte;
		unsigned column; /* of the error, counted from the byte */
		const char *reason;
	} table[] = {
		{ '\0', 0, "control character in a string" }, { '\x1f', 0, "control character in a string" },
		{ '\\', 0, "invalid escape in a string" },    { '\x80', 0, "invalid UTF-8 in a string" },
		{ '\xff', 0, "invalid UTF-8 in a string" },   { '"', 1, "expected the end" },
	};
	char text[64], expected[64];

	for (size_t len = 2; len <= 50; len++) {
		for (size_t i = 0; i < (len - 1) * COUNT_OF(table); i++) {
			size_t at = i % (len - 1) + 1, k = i / (len - 1);
			memset(text, '.', sizeof text);
			text[0] = text[len + 1] = '"';
			text[at] = table[k].byte;
			snprintf(expected, sizeof expected, "line 1, column %zu: %s", at + 1 + table[k].column,
				 table[k].reason);
			AUTO_DOC struct doc d = doc_parse((struct str){ text, len + 2 });
			CHECK_INT(d.rc, -ERR_PARSE);
			CHECK_CSTR(d.err.text, expected);
		}
	}
}

TEST(bytes_next_to_the_special_ones_are_plain)
{
	static const char plain[] = { 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7e, 0x7f };
	char text[64];

	for (size_t len = 1; len <= 50; len++) {
		for (size_t k = 0; k < sizeof plain; k++) {
			memset(text, plain[k], sizeof text);
			text[0] = text[len + 1] = '"';
			AUTO_DOC struct doc d = doc_parse((struct str){ text, len + 2 });
			CHECK_INT(d.rc, 0);
			CHECK_INT(d.root->len, len);
			CHECK(!d.root->escaped);
		}
	}
}

static void add_nested(struct buf *out, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		buf_addstr(out, i % 2 ? "{\"a\":" : "[");
	buf_addstr(out, "1");
	for (unsigned i = depth; i-- > 0;)
		buf_addch(out, i % 2 ? '}' : ']');
}

TEST(nesting_ends_at_512_levels_or_at_the_limit_that_was_set)
{
	static const struct {
		unsigned limit, depth;
		int rc;
	} table[] = {
		{ 0, 512, 0 }, { 0, 513, -ERR_LIMIT }, { 3, 3, 0 }, { 3, 4, -ERR_LIMIT }, { 100000, 100000, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_JSON struct json_reader r = { .limits.depth = table[i].limit };
		const struct json *root;
		struct err err;
		add_nested(&text, table[i].depth);
		CHECK_INT(json_parse(&r, text.p, text.n, &root, &err), table[i].rc);
	}
}

TEST(endless_brackets_are_refused_at_the_limit)
{
	AUTO_BUF struct buf text = { 0 };
	for (int i = 0; i < 1000000; i++)
		buf_addch(&text, '[');

	AUTO_DOC struct doc d = doc_parse(buf_str(&text));

	CHECK_INT(d.rc, -ERR_LIMIT);
	CHECK_CSTR(d.err.text, "line 1, column 513: nested too deep");
}

TEST(a_text_above_the_size_limit_is_not_looked_at)
{
	AUTO_JSON struct json_reader r = { .limits.bytes = 4 };
	const struct json *root;
	struct err err;

	CHECK_INT(json_parse(&r, "[12]", 4, &root, &err), 0);
	CHECK_INT(json_parse(&r, "[123]", 5, &root, &err), -ERR_LIMIT);
	CHECK_CSTR(err.text, "5 bytes of JSON, more than the limit of 4");
}

TEST(a_reader_is_used_again_without_new_memory)
{
	AUTO_JSON struct json_reader r = { 0 };
	const struct json *root = NULL;
	AUTO_BUF struct buf text = { 0 };
	buf_addch(&text, '[');
	for (int i = 0; i < 5000; i++)
		buf_addf(&text, "%d,", i);
	buf_addstr(&text, "0]");

	CHECK_INT(json_parse(&r, text.p, text.n, &root, NULL), 0);
	CHECK_INT(root->count, 5001);
	struct json *nodes = r.nodes;
	CHECK_INT(json_parse(&r, "[1,", 3, &root, NULL), -ERR_PARSE);
	CHECK_INT(r.used, 0);
	CHECK_INT(json_parse(&r, "[1]", 3, &root, NULL), 0);
	CHECK_INT(json_parse(&r, "[1,2]", 5, &root, NULL), 0);

	CHECK(r.nodes == nodes);
	CHECK_INT(root->count, 2);
	CHECK_INT(r.used, 3);
}

TEST(nodes_are_slices_in_document_order)
{
	AUTO_DOC struct doc d = doc_parse(STR(" {\"a\" : [ 1.50 , \"x\\ny\" ], \"b\":{} } "));
	static const struct {
		enum json_type type;
		const char *text;
		uint32_t span, count;
		bool escaped;
	} table[] = {
		{ JSON_OBJECT, "{\"a\" : [ 1.50 , \"x\\ny\" ], \"b\":{} }", 7, 2, false },
		{ JSON_STRING, "a", 1, 0, false },
		{ JSON_ARRAY, "[ 1.50 , \"x\\ny\" ]", 3, 2, false },
		{ JSON_NUMBER, "1.50", 1, 0, false },
		{ JSON_STRING, "x\\ny", 1, 0, true },
		{ JSON_STRING, "b", 1, 0, false },
		{ JSON_OBJECT, "{}", 1, 0, false },
	};

	CHECK_INT(d.reader.used, COUNT_OF(table));
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		const struct json *v = &d.reader.nodes[i];
		CHECK_INT(v->type, table[i].type);
		CHECK_STR(((struct str){ v->text, v->len }), table[i].text);
		CHECK_INT(v->span, table[i].span);
		CHECK_INT(v->count, table[i].count);
		CHECK_INT(v->escaped, table[i].escaped);
	}
}

int test_read(void)
{
	return RUN_TESTS(T(valid_documents_are_accepted), T(invalid_documents_are_rejected_with_place_and_reason),
			 T(no_beginning_of_a_document_is_taken_for_the_whole),
			 T(special_bytes_are_seen_at_every_place_of_a_string),
			 T(bytes_next_to_the_special_ones_are_plain),
			 T(nesting_ends_at_512_levels_or_at_the_limit_that_was_set),
			 T(endless_brackets_are_refused_at_the_limit), T(a_text_above_the_size_limit_is_not_looked_at),
			 T(a_reader_is_used_again_without_new_memory), T(nodes_are_slices_in_document_order));
}
