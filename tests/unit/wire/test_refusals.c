/* SPDX-License-Identifier: MIT
 * test_refusals.c - how servers say no: refusals.txt has the words of each, and what they have to mean here. */
#include "unit.h"
#include "core/model/http_endpoint.h"
#include "core/wire/failure.h"
#include "lib/io/file.h"
#include "test_wire.h"

enum { LEAST_LINES = 60, LEAST_SERVERS = 20 };

/* The next field of a line: "server | status | ..." */
static struct str next_field(struct str *line)
{
	const char *end = memmem(line->p, line->n, " | ", 3);
	struct str field = { line->p, end ? (size_t)(end - line->p) : line->n };

	*line = end ? (struct str){ end + 3, line->n - field.n - 3 } : STR("");
	return field;
}

static void check_tries(const struct failure *f, struct str tries)
{
	int64_t n = 0;

	if (str_is(tries, "again")) {
		CHECK(failure_retry_delay_ms(f, 1000, 0) >= 0);
		return;
	}
	CHECK(str_to_i64(tries, &n));
	CHECK_INT(failure_retry_delay_ms(f, (unsigned)n, 0), -1);
	CHECK(n == 1 || failure_retry_delay_ms(f, (unsigned)n - 1, 0) >= 0);
}

TEST(each_servers_words_mean_what_they_should)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf file = { 0 };
	AUTO_BUF struct buf servers = { 0 };
	unsigned lines = 0, server_count = 0;
	CHECK_INT(file_read(REFUSALS, 1 << 20, &file, NULL), 0);

	for (struct str rest = buf_str(&file), line; rest.p && (line = str_cut(&rest, '\n')).p;) {
		struct failure f = { .retry_after_ms = -1 };
		int64_t status = 0, number = 0;
		if (!line.n || line.p[0] == '#')
			continue;
		print_message("# " STR_FMT "\n", STR_ARG(line));
		struct str server = next_field(&line), code = next_field(&line), name = next_field(&line);
		struct str what = next_field(&line), tries = next_field(&line), limit = next_field(&line);
		CHECK(str_to_i64(code, &status) && (str_is(limit, "-") || str_to_i64(limit, &number)));
		const char *key = arena_printf(&a, "\n" STR_FMT "\n", STR_ARG(server));
		server_count += !str_has(buf_str(&servers), str_from(key));
		buf_addstr(&servers, key);
		lines++;

		AUTO_BUF struct buf body = { 0 };
		buf_append(&body, line);
		failure_drop_echo(&body); /* as the endpoint does */
		line = buf_str(&body);
		failure_from_body(&f, (int)status, line, "");

		CHECK_CSTR(failure_name(&f), arena_str(&a, name).p);
		CHECK_INT(failure_is_too_long(&f), str_is(what, "long"));
		check_tries(&f, tries);
		if (str_is(what, "output"))
			CHECK_INT(refused_limit(line), number);
		else
			CHECK_INT(f.window, number);
		if (!str_is(what, "output"))
			CHECK_INT(refused_limit(line), 0);
	}
	CHECK(lines >= LEAST_LINES && server_count >= LEAST_SERVERS);
}

TEST(the_window_that_a_refusal_names_is_read)
{
	static const struct {
		const char *body;
		int64_t window;
	} rows[] = {
		{ "prompt is too long: 210000 tokens > 200000 maximum", 200000 },
		{ "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", 200000 },
		{ "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 1048576 },
		{ "This model maximum prompt length is 131072 but the request contains 200000 tokens.", 131072 },
		{ "Your request exceeded model token limit: 131072", 131072 },
		{ "prompt token count of 140000 exceeds the limit of 128000", 128000 },
		{ "Range of input length should be [1, 129024]", 129024 },
		{ "`inputs` tokens + `max_new_tokens` must be <= 8193", 8193 },
		{ "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768 },
		{ "the request exceeds the available context size (8192 tokens), try increasing it", 8192 },
		{ "maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, "
		  "4000 in the completion)",
		  8192 },
		{ "maximum context length is 128,000 tokens, you sent 130,500", 128000 },
		{ "the context window has 16384 tokens, the request 20000", 16384 },
		{ "prompt too long; exceeded max context length by 12 tokens", 0 },
		{ "context window exceeds limit", 0 },
		{ "input is longer than the context window: 5000 + 6000 + 7000", 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .retry_after_ms = -1 };
		char body[256];
		snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", rows[i].body);
		print_message("# %s\n", rows[i].body);
		failure_from_body(&f, 400, str_from(body), "");
		CHECK(f.too_long);
		CHECK_INT(f.window, rows[i].window);
	}
}

/* A window of a few tokens, or a wrong class, ends a session. */
TEST(what_only_looks_like_it_is_not_taken_for_a_limit)
{
	static const struct {
		int status;
		const char *body, *name;
		bool too_long;
		int64_t window;
	} rows[] = {
		{ 400,
		  "{\"error\":{\"message\":\"Your input exceeds the context window\"},\"user_id\":\"user_2d1234HFt98765\"}",
		  "invalid_request", true, 0 },
		{ 400, "{\"message\":\"Input is too long\",\"request_id\":\"74801234-9157-1e57-9f2f-4512ab123456\"}",
		  "invalid_request", true, 0 },
		{ 400, "{\"error\":{\"code\":\"1261\",\"message\":\"Prompt exceeds max length: 140000\"}}",
		  "invalid_request", true, 0 },
		{ 400, "{\"code\":20015,\"message\":\"prompt too long at 2026-11-19T04:40:00, 140000\"}",
		  "invalid_request", true, 0 },
		{ 400,
		  "{\"message\":\"the prompt exceeds the context window of the model, which is 131072, by 2048 tokens\"}",
		  "invalid_request", true, 0 },
		{ 400, "{\"message\":\"70000 tokens are above the 65536-token context window\"}", "invalid_request",
		  true, 65536 },
		{ 400, "{\"message\":\"The description of a tool exceeds the limit of 1024 characters\"}",
		  "invalid_request", false, 0 },
		{ 400, "{\"message\":\"The number of images exceeds the limit of 20\"}", "invalid_request", false, 0 },
		{ 429, "{\"message\":\"Slow down. You were not charged any credits.\"}", "rate_limit", false, 0 },
		{ 400, "{\"error\":{\"message\":\"Invalid model_kwargs: top\"}}", "invalid_request", false, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .retry_after_ms = -1 };
		print_message("# %s\n", rows[i].body);
		failure_from_body(&f, rows[i].status, str_from(rows[i].body), "");
		CHECK_CSTR(failure_name(&f), rows[i].name);
		CHECK_INT(f.too_long, rows[i].too_long);
		CHECK_INT(f.window, rows[i].window);
	}
	/* Google's words for a limit per minute, with the time in a header */
	struct failure f = { .retry_after_ms = 26000 };
	failure_from_body(&f, 429, STR("{\"error\":{\"message\":\"You exceeded your current quota\"}}"), "");
	CHECK_CSTR(failure_name(&f), "rate_limit");
}

TEST(a_time_to_wait_is_found_in_the_text)
{
	static const struct {
		const char *body;
		int64_t ms;
	} rows[] = {
		{ "{\"error\":{\"message\":\"Please try again in 11.054s.\"}}", 11054 },
		{ "{\"error\":{\"message\":\"try again in 1m2.5s\"}}", 62500 },
		{ "{\"error\":{\"message\":\"try again in 20ms\"}}", 20 },
		{ "{\"error\":{\"message\":\"retry after 20 seconds\"}}", 20000 },
		{ "{\"error\":{\"message\":\"Try again in 2 minutes.\"}}", 120000 },
		{ "{\"error\":{\"message\":\"try again in 500 ms\"}}", 500 },
		{ "[{\"error\":{\"details\":[{\"retryDelay\": \"13.5s\"}],\"message\":\"x\"}}]", 13500 },
		{ "{\"error\":{\"message\":\"try again in a while\"}}", -1 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure f = { .retry_after_ms = -1 };
		failure_from_body(&f, 429, str_from(rows[i].body), "");
		CHECK_INT(f.retry_after_ms, rows[i].ms);
	}
}

int test_refusals(void)
{
	return RUN_TESTS(T(each_servers_words_mean_what_they_should), T(the_window_that_a_refusal_names_is_read),
			 T(what_only_looks_like_it_is_not_taken_for_a_limit), T(a_time_to_wait_is_found_in_the_text));
}
