/* SPDX-License-Identifier: MIT
 * test_chat_stream.c - chunks of chat completions become blocks, deltas and an end, whatever a server leaves out. */
#include "unit.h"
#include "core/wire/wire.h"
#include "test_wire.h"

/* clang-format off */
#define ID             "chatcmpl-0123456789abcdef"
#define CHUNK(choices) "data: {\"id\":\"" ID "\",\"model\":\"m\",\"choices\":[" choices "]}\n\n"
#define DELTA(delta)   CHUNK("{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}")
#define FINISH(why)    CHUNK("{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}")
#define TEXT(text)     DELTA("{\"content\":\"" text "\"}")
#define CALLS(calls)   DELTA("{\"tool_calls\":[" calls "]}")
#define CALL(index, id, name, arguments) "{\"index\":" #index ",\"id\":\"" id "\",\"type\":\"function\",\"function\":" \
	"{\"name\":\"" name "\",\"arguments\":\"" arguments "\"}}"
#define MORE(index, arguments) "{\"index\":" #index ",\"function\":{\"arguments\":\"" arguments "\"}}"
#define USAGE          "data: {\"id\":\"" ID "\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4," \
	"\"prompt_tokens_details\":{\"cached_tokens\":6}}}\n\n"
#define DONE           "data: [DONE]\n\n"
#define A_BLOCK(text)  "{\"type\":\"text\",\"text\":\"" text "\"}\n"
#define A_THOUGHT(text, field) "{\"type\":\"thinking\",\"thinking\":\"" text "\",\"signature\":\"chat:" TEST_ORIGIN \
	":{\\\"field\\\":\\\"" field "\\\"}\"}\n"
#define A_CALL(id, input) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Read\",\"input\":" input "}\n"

/* expected: deltas, then blocks, a line each, then how it ended. */
static const struct {
	const char *what, *stream, *expected;
} streams[] = {
	{ "text", DELTA("{\"role\":\"assistant\",\"content\":\"\"}") TEXT("Hel") TEXT("lo \\u00e9\\n") FINISH("stop") USAGE DONE,
	  "text<Hel>text<lo \xc3\xa9\n>" A_BLOCK("Hello \\u00e9\\n") "end_turn complete 4+6/4" },
	{ "no last word", TEXT("a") FINISH("stop") USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "no usage", TEXT("a") FINISH("stop") DONE, "text<a>" A_BLOCK("a") "end_turn complete 25+0/1 estimated" },
	{ "usage with the end", TEXT("a") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],"
	  "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n", "text<a>" A_BLOCK("a") "end_turn complete 3+0/1" },
	{ "no reason, only the last word", TEXT("a") USAGE DONE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "cut", TEXT("a") CALLS(CALL(0, "call_a", "Read", "{}")), "text<a> open" },
	{ "a call in pieces", CALLS(CALL(0, "call_a", "Read", "")) CALLS(MORE(0, "{\\\"a\\\"")) CALLS(MORE(0, ":1}"))
	  FINISH("tool_calls") USAGE DONE, A_CALL("call_a", "{\"a\":1}") "tool_use complete 4+6/4" },
	{ "a call that came whole, and a server that says stop", CALLS(CALL(0, "call_a", "Read", "{\\\"a\\\":1}"))
	  FINISH("stop") USAGE, A_CALL("call_a", "{\"a\":1}") "tool_use complete 4+6/4" },
	{ "two calls, interleaved", CALLS(CALL(0, "call_a", "Read", "") "," CALL(1, "call_b", "Read", "{"))
	  CALLS(MORE(0, "{\\\"a\\\":1}")) CALLS(MORE(1, "\\\"b\\\":2}")) FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{\"a\":1}") A_CALL("call_b", "{\"b\":2}") "tool_use complete 4+6/4" },
	{ "two calls without an index", CALLS("{\"id\":\"call_a\",\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"}},"
	  "{\"id\":\"call_b\",\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"}}") FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") A_CALL("call_b", "{}") "tool_use complete 4+6/4" },
	{ "two calls with the same index", CALLS(CALL(0, "call_a", "Read", "{}")) CALLS(CALL(0, "call_b", "Read", "{}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") A_CALL("call_b", "{}") "tool_use complete 4+6/4" },
	{ "name and id again with each piece", CALLS(CALL(0, "call_a", "Read", "{")) CALLS(CALL(0, "call_a", "Read", "}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "arguments that are an object", CALLS("{\"index\":0,\"id\":\"call_a\",\"function\":{\"name\":\"Read\","
	  "\"arguments\":{\"a\":1}}}") FINISH("tool_calls") USAGE, A_CALL("call_a", "{\"a\":1}") "tool_use complete 4+6/4" },
	{ "arguments that are no JSON", CALLS(CALL(0, "call_a", "Read", "{a")) FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{\"INVALID_JSON\":\"{a\"}") "tool_use complete 4+6/4" },
	{ "text behind calls", TEXT("a") CALLS(CALL(0, "call_a", "Read", "{}")) TEXT("b") FINISH("tool_calls") USAGE,
	  "text<a>text<b>" A_BLOCK("ab") A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "cut at the limit", TEXT("a") FINISH("length") USAGE, "text<a>" A_BLOCK("a") "max_tokens complete 4+6/4" },
	{ "cut at the limit before the arguments", CALLS(CALL(0, "call_a", "Read", "{}")) CALLS(CALL(1, "call_b", "Read", ""))
	  FINISH("length") USAGE, A_CALL("call_a", "{}") "max_tokens complete 4+6/4" },
	{ "the content filter", TEXT("a") FINISH("content_filter") USAGE,
	  "text<a>" A_BLOCK("a") "refusal complete 4+6/4" },
	{ "a filter in words of Gemini", TEXT("a") FINISH("content_filter: PROHIBITED_CONTENT") USAGE, "text<a>" A_BLOCK("a") "refusal complete 4+6/4" },
	{ "a filter in small letters", TEXT("a") FINISH("recitation") USAGE, "text<a>" A_BLOCK("a") "refusal complete 4+6/4" },
	{ "a filter of a guardrail", TEXT("a") FINISH("guardrail_intervened") USAGE, "text<a>" A_BLOCK("a") "refusal complete 4+6/4" },
	{ "its own refusal as the reason", TEXT("a") FINISH("refusal") USAGE, "text<a>" A_BLOCK("a") "refusal complete 4+6/4" },
	{ "a call of Gemini that is none", TEXT("a") FINISH("function_call_filter: MALFORMED_FUNCTION_CALL") USAGE, "text<a> garbage" },
	{ "the same without its kind", TEXT("a") FINISH("malformed_function_call") USAGE, "text<a> garbage" },
	{ "an error of the server as the reason", TEXT("a") FINISH("server_error") USAGE, "text<a> garbage" },
	{ "a reason that is not known", TEXT("a") FINISH("eos_token") USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "a refusal", DELTA("{\"refusal\":\"No.\"}") FINISH("stop") USAGE, "refusal complete 4+6/4" },
	{ "reasoning, then text", DELTA("{\"reasoning_content\":\"hm\"}") DELTA("{\"reasoning\":\"m\"}") TEXT("a")
	  FINISH("stop") USAGE, "thinking<hm>thinking<m>" A_THOUGHT("hmm", "reasoning_content") ""
	  "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "a list of parts", DELTA("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"},\"c\","
	  "{\"type\":\"image\"},7]}") TEXT("d") FINISH("stop") USAGE,
	  "text<a>text<b>text<c>text<d>" A_BLOCK("abcd") "end_turn complete 4+6/4" },
	{ "thoughts among the parts", DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
	  "{\"type\":\"reasoning\",\"text\":\"m\"},{\"type\":\"text\",\"text\":\"a\"}]}") FINISH("stop") USAGE,
	  "thinking<hm>thinking<m>" A_THOUGHT("hmm", "content") ""
	  "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "a refusal among the parts", DELTA("{\"content\":[{\"type\":\"refusal\",\"refusal\":\"No.\"}]}") FINISH("stop") USAGE,
	  "refusal complete 4+6/4" },
	{ "an error that is null", "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
	  USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "errors that say nothing", "data: {\"error\":{\"message\":\"\",\"type\":null,\"code\":0},\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	  "data: {\"error\":false,\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: {\"error\":{},\"choices\":[]}\n\n"
	  "data: {\"error\":\"\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" USAGE, "text<a>text<b>" A_BLOCK("ab") "end_turn complete 4+6/4" },
	{ "an error in words of its own", "data: {\"error\":{\"message\":\"\",\"reason\":\"busy\"}}\n\n", " event 500: 500 {\"message\":\"\",\"reason\":\"busy\"}" },
	{ "an error with a number alone", "data: {\"error\":{\"code\":503}}\n\n", " event 503: 503 {\"code\":503}" },
	{ "an error of MiniMax", TEXT("a") "data: {\"choices\":null,\"base_resp\":{\"status_code\":1008,\"status_msg\":\"insufficient balance\"}}\n\n",
	  "text<a> event 500: 500 insufficient balance" },
	{ "an error of DeepInfra", "data: {\"id\":\"x\",\"choices\":null,\"error_type\":\"BadRequestError\",\"error_message\":\"too long\"}\n\n" DONE,
	  " event 400: 400 BadRequestError: too long" },
	{ "an error behind a torn answer", TEXT("a") "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}],\"error\":{\"code\":502,"
	  "\"message\":\"Provider returned error\"}}\n\n", "text<a> event 502: 502 Provider returned error" },
	{ "an error in a line of its own", TEXT("a") "{\"error\":{\"message\":\"died\",\"code\":503}}", "text<a> event 503: 503 died" },
	{ "an error under a name of its own", TEXT("a") "error: {\"code\":500,\"message\":\"slot died\",\"type\":\"server_error\"}\n\n",
	  "text<a> event 500: 500 server_error: slot died" },
	{ "a page in the middle", TEXT("a") "<html>\n<title>502</title>\n{\n", "text<a> open" },
	{ "a status that is no error", "data: {\"base_resp\":{\"status_code\":0,\"status_msg\":\"\"},\"choices\":[{\"delta\":{\"content\":\"a\"},"
	  "\"finish_reason\":\"stop\"}]}\n\n" USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "members that are null", DELTA("{\"role\":\"assistant\",\"content\":null,\"tool_calls\":null,\"refusal\":null,"
	  "\"reasoning_content\":null}") TEXT("a") FINISH("stop") USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "pieces behind the end", TEXT("a") FINISH("stop") TEXT("b") FINISH("length") USAGE DONE TEXT("c"),
	  "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "an empty answer", FINISH("stop") USAGE DONE, "end_turn complete 4+6/4" },
	{ "an error", TEXT("a") "data: {\"error\":{\"message\":\"busy\",\"type\":\"rate_limit_exceeded\"}}\n\n" TEXT("b"),
	  "text<a> event 429: 429 rate_limit_exceeded: busy" },
	{ "an error with a number", "data: {\"error\":{\"message\":\"loading\",\"type\":\"unavailable_error\",\"code\":503}}\n\n",
	  " event 503: 503 unavailable_error: loading" },
	{ "an error with a word that says more", "data: {\"error\":{\"message\":\"long\",\"type\":\"invalid_request_error\","
	  "\"code\":\"context_length_exceeded\"}}\n\n", " event 400: 400 context_length_exceeded: long" },
	{ "an error that is a text", "data: {\"error\":\"broken\"}\n\n", " event 500: 500 broken" },
	{ "garbage", TEXT("a") "data: oops\n\n", "text<a> garbage" },
	{ "a call without a name", CALLS(MORE(0, "{}")) FINISH("tool_calls"), " garbage" },
	{ "comments and other objects", ": ping\n\ndata: {\"object\":\"other\"}\n\ndata: 7\n\n" TEXT("a") FINISH("stop") USAGE,
	  "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "index from one", CALLS(CALL(1, "call_a", "Read", "{")) CALLS(MORE(1, "}")) FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "an index that counts the pieces", CALLS(CALL(0, "call_a", "Read", "{")) CALLS(MORE(1, "\\\"a\\\":1")) CALLS(MORE(2, "}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{\"a\":1}") "tool_use complete 4+6/4" },
	{ "an index in the first piece only", CALLS(CALL(0, "call_a", "Read", "{")) CALLS("{\"function\":{\"arguments\":\"}\"}}")
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "an id with each piece, no index", CALLS("{\"id\":\"call_a\",\"function\":{\"name\":\"Read\",\"arguments\":\"{\"}}")
	  CALLS("{\"id\":\"call_b\",\"function\":{\"name\":\"Read\",\"arguments\":\"{\"}}")
	  CALLS("{\"id\":\"call_a\",\"function\":{\"arguments\":\"\\\"a\\\":1}\"}}")
	  CALLS("{\"id\":\"call_b\",\"function\":{\"arguments\":\"}\"}}") FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{\"a\":1}") A_CALL("call_b", "{}") "tool_use complete 4+6/4" },
	{ "arguments before the name", CALLS("{\"id\":\"call_a\",\"function\":{\"arguments\":\"{\"}}")
	  CALLS("{\"id\":\"call_a\",\"function\":{\"name\":\"Read\",\"arguments\":\"}\"}}") FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "empty id and name in later pieces", CALLS(CALL(0, "call_a", "Read", "{")) CALLS(CALL(0, "", "", "}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "a name that comes with the second piece", CALLS(CALL(0, "call_a", "", "")) CALLS(CALL(0, "call_a", "Read", "{}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "null id and name in later pieces", CALLS(CALL(0, "call_a", "Read", "{"))
	  CALLS("{\"index\":0,\"id\":null,\"function\":{\"name\":null,\"arguments\":\"}\"}}") FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "an id for each piece", CALLS(CALL(0, "call_a", "Read", "{")) CALLS(CALL(0, "call_b", "", "}")) CALLS(CALL(1, "call_c", "Read", "{")) CALLS(CALL(1, "call_d", "", "}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") A_CALL("call_c", "{}") "tool_use complete 4+6/4" },
	{ "all of a call again at the end", CALLS(CALL(0, "call_a", "Read", "")) CALLS(MORE(0, "{}")) CALLS(CALL(0, "call_a", "Read", "{}"))
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "arguments that are null", CALLS("{\"index\":0,\"id\":\"call_a\",\"function\":{\"name\":\"Read\",\"arguments\":null}}")
	  FINISH("tool_calls") USAGE, A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "calls in the reason only", TEXT("a") FINISH("tool_calls") USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "calls that are an empty list", DELTA("{\"content\":\"a\",\"tool_calls\":[]}") FINISH("tool_calls") USAGE,
	  "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "usage in every chunk", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1}}\n\n"
	  "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\n"
	  "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\n" DONE, "text<a>" A_BLOCK("a") "end_turn complete 10+0/2" },
	{ "zeros behind the usage", TEXT("a") FINISH("stop") USAGE "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"
	  "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}}\n\n" DONE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "zeros for usage", TEXT("a") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":0,"
	  "\"completion_tokens\":0}}\n\n", "text<a>" A_BLOCK("a") "end_turn complete 25+0/1 estimated" },
	{ "reasoning under both names", DELTA("{\"reasoning_content\":\"\",\"reasoning\":\"hm\"}") DELTA("{\"reasoning_content\":\"m\",\"reasoning\":\"m\"}")
	  FINISH("stop") USAGE, "thinking<hm>thinking<m>" A_THOUGHT("hmm", "reasoning") "end_turn complete 4+6/4" },
	{ "another word for the limit", TEXT("a") FINISH("MAX_TOKENS") USAGE, "text<a>" A_BLOCK("a") "max_tokens complete 4+6/4" },
	{ "an error without its member", "data: {\"object\":\"error\",\"message\":\"long\",\"type\":\"BadRequestError\",\"code\":400}\n\n",
	  " event 400: 400 BadRequestError: long" },
	{ "no blank behind the colon, CRLF, a byte order mark", "\xEF\xBB\xBF" "data:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n"
	  ": keep-alive\r\n\r\ndata:{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\r\n\r\n"
	  "data:[DONE]\r\n\r\n", "text<a>" A_BLOCK("a") "end_turn complete 3+0/1" },
	{ "no last line end", TEXT("a") "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}",
	  "text<a>" A_BLOCK("a") "end_turn complete 3+0/1" },
	{ "an answer beside it", CHUNK("{\"index\":0,\"delta\":{\"content\":\"a\"}},{\"index\":1,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}")
	  CHUNK("{\"index\":1,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}") TEXT("b") CHUNK("{\"index\":1,\"delta\":{}},{\"index\":0,\"delta\":{\"content\":\"c\"}}")
	  FINISH("stop") USAGE, "text<a>text<b>text<c>" A_BLOCK("abc") "end_turn complete 4+6/4" },
	{ "an event that is called error", TEXT("a") "event: error\ndata: {\"message\":\"busy\",\"type\":\"server_error\"}\n\n", "text<a> event 500: 500 server_error: busy" },
	{ "thoughts whose beginning is in the prompt", TEXT("hm") TEXT("m.\\n</th") TEXT("ink>") TEXT("\\n") TEXT("\\na") FINISH("stop") USAGE,
	  "text<hm>text<m.\n>" A_THOUGHT("hmm.\\n", "content") "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "the same without a line end (GLM, DeepSeek)", TEXT("It is `b`.</think>a") FINISH("stop") USAGE,
	  "text<It is `b`.>" A_THOUGHT("It is `b`.", "content") "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "the same before a call", TEXT("hm</think>\\n\\n") CALLS(CALL(0, "call_a", "Read", "{}")) FINISH("tool_calls") USAGE,
	  "text<hm>" A_THOUGHT("hm", "content") A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "no thoughts, but their end", TEXT("</think>") TEXT("\\n\\na") FINISH("stop") USAGE, "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "the end of thoughts that came elsewhere", DELTA("{\"reasoning\":\"hm\"}") TEXT("</think>a") FINISH("stop") USAGE,
	  "thinking<hm>" A_THOUGHT("hm", "reasoning") "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "a text about the tag", TEXT("Write `</think>` at the end.") FINISH("stop") USAGE,
	  "text<Write `>text<</think>` at the end.>" A_BLOCK("Write `</think>` at the end.") "end_turn complete 4+6/4" },
	{ "code with both tags", TEXT("Try <think>b</think> here") FINISH("stop") USAGE,
	  "text<Try <think>b</think> here>" A_BLOCK("Try <think>b</think> here") "end_turn complete 4+6/4" },
	{ "what begins as a tag and is none", TEXT("a </thi") TEXT("s> <thing>") FINISH("stop") USAGE,
	  "text<a >text<</this> <thing>>" A_BLOCK("a </this> <thing>") "end_turn complete 4+6/4" },
	{ "thoughts with the line ends behind them apart", TEXT("<think>hm</think>") TEXT("\\n") TEXT("\\na") FINISH("stop") USAGE,
	  "thinking<hm>" A_THOUGHT("hm", "content") "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "thoughts in reasoning_text (Copilot)", DELTA("{\"reasoning_text\":\"hm\"}") TEXT("a") FINISH("stop") USAGE,
	  "thinking<hm>" A_THOUGHT("hm", "reasoning_text") "text<a>" A_BLOCK("a") "end_turn complete 4+6/4" },
	{ "a name with blanks around it", CALLS(CALL(0, "call_a", " Read\\n", "{}")) FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "a name with tokens of the template (gpt-oss)", CALLS(CALL(0, "call_a", "Read<|channel|>commentary", "{}")) FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "a name with the namespace of the template", CALLS(CALL(0, "call_a", "functions.Read", "{}")) FINISH("tool_calls") USAGE,
	  A_CALL("call_a", "{}") "tool_use complete 4+6/4" },
	{ "usage in the words of other APIs", TEXT("a") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}\n\n",
	  "text<a>" A_BLOCK("a") "end_turn complete 3+0/1" },
	{ "half of the last event", TEXT("a") "data: {\"choices\":[{\"delta\":{},\"finish_rea", "text<a> open" },
	{ "only the last word", DONE, " open" },
	{ "nothing", "", " open" },
};
/* clang-format on */

TEST(each_chat_stream_gives_its_blocks)
{
	AUTO_BUF struct buf seen = { 0 };

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		print_message("# %s\n", streams[i].what);
		CHECK_CSTR(play_stream(&seen, &form_chat, streams[i].stream, SIZE_MAX, SIZE_MAX), streams[i].expected);
	}
}

TEST(where_a_chat_stream_is_split_does_not_matter)
{
	AUTO_BUF struct buf seen = { 0 };

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		CHECK_CSTR(play_stream(&seen, &form_chat, streams[i].stream, 0, 1), streams[i].expected);
		for (size_t split = 0; split <= strlen(streams[i].stream); split += 7)
			CHECK_CSTR(play_stream(&seen, &form_chat, streams[i].stream, split, SIZE_MAX),
				   streams[i].expected);
	}
}

/* The ids of the calls, a blank behind each */
static void note_id(void *data, struct segment *block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;

	if (json_parse(&reader, block->bytes, block->len, &root, NULL) == 0)
		buf_addf(data, STR_FMT " ", STR_ARG(json_str(json_get(root, "id"), &arena)));
	segment_unref(block);
}

static void play_ids(struct buf *seen, const struct transcript *history, const char *stream)
{
	static const struct answer_sink ids = { note_id, NULL, NULL };
	struct answer a;
	struct wire_stream s;

	answer_init(&a, &ids, seen);
	wire_stream_init(&s, &form_chat, &a, history, 100);
	wire_stream_feed(&s, stream, strlen(stream));
	wire_stream_end(&s);
	CHECK(answer_complete(&a));
	wire_stream_release(&s);
	answer_release(&a);
}

TEST(an_id_that_cannot_be_used_is_made_anew)
{
	static const char *const unusable[] = {
		CALLS(CALL(0, "", "Read", "{}")) FINISH("stop"),
		CALLS(CALL(0, "old", "Read", "{}")) FINISH("stop"),
		CALLS("{\"index\":0,\"function\":{\"name\":\"Read\"}}") FINISH("stop"),
	};
	struct transcript history = { 0 };
	transcript_add(&history, ROLE_ASSISTANT,
		       segment_new(SEGMENT_TOOL_USE,
				   STR("{\"type\":\"tool_use\",\"id\":\"old\",\"name\":\"Read\",\"input\":{}}")));

	for (size_t i = 0; i < COUNT_OF(unusable); i++) {
		AUTO_BUF struct buf seen = { 0 };
		play_ids(&seen, &history, unusable[i]);
		CHECK(str_starts(buf_str(&seen), STR("call_")));
		CHECK_INT(seen.n, strlen("call_") + 24 + 1);
	}
	transcript_release(&history);
}

TEST(two_calls_never_get_the_same_id)
{
	AUTO_BUF struct buf seen = { 0 };
	struct str rest;

	play_ids(&seen, NULL, CALLS(CALL(0, "x", "Read", "{}") "," CALL(1, "x", "Read", "{}")) FINISH("stop"));

	rest = buf_str(&seen);
	CHECK_STR(str_cut(&rest, ' '), "x");
	CHECK(str_starts(rest, STR("call_")));
}

/* Without ids, with or without an index: by their names, or because the arguments of the first are whole. */
TEST(calls_without_ids_are_told_apart)
{
	static const char *const streams_of_two[] = {
		CALLS("{\"function\":{\"name\":\"Read\",\"arguments\":\"{\"}}")
			CALLS("{\"function\":{\"arguments\":\"}\"}}")
				CALLS("{\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"}}") FINISH("stop"),
		CALLS(CALL(0, "", "Read", "{\\\"a\\\":1}")) CALLS(CALL(0, "", "Read", "{\\\"a\\\":2}")) FINISH("stop"),
		CALLS(CALL(0, "", "Read", "")) CALLS(CALL(0, "", "Glob", "")) FINISH("stop"),
		CALLS(CALL(0, "x", "Read", "{\\\"a\\\":1}") "," CALL(0, "x", "Read", "{\\\"a\\\":2}")) FINISH("stop"),
		CALLS(CALL(0, "x", "Read", "{}") "," CALL(1, "x", "Read", "{}")) FINISH("stop"),
	};

	for (size_t i = 0; i < COUNT_OF(streams_of_two); i++) {
		AUTO_BUF struct buf seen = { 0 };
		size_t ids = 0;
		play_ids(&seen, NULL, streams_of_two[i]);
		for (size_t k = 0; k < seen.n; k++)
			ids += seen.p[k] == ' ';
		print_message("# %zu: %s\n", i, seen.p);
		CHECK_INT(ids, 2);
	}
}

TEST(a_short_message_id_is_made_longer_and_a_long_one_is_kept)
{
	static const struct {
		const char *given;
		size_t len;
	} ids[] = { { ID, strlen(ID) }, { "chatcmpl-17", 11 + 17 }, { "", 8 + 17 } };

	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		AUTO_BUF struct buf stream = { 0 };
		AUTO_BUF struct buf seen = { 0 };
		struct answer a;
		struct wire_stream s;
		buf_addf(&stream, "data: {\"id\":\"%s\",\"choices\":[]}\n\n", ids[i].given);
		answer_init(&a, &note_sink, &seen);
		wire_stream_init(&s, &form_chat, &a, NULL, 0);
		wire_stream_feed(&s, stream.p, stream.n);
		CHECK_INT(strlen(a.message_id), ids[i].len);
		CHECK(str_starts(str_from(a.message_id), str_from(ids[i].given)));
		wire_stream_release(&s);
		answer_release(&a);
	}
}

TEST(a_failure_shows_what_the_server_wrote_in_place_of_json)
{
	const char *words = "data: upstream connect\terror\xff, reset\n\n";
	AUTO_BUF struct buf seen = { 0 };
	struct answer a;
	struct wire_stream s;

	answer_init(&a, &note_sink, &seen);
	wire_stream_init(&s, &form_chat, &a, NULL, 0);
	wire_stream_feed(&s, words, strlen(words));
	CHECK(str_ends(str_from(a.failure.text), STR(": upstream connect error\xef\xbf\xbd, reset")));
	wire_stream_release(&s);
	answer_release(&a);
	answer_init(&a, &note_sink, &seen);
	answer_feed(&a, words, strlen(words));
	CHECK(str_ends(str_from(a.failure.text), STR(": upstream connect error\xef\xbf\xbd, reset")));
	answer_release(&a);
}

TEST(an_answer_that_came_whole_is_one_and_other_json_is_none)
{
	static const struct {
		const struct wire_form *form;
		const char *json;
		bool is_one;
		const char *expected;
	} bodies[] = {
		{ &form_chat,
		  "{\"id\":\"" ID "\",\"choices\":[{\"message\":{\"content\":\"a\",\"tool_calls\":[" CALL(
			  0, "call_a", "Read",
			  "{}") "]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
		  true, "text<a>" A_BLOCK("a") A_CALL("call_a", "{}") "tool_use complete 1+0/2" },
		{ &form_chat, "{\"error\":{\"message\":\"no\",\"code\":402}}", true, " event 402: 402 no" },
		{ &form_chat, "[{\"error\":{\"message\":\"no\",\"code\":402}}]", true, " event 402: 402 no" },
		{ &form_chat, "{\"object\":\"list\"}", false, " open" },
		{ &form_chat, "<html>", false, " open" },
		{ &form_chat, "", false, " open" },
		{ &form_responses, "{\"error\":{\"message\":\"no\",\"code\":402}}", true, " event 402: 402 no" },
		{ &form_responses,
		  "{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"message\":\"no\",\"code\":\"invalid_prompt\"}}",
		  true, " event 400: 400 invalid_prompt: no" },
		{ &form_chat,
		  "{\"id\":\"x\",\"choices\":null,\"base_resp\":{\"status_code\":1008,\"status_msg\":\"insufficient balance\"}}",
		  true, " event 500: 500 insufficient balance" },
		{ &form_responses, "{\"message\":\"no\"}", false, " open" },
		{ &form_gemini,
		  "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},"
		  "{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":2}}]",
		  true, "text<a>" A_BLOCK("a") "end_turn complete 1+0/2" },
		{ &form_gemini, "[{\"error\":{\"message\":\"no\",\"code\":402}}]", true, " event 402: 402 no" },
		{ &form_gemini, "{\"message\":\"no\"}", false, " open" },
	};

	for (size_t i = 0; i < COUNT_OF(bodies); i++) {
		AUTO_BUF struct buf seen = { 0 };
		struct answer a;
		struct wire_stream s;
		answer_init(&a, &note_sink, &seen);
		wire_stream_init(&s, bodies[i].form, &a, NULL, 100);
		CHECK_INT(wire_stream_whole(&s, str_from(bodies[i].json)), bodies[i].is_one);
		wire_stream_end(&s);
		note_answer_end(&seen, &a);
		CHECK_CSTR(seen.p, bodies[i].expected);
		wire_stream_release(&s);
		answer_release(&a);
	}
}

int test_chat_stream(void)
{
	return RUN_TESTS(T(each_chat_stream_gives_its_blocks), T(where_a_chat_stream_is_split_does_not_matter),
			 T(an_id_that_cannot_be_used_is_made_anew), T(two_calls_never_get_the_same_id),
			 T(calls_without_ids_are_told_apart),
			 T(a_short_message_id_is_made_longer_and_a_long_one_is_kept),
			 T(a_failure_shows_what_the_server_wrote_in_place_of_json),
			 T(an_answer_that_came_whole_is_one_and_other_json_is_none));
}
