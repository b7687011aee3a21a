/* SPDX-License-Identifier: MIT
 * test_chat_request.c - conversations as chat completions: the same bytes however they are packed, shared by forks, and
 * translated once. */
#include "unit.h"
#include "core/wire/wire.h"
#include "core/model/head_json.h"
#include "core/model/provider.h"
#include "test_wire.h"

#define U(json)       "u" json
#define A(json)       "a" json
#define TEXT(text)    "{\"type\":\"text\",\"text\":\"" text "\"}"
#define CALL(id, in)  "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Read\",\"input\":" in "}"
#define RESULT(id, c) "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":" c "}"
#define IMAGE         "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"QUJD\"}}"
#define THINKING      "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}"
#define S_CALL(id, in) \
	"{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"Read\",\"arguments\":\"" in "\"}}"
#define S_TOOL(id, c) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" c "\"}"
#define S_USER(text)  "{\"role\":\"user\",\"content\":\"" text "\"}"
#define S_IMAGE       "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}"
#define S_SYSTEM      "{\"role\":\"system\",\"content\":\"be \\\"good\\\"\"}"

/* splits: it may be packed anywhere and stays the same. */
static const struct {
	const char *what;
	bool splits;
	const char *blocks[MOST_BLOCKS];
	const char *messages; /* behind the system message */
} cases[] = {
	{ "one text", true, { U(TEXT("hi \\u00e9")) }, S_USER("hi \\u00e9") },
	{ "texts become one", true, { U(TEXT("a")), U(TEXT("b")) }, S_USER("a\\n\\nb") },
	{ "an answer",
	  true,
	  { U(TEXT("a")), A(TEXT("b")), A(TEXT("c")), U(TEXT("d")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":\"b\\n\\nc\"}," S_USER("d") },
	{ "thinking is left out",
	  true,
	  { U(TEXT("a")), A(THINKING), A(TEXT("b")), U(TEXT("c")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":\"b\"}," S_USER("c") },
	{ "an answer of thinking alone is none",
	  true,
	  { U(TEXT("a")), A(THINKING), U(TEXT("b")) },
	  S_USER("a\\n\\nb") },
	{ "calls and results",
	  true,
	  { U(TEXT("a")), A(TEXT("b")), A(CALL("x", "{\"p\":\"q\\n\"}")), A(CALL("y", "{}")), U(RESULT("x", "\"1\"")),
	    U(RESULT("y", "\"2\\u00e9\"")), U(TEXT("more")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":[" S_CALL(
		  "x",
		  "{\\\"p\\\":\\\"q\\\\n\\\"}") "," S_CALL("y",
							   "{}") "]}," S_TOOL("x",
									      "1") "," S_TOOL("y",
											      "2\\u00e9") "," S_USER("more") },
	{ "a call without a text",
	  true,
	  { U(TEXT("a")), A(CALL("x", "{}")), U(RESULT("x", "\"\"")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" S_CALL("x", "{}") "]}," S_TOOL("x",
														  "") },
	{ "text behind a call comes before it",
	  false,
	  { U(TEXT("a")), A(CALL("x", "{}")), A(TEXT("b")), U(RESULT("x", "\"\"")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":[" S_CALL("x", "{}") "]}," S_TOOL(
		  "x", "") },
	{ "a result with blocks, and one that is an error",
	  true,
	  { U(TEXT("a")), A(CALL("x", "{}")), A(CALL("y", "{}")), U(RESULT("x", "[" TEXT("1") "," TEXT("2") "]")),
	    U("{\"type\":\"tool_result\",\"tool_use_id\":\"y\",\"content\":\"no\",\"is_error\":true}") },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" S_CALL("x", "{}") "," S_CALL(
		  "y", "{}") "]}," S_TOOL("x", "1\\n2") "," S_TOOL("y", "Error: no") },
	{ "an image makes parts",
	  false,
	  { U(TEXT("a")), U(IMAGE), U(TEXT("b")) },
	  "{\"role\":\"user\",\"content\":[" TEXT("a") "," S_IMAGE "," TEXT("b") "]}" },
	{ "images of results come behind the last result",
	  false,
	  { U(TEXT("a")), A(CALL("x", "{}")), A(CALL("y", "{}")), U(RESULT("x", "[" TEXT("see") "," IMAGE "]")),
	    U(RESULT("y", "[" IMAGE "]")), U(TEXT("b")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" S_CALL("x", "{}") "," S_CALL("y", "{}") "]}," S_TOOL(
		  "x",
		  "see\\n[The image is in the next message of the user.]") "," S_TOOL("y",
										      "[The image is in the next message of the user.]") ",{\"role\":\"user\",\"content\":[" S_IMAGE
																	 "," S_IMAGE
																	 "," TEXT(
																		 "b") "]}" },
	{ "a document is described, or its text is sent",
	  false,
	  { U("{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"data\":\"QUJD\"}}"),
	    U("{\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"words\"}}") },
	  "{\"role\":\"user\",\"content\":[" TEXT(
		  "[A block of type document was left out: it cannot be sent to this model.]") "," TEXT("words") "]}" },
	{ "blocks of server tools are left out",
	  true,
	  { U(TEXT("a")), A("{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"n\",\"input\":{}}"), A(TEXT("b")),
	    U(TEXT("c")) },
	  S_USER("a") ",{\"role\":\"assistant\",\"content\":\"b\"}," S_USER("c") },
};

#define ENDING "],\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":100}"

TEST(each_conversation_has_its_messages_however_it_is_packed)
{
	AUTO_BUF struct buf sent = { 0 };
	AUTO_BUF struct buf expected = { 0 };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		print_message("# %s\n", cases[i].what);
		buf_clear(&expected);
		buf_addf(&expected, "{\"model\":\"m\",\"messages\":[" S_SYSTEM ",%s" ENDING, cases[i].messages);
		for (size_t packed = 0; packed <= (cases[i].splits ? MOST_BLOCKS : 0); packed++) {
			struct stage s;
			stage_init(&s, cases[i].blocks, packed);
			read_all(&sent, &form_chat, s.head, &s.t, STR(""), 0, packed % 2 ? 1 : 4096);
			CHECK_CSTR(sent.p, expected.p);
			stage_release(&s);
		}
	}
}

TEST(a_reminder_goes_behind_the_last_text)
{
	static const char *const blocks[] = { U(TEXT("a")), NULL };
	AUTO_BUF struct buf sent = { 0 };
	struct stage s;
	stage_init(&s, blocks, 0);

	read_all(&sent, &form_chat, s.head, &s.t, STR("," TEXT("remember")), 0, 100);

	CHECK_CSTR(sent.p, "{\"model\":\"m\",\"messages\":[" S_SYSTEM "," S_USER("a\\n\\nremember") ENDING);
	stage_release(&s);
}

TEST(tools_effort_and_limit_are_said_as_the_server_wants_them)
{
	static const char *const tools[] = {
		"{\"name\":\"Read\",\"description\":\"reads\",\"input_schema\":{\"type\":\"object\"}}",
		"{\"type\":\"web_search_20260101\",\"name\":\"web_search\"}", "{\"name\":\"Stop\",\"input_schema\":{}}",
		NULL
	};
	static const char *const blocks[] = { U(TEXT("a")), NULL };
	AUTO_BUF struct buf sent = { 0 };
	struct stage s;
	stage_init(&s, blocks, 0);
	struct head *head = make_head(&s.pool, tools, STR(""), "max");

	read_all(&sent, &form_chat, head, &s.t, STR(""), CHAT_COMPLETION_TOKENS, 4096);
	CHECK_CSTR(
		sent.p,
		"{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"Read\","
		"\"description\":\"reads\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}},{\"type\":\"function\","
		"\"function\":{\"name\":\"Stop\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}],\"messages\":[" S_USER(
			"a") "],\"stream\":true,\"stream_options\":{\"include_usage\":true},"
			     "\"max_completion_tokens\":100,\"parallel_tool_calls\":true,"
			     "\"reasoning_effort\":\"high\"}");
	read_all(&sent, &form_chat, head, &s.t, STR(""), ~(unsigned)(CHAT_MARKS | CHAT_KEEP_THINKING), 4096);
	CHECK(str_ends(buf_str(&sent), STR(S_USER("a") "]}")));
	read_all(&sent, &form_chat, head, &s.t, STR(""), ~(unsigned)(CHAT_KEEP_THINKING | WIRE_NO_STREAM), 4096);
	CHECK(str_ends(buf_str(&sent),
		       STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"cache_control\":"
			   "{\"type\":\"ephemeral\"}}]}],\"stream\":true}")));
	head_unref(head);
	stage_release(&s);
}

TEST(what_is_packed_is_translated_once_and_shared_by_forks)
{
	static const char *const blocks[] = { U(TEXT("a")), A(TEXT("b")), U(TEXT("c")), NULL };
	AUTO_BUF struct buf sent = { 0 };
	struct transcript fork = { 0 };
	struct stage s;
	stage_init(&s, blocks, 2);

	read_all(&sent, &form_chat, s.head, &s.t, STR(""), 0, 4096);
	const struct translation *head = s.head->translations[TRANSLATION_CHAT],
				 *shelf = s.t.packed_chunks[0]->translations[TRANSLATION_CHAT];
	transcript_fork(&s.t, &fork);
	add_block(&fork, A(TEXT("d")));
	read_all(&sent, &form_chat, s.head, &fork, STR(""), 0, 4096);

	CHECK(shelf && fork.packed_chunks[0]->translations[TRANSLATION_CHAT] == shelf &&
	      s.head->translations[TRANSLATION_CHAT] == head);
	CHECK(fork.packed_chunks[1]->translations[TRANSLATION_CHAT] &&
	      s.t.packed_chunks[1]->translations[TRANSLATION_CHAT] ==
		      fork.packed_chunks[1]->translations[TRANSLATION_CHAT]);
	transcript_release(&fork);
	stage_release(&s);
}

TEST(a_long_text_is_sent_out_of_the_shelf_itself)
{
	AUTO_BUF struct buf block = { 0 };
	AUTO_BUF struct buf sent = { 0 };
	const char *blocks[] = { NULL, NULL };
	struct stage s;
	buf_addstr(&block, "u{\"type\":\"text\",\"text\":\"");
	for (int i = 0; i < 1000; i++)
		buf_addstr(&block, "words ");
	buf_addstr(&block, "\"}");
	blocks[0] = block.p;
	stage_init(&s, blocks, 1);

	read_all(&sent, &form_chat, s.head, &s.t, STR(""), 0, 4096);

	const struct packed_chunk *shelf = s.t.packed_chunks[0];
	const struct translation *t = shelf->translations[TRANSLATION_CHAT];
	CHECK_INT(t->pieces[t->count - 1].n, 6000);
	CHECK(t->pieces[t->count - 1].p > shelf->bytes && t->pieces[t->count - 1].p < shelf->bytes + shelf->len);
	CHECK(!t->arena.block);
	stage_release(&s);
}

int test_chat_request(void)
{
	return RUN_TESTS(T(each_conversation_has_its_messages_however_it_is_packed),
			 T(a_reminder_goes_behind_the_last_text),
			 T(tools_effort_and_limit_are_said_as_the_server_wants_them),
			 T(what_is_packed_is_translated_once_and_shared_by_forks),
			 T(a_long_text_is_sent_out_of_the_shelf_itself));
}
