/* SPDX-License-Identifier: MIT
 * test_segment.c - one block as JSON bytes: kept exactly, repaired where the API would refuse it. */
#include "unit.h"
#include "core/message/message.h"
#include "test_message.h"

static struct segment *parse(const char *text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	CHECK_INT(json_parse(&reader, text, strlen(text), &root, NULL), 0);
	return segment_from_json(root);
}

#define KEPT(json)         \
	{                  \
		json, json \
	}

/* expected NULL: the block is nothing that can be sent. */
/* clang-format off */
static const struct {
	const char *json, *expected;
} blocks[] = {
	KEPT("{\"type\":\"text\",\"text\":\"plain\"}"),
	KEPT("{ \"type\" : \"text\",\t\"text\":\"spaces \\u0041\\/\" }"),
	KEPT("{\"type\":\"text\",\"text\":\"\\ud83d\\ude00 is a pair\"}"),
	KEPT("{\"type\":\"text\",\"text\":\"\\\\ud800 is a backslash and letters\"}"),
	KEPT("{\"type\":\"thinking\",\"thinking\":\"a\\u00e9\",\"signature\":\"Eq+\\/==\"}"),
	KEPT("{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"X\",\"input\":{\"n\":1.0e2,\"n\":2}}"),
	KEPT("{\"type\":\"never_heard_of\",\"data\":[]}"),
	{ "{\"type\":\"text\",\"text\":\"\\ud800\"}", "{\"type\":\"text\",\"text\":\"\\ufffd\"}" },
	{ "{\"type\":\"text\",\"text\":\"\\uDFFFx\"}", "{\"type\":\"text\",\"text\":\"\\ufffdx\"}" },
	{ "{\"type\":\"text\",\"text\":\"\\ud800\\ud83d\\ude00\"}",
	  "{\"type\":\"text\",\"text\":\"\\ufffd\\ud83d\\ude00\"}" },
	{ "{\"type\":\"text\",\"text\":\"\\ud83d\\n\"}", "{\"type\":\"text\",\"text\":\"\\ufffd\\n\"}" },
	{ "{\"type\":\"text\",\"text\":\"\\\\\\ud83d\"}", "{\"type\":\"text\",\"text\":\"\\\\\\ufffd\"}" },
	{ "{\"type\":\"tool_use\",\"input\":{\"\\ud800\":[\"\\udc00\"]}}",
	  "{\"type\":\"tool_use\",\"input\":{\"\\ufffd\":[\"\\ufffd\"]}}" },
	{ "{\"type\":\"text\",\"text\":\"\"}", NULL },
	{ "{\"type\":\"text\",\"text\": \"\" }", NULL },
	{ "{\"text\":\"no type\"}", NULL },
	{ "{\"type\":7}", NULL },
	{ "[]", NULL },
	{ "\"text\"", NULL },
};
/* clang-format on */

TEST(a_block_keeps_its_bytes_but_for_lone_surrogates)
{
	for (size_t i = 0; i < COUNT_OF(blocks); i++) {
		struct segment *s = parse(blocks[i].json);
		if (!blocks[i].expected)
			CHECK(!s);
		else
			CHECK_STR(segment_json(s), blocks[i].expected);
		segment_unref(s);
	}
}

TEST(a_lone_surrogate_is_repaired_however_deep_it_is)
{
	AUTO_BUF struct buf b = { 0 };
	AUTO_BUF struct buf expected = { 0 };
	const char *escapes[] = { "\\udbff", "\\ufffd" };
	struct buf *texts[] = { &b, &expected };

	for (size_t k = 0; k < 2; k++) {
		buf_addstr(texts[k], "{\"type\":\"tool_use\",\"input\":");
		for (int i = 0; i < 400; i++)
			buf_addch(texts[k], '[');
		buf_addf(texts[k], "\"%s\"", escapes[k]);
		for (int i = 0; i < 400; i++)
			buf_addch(texts[k], ']');
		buf_addch(texts[k], '}');
	}

	struct segment *s = parse(b.p);

	CHECK_STR(segment_json(s), expected.p);
	segment_unref(s);
}

TEST(the_kind_and_the_place_for_a_mark_come_from_the_type)
{
	static const struct {
		const char *json;
		enum segment_kind kind;
		bool markable;
	} table[] = {
		{ "{\"type\":\"text\",\"text\":\"x\"}", SEGMENT_TEXT, true },
		{ "{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"s\"}", SEGMENT_THINKING, false },
		{ "{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"\"}", SEGMENT_UNSENT, false },
		{ "{\"type\":\"thinking\",\"thinking\":\"x\"}", SEGMENT_UNSENT, false },
		{ "{\"type\":\"redacted_thinking\",\"data\":\"x\"}", SEGMENT_THINKING, false },
		{ "{\"type\":\"tool_use\",\"id\":\"a\",\"input\":{\"text\":\"\"}}", SEGMENT_TOOL_USE, true },
		{ "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"\"}", SEGMENT_TOOL_RESULT, true },
		{ "{\"type\":\"image\",\"source\":{}}", SEGMENT_OTHER, true },
		{ "{\"type\":\"text\",\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\"}}", SEGMENT_TEXT, true },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct segment *s = parse(table[i].json);
		CHECK_INT(s->kind, table[i].kind);
		CHECK_INT(s->markable, table[i].markable);
		segment_unref(s);
	}
}

TEST(a_mark_that_a_foreign_block_brings_is_taken_off)
{
	struct segment *s = parse("{\"type\":\"text\", \"cache_control\": {\"type\":\"ephemeral\"},\"text\":\"x\"}");
	struct segment *last = parse("{\"type\":\"text\",\"text\":\"x\",\"cache_control\":null}");
	struct segment *first = parse("{\"cache_control\":{},\"type\":\"text\",\"text\":\"x\"}");
	struct segment *inside = parse("{\"type\":\"tool_use\",\"input\":{\"cache_control\":1}}");

	CHECK_STR(segment_json(s), "{\"type\":\"text\",\"text\":\"x\"}");
	CHECK_STR(segment_json(last), "{\"type\":\"text\",\"text\":\"x\"}");
	CHECK_STR(segment_json(first), "{\"type\":\"text\",\"text\":\"x\"}");
	CHECK_STR(segment_json(inside), "{\"type\":\"tool_use\",\"input\":{\"cache_control\":1}}");
	segment_unref(s);
	segment_unref(last);
	segment_unref(first);
	segment_unref(inside);
}

TEST(blocks_of_ours_are_valid_for_any_bytes)
{
	struct segment *text = segment_text((struct str){ "a\0\xff\"\n", 5 });
	struct segment *result = segment_tool_result(STR("toolu_1"), STR("\xed\xa0\x80"), true);
	struct segment *good = segment_tool_result(STR("toolu_2"), STR(""), false);

	CHECK_STR(segment_json(text), "{\"type\":\"text\",\"text\":\"a\\u0000\xef\xbf\xbd\\\"\\n\"}");
	CHECK_STR(segment_json(result), "{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":"
					"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"is_error\":true}");
	CHECK_STR(segment_json(good), "{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_2\",\"content\":\"\"}");
	segment_unref(text);
	segment_unref(result);
	segment_unref(good);
}

TEST(a_segment_lives_until_its_last_reference_is_gone)
{
	struct segment *s = segment_lost_result(STR("toolu_9"));

	CHECK(segment_ref(s) == s);
	segment_unref(s);
	CHECK_INT(s->refs, 1);
	CHECK(str_has(segment_json(s), STR("\"tool_use_id\":\"toolu_9\"")));
	CHECK(str_has(segment_json(s), STR("\"is_error\":true")));
	segment_unref(s);
	segment_unref(NULL);
}

int test_segment(void)
{
	return RUN_TESTS(T(a_block_keeps_its_bytes_but_for_lone_surrogates),
			 T(a_lone_surrogate_is_repaired_however_deep_it_is),
			 T(the_kind_and_the_place_for_a_mark_come_from_the_type),
			 T(a_mark_that_a_foreign_block_brings_is_taken_off), T(blocks_of_ours_are_valid_for_any_bytes),
			 T(a_segment_lives_until_its_last_reference_is_gone));
}
