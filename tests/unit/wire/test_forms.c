/* SPDX-License-Identifier: MIT
 * test_forms.c - the Responses API and Gemini: conversations become requests however they are packed, streams become blocks however
 * they are split; what a server sealed goes back to it, and to no other. */
#include "unit.h"
#include "test_wire.h"

/* clang-format off */
#define OTHER          "fedcba9876543210"
#define TEXT(text)     "{\"type\":\"text\",\"text\":\"" text "\"}"
#define CALL(id, in)   "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Read\",\"input\":" in "}"
#define RESULT(id, c)  "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":" c "}"
#define FAILED(id, c)  "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"is_error\":true,\"content\":" c "}"
#define IMAGE          "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"QUJD\"}}"
#define PDF            "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\",\"data\":\"QUJD\"}}"
#define SIGNED         "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}"
#define SEAL(text)     "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"" text "\"}"
#define ITEM           "{\\\"id\\\":\\\"rs_1\\\",\\\"type\\\":\\\"reasoning\\\",\\\"summary\\\":[],\\\"encrypted_content\\\":\\\"xyz\\\"}"
#define R_ITEM         "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"xyz\"}"
#define C_SEAL(origin, field) SEAL("chat:" origin ":{\\\"field\\\":\\\"" field "\\\"}")
#define NO_IMAGE       "[An image was left out: this server takes none.]"
#define NEXT           "[The image is in the next message of the user.]"
#define C_USER(text)   "{\"role\":\"user\",\"content\":\"" text "\"}"
#define C_SAID(more, text) "{\"role\":\"assistant\"," more "\"content\":\"" text "\"}"
#define R_USER(parts)  "{\"role\":\"user\",\"content\":[" parts "]}"
#define R_TEXT(text)   "{\"type\":\"input_text\",\"text\":\"" text "\"}"
#define R_IMAGE        "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":\"data:image/png;base64,QUJD\"}"
#define R_SAID(more, text) "{\"type\":\"message\",\"role\":\"assistant\"," more "\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define R_CALL(id, in) "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"Read\",\"arguments\":\"" in "\"}"
#define R_OUT(id, out) "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" out "}"
#define G_USER(parts)  "{\"role\":\"user\",\"parts\":[" parts "]}"
#define G_MODEL(parts) "{\"role\":\"model\",\"parts\":[" parts "]}"
#define G_TEXT(text)   "{\"text\":\"" text "\"}"
#define G_IMAGE        "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QUJD\"}}"
#define G_SIGN(s)      "\"thoughtSignature\":\"" s "\","
#define G_SKIP         G_SIGN("skip_thought_signature_validator")
#define G_CALL(sign, id, in) "{" sign "\"functionCall\":{" id "\"name\":\"Read\",\"args\":" in "}}"
#define G_OUT(id, out) "{\"functionResponse\":{" id "\"name\":\"Read\",\"response\":{" out "}}}"
#define G_ID(id)       "\"id\":\"" id "\","

static const struct {
	const char *what;
	const struct wire_form *form;
	unsigned quirks;
	const char *blocks[MOST_BLOCKS];
	const char *messages;
} cases[] = {
	{ "responses: texts and an answer", &form_responses, 0,
	  { "u" TEXT("a"), "u" TEXT("b \\u00e9"), "a" TEXT("c"), "a" TEXT("d"), "u" TEXT("e") },
	  R_USER(R_TEXT("a") "," R_TEXT("b \\u00e9")) "," R_SAID("", "c") "," R_SAID("", "d") "," R_USER(R_TEXT("e")) },
	{ "responses: calls, results, an error", &form_responses, 0,
	  { "u" TEXT("a"), "a" CALL("x", "{\"p\":1}"), "a" CALL("y", "{}"), "u" RESULT("x", "\"one\""), "u" FAILED("y", "\"two\"") },
	  R_USER(R_TEXT("a")) "," R_CALL("x", "{\\\"p\\\":1}") "," R_CALL("y", "{}") "," R_OUT("x", "\"one\"") "," R_OUT("y", "\"Error: two\"") },
	{ "responses: images in a message and in a result", &form_responses, 0,
	  { "u" IMAGE, "u" PDF, "a" CALL("x", "{}"), "u" RESULT("x", "[" TEXT("see") "," IMAGE "]"), "u" TEXT("b") },
	  R_USER(R_IMAGE ",{\"type\":\"input_file\",\"filename\":\"document.pdf\",\"file_data\":\"data:application/pdf;base64,QUJD\"}") ","
	  R_CALL("x", "{}") "," R_OUT("x", "[" R_TEXT("see") "," R_IMAGE "]") "," R_USER(R_TEXT("b")) },
	{ "responses: no images", &form_responses, CHAT_NO_IMAGES, { "u" IMAGE }, R_USER(R_TEXT("[An image was left out: this server takes none.]")) },
	{ "responses: no documents", &form_responses, WIRE_NO_DOCUMENTS, { "u" PDF, "u" IMAGE },
	  R_USER(R_TEXT("[A document was left out: this model takes none.]") "," R_IMAGE) },
	{ "gemini: no documents", &form_gemini, WIRE_NO_DOCUMENTS, { "u" PDF, "u" IMAGE },
	  G_USER(G_TEXT("[A document was left out: this model takes none.]") "," G_IMAGE) },
	{ "gemini: no images", &form_gemini, CHAT_NO_IMAGES, { "u" PDF, "u" IMAGE },
	  G_USER("{\"inlineData\":{\"mimeType\":\"application/pdf\",\"data\":\"QUJD\"}}," G_TEXT("[An image was left out: this server takes none.]")) },
	{ "responses: a result of two texts is one text", &form_responses, 0,
	  { "u" TEXT("a"), "a" CALL("x", "{}"), "u" RESULT("x", "[" TEXT("b") "," TEXT("c") "]") },
	  R_USER(R_TEXT("a")) "," R_CALL("x", "{}") "," R_OUT("x", "\"b\\nc\"") },
	{ "responses: own reasoning goes back, with the phase of the message", &form_responses, 0,
	  { "u" TEXT("a"), "a" SEAL("responses:" TEST_ORIGIN ":commentary:" ITEM), "a" TEXT("b"), "a" SEAL("responses:" TEST_ORIGIN "::" ITEM),
	    "a" CALL("x", "{}"), "u" RESULT("x", "\"\"") },
	  R_USER(R_TEXT("a")) "," R_ITEM "," R_SAID("\"phase\":\"commentary\",", "b") "," R_ITEM "," R_CALL("x", "{}") "," R_OUT("x", "\"\"") },
	{ "responses: reasoning of others does not", &form_responses, 0,
	  { "u" TEXT("a"), "a" SEAL("responses:" OTHER ":commentary:" ITEM), "a" TEXT("b"), "a" SIGNED, "a" SEAL("gemini:" TEST_ORIGIN ":sig"),
	    "a" CALL("x", "{}"), "u" RESULT("x", "\"\"") },
	  R_USER(R_TEXT("a")) "," R_SAID("", "b") "," R_CALL("x", "{}") "," R_OUT("x", "\"\"") },
	{ "responses: two items before one call", &form_responses, 0,
	  { "u" TEXT("a"), "a" SEAL("responses:" TEST_ORIGIN "::" ITEM), "a" SEAL("responses:" TEST_ORIGIN "::" ITEM), "a" CALL("x", "{}"),
	    "u" RESULT("x", "\"\"") },
	  R_USER(R_TEXT("a")) "," R_ITEM "," R_ITEM "," R_CALL("x", "{}") "," R_OUT("x", "\"\"") },
	{ "gemini: texts, an answer, an image", &form_gemini, 0,
	  { "u" TEXT("a"), "u" IMAGE, "a" TEXT("b"), "a" TEXT("c"), "u" TEXT("d") },
	  G_USER(G_TEXT("a") "," G_IMAGE) "," G_MODEL(G_TEXT("b") "," G_TEXT("c")) "," G_USER(G_TEXT("d")) },
	{ "gemini 2: calls without ids, results with names", &form_gemini, 0,
	  { "u" TEXT("a"), "a" CALL("x", "{\"p\":1}"), "a" CALL("y", "{}"), "u" RESULT("x", "\"one\""), "u" FAILED("y", "\"two\""), "u" TEXT("b") },
	  G_USER(G_TEXT("a")) "," G_MODEL(G_CALL("", "", "{\"p\":1}") "," G_CALL("", "", "{}")) ","
	  G_USER(G_OUT("", "\"output\":\"one\"") "," G_OUT("", "\"error\":\"two\"") "," G_TEXT("b")) },
	{ "gemini 3: ids, and a signature on the first call", &form_gemini, GEMINI_SIGNED,
	  { "u" TEXT("a"), "a" SEAL("gemini:" TEST_ORIGIN ":sig"), "a" CALL("x", "{}"), "a" CALL("y", "{}"), "u" RESULT("x", "\"1\""),
	    "u" RESULT("y", "\"2\"") },
	  G_USER(G_TEXT("a")) "," G_MODEL(G_CALL(G_SIGN("sig"), G_ID("x"), "{}") "," G_CALL("", G_ID("y"), "{}")) ","
	  G_USER(G_OUT(G_ID("x"), "\"output\":\"1\"") "," G_OUT(G_ID("y"), "\"output\":\"2\"")) },
	{ "gemini 3: a signature that is lost or foreign", &form_gemini, GEMINI_SIGNED,
	  { "u" TEXT("a"), "a" SEAL("gemini:" OTHER ":sig"), "a" CALL("x", "{}"), "u" RESULT("x", "\"1\"") },
	  G_USER(G_TEXT("a")) "," G_MODEL(G_CALL(G_SKIP, G_ID("x"), "{}")) "," G_USER(G_OUT(G_ID("x"), "\"output\":\"1\"")) },
	{ "gemini: a signature behind the text belongs to it", &form_gemini, 0,
	  { "u" TEXT("a"), "a" TEXT("b"), "a" SEAL("gemini:" TEST_ORIGIN ":sig"), "u" TEXT("c") },
	  G_USER(G_TEXT("a")) "," G_MODEL("{" G_SIGN("sig") "\"text\":\"b\"}") "," G_USER(G_TEXT("c")) },
	{ "gemini: images of results are behind them", &form_gemini, 0,
	  { "u" TEXT("a"), "a" CALL("x", "{}"), "u" RESULT("x", "[" TEXT("see") "," IMAGE "]") },
	  G_USER(G_TEXT("a")) "," G_MODEL(G_CALL("", "", "{}")) "," G_USER(G_OUT("", "\"output\":\"see\\n[It is behind the results.]\"") "," G_IMAGE) },
	{ "chat: the signature of a call of Gemini, its details", &form_chat, GEMINI_SIGNED,
	  { "u" TEXT("a"), "a" SEAL("chat:" TEST_ORIGIN ":{\\\"extra_content\\\":{\\\"google\\\":{\\\"thought_signature\\\":\\\"s\\\"}}}"), "a" CALL("x", "{}"),
	    "u" RESULT("x", "\"1\"") },
	  "{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\","
	  "\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}}]},"
	  "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"1\"}" },
	{ "chat: a call of another model at Gemini", &form_chat, GEMINI_SIGNED, { "u" TEXT("a"), "a" CALL("x", "{}"), "u" RESULT("x", "\"1\"") },
	  "{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\","
	  "\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"skip_thought_signature_validator\"}}}]},"
	  "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"1\"}" },
	{ "chat: details of reasoning", &form_chat, 0,
	  { "u" TEXT("a"), "a" TEXT("b"), "a" SEAL("chat:" TEST_ORIGIN ":{\\\"reasoning_details\\\":[{\\\"type\\\":\\\"reasoning.encrypted\\\"}]}"), "u" TEXT("c") },
	  "{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"reasoning_details\":[{\"type\":\"reasoning.encrypted\"}],\"content\":\"b\"},"
	  "{\"role\":\"user\",\"content\":\"c\"}" },
	{ "chat: signed blocks of Claude", &form_chat, 0,
	  { "u" TEXT("a"), "a" SEAL("chat:" TEST_ORIGIN ":{\\\"thinking_blocks\\\":[{\\\"type\\\":\\\"thinking\\\"}]}"), "a" TEXT("b"), "u" TEXT("c") },
	  C_USER("a") "," C_SAID("\"thinking_blocks\":[{\"type\":\"thinking\"}],", "b") "," C_USER("c") },
	{ "chat: without images the content is a text", &form_chat, CHAT_NO_IMAGES,
	  { "u" IMAGE, "a" CALL("x", "{}"), "u" RESULT("x", "[" IMAGE "," IMAGE "]"), "a" TEXT("c"), "u" TEXT("d") },
	  C_USER(NO_IMAGE) ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\","
	  "\"function\":{\"name\":\"Read\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"" NEXT "\\n" NEXT "\"}," C_USER(
	  NO_IMAGE "\\n\\n" NO_IMAGE) "," C_SAID("", "c") "," C_USER("d") },
	/* Reasoning goes to its own origin only. Where the member must always be there, that of others is empty. */
	{ "chat: reasoning that is wanted always", &form_chat, CHAT_ECHO,
	  { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "reasoning"), "a" TEXT("b"), "u" TEXT("c"), "a" C_SEAL(OTHER, "reasoning"), "a" TEXT("d"),
	    "u" TEXT("e"), "a" TEXT("f"), "u" TEXT("g") },
	  C_USER("a") "," C_SAID("\"reasoning_content\":\"hm\",", "b") "," C_USER("c") "," C_SAID("\"reasoning_content\":\"\",", "d") "," C_USER("e") ","
	  C_SAID("\"reasoning_content\":\"\",", "f") "," C_USER("g") },
	{ "chat: reasoning that is wanted under another name", &form_chat, CHAT_ECHO_PLAIN,
	  { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "reasoning_content"), "a" TEXT("b"), "u" TEXT("c"), "a" C_SEAL(OTHER, "reasoning"), "a" TEXT("d") },
	  C_USER("a") "," C_SAID("\"reasoning\":\"hm\",", "b") "," C_USER("c") "," C_SAID("\"reasoning\":\"\",", "d") },
	{ "chat: reasoning that goes back as it came", &form_chat, CHAT_ECHO_SAME,
	  { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "reasoning"), "a" TEXT("b"), "u" TEXT("c"), "a" C_SEAL(TEST_ORIGIN, "reasoning_content"), "a" TEXT("d"),
	    "u" TEXT("e"), "a" C_SEAL(TEST_ORIGIN, "content"), "a" TEXT("f") },
	  C_USER("a") "," C_SAID("\"reasoning\":\"hm\",", "b") "," C_USER("c") "," C_SAID("\"reasoning_content\":\"hm\",", "d") "," C_USER("e") "," C_SAID("", "f") },
	{ "chat: the same in rarer members", &form_chat, CHAT_ECHO_SAME,
	  { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "reasoning_text"), "a" TEXT("b"), "u" TEXT("c"), "a" C_SEAL(TEST_ORIGIN, "thinking"), "a" TEXT("d") },
	  C_USER("a") "," C_SAID("\"reasoning_text\":\"hm\",", "b") "," C_USER("c") "," C_SAID("\"thinking\":\"hm\",", "d") },
	{ "chat: reasoning of others does not go back", &form_chat, CHAT_ECHO_SAME,
	  { "u" TEXT("a"), "a" C_SEAL(OTHER, "reasoning"), "a" TEXT("b"), "u" TEXT("c"), "a" SEAL(""), "a" TEXT("d") },
	  C_USER("a") "," C_SAID("", "b") "," C_USER("c") "," C_SAID("", "d") },
	{ "chat: reasoning that is not wanted", &form_chat, 0, { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "reasoning"), "a" TEXT("b") },
	  C_USER("a") "," C_SAID("", "b") },
	{ "chat: all reasoning of an answer", &form_chat, CHAT_ECHO,
	  { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "reasoning"), "a" TEXT("b"), "a" C_SEAL(TEST_ORIGIN, "reasoning"), "a" C_SEAL(TEST_ORIGIN, "reasoning"),
	    "a" TEXT("c") },
	  C_USER("a") "," C_SAID("\"reasoning_content\":\"hmhmhm\",", "b\\n\\nc") },
	{ "chat: reasoning as a part of the content", &form_chat, CHAT_ECHO_PARTS,
	  { "u" TEXT("a"), "a" C_SEAL(TEST_ORIGIN, "content"), "a" TEXT("b"), "u" TEXT("c"), "a" C_SEAL(OTHER, "content"), "a" TEXT("d") },
	  C_USER("a") ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
	  "{\"type\":\"text\",\"text\":\"b\"}]}," C_USER("c") ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"d\"}]}" },
};

#define EVENT(json)    "data: {\"type\":\"response." json "}\n\n"
#define R(more)        "\"response\":{\"id\":\"resp_0123456789abcdef01\",\"model\":\"m\"" more "}"
#define CREATED        EVENT("created\"," R(""))
#define R_USAGE        ",\"usage\":{\"input_tokens\":10,\"input_tokens_details\":{\"cached_tokens\":6},\"output_tokens\":4}"
#define COMPLETED      EVENT("completed\"," R(",\"status\":\"completed\"" R_USAGE))
#define ADDED(i, item) EVENT("output_item.added\",\"output_index\":" #i ",\"item\":" item)
#define DONE(i, item)  EVENT("output_item.done\",\"output_index\":" #i ",\"item\":" item)
#define SAID(i, text)  EVENT("output_text.delta\",\"output_index\":" #i ",\"delta\":\"" text "\"")
#define ARGUMENTS(i, text) EVENT("function_call_arguments.done\",\"output_index\":" #i ",\"arguments\":\"" text "\"")
#define THOUGHT(i, text) EVENT("reasoning_summary_text.delta\",\"output_index\":" #i ",\"delta\":\"" text "\"")
#define OTHER_ERROR    "data: {\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\",\"code\":\"400\"}}\n\n"
#define MESSAGE_OF(text) "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define A_SAID(text)   "text<" text ">" A_TEXT(text)
#define PHASED(phase)  "{\"type\":\"message\",\"phase\":\"" phase "\",\"content\":[]}"
#define PHASED_TEXT(phase, text) "{\"type\":\"message\",\"phase\":\"" phase "\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define A_PHASE(phase) A_THOUGHT("", "responses:" TEST_ORIGIN ":" phase ":")
#define MESSAGE        "{\"type\":\"message\",\"content\":[]}"
#define REASONING      "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"xyz\"}"
#define FUNCTION(id, in, more) "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"Read\",\"arguments\":\"" in "\"" more "}"
#define SEALED(phase)  "responses:" TEST_ORIGIN ":" phase ":{\\\"type\\\":\\\"reasoning\\\",\\\"summary\\\":[],\\\"encrypted_content\\\":\\\"xyz\\\"}"
#define A_TEXT(text)   "{\"type\":\"text\",\"text\":\"" text "\"}\n"
#define A_CALL(id, in) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Read\",\"input\":" in "}\n"
#define A_THOUGHT(text, seal) "{\"type\":\"thinking\",\"thinking\":\"" text "\",\"signature\":\"" seal "\"}\n"
#define CHUNK(parts, more) "data: {\"responseId\":\"g-0123456789abcdef0123\",\"modelVersion\":\"m\",\"candidates\":[{\"content\":{\"role\":\"model\"," \
	"\"parts\":[" parts "]}" more "}]}\n\n"
#define STOP(why)      "data: {\"responseId\":\"g\",\"candidates\":[{\"finishReason\":\"" why "\"}],\"usageMetadata\":{\"promptTokenCount\":10," \
	"\"cachedContentTokenCount\":6,\"candidatesTokenCount\":3,\"thoughtsTokenCount\":1}}\n\n"
#define END            " complete 4+6/4"
#define C_DELTA(delta) "data: {\"id\":\"chatcmpl-0123456789abcdef\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]}\n\n"
#define C_TEXT(text)   C_DELTA("{\"content\":\"" text "\"}")
#define C_STOP         "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4," \
	"\"prompt_tokens_details\":{\"cached_tokens\":6}}}\n\n"

static const struct {
	const char *what;
	const struct wire_form *form;
	const char *stream, *expected;
} streams[] = {
	{ "a text", &form_responses, CREATED ADDED(0, MESSAGE) SAID(0, "Hel") SAID(0, "lo") DONE(0, MESSAGE) COMPLETED,
	  "text<Hel>text<lo>" A_TEXT("Hello") "end_turn" END },
	{ "a text that came only with its item", &form_responses,
	  CREATED DONE(0, "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}") COMPLETED, "text<a>" A_TEXT("a") "end_turn" END },
	{ "reasoning, a text with a phase, two calls", &form_responses,
	  CREATED THOUGHT(0, "hm") DONE(0, REASONING) ADDED(1, "{\"type\":\"message\",\"phase\":\"commentary\",\"content\":[]}") SAID(1, "a") DONE(1, MESSAGE)
	  DONE(2, FUNCTION("call_a", "{\\\"p\\\":1}", "")) DONE(3, FUNCTION("call_b", "", "")) COMPLETED,
	  "thinking<hm>" A_THOUGHT("hm", SEALED("commentary")) "text<a>" A_TEXT("a") A_CALL("call_a", "{\"p\":1}") A_CALL("call_b", "{}") "tool_use" END },
	{ "texts with phases and no reasoning", &form_responses,
	  CREATED ADDED(0, PHASED("commentary")) SAID(0, "a") DONE(0, MESSAGE) ADDED(1, PHASED("final_answer")) SAID(1, "b") DONE(1, MESSAGE) COMPLETED,
	  A_THOUGHT("", "responses:" TEST_ORIGIN ":commentary:") A_SAID("a") A_THOUGHT("", "responses:" TEST_ORIGIN ":final_answer:") A_SAID("b") "end_turn" END },
	{ "a phase that comes with the end of a text", &form_responses,
	  CREATED ADDED(0, MESSAGE) SAID(0, "a") DONE(0, PHASED("commentary")) DONE(1, FUNCTION("call_a", "{}", "")) COMPLETED,
	  "text<a>" A_PHASE("commentary") A_TEXT("a") A_CALL("call_a", "{}") "tool_use" END },
	{ "the same behind reasoning, and a second text", &form_responses,
	  CREATED THOUGHT(0, "hm") DONE(0, REASONING) ADDED(1, MESSAGE) SAID(1, "a") DONE(1, PHASED("commentary")) ADDED(2, MESSAGE) SAID(2, "b")
	  DONE(2, PHASED("final_answer")) COMPLETED,
	  "thinking<hm>" A_THOUGHT("hm", SEALED("")) "text<a>" A_PHASE("commentary") A_TEXT("a") "text<b>" A_PHASE("final_answer") A_TEXT("b") "end_turn" END },
	{ "a phase of texts that came only with their items", &form_responses,
	  CREATED DONE(0, REASONING) DONE(1, PHASED_TEXT("commentary", "a")) ADDED(2, MESSAGE) DONE(2, PHASED_TEXT("final_answer", "b")) COMPLETED,
	  A_THOUGHT("", SEALED("commentary")) A_SAID("a") A_PHASE("final_answer") A_SAID("b") "end_turn" END },
	{ "a phase that is said twice, one of two texts at once, one of a refusal", &form_responses,
	  CREATED ADDED(0, PHASED("commentary")) SAID(0, "a") SAID(1, "b") DONE(1, PHASED("final_answer")) DONE(0, PHASED("commentary"))
	  EVENT("refusal.delta\",\"output_index\":2,\"delta\":\"No.\"") DONE(2, PHASED("final_answer")) COMPLETED,
	  A_PHASE("commentary") A_SAID("a") "text<b>" A_PHASE("final_answer") A_TEXT("b") "refusal" END },
	{ "phases of an answer that came whole", &form_responses, CREATED EVENT("completed\"," R(",\"status\":\"completed\",\"output\":["
	  PHASED_TEXT("commentary", "a") "," PHASED_TEXT("final_answer", "b") "]" R_USAGE)),
	  A_PHASE("commentary") A_SAID("a") A_PHASE("final_answer") A_SAID("b") "end_turn" END },
	{ "a call that came only at the end, behind a text and a call that were streamed", &form_responses,
	  CREATED SAID(0, "a") DONE(0, MESSAGE) DONE(1, FUNCTION("call_a", "{}", "")) EVENT("completed\"," R(",\"status\":\"completed\",\"output\":["
	  MESSAGE_OF("a") "," FUNCTION("call_a", "{}", "") "," FUNCTION("call_b", "{}", "") "]" R_USAGE)),
	  A_SAID("a") A_CALL("call_a", "{}") A_CALL("call_b", "{}") "tool_use" END },
	{ "two reasoning items, parts of a summary", &form_responses,
	  CREATED THOUGHT(0, "a") EVENT("reasoning_summary_part.added\",\"output_index\":0,\"summary_index\":1") THOUGHT(0, "b") DONE(0, REASONING)
	  ADDED(1, "{\"type\":\"reasoning\"}") DONE(1, REASONING) DONE(2, FUNCTION("call_a", "{}", "")) COMPLETED,
	  "thinking<a>thinking<\n\n>thinking<b>" A_THOUGHT("a\\n\\nb", SEALED("")) A_THOUGHT("", SEALED("")) A_CALL("call_a", "{}") "tool_use" END },
	{ "reasoning that led to nothing has no seal", &form_responses, CREATED THOUGHT(0, "a") DONE(0, REASONING)
	  EVENT("incomplete\"," R(",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}" R_USAGE)),
	  "thinking<a>" A_THOUGHT("a", "") "max_tokens" END },
	{ "a call that the limit cut", &form_responses, CREATED DONE(0, FUNCTION("call_a", "{\\\"p", ",\"status\":\"incomplete\""))
	  EVENT("incomplete\"," R(",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}" R_USAGE)), "max_tokens" END },
	{ "a filter", &form_responses, CREATED SAID(0, "a")
	  EVENT("incomplete\"," R(",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"}" R_USAGE)), "text<a>" A_TEXT("a") "refusal" END },
	{ "its own refusal", &form_responses, CREATED EVENT("refusal.delta\",\"output_index\":0,\"delta\":\"No.\"") DONE(0, MESSAGE) COMPLETED, "refusal" END },
	{ "cut before the end", &form_responses, CREATED SAID(0, "a") DONE(0, MESSAGE) DONE(1, FUNCTION("call_a", "{}", "")), "text<a>" A_TEXT("a") " open" },
	{ "[DONE] is not its end", &form_responses, CREATED SAID(0, "a") "data: [DONE]\n\n", "text<a> open" },
	{ "failed", &form_responses, CREATED EVENT("failed\"," R(",\"status\":\"failed\",\"error\":{\"code\":\"server_is_overloaded\",\"message\":\"busy\"}")),
	  " event 529: 529 server_is_overloaded: busy" },
	{ "an error event", &form_responses, CREATED "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Try again in 2s\"}\n\n",
	  " event 429: 429 rate_limit_exceeded: Try again in 2s" },
	{ "an error inside a response", &form_responses, CREATED "data: {\"type\":\"error\",\"response\":{\"error\":{\"code\":\"context_length_exceeded\","
	  "\"message\":\"no\"}}}\n\n", " event 400: 400 context_length_exceeded: no" },
	{ "failed without a reason", &form_responses, CREATED EVENT("failed\"," R(",\"status\":\"failed\",\"error\":null")),
	  " event 500: 500 the server sent no explanation" },
	{ "failed without words", &form_responses, CREATED EVENT("failed\"," R(",\"status\":\"failed\",\"error\":{\"code\":\"cyber_policy\",\"message\":\"  \"}")),
	  " event 400: 400 cyber_policy: the server sent no explanation" },
	{ "an error of another API", &form_responses, CREATED SAID(0, "a") OTHER_ERROR, "text<a> event 400: 400 invalid_request_error: no" },
	{ "items only at its end", &form_responses, CREATED EVENT("completed\"," R(",\"status\":\"completed\",\"output\":[" MESSAGE_OF("a") ","
	  FUNCTION("call_a", "{}", "") "]" R_USAGE)), A_SAID("a") A_CALL("call_a", "{}") "tool_use" END },
	{ "a text whose pieces are empty", &form_responses, CREATED ADDED(0, MESSAGE) SAID(0, "") DONE(0, MESSAGE_OF("a")) COMPLETED, A_SAID("a") "end_turn" END },
	{ "arguments that are an object, and arguments that came before their items", &form_responses,
	  CREATED DONE(0, "{\"type\":\"function_call\",\"call_id\":\"call_a\",\"name\":\"Read\",\"arguments\":{\"p\":1}}") ARGUMENTS(1, "{\\\"p\\\":2}")
	  DONE(1, FUNCTION("call_b", "", "")) ARGUMENTS(2, "{\\\"p\\\":3}") DONE(2, FUNCTION("call_c", "{\\\"p\\\":4}", "")) DONE(3, FUNCTION("call_d", "", "")) COMPLETED,
	  A_CALL("call_a", "{\"p\":1}") A_CALL("call_b", "{\"p\":2}") A_CALL("call_c", "{\"p\":4}") A_CALL("call_d", "{}") "tool_use" END },
	{ "calls whose ends do not come", &form_responses, CREATED ADDED(0, FUNCTION("call_a", "", "")) ARGUMENTS(0, "{\\\"p\\\":1}") ADDED(1, FUNCTION("call_b", "", ""))
	  ARGUMENTS(1, "{}") EVENT("completed\"," R(",\"status\":\"completed\",\"output\":[" MESSAGE_OF("") "]" R_USAGE)),
	  A_CALL("call_a", "{\"p\":1}") A_CALL("call_b", "{}") "tool_use" END },
	{ "a call whose end comes behind the next one", &form_responses, CREATED ADDED(0, FUNCTION("call_a", "", "")) ARGUMENTS(0, "{}") ADDED(1, FUNCTION("call_b", "", ""))
	  DONE(0, FUNCTION("call_a", "{}", "")) ARGUMENTS(1, "{}") DONE(1, FUNCTION("call_b", "{}", "")) COMPLETED, A_CALL("call_a", "{}") A_CALL("call_b", "{}") "tool_use" END },
	{ "a call that is cut before its arguments are whole", &form_responses, CREATED ADDED(0, FUNCTION("call_a", "", ""))
	  EVENT("incomplete\"," R(",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}" R_USAGE)), "max_tokens" END },
	{ "an error in each event that is none", &form_responses, CREATED EVENT("output_text.delta\",\"error\":{\"message\":\"\",\"type\":\"\",\"code\":0},"
	  "\"output_index\":0,\"delta\":\"a\"") DONE(0, MESSAGE) COMPLETED, A_SAID("a") "end_turn" END },
	{ "an item without a number", &form_responses, CREATED EVENT("output_item.done\",\"item\":" MESSAGE_OF("a")) COMPLETED, A_SAID("a") "end_turn" END },
	{ "signs of life without data", &form_responses, "data:\n\n" CREATED "data: \n\n" SAID(0, "a") DONE(0, MESSAGE) COMPLETED, A_SAID("a") "end_turn" END },
	{ "signs of life before its beginning", &form_responses, "data: {\"type\":\"keepalive\",\"sequence_number\":0}\n\ndata: {\"type\":\"ping\"}\n\n"
	  "data: {\"type\":\"response.in_progress\"}\n\n" CREATED SAID(0, "a") DONE(0, MESSAGE) COMPLETED, A_SAID("a") "end_turn" END },
	{ "no beginning", &form_responses, SAID(0, "a") COMPLETED, " garbage" },
	{ "two messages at once", &form_responses,
	  CREATED SAID(0, "one ") SAID(1, "three ") SAID(0, "two") SAID(1, "four") DONE(1, MESSAGE_OF("three four")) DONE(0, MESSAGE_OF("one two")) COMPLETED,
	  "text<one >text<two>" A_TEXT("one two") "text<three >text<four>" A_TEXT("three four") "end_turn" END },
	{ "three at once and a call, the last one in pieces only", &form_responses,
	  CREATED SAID(0, "a") SAID(2, "c") SAID(1, "b") DONE(3, FUNCTION("call_a", "{}", "")) SAID(2, "c") DONE(0, MESSAGE_OF("a")) SAID(2, "c") COMPLETED,
	  A_SAID("a") A_SAID("b") "text<c>text<c>text<c>" A_TEXT("ccc") A_CALL("call_a", "{}") "tool_use" END },
	{ "not one", &form_responses, "data: {\"x\":1}\n\n", " open" },
	{ "gemini: thoughts, a text, its signature", &form_gemini,
	  CHUNK("{\"text\":\"hm\",\"thought\":true}", "") CHUNK("{\"text\":\"a\"}", "") CHUNK("{\"text\":\"b\"}", "") CHUNK("{\"text\":\"\",\"thoughtSignature\":\"sig\"}", "")
	  STOP("STOP"), "thinking<hm>" A_THOUGHT("hm", "") "text<a>text<b>" A_TEXT("ab") A_THOUGHT("", "gemini:" TEST_ORIGIN ":sig") "end_turn" END },
	{ "gemini: calls with a signature on the first", &form_gemini,
	  CHUNK("{\"thoughtSignature\":\"sig\",\"functionCall\":{\"id\":\"call_a\",\"name\":\"Read\",\"args\":{\"p\":1}}},"
		"{\"functionCall\":{\"id\":\"call_b\",\"name\":\"Read\"}}", "") STOP("STOP"),
	  A_THOUGHT("", "gemini:" TEST_ORIGIN ":sig") A_CALL("call_a", "{\"p\":1}") A_CALL("call_b", "{}") "tool_use" END },
	{ "gemini: arguments that are a text", &form_gemini, CHUNK("{\"functionCall\":{\"id\":\"call_a\",\"name\":\"Read\",\"args\":\"{\\\"p\\\":1}\"}}", "") STOP("STOP"),
	  A_CALL("call_a", "{\"p\":1}") "tool_use" END },
	{ "gemini: the limit", &form_gemini, CHUNK("{\"text\":\"a\"}", "") STOP("MAX_TOKENS"), "text<a>" A_TEXT("a") "max_tokens" END },
	{ "gemini: safety", &form_gemini, CHUNK("{\"text\":\"a\"}", "") STOP("SAFETY"), "text<a>" A_TEXT("a") "refusal" END },
	{ "gemini: it gives up", &form_gemini, CHUNK("{\"text\":\"a\"}", "") STOP("MALFORMED_FUNCTION_CALL"), "text<a> garbage" },
	{ "gemini: cut", &form_gemini, CHUNK("{\"text\":\"a\"}", ""), "text<a> open" },
	{ "gemini: an error", &form_gemini, CHUNK("{\"text\":\"a\"}", "") "data: {\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}\n\n",
	  "text<a> event 503: 503 UNAVAILABLE: busy" },
	{ "gemini: an error of another API", &form_gemini, CHUNK("{\"text\":\"a\"}", "") "data: {\"error\":null}\n\n" OTHER_ERROR, "text<a> event 400: 400 invalid_request_error: no" },
	{ "chat: signed blocks of Claude, behind LiteLLM", &form_chat,
	  C_DELTA("{\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"h\",\"signature\":\"\"}]}")
	  C_DELTA("{\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"m\",\"signature\":null}]}")
	  C_DELTA("{\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s1\"},{\"type\":\"redacted_thinking\",\"data\":\"d\"}]}")
	  C_DELTA("{\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"cut\"}]}") C_TEXT("a") C_STOP,
	  "text<a>" A_TEXT("a") A_THOUGHT("", "chat:" TEST_ORIGIN ":{\\\"thinking_blocks\\\":[{\\\"type\\\":\\\"thinking\\\",\\\"thinking\\\":\\\"hm\\\","
	  "\\\"signature\\\":\\\"s1\\\"},{\\\"type\\\":\\\"redacted_thinking\\\",\\\"data\\\":\\\"d\\\"}]}") "end_turn" END },
	{ "chat: <think> in front", &form_chat, C_TEXT("\\n<th") C_TEXT("ink>hm") C_TEXT(" </th") C_TEXT("ink>\\n\\nHello <think>") C_STOP,
	  "thinking<hm>thinking< >" A_THOUGHT("hm ", "chat:" TEST_ORIGIN ":{\\\"field\\\":\\\"content\\\"}") "text<Hello <think>>" A_TEXT("Hello <think>") "end_turn" END },
	{ "chat: <think> that does not end", &form_chat, C_TEXT("<think>hm</thi") C_STOP, "thinking<hm>thinking<</thi>" A_THOUGHT("hm</thi", "chat:" TEST_ORIGIN ":{\\\"field\\\":\\\"content\\\"}") "end_turn" END },
	{ "chat: a text that begins like it", &form_chat, C_TEXT("<t") C_TEXT("able>") C_STOP, "text<<table>>" A_TEXT("<table>") "end_turn" END },
	{ "chat: details are put together", &form_chat,
	  C_DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"a\",\"index\":0}]}") C_DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"b\",\"index\":0}]}")
	  C_DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"x\"}]}") C_TEXT("c") C_STOP,
	  "text<c>" A_TEXT("c") A_THOUGHT("", "chat:" TEST_ORIGIN ":{\\\"reasoning_details\\\":[\\n{\\\"type\\\":\\\"reasoning.text\\\",\\\"index\\\":0,\\\"text\\\":\\\"ab\\\"},"
	  "\\n{\\\"type\\\":\\\"reasoning.encrypted\\\",\\\"data\\\":\\\"x\\\"}]}") "end_turn" END },
};
/* clang-format on */

TEST(each_conversation_has_its_messages_in_each_form)
{
	AUTO_BUF struct buf sent = { 0 };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		print_message("# %s\n", cases[i].what);
		for (size_t packed = 0; packed < MOST_BLOCKS; packed++) {
			struct stage s;
			/* A fork is never made between a thought and its block. */
			const char *last = packed ? cases[i].blocks[packed - 1] : NULL;
			const char *next = packed && packed < MOST_BLOCKS ? cases[i].blocks[packed] : NULL;
			if ((last && strstr(last, "\"thinking\"")) || (next && strstr(next, "\"thinking\"")))
				continue;
			stage_init(&s, cases[i].blocks, packed);
			read_all(&sent, cases[i].form, s.head, &s.t, STR(""), cases[i].quirks, packed % 2 ? 1 : 4096);
			if (!str_has(buf_str(&sent), str_from(cases[i].messages)))
				fail_msg("packed %zu: %s", packed, sent.p);
			stage_release(&s);
		}
	}
}

TEST(each_stream_gives_its_blocks_wherever_it_is_split)
{
	AUTO_BUF struct buf seen = { 0 };

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		const struct wire_form *form = streams[i].form;
		print_message("# %s\n", streams[i].what);
		CHECK_CSTR(play_stream(&seen, form, streams[i].stream, SIZE_MAX, SIZE_MAX), streams[i].expected);
		CHECK_CSTR(play_stream(&seen, form, streams[i].stream, 0, 1), streams[i].expected);
		for (size_t split = 0; split <= strlen(streams[i].stream); split += 7)
			CHECK_CSTR(play_stream(&seen, form, streams[i].stream, split, SIZE_MAX), streams[i].expected);
	}
}

TEST(each_form_has_its_own_translation_and_its_own_ending)
{
	static const char *const tools[] = {
		"{\"name\":\"mcp__a-server-with-a-long-name__and-a-tool-whose-name-is-longer-than-that\",\"input_schema\":{\"$schema\":"
		"\"x\",\"type\":\"object\",\"properties\":{\"p\":{\"const\":1},\"q\":{\"items\":true,\"pattern\":\"x\"},"
		"\"r\":{\"type\":\"string\",\"anyOf\":[{\"enum\":[\"a\"]},{\"type\":\"number\"}]},"
		"\"s\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"count\",\"maximum\":9}}}}",
		NULL
	};
	static const struct {
		const struct wire_form *form;
		unsigned quirks;
		const char *ending;
	} endings[] = {
		{ &form_chat, CHAT_SESSION_KEY, ",\"parallel_tool_calls\":true,\"reasoning_effort\":\"high\"}" },
		{ &form_responses, 0,
		  "],\"stream\":true,\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"reasoning\":{\"effort\":\"xhigh\","
		  "\"summary\":\"auto\"},\"max_output_tokens\":100,\"parallel_tool_calls\":true}" },
		{ &form_responses, WIRE_NO_REASONING | CHAT_NO_LIMIT | CHAT_NO_PARALLEL_CALLS,
		  "],\"stream\":true,\"store\":false}" },
		{ &form_gemini, 0,
		  "],\"generationConfig\":{\"maxOutputTokens\":100,\"thinkingConfig\":{\"includeThoughts\":true,\"thinkingLevel\":"
		  "\"high\"}}}" },
		{ &form_gemini, GEMINI_BUDGET,
		  "\"thinkingConfig\":{\"includeThoughts\":true,\"thinkingBudget\":24576}}}" },
		{ &form_gemini, WIRE_NO_REASONING, "],\"generationConfig\":{\"maxOutputTokens\":100}}" },
	};
	static const char *const blocks[] = { "u" TEXT("a"), NULL };
	AUTO_BUF struct buf sent = { 0 };
	struct stage s;
	stage_init(&s, blocks, 1);
	struct head *head = make_head(&s.pool, tools, STR("be good"), "max");

	for (size_t i = 0; i < COUNT_OF(endings); i++) {
		read_all(&sent, endings[i].form, head, &s.t, STR(""), endings[i].quirks, 4096);
		const struct wire_name *name = wire_head(endings[i].form, head)->names;
		CHECK(str_ends(buf_str(&sent), str_from(endings[i].ending)));
		CHECK(name && name->sent.n <= 64 && str_has(buf_str(&sent), name->sent));
		CHECK(str_has(
			buf_str(&sent),
			STR("\"properties\":{\"p\":{\"enum\":[1]},\"q\":{\"description\":\"(pattern: x)\",\"items\":{}},"
			    "\"r\":{\"anyOf\":[{\"type\":\"string\",\"enum\":[\"a\"]},{\"type\":\"number\"}]},"
			    "\"s\":{\"description\":\"count (minimum: 1, maximum: 9)\",\"type\":\"integer\"}}")));
	}
	for (int i = 0; i < TRANSLATIONS; i++)
		CHECK(head->translations[i] && s.t.packed_chunks[0]->translations[i]);
	head_unref(head);
	stage_release(&s);
}

/* Gemini refuses a reference with a neighbour, and not every server follows one. A server of tools may write them to grow without end. */
TEST(a_schema_becomes_one_that_every_server_takes)
{
	static const struct {
		const char *schema, *sent;
	} schemas[] = {
		{ "{'$ref':'#/definitions/In','definitions':{'In':{'type':'object','properties':{'a':{'type':'string'}},'required':['a']}}}",
		  "{'type':'object','properties':{'a':{'type':'string'}},'required':['a']}" },
		{ "{'properties':{'c':{'$ref':'#/$defs/a~1b','description':'mine','type':'object'},'d':{'$ref':'#/$defs/a~1b'}},"
		  "'$defs':{'a/b':{'description':'its','enum':['x'],'const':'x'}}}",
		  "{'type':'object','properties':{'c':{'description':'mine','enum':['x']},'d':{'description':'its','enum':['x']}}}" },
		{ "{'properties':{'a':{'anyOf':[{'type':'null'},{'type':'string'}]},'b':{'type':'array','items':{'$ref':'#/properties/a/anyOf/1'}}}}",
		  "{'type':'object','properties':{'a':{'anyOf':[{'type':'null'},{'type':'string'}]},'b':{'type':'array','items':{'type':'string'}}}}" },
		{ "{'title':'T','x-order':1,'not':{},'properties':{'a':{'not':{'type':'null'},'examples':['x'],'type':'string'},"
		  "'b':{'if':{},'then':{},'patternProperties':{'x':{}},'readOnly':true}}}",
		  "{'type':'object','title':'T','properties':{'a':{'type':'string'},'b':{}}}" },
		{ "{'properties':{'t':{'$ref':'#/$defs/T'},'r':{'$ref':'#'},'x':{'$ref':'other.json','description':'far'},'y':{'$ref':'#/$defs/No'}},"
		  "'$defs':{'T':{'type':'object','properties':{'next':{'$ref':'#/$defs/T'}}}}}",
		  "{'type':'object','properties':{'t':{'type':'object','properties':{'next':{}}},'r':{},'x':{'description':'far'},'y':{}}}" },
		/* OpenAI: "array schema missing items". Kimi: "required property 'z' is not defined in properties" */
		{ "{'properties':{'a':{'type':'array'},'b':{'type':['array','null'],'minItems':1},'c':{'anyOf':[{'type':'array'},{'items':{'type':'number'}}],"
		  "'type':'array'},'d':{'type':'array','prefixItems':[{'type':'string'}]},'items':{'type':'string'}},'required':['a','z','items']}",
		  "{'type':'object','properties':{'a':{'type':'array','items':{}},'b':{'description':'(minItems: 1)','type':['array','null'],'items':{}},"
		  "'c':{'anyOf':[{'type':'array','items':{}},{'type':'array','items':{'type':'number'}}]},'d':{'type':'array','prefixItems':[{'type':'string'}]},"
		  "'items':{'type':'string'}},'required':['a','items']}" },
		{ "{'properties':{'a':{'anyOf':[{'required':['b']},{'properties':{'c':{}},'required':['c','d',7]}]}},'required':true}",
		  "{'type':'object','properties':{'a':{'anyOf':[{'required':[]},{'properties':{'c':{}},'required':['c']}]}},'required':[]}" },
	};
	static const char *const blocks[] = { "u" TEXT("a"), NULL };
	AUTO_BUF struct buf sent = { 0 }, tool = { 0 }, expected = { 0 };
	struct stage s;

	for (size_t i = 0; i <= COUNT_OF(schemas); i++) {
		bool grows = i == COUNT_OF(schemas);
		buf_clear(&tool);
		buf_addf(&tool, "{'name':'t','input_schema':%s",
			 grows ? "{'properties':{'a':{'$ref':'#/$defs/0'}},'$defs':{" : schemas[i].schema);
		for (unsigned k = 0; grows && k < 40; k++)
			buf_addf(&tool, "'%u':{'properties':{'l':{'$ref':'#/$defs/%u'},'r':{'$ref':'#/$defs/%u'}}},", k,
				 k + 1, k + 1);
		buf_addstr(&tool, grows ? "'40':{}}}}" : "}");
		for (char *c = tool.p; *c; c++)
			*c = *c == '\'' ? '"' : *c;
		stage_init(&s, blocks, 1);
		struct head *head = make_head(&s.pool, (const char *const[]){ tool.p, NULL }, STR("be good"), "max");
		read_all(&sent, &form_gemini, head, &s.t, STR(""), 0, 4096);
		buf_clear(&expected);
		buf_addf(&expected, "\"parametersJsonSchema\":%s}", grows ? "" : schemas[i].sent);
		for (char *c = expected.p; *c; c++)
			*c = *c == '\'' ? '"' : *c;
		CHECK(sent.n < 200000);
		if (!grows && !str_has(buf_str(&sent), buf_str(&expected)))
			fail_msg("%s: %s", expected.p, sent.p);
		head_unref(head);
		stage_release(&s);
	}
}

int test_forms(void)
{
	return RUN_TESTS(T(each_conversation_has_its_messages_in_each_form),
			 T(each_stream_gives_its_blocks_wherever_it_is_split),
			 T(each_form_has_its_own_translation_and_its_own_ending),
			 T(a_schema_becomes_one_that_every_server_takes));
}
