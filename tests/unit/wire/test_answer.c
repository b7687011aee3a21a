/* SPDX-License-Identifier: MIT
 * test_answer.c - event streams and the blocks they give, wherever the bytes are split. */
#include "unit.h"
#include "core/wire/answer.h"
#include "test_wire.h"

/* clang-format off */
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define START \
	EVENT("message_start", ",\"message\":{\"id\":\"msg_1\",\"model\":\"model-x\",\"usage\":{\"input_tokens\":9," \
	"\"output_tokens\":1}}")
#define BLOCK(json) EVENT("content_block_start", ",\"index\":0,\"content_block\":" json)
#define DELTA(json) EVENT("content_block_delta", ",\"index\":0,\"delta\":" json)
#define TEXT(text) DELTA("{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define INPUT(text) DELTA("{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define STOP EVENT("content_block_stop", ",\"index\":0")
#define REASON(reason) \
	EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" \
	reason "\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":7}")
#define END(reason) REASON(reason) EVENT("message_stop", "")
#define EMPTY_TEXT "{\"type\":\"text\",\"text\":\"\"}"
#define CALL "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{}}"

/* expected: deltas, then blocks, a line each, then how it ended. */
static const struct {
	const char *what, *stream, *expected;
} streams[] = {
	{ "text", START BLOCK(EMPTY_TEXT) TEXT("Hel") TEXT("lo \\u00e9\\n") STOP END("end_turn"),
	  "text<Hel>text<lo \xc3\xa9\n>{\"type\":\"text\",\"text\":\"Hello \\u00e9\\n\"}\nend_turn complete" },
	{ "two blocks", START BLOCK(EMPTY_TEXT) TEXT("a") STOP BLOCK(CALL) INPUT("{\\\"file_path\\\"")
	  INPUT(":\\\"/x\\\"}") STOP
	  END("tool_use"),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\n"
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"file_path\":\"/x\"}}\n"
	  "tool_use complete" },
	{ "thinking and signature, byte for byte",
	  START BLOCK("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
	  DELTA("{\"type\":\"thinking_delta\",\"thinking\":\"\\u0061\\/b\"}")
	  DELTA("{\"type\":\"thinking_delta\",\"thinking\":\"\\ud83d\\ude00\"}")
	  DELTA("{\"type\":\"signature_delta\",\"signature\":\"Eq\\/+\"}")
	  DELTA("{\"type\":\"signature_delta\",\"signature\":\"==\"}") STOP
	  END("end_turn"),
	  "thinking<a/b>thinking<\xf0\x9f\x98\x80>"
	  "{\"type\":\"thinking\",\"thinking\":\"\\u0061\\/b\\ud83d\\ude00\",\"signature\":\"Eq\\/+==\"}\n"
	  "end_turn complete" },
	{ "thinking that is all in its start",
	  START BLOCK("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"Sig=\"}") STOP END("end_turn"),
	  "thinking<hm>{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"Sig=\"}\nend_turn complete" },
	{ "a signature only", START BLOCK("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
	  DELTA("{\"type\":\"signature_delta\",\"signature\":\"S\"}") STOP END("end_turn"),
	  "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"S\"}\nend_turn complete" },
	{ "redacted thinking", START BLOCK("{\"type\":\"redacted_thinking\",\"data\":\"Zm9v\\/\"}") STOP
	  END("end_turn"),
	  "{\"type\":\"redacted_thinking\",\"data\":\"Zm9v\\/\"}\nend_turn complete" },
	{ "a block of a server tool",
	  START BLOCK("{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\",\"input\":{}}")
	  INPUT("{\\\"query\\\":1}") STOP
	  BLOCK("{\"type\":\"web_search_tool_result\", \"content\":[{\"url\":\"u\"}]}") STOP END("end_turn"),
	  "{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\",\"input\":{\"query\":1}}\n"
	  "{\"type\":\"web_search_tool_result\", \"content\":[{\"url\":\"u\"}]}\nend_turn complete" },
	{ "citations", START BLOCK("{\"type\":\"text\",\"citations\":[],\"text\":\"\"}") TEXT("a")
	  DELTA("{\"type\":\"citations_delta\",\"citation\":{\"cited_text\":\"x\"}}")
	  DELTA("{\"type\":\"citations_delta\",\"citation\":{\"n\":2}}")
	  STOP END("end_turn"),
	  "text<a>{\"type\":\"text\",\"citations\":[{\"cited_text\":\"x\"},{\"n\":2}],\"text\":\"a\"}\n"
	  "end_turn complete" },
	{ "citations and text in the start", START
	  BLOCK("{\"type\":\"text\",\"citations\":[{\"n\":1}, {\"n\":2}],\"text\":\"in\"}") TEXT("itial")
	  DELTA("{\"type\":\"citations_delta\",\"citation\":{\"n\":3}}") STOP END("end_turn"),
	  "text<in>text<itial>{\"type\":\"text\",\"citations\":[{\"n\":1}, {\"n\":2},{\"n\":3}],\"text\":"
	  "\"initial\"}\nend_turn complete" },
	{ "null citations", START BLOCK("{\"type\":\"text\",\"citations\":null,\"text\":\"a\"}") STOP END("end_turn"),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\nend_turn complete" },
	{ "members that we do not know", START BLOCK("{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\","
	  "\"input\":{},\"caller\":{\"type\":\"direct\"}}") STOP
	  END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"caller\":{\"type\":\"direct\"},\"input\":"
	  "{}}\ntool_use complete" },
	{ "an empty input", START BLOCK(CALL) INPUT("") STOP END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{}}\ntool_use complete" },
	{ "an input in the start", START BLOCK("{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\","
	  "\"input\":{\"a\":1}}") STOP END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"a\":1}}\ntool_use complete" },
	{ "an input that is cut", START BLOCK(CALL) INPUT("{\\\"a\\\":\\\"b") STOP END("max_tokens"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"INVALID_JSON\":\"{\\\"a\\\":"
	  "\\\"b\"}}\nmax_tokens complete" },
	{ "an input that is no object", START BLOCK(CALL) INPUT("[1]") STOP END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"INVALID_JSON\":\"[1]\"}}\n"
	  "tool_use complete" },
	{ "an input behind an empty one", START BLOCK(CALL) INPUT("{}") INPUT("{\\\"a\\\":1}") STOP END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"a\":1}}\ntool_use complete" },
	{ "an input in a JSON string", START BLOCK(CALL) INPUT("\\\"{\\\\\\\"a\\\\\\\":\\\\\\\"\\\\u00e9\\\\\\\"}\\\"") STOP END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"a\":\"\xc3\xa9\"}}\ntool_use complete" },
	{ "a JSON string that is no object", START BLOCK(CALL) INPUT("\\\"{a}\\\"") STOP END("tool_use"),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"INVALID_JSON\":\"\\\"{a}\\\"\"}}\ntool_use complete" },
	{ "an empty text is nothing", START BLOCK(EMPTY_TEXT) STOP END("end_turn"), "end_turn complete" },
	{ "lone surrogates", START BLOCK(EMPTY_TEXT) TEXT("x\\ud800") STOP END("end_turn"),
	  "text<x\xef\xbf\xbd>{\"type\":\"text\",\"text\":\"x\\ufffd\"}\nend_turn complete" },
	{ "a pair in two deltas", START BLOCK(EMPTY_TEXT) TEXT("\\ud83d") TEXT("\\ude00") STOP END("end_turn"),
	  "text<\xef\xbf\xbd>text<\xef\xbf\xbd>{\"type\":\"text\",\"text\":\"\\ud83d\\ude00\"}\nend_turn complete" },
	{ "an error event", START EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}"),
	  " event 529: 529 overloaded_error: busy" },
	{ "an error event after a block", START BLOCK(EMPTY_TEXT) TEXT("a") STOP EVENT("error",
	  ",\"error\":{\"type\":\"api_error\"}") TEXT("b"),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\n event 500: 500 api_error: the server sent no explanation" },
	{ "an error object of another API", START BLOCK(EMPTY_TEXT) TEXT("a") "data: {\"error\":{\"message\":\"no\",\"type\":\"None\","
	  "\"code\":\"400\"}}\n\n", "text<a> event 400: 400 None: no" },
	{ "signs of life without data", "data:\n\n" START "data: \n\n" END("end_turn"), "end_turn complete" },
	{ "garbage", START "data: oops\n\n" END("end_turn"), " garbage" },
	{ "pings, unknown events, unknown deltas, comments",
	  EVENT("ping", "") START ": comment\n\n" EVENT("never_heard_of", ",\"x\":1") BLOCK(EMPTY_TEXT)
	  DELTA("{\"type\":\"new_delta\",\"x\":1}") TEXT("a") EVENT("ping", "") STOP END("end_turn"),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\nend_turn complete" },
	{ "no event lines, other line ends", "data:{\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\r\n\r\n"
	  "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\r\r", "end_turn complete" },
	{ "the last event is missing", START BLOCK(EMPTY_TEXT) TEXT("a") STOP REASON("end_turn"),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\nend_turn complete" },
	{ "events after the last", START END("end_turn") "data: [DONE]\n\n" START, "end_turn complete" },
	{ "an error behind the stop reason", START BLOCK(EMPTY_TEXT) TEXT("a") STOP REASON("end_turn")
	  EVENT("error", ",\"error\":{\"type\":\"api_error\"}") BLOCK(EMPTY_TEXT),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\nend_turn complete" },
	{ "an end without a reason", START BLOCK(EMPTY_TEXT) TEXT("a") STOP EVENT("message_delta", ",\"delta\":{\"stop_reason\":null}")
	  EVENT("message_stop", ""), "text<a>{\"type\":\"text\",\"text\":\"a\"}\nend_turn complete" },
	{ "the same behind a call", START BLOCK(CALL) INPUT("{}") STOP EVENT("message_stop", ""),
	  "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{}}\ntool_use complete" },
	{ "the same inside a block", START BLOCK(EMPTY_TEXT) TEXT("a") EVENT("message_stop", ""), "text<a> open" },
	{ "an error in a line of its own", START BLOCK(EMPTY_TEXT) TEXT("a") "{\"error\":{\"message\":\"died\",\"code\":503}}\n", "text<a> event 503: 503 died" },
	{ "cut before the stop reason", START BLOCK(EMPTY_TEXT) TEXT("a") STOP,
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\n open" },
	{ "cut inside a block", START BLOCK(EMPTY_TEXT) TEXT("a"), "text<a> open" },
	{ "a stop reason inside a block", START BLOCK(EMPTY_TEXT) TEXT("a") REASON("end_turn"), "text<a>end_turn open"
	  },
	{ "nothing", "", " open" },
	{ "an answer that never began", END("end_turn"), "end_turn open" },
	{ "a block before the start", BLOCK(EMPTY_TEXT), " garbage" },
	{ "a block in a block", START BLOCK(EMPTY_TEXT) BLOCK(CALL), " garbage" },
	{ "a block that is no object", START BLOCK("7"), " garbage" },
	{ "a delta outside a block", START TEXT("a"), " garbage" },
	{ "a stop outside a block", START STOP, " garbage" },
	{ "its start twice", START START BLOCK(EMPTY_TEXT) TEXT("a") START STOP END("end_turn"),
	  "text<a>{\"type\":\"text\",\"text\":\"a\"}\nend_turn complete" },
	{ "another message in the middle", START BLOCK(EMPTY_TEXT) TEXT("a") EVENT("message_start", ",\"message\":{\"id\":\"msg_2\"}"),
	  "text<a> garbage" },
	{ "input in a delta that is an object", START BLOCK(CALL) DELTA("{\"type\":\"input_json_delta\",\"partial_json\":{\"a\":1}}") STOP
	  END("tool_use"), "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"a\":1}}\ntool_use complete" },
	{ "input in the start that is a text", START BLOCK("{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":\"{\\\"a\\\":1}\"}") STOP
	  END("tool_use"), "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{\"a\":1}}\ntool_use complete" },
	{ "a start without an id", EVENT("message_start", ",\"message\":{}"), " garbage" },
	{ "a call without an id", START BLOCK("{\"type\":\"tool_use\",\"name\":\"Read\",\"input\":{}}") STOP
	  END("tool_use"), " garbage" },
	{ "a call without a name", START BLOCK("{\"type\":\"tool_use\",\"id\":\"t\",\"name\":7,\"input\":{}}") STOP
	  END("tool_use"), " garbage" },
};
/* clang-format on */

static void note_block(void *data, struct segment *block)
{
	struct buf *seen = data;

	buf_add(seen, block->bytes, block->len);
	buf_addch(seen, '\n');
	segment_unref(block);
}

static void note_delta(void *data, const char *name, struct str text)
{
	buf_addf(data, "%s<" STR_FMT ">", name, STR_ARG(text));
}

static const struct answer_sink sink = { note_block, note_delta, NULL };

static void note_end(struct buf *seen, const struct answer *a)
{
	buf_addf(seen, "%s ", a->stop_reason);
	if (a->failure.kind == FAIL_EVENT)
		buf_addf(seen, "event %d: %s", a->failure.status, a->failure.text);
	else if (a->failure.kind)
		buf_addstr(seen, a->failure.kind == FAIL_GARBAGE ? "garbage" : "other");
	else
		buf_addstr(seen, answer_complete(a) ? "complete" : "open");
}

static char *play(struct buf *seen, const char *stream, size_t split, size_t step)
{
	struct answer a;
	size_t n = strlen(stream);

	buf_clear(seen);
	answer_init(&a, &sink, seen);
	answer_feed(&a, stream, MIN(split, n));
	for (size_t i = MIN(split, n); i < n; i += MIN(step, n - i))
		answer_feed(&a, stream + i, MIN(step, n - i));
	answer_end(&a);
	note_end(seen, &a);
	answer_release(&a);
	return seen->p;
}

TEST(each_stream_gives_its_blocks)
{
	AUTO_BUF struct buf seen = { 0 };

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		print_message("# %s\n", streams[i].what);
		CHECK_CSTR(play(&seen, streams[i].stream, SIZE_MAX, SIZE_MAX), streams[i].expected);
	}
}

TEST(where_the_bytes_are_split_does_not_matter)
{
	AUTO_BUF struct buf seen = { 0 };

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		CHECK_CSTR(play(&seen, streams[i].stream, 0, 1), streams[i].expected);
		for (size_t split = 0; split <= strlen(streams[i].stream); split++)
			CHECK_CSTR(play(&seen, streams[i].stream, split, SIZE_MAX), streams[i].expected);
	}
}

TEST(ids_model_and_usage_are_those_of_the_last_word)
{
	struct answer a;
	AUTO_BUF struct buf seen = { 0 };
	answer_init(&a, &sink, &seen);

	answer_feed(&a, START END("end_turn"), strlen(START END("end_turn")));

	CHECK_CSTR(a.message_id, "msg_1");
	CHECK_CSTR(a.model, "model-x");
	CHECK_INT(a.usage.input, 9);
	CHECK_INT(a.usage.output, 7);
	CHECK_CSTR(a.stop_sequence, "");
	answer_release(&a);
}

TEST(zeros_at_the_end_are_no_counts_of_the_prompt)
{
	static const struct {
		const char *start, *end;
		int input, cache_read, cache_write, output;
	} rows[] = {
		{ "\"input_tokens\":5,\"cache_read_input_tokens\":400,\"cache_creation_input_tokens\":30",
		  "\"input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":7", 5, 400, 30, 7 },
		{ "\"input_tokens\":0,\"output_tokens\":0",
		  "\"input_tokens\":14,\"cache_read_input_tokens\":2,\"output_tokens\":7", 14, 2, 0, 7 },
		{ "\"input_tokens\":500", "\"input_tokens\":0,\"cache_read_input_tokens\":500,\"output_tokens\":7", 0,
		  500, 0, 7 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf stream = { 0 };
		AUTO_BUF struct buf seen = { 0 };
		struct answer a;
		answer_init(&a, &sink, &seen);
		buf_addf(
			&stream,
			"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{%s}}}\n\n"
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{%s}}\n\n",
			rows[i].start, rows[i].end);
		answer_feed(&a, stream.p, stream.n);
		CHECK_INT(a.usage.input, rows[i].input);
		CHECK_INT(a.usage.cache_read, rows[i].cache_read);
		CHECK_INT(a.usage.cache_write, rows[i].cache_write);
		CHECK_INT(a.usage.output, rows[i].output);
		answer_release(&a);
	}
}

/* A line of the transcript holds the block four levels down, and must be readable again. */
TEST(an_input_that_is_nested_too_deep_is_handed_on_as_text)
{
	struct answer a;
	AUTO_BUF struct buf seen = { 0 };
	AUTO_BUF struct buf stream = { 0 };
	answer_init(&a, &sink, &seen);
	buf_addstr(&stream, START BLOCK(CALL) "data: "
					      "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_"
					      "delta\",\"partial_json\":\"{\\\"a\\\":");
	for (int i = 0; i < 508; i++)
		buf_addch(&stream, '[');
	for (int i = 0; i < 508; i++)
		buf_addch(&stream, ']');
	buf_addstr(&stream, "}\"}}\n\n" STOP END("tool_use"));

	answer_feed(&a, stream.p, stream.n);

	CHECK(strstr(seen.p, "INVALID_JSON") != NULL);
	CHECK(answer_complete(&a));
	answer_release(&a);
}

static void note_raw(void *data, struct str json)
{
	buf_addf(data, STR_FMT "\n", STR_ARG(json));
}

TEST(every_event_can_be_had_as_it_came)
{
	static const struct answer_sink raw = { note_block, NULL, note_raw };
	struct answer a;
	AUTO_BUF struct buf seen = { 0 };
	answer_init(&a, &raw, &seen);

	answer_feed(&a, EVENT("ping", ", \"x\": 1"), strlen(EVENT("ping", ", \"x\": 1")));

	CHECK_CSTR(seen.p, "{\"type\":\"ping\", \"x\": 1}\n");
	answer_release(&a);
}

int test_answer(void)
{
	return RUN_TESTS(
		T(each_stream_gives_its_blocks), T(where_the_bytes_are_split_does_not_matter),
		T(zeros_at_the_end_are_no_counts_of_the_prompt), T(ids_model_and_usage_are_those_of_the_last_word),
		T(an_input_that_is_nested_too_deep_is_handed_on_as_text), T(every_event_can_be_had_as_it_came));
}
