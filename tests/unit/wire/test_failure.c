/* SPDX-License-Identifier: MIT
 * test_failure.c - which failures are tried again, for how long, and what they are called. */
#include "unit.h"
#include "core/wire/failure.h"
#include "lib/base/utf8.h"
#include "test_wire.h"

enum { GIVES_UP = 1, FIVE = 5, ALWAYS = 1000 };

static const struct {
	enum failure_kind kind;
	int status;
	int64_t retry_after_ms;
	unsigned tries;
	const char *name;
} table[] = {
	{ FAIL_STATUS, 400, -1, GIVES_UP, "invalid_request" },
	{ FAIL_STATUS, 401, -1, GIVES_UP, "authentication_failed" },
	{ FAIL_STATUS, 402, -1, GIVES_UP, "billing_error" },
	{ FAIL_STATUS, 403, -1, GIVES_UP, "authentication_failed" },
	{ FAIL_STATUS, 404, -1, GIVES_UP, "model_not_found" },
	{ FAIL_STATUS, 408, -1, ALWAYS, "server_error" },
	{ FAIL_STATUS, 425, -1, ALWAYS, "server_error" },
	{ FAIL_STATUS, 409, -1, ALWAYS, "server_error" },
	{ FAIL_STATUS, 413, -1, GIVES_UP, "invalid_request" },
	{ FAIL_STATUS, 429, -1, FIVE, "rate_limit" },
	{ FAIL_STATUS, 429, 0, ALWAYS, "rate_limit" },
	{ FAIL_STATUS, 429, 7000, ALWAYS, "rate_limit" },
	{ FAIL_STATUS, 500, -1, ALWAYS, "server_error" },
	{ FAIL_STATUS, 503, -1, ALWAYS, "overloaded" },
	{ FAIL_STATUS, 529, -1, ALWAYS, "overloaded" },
	{ FAIL_STATUS, 301, -1, GIVES_UP, "invalid_request" },
	{ FAIL_EVENT, 529, -1, ALWAYS, "overloaded" },
	{ FAIL_EVENT, 400, -1, GIVES_UP, "invalid_request" },
	{ FAIL_CONNECT, 0, -1, ALWAYS, "server_error" },
	{ FAIL_CUT, 0, -1, ALWAYS, "server_error" },
	{ FAIL_CUT, 200, -1, ALWAYS, "server_error" },
	{ FAIL_STALL, 0, -1, ALWAYS, "server_error" },
	{ FAIL_GARBAGE, 200, -1, 3, "server_error" },
	{ FAIL_TLS, 0, -1, GIVES_UP, "unknown" },
	{ FAIL_TOO_LARGE, 200, -1, GIVES_UP, "unknown" },
	{ FAIL_CANCELLED, 0, -1, GIVES_UP, "unknown" },
};

TEST(each_failure_has_its_name_and_its_number_of_tries)
{
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct failure f = { .kind = table[i].kind,
				     .status = table[i].status,
				     .retry_after_ms = table[i].retry_after_ms };
		CHECK_CSTR(failure_name(&f), table[i].name);
		for (unsigned attempt = 1; attempt < table[i].tries; attempt++)
			CHECK(failure_retry_delay_ms(&f, attempt, 12345) >= 0);
		if (table[i].tries != ALWAYS)
			CHECK_INT(failure_retry_delay_ms(&f, table[i].tries, 12345), -1);
	}
}

TEST(delays_double_up_to_a_limit_with_a_quarter_of_jitter)
{
	static const int64_t base[] = { 500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000 };
	struct failure f = { .kind = FAIL_CUT, .retry_after_ms = -1 };

	for (unsigned attempt = 1; attempt <= COUNT_OF(base); attempt++) {
		int64_t delay = base[attempt - 1];
		CHECK_INT(failure_retry_delay_ms(&f, attempt, 0), delay);
		CHECK_INT(failure_retry_delay_ms(&f, attempt, (uint64_t)delay / 4), delay + delay / 4);
		for (uint64_t random = 1; random; random <<= 3) {
			int64_t got = failure_retry_delay_ms(&f, attempt, random);
			CHECK(got >= delay && got <= delay + delay / 4);
		}
	}
	CHECK(failure_retry_delay_ms(&f, 1000000, UINT64_MAX) <= 40000);
}

TEST(the_servers_time_is_waited_for)
{
	struct failure f = { .kind = FAIL_STATUS, .status = 429, .retry_after_ms = 60000 };

	CHECK_INT(failure_retry_delay_ms(&f, 1, 0), 60000);
	CHECK(failure_retry_delay_ms(&f, 1, UINT64_MAX) <= 60000 + 125);
	CHECK(failure_retry_delay_ms(&f, 9, UINT64_MAX) >= 60000);
}

static const struct {
	int status;
	const char *body, *type, *text;
} bodies[] = {
	{ 529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Over\\u006coaded\"}}",
	  "overloaded_error", "529 overloaded_error: Overloaded" },
	{ 502, "<html>\n<b>Bad Gateway</b>\n</html>", "",
	  "502 a web page answered, of a proxy or a login: Bad Gateway" },
	{ 500, "", "", "500 the server sent no explanation" },
	{ 500, " \n ", "", "500 the server sent no explanation" },
	{ 400, "{\"error\":\"a text\"}", "", "400 a text" },
	{ 400, "{\"error\":7}", "", "400 {\"error\":7}" },
	{ 400, "{\"message\":\"x\"}", "", "400 x" },
	{ 400, "[{\n  \"error\": {\"code\": 400, \"message\": \"bad key\", \"status\": \"INVALID_ARGUMENT\"}\n}]",
	  "INVALID_ARGUMENT", "400 INVALID_ARGUMENT: bad key" },
	{ 422, "{\"object\":\"error\",\"message\":\"no such role\",\"type\":\"invalid_request_message_order\"}",
	  "invalid_request_message_order", "422 invalid_request_message_order: no such role" },
	{ 422, "{\"detail\":\"Not Found\"}", "", "422 Not Found" },
	{ 422, "{\"detail\":[{\"loc\":[\"body\"]}]}", "", "422 [{\"loc\":[\"body\"]}]" },
	{ 400, "{\"errors\":[{\"message\":\"first\"}]}", "", "400 first" },
	{ 401, "{\"success\":false,\"error\":[{\"code\":2009,\"message\":\"Unauthorized\"}]}", "", "401 Unauthorized" },
	{ 500,
	  "{\"error\":{\"message\":\"\\n------\\nWhile executing\\tCall:\\n   ^\\nError: no\",\"type\":\"server_error\"}}",
	  "server_error", "500 server_error: ------ While executing Call: ^ Error: no" },
	{ 400, "{\"message\":[\"a must be a text\"],\"error\":\"Bad Request\",\"statusCode\":400}", "Bad Request",
	  "400 Bad Request: [\"a must be a text\"]" },
	{ 401, "{\"error\":\"invalid_token\",\"error_description\":\"it expired\"}", "invalid_token",
	  "401 invalid_token: it expired" },
	{ 400, "{\"error\":\"x\",\"message\":\"x\"}", "", "400 x" },
	/* OpenRouter: of the server behind it, as JSON in a text, as text, as JSON */
	{ 400,
	  "{\"error\":{\"message\":\"Provider returned error\",\"code\":400,\"metadata\":{\"raw\":\"{\\\"object\\\":\\\"error\\\",\\\"message\\\":"
	  "\\\"no such role\\\"}\",\"provider_name\":\"Mistral\"}}}",
	  "", "400 Provider returned error (Mistral: no such role)" },
	{ 429,
	  "{\"error\":{\"message\":\"Provider returned error\",\"metadata\":{\"raw\":\"m is rate-limited upstream\"}}}",
	  "", "429 Provider returned error (m is rate-limited upstream)" },
	{ 502,
	  "{\"error\":{\"message\":\"Provider returned error\",\"metadata\":{\"raw\":{\"error\":{\"message\":\"deep\"}},\"provider_name\":\"X\"}}}",
	  "", "502 Provider returned error (X: deep)" },
	{ 403, "<html><head><title> Log in </title></head></html>", "",
	  "403 a web page answered, of a proxy or a login: Log in" },
};

TEST(an_error_body_is_told_in_one_line)
{
	for (size_t i = 0; i < COUNT_OF(bodies); i++) {
		struct failure f = { .retry_after_ms = -1 };
		failure_from_body(&f, bodies[i].status, str_from(bodies[i].body), "");
		CHECK_INT(f.kind, FAIL_STATUS);
		CHECK_INT(f.status, bodies[i].status);
		CHECK_CSTR(f.type, bodies[i].type);
		CHECK_CSTR(f.text, bodies[i].text);
	}
}

TEST(an_error_is_told_in_utf8)
{
	static const struct {
		const char *body, *text;
	} rows[] = {
		{ "\xEF\xBB\xBF{\"error\":{\"message\":\"with a mark\"}}", "400 with a mark" },
		{ "caf\xe9 \xff", "400 caf\xef\xbf\xbd \xef\xbf\xbd" },
		{ "{\"message\":\"a\\u0000b\\u001b[31mc\"}", "400 a b [31mc" },
	};
	AUTO_BUF struct buf body = { 0 };
	struct failure f = { .retry_after_ms = -1 };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		failure_from_body(&f, 400, str_from(rows[i].body), "");
		CHECK_CSTR(f.text, rows[i].text);
	}
	for (int i = 0; i < 200; i++) /* three bytes each: the limit is inside of one */
		buf_addstr(&body, i ? "\xe4\xbd\x99" : "a");
	failure_from_body(&f, 400, buf_str(&body), "");
	CHECK(utf8_valid(str_from(f.text)) && strlen(f.text) == 4 + 1 + 297);
	failure_from_page(&f, buf_str(&body), "");
	CHECK(utf8_valid(str_from(f.text)));
}

TEST(a_long_error_body_is_cut)
{
	struct failure f = { .retry_after_ms = -1 };
	AUTO_BUF struct buf body = { 0 };
	for (int i = 0; i < 100000; i++)
		buf_addch(&body, 'x');

	failure_from_body(&f, 500, buf_str(&body), "");

	CHECK_INT(strlen(f.text), 304);
}

TEST(the_type_of_an_error_event_stands_for_a_status)
{
	static const struct {
		const char *type;
		int status;
	} events[] = {
		{ "overloaded_error", 529 },
		{ "rate_limit_error", 429 },
		{ "authentication_error", 401 },
		{ "invalid_request_error", 400 },
		{ "api_error", 500 },
		{ "cyber_policy", 400 },
		{ "misalignment_policy_violation", 400 },
		{ "image_content_policy_violation", 400 },
		{ "invalid_base64_image", 400 },
		{ "image_too_large", 400 },
		{ "never_heard_of", 500 },
		{ "", 500 },
	};

	for (size_t i = 0; i < COUNT_OF(events); i++) {
		struct failure f = { .retry_after_ms = -1 };
		failure_from_event(&f, str_from(events[i].type), STR("why"));
		CHECK_INT(f.kind, FAIL_EVENT);
		CHECK_INT(f.status, events[i].status);
		CHECK(strstr(f.text, "why") != NULL);
		/* A class that is not known is tried three times, not until the deadline. */
		bool known =
			strcmp(events[i].type, "api_error") == 0 || strcmp(events[i].type, "overloaded_error") == 0;
		if (events[i].status >= 500) {
			CHECK(failure_retry_delay_ms(&f, 2, 0) >= 0);
			CHECK_INT(failure_retry_delay_ms(&f, 3, 0) >= 0, known);
		}
	}
}

TEST(another_model_helps_where_this_one_is_overloaded_or_missing)
{
	static const struct {
		enum failure_kind kind;
		int status;
		unsigned attempt;
		bool helps;
	} rows[] = {
		{ FAIL_STATUS, 404, 1, true },  { FAIL_STATUS, 529, 2, false }, { FAIL_STATUS, 529, 3, true },
		{ FAIL_EVENT, 529, 3, true },   { FAIL_STATUS, 500, 9, false }, { FAIL_STATUS, 429, 9, false },
		{ FAIL_STATUS, 401, 1, false }, { FAIL_CONNECT, 0, 9, false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .kind = rows[i].kind, .status = rows[i].status, .retry_after_ms = -1 };
		CHECK_INT(failure_is_model_unavailable(&f, rows[i].attempt), rows[i].helps);
	}
}

TEST(a_conversation_that_is_too_long_is_told_from_other_bad_requests)
{
	static const struct {
		int status;
		const char *body;
		bool too_long;
	} rows[] = {
		{ 413, "", true },
		{ 400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 9 > 8\"}}",
		  true },
		{ 400, "{\"error\":{\"message\":\"This model's maximum context length is 8 tokens\"}}", true },
		{ 400, "{\"error\":{\"type\":\"exceed_context_size_error\",\"message\":\"no\"}}", true },
		{ 400, "{\"error\":{\"message\":\"max_tokens: required\"}}", false },
		{ 500, "{\"error\":{\"message\":\"prompt is too long\"}}", true },
		{ 429, "{\"error\":{\"message\":\"prompt is too long\"}}", false },
		{ 401, "", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .retry_after_ms = -1 };
		failure_from_body(&f, rows[i].status, str_from(rows[i].body), "");
		CHECK_INT(failure_is_too_long(&f), rows[i].too_long);
	}
	struct failure cut = { .kind = FAIL_CUT, .status = 413 };
	CHECK(!failure_is_too_long(&cut));
}

int test_failure(void)
{
	return RUN_TESTS(T(each_failure_has_its_name_and_its_number_of_tries),
			 T(delays_double_up_to_a_limit_with_a_quarter_of_jitter), T(the_servers_time_is_waited_for),
			 T(an_error_body_is_told_in_one_line), T(an_error_is_told_in_utf8), T(a_long_error_body_is_cut),
			 T(the_type_of_an_error_event_stands_for_a_status),
			 T(another_model_helps_where_this_one_is_overloaded_or_missing),
			 T(a_conversation_that_is_too_long_is_told_from_other_bad_requests));
}
