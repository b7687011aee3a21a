/* SPDX-License-Identifier: MIT
 * test_call.c - around one request: headers, the reason that counts in the end, heads, and the table of providers. */
#include "unit.h"
#include "lib/base/id.h"
#include "core/model/head_json.h"
#include "core/model/provider.h"
#include "test_model.h"

static void note_block(void *data, struct segment *block)
{
	(void)data;
	segment_unref(block);
}

static void count_done(struct model_call *call)
{
	++*(int *)call->owner;
}

static const struct answer_sink sink = { note_block, NULL, NULL };

struct stage {
	struct model_call call;
	int done;
};

static void stage_init(struct stage *s)
{
	*s = (struct stage){
		.call = { .sink = &sink, .on_done = count_done, .failure.retry_after_ms = -1, .running = true }
	};
	s->call.owner = &s->done;
	answer_init(&s->call.answer, &sink, s);
}

#define WHOLE                                                                     \
	"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\ndata: " \
	"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
#define HALF       "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"
#define WRONG      "data: oops\n\n"
#define OVERLOADED "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n"

static const struct {
	const char *what;
	int status;
	bool is_stream;
	const char *bytes;
	enum failure_kind transport, expected;
} ends[] = {
	{ "all is well", 200, true, WHOLE, FAIL_NONE, FAIL_NONE },
	{ "reset after the last word", 200, true, WHOLE, FAIL_CUT, FAIL_NONE },
	{ "closed too early", 200, true, HALF, FAIL_NONE, FAIL_CUT },
	{ "an empty stream", 200, true, "", FAIL_NONE, FAIL_GARBAGE },
	{ "reset before the first event", 200, true, "", FAIL_CUT, FAIL_CUT },
	{ "reset", 200, true, HALF, FAIL_CUT, FAIL_CUT },
	{ "stalled", 200, true, HALF, FAIL_STALL, FAIL_STALL },
	{ "never connected", 0, false, "", FAIL_CONNECT, FAIL_CONNECT },
	{ "a status", 503, false, "", FAIL_NONE, FAIL_STATUS },
	{ "a status, then a reset", 429, false, "", FAIL_CUT, FAIL_STATUS },
	{ "no event stream", 200, false, "", FAIL_NONE, FAIL_GARBAGE },
	{ "garbage in the stream, which ends the transfer", 200, true, HALF WRONG, FAIL_CANCELLED, FAIL_GARBAGE },
	{ "an error event", 200, true, HALF OVERLOADED, FAIL_CUT, FAIL_EVENT },
	{ "cancelled", 200, true, HALF, FAIL_CANCELLED, FAIL_CANCELLED },
	{ "too large", 200, true, HALF, FAIL_TOO_LARGE, FAIL_TOO_LARGE },
};

TEST(the_reason_that_says_most_is_the_one_reported)
{
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		struct stage s;
		stage_init(&s);
		s.call.status = ends[i].status;
		s.call.is_stream = ends[i].is_stream;
		s.call.failure.retry_after_ms = 77;
		answer_feed(&s.call.answer, ends[i].bytes, strlen(ends[i].bytes));
		print_message("# %s\n", ends[i].what);

		model_call_finish(&s.call, ends[i].transport, "text of the transport");

		CHECK_INT(s.call.failure.kind, ends[i].expected);
		CHECK_INT(s.call.failure.retry_after_ms, 77);
		CHECK_INT(s.done, 1);
		CHECK(!s.call.running);
		model_call_reset(&s.call);
	}
}

static void header(struct stage *s, const char *name, const char *value)
{
	model_call_header(&s->call, str_from(name), str_from(value));
}

TEST(headers_are_found_in_any_spelling)
{
	struct stage s;
	stage_init(&s);

	header(&s, "Content-Type", "text/event-stream; charset=utf-8");
	header(&s, "Request-Id", "req_1");
	header(&s, "RETRY-AFTER", "1.5");

	CHECK(s.call.is_stream);
	CHECK_CSTR(s.call.request_id, "req_1");
	CHECK_INT(s.call.failure.retry_after_ms, 1500);
	model_call_reset(&s.call);
}

TEST(a_retry_after_that_cannot_be_meant_is_passed_over)
{
	static const char *const values[] = { "-1",           "nan", "inf",  "1e9",
					      "999999999999", "",    "soon", "Wed, 21 Oct 2026 07:28:00 GMT" };

	for (size_t i = 0; i < COUNT_OF(values); i++) {
		struct stage s;
		stage_init(&s);
		header(&s, "retry-after", values[i]);
		CHECK_INT(s.call.failure.retry_after_ms, -1);
		model_call_reset(&s.call);
	}
}

TEST(a_retry_after_may_be_a_date_in_each_form_of_http)
{
	time_t soon = (time_t)(id_wall_ms() / 1000) + 600;
	char texts[4][64], day[32];
	struct tm tm;

	(void)gmtime_r(&soon, &tm);
	(void)strftime(texts[0], sizeof texts[0], "%a, %d %b %Y %H:%M:%S GMT", &tm);
	(void)strftime(day, sizeof day, "%A, %d-%b", &tm);
	snprintf(texts[1], sizeof texts[1], "%s-%02d %02d:%02d:%02d GMT", day, tm.tm_year % 100, tm.tm_hour, tm.tm_min,
		 tm.tm_sec);
	(void)strftime(texts[2], sizeof texts[2], "%a %b %e %H:%M:%S %Y", &tm);
	(void)strftime(texts[3], sizeof texts[3], "%Y-%m-%dT%H:%M:%S+00:00", &tm);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct stage s;
		stage_init(&s);
		header(&s, "retry-after", texts[i]);
		CHECK(s.call.failure.retry_after_ms > 300000 && s.call.failure.retry_after_ms <= 600000);
		model_call_reset(&s.call);
	}
}

TEST(a_limit_that_is_used_up_holds_until_its_reset)
{
	static const struct {
		const char *prefix;
	} spellings[] = { { "anthropic-ratelimit-" }, { "Anthropic-Ratelimit-" } };
	char soon[ISO_TIME_LEN + 1];
	id_iso_time(id_wall_ms() + 60000, soon);

	for (size_t i = 0; i < COUNT_OF(spellings); i++) {
		struct stage s;
		char remaining[64], reset[64], other[64];
		stage_init(&s);
		snprintf(remaining, sizeof remaining, "%srequests-remaining", spellings[i].prefix);
		snprintf(reset, sizeof reset, "%srequests-reset", spellings[i].prefix);
		snprintf(other, sizeof other, "%stokens-remaining", spellings[i].prefix);
		header(&s, other, "17");
		header(&s, reset, soon);
		CHECK_INT(s.call.hold_ms, 0);
		header(&s, remaining, "0");
		header(&s, reset, soon);
		CHECK(s.call.hold_ms > 50000 && s.call.hold_ms <= 60000);
		model_call_reset(&s.call);
	}
}

TEST(a_reset_in_the_past_or_without_a_time_holds_nothing)
{
	static const char *const values[] = { "2001-01-01T00:00:00Z", "soon", "" };

	for (size_t i = 0; i < COUNT_OF(values); i++) {
		struct stage s;
		stage_init(&s);
		header(&s, "anthropic-ratelimit-tokens-remaining", "0");
		header(&s, "anthropic-ratelimit-tokens-reset", values[i]);
		CHECK_INT(s.call.hold_ms, 0);
		model_call_reset(&s.call);
	}
}

TEST(a_head_ends_where_the_messages_begin)
{
	const char *const tools[] = { "{\"name\":\"Read\"}", "{\"name\":\"Write\"}", NULL };
	AUTO_BUF struct buf full = { 0 };
	AUTO_BUF struct buf bare = { 0 };

	head_write(&full, &(struct head_spec){
				  .model = "m", .max_tokens = 100, .system = STR("be \"good\""), .tools = tools });
	head_write(&bare, &(struct head_spec){ .model = "m", .max_tokens = 100 });

	CHECK_CSTR(full.p, "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"tools\":[{\"name\":\"Read\"},{"
			   "\"name\":\"Write\"}],"
			   "\"system\":[{\"type\":\"text\",\"text\":\"be "
			   "\\\"good\\\"\",\"cache_control\":{\"type\":\"ephemeral\"}}],"
			   "\"messages\":[");
	CHECK_CSTR(bare.p, "{\"model\":\"m\",\"max_tokens\":100,\"stream\":true,\"messages\":[");
}

TEST(what_only_a_head_knows_can_be_read_from_it)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf full = { 0 };
	AUTO_BUF struct buf bare = { 0 };
	head_write(&full, &(struct head_spec){
				  .model = "m", .max_tokens = 9, .system = STR("be \"good\"\n"), .effort = "low" });
	head_write(&bare, &(struct head_spec){ .model = "m", .max_tokens = 9, .task_budget = 5 });

	struct head_texts of_full = head_read(&arena, buf_str(&full));
	struct head_texts of_bare = head_read(&arena, buf_str(&bare));

	CHECK_STR(of_full.system, "be \"good\"\n");
	CHECK_CSTR(of_full.effort, "low");
	CHECK_INT(of_bare.system.n, 0);
	CHECK(!of_bare.effort);
}

TEST(providers_are_found_by_name)
{
	CHECK_CSTR(provider_find(NULL, STR("anthropic"))->name, "anthropic");
	CHECK_CSTR(provider_find(NULL, STR("scripted"))->name, "scripted");
	CHECK(!provider_find(NULL, STR("other")));
	for (size_t i = 0; provider_table[i]; i++)
		CHECK(provider_table[i]->open && provider_table[i]->close && provider_table[i]->start &&
		      provider_table[i]->cancel);
}

TEST(without_a_key_the_anthropic_provider_says_what_it_looked_at)
{
	struct endpoint *e;
	struct err err = { 0 };

	CHECK_INT(provider_anthropic.open(&provider_anthropic, &(struct endpoint_options){ 0 }, &e, &err), -ERR_USAGE);
	CHECK(strstr(err.text, "ANTHROPIC_API_KEY") && strstr(err.text, "ANTHROPIC_AUTH_TOKEN"));
}

int test_call(void)
{
	return RUN_TESTS(
		T(the_reason_that_says_most_is_the_one_reported), T(headers_are_found_in_any_spelling),
		T(a_retry_after_that_cannot_be_meant_is_passed_over),
		T(a_retry_after_may_be_a_date_in_each_form_of_http), T(a_limit_that_is_used_up_holds_until_its_reset),
		T(a_reset_in_the_past_or_without_a_time_holds_nothing), T(a_head_ends_where_the_messages_begin),
		T(what_only_a_head_knows_can_be_read_from_it), T(providers_are_found_by_name),
		T(without_a_key_the_anthropic_provider_says_what_it_looked_at));
}
