/* SPDX-License-Identifier: MIT
 * test_fault.c - every fault's plan, and the limits on load. */
#include "stage.h"

TEST(a_status_has_its_type_text_and_headers)
{
	struct stage s;
	stage_open(&s, "rule\nnth 1\nstatus 429 rate_limit_error \"slow down\"\nheader retry-after: 7\n"
		       "header anthropic-ratelimit-requests-remaining: 0\nrule\nstatus 529\n");

	stage_prompt(&s, "x");
	stage_play(&s);
	CHECK_INT(stage_status(&s), 429);
	CHECK(strstr(s.bytes.p, "\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}"));
	CHECK_CSTR(reply_head(s.reply)->headers[1], "retry-after: 7");
	CHECK_CSTR(reply_head(s.reply)->headers[2], "anthropic-ratelimit-requests-remaining: 0");
	CHECK(!reply_head(s.reply)->headers[3]);
	stage_prompt(&s, "x");
	stage_play(&s);
	CHECK_INT(stage_status(&s), 529);
	CHECK(strstr(s.bytes.p, "overloaded_error"));
	stage_close(&s);
}

TEST(a_stream_is_cut_or_stalls_at_its_place)
{
	static const struct {
		const char *fault, *trail, *tail; /* how the bytes end; NULL: there are none */
	} cases[] = {
		{ "cut at byte 0", "CUT ", NULL },
		{ "stall at byte 0", "STALL ", NULL },
		{ "cut at byte 22", "BYTES CUT ", "event: message_start\nd" },
		{ "stall at byte 22", "BYTES STALL ", "event: message_start\nd" },
		{ "cut after event 2", "BYTES CUT ", "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" },
		{ "stall after event 4", "BYTES STALL ", "\"content_block_stop\",\"index\":0}\n\n" },
		{ "cut after call 1", "BYTES CUT ", "\"content_block_stop\",\"index\":1}\n\n" },
		{ "cut at byte 99999", "BYTES END ", "{\"type\":\"message_stop\"}\n\n" },
		{ "error overloaded_error \"busy\" after event 3", "BYTES END ",
		  "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf text = { 0 };
		struct stage s;
		buf_addf(&text, "rule\ntext a\ncall Read {\"a\":1}\ncall Read {\"a\":2}\n%s\n", cases[i].fault);
		stage_open(&s, text.p);

		stage_prompt(&s, "x");
		stage_play(&s);

		CHECK_CSTR(s.trail.p, cases[i].trail);
		CHECK_INT(s.bytes.n > 0, cases[i].tail != NULL);
		if (cases[i].tail && !str_ends(buf_str(&s.bytes), str_from(cases[i].tail)))
			fail_msg("%s: %s", cases[i].fault, s.bytes.p);
		stage_close(&s);
	}
}

TEST(a_message_without_stream_is_cut_in_its_middle)
{
	struct stage s;
	stage_open(&s, "rule\ntext a\ncut after event 2\n");

	stage_ask(&s, request_with("{\"role\":\"user\",\"content\":\"x\"}", ",\"stream\":false"));
	stage_play(&s);

	CHECK_CSTR(s.trail.p, "BYTES CUT ");
	CHECK(s.bytes.n > 50 && s.bytes.p[s.bytes.n - 1] != '}');
	stage_close(&s);
}

TEST(a_drip_is_one_byte_a_step_and_changes_no_byte)
{
	AUTO_BUF struct buf whole = { 0 };
	struct stage s;
	size_t steps = 0;

	stage_open(&s, "rule\ntext a\n");
	stage_prompt(&s, "x");
	stage_read(&s, &whole);
	size_t n = s.bytes.n;
	stage_close(&s);
	stage_open(&s, "rule\ntext a\ndrip 2\n");
	stage_prompt(&s, "x");
	stage_play(&s);

	for (const char *p = s.trail.p; (p = strstr(p, "BYTES")); p++)
		steps++;
	CHECK_INT(steps, n);
	CHECK(str_starts(buf_str(&s.trail), STR("BYTES (2) BYTES (2) ")));
	CHECK(str_ends(buf_str(&s.bytes), STR("message_stop\"}\n\n")));
	stage_close(&s);
}

TEST(garbage_has_its_size_and_is_no_text)
{
	struct stage s;
	stage_open(&s, "rule\ngarbage 100001\n");

	stage_prompt(&s, "x");
	stage_play(&s);

	CHECK_INT(stage_status(&s), 200);
	CHECK_INT(s.bytes.n, 100001);
	CHECK(memchr(s.bytes.p, 0, s.bytes.n));
	CHECK_STR(reply_head(s.reply)->content_type, "text/event-stream; charset=utf-8");
	stage_close(&s);
}

TEST(a_body_and_a_content_type_replace_the_answer)
{
	struct stage s;
	stage_open(&s, "rule\nstatus 502\ncontent-type text/html\nbody <h1>Bad gateway</h1>\n");

	stage_prompt(&s, "x");
	stage_play(&s);

	CHECK_INT(stage_status(&s), 502);
	CHECK_STR(reply_head(s.reply)->content_type, "text/html");
	CHECK_STR(buf_str(&s.bytes), "<h1>Bad gateway</h1>");
	stage_close(&s);
}

TEST(filler_comes_in_small_events_and_a_line_in_one)
{
	size_t longest[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		struct stage s;
		stage_open(&s, i ? "rule\nline 1MB\n" : "rule\nfiller 1MB\n");
		stage_prompt(&s, "x");
		stage_play(&s);
		for (struct str rest = buf_str(&s.bytes); rest.p;) {
			size_t n = str_cut(&rest, '\n').n;
			longest[i] = MAX(longest[i], n);
		}
		CHECK(s.bytes.n > 1 << 20);
		stage_close(&s);
	}

	CHECK(longest[0] > 4096 && longest[0] < 5000);
	CHECK(longest[1] > 1 << 20);
}

TEST(pings_come_between_the_events)
{
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	size_t pings = 0;
	stage_open(&s, "ping 2\nrule\ntext a\n");

	stage_prompt(&s, "x");
	stage_read(&s, &out);

	for (const char *p = s.bytes.p; (p = strstr(p, "event: ping\ndata: {\"type\":\"ping\"}\n\n")); p++)
		pings++;
	CHECK_INT(pings, 3);
	CHECK_STR(buf_str(&out), "text(a) end_turn");
	stage_close(&s);
}

TEST(more_in_flight_than_the_capacity_get_429_until_one_is_over)
{
	struct stage s;
	struct reply *held[2];
	stage_open(&s, "capacity 2\nretry-after 4\nrule\ntext a\n");

	for (int i = 0; i < 2; i++) {
		stage_prompt(&s, "x");
		held[i] = s.reply;
		s.reply = NULL;
	}
	stage_prompt(&s, "x");
	CHECK_INT(stage_status(&s), 429);
	CHECK_CSTR(reply_head(s.reply)->headers[1], "retry-after: 4");
	reply_free(held[0]);
	stage_prompt(&s, "x");
	CHECK_INT(stage_status(&s), 200);

	CHECK_INT(stage_stat(&s, "limited"), 1);
	CHECK_INT(stage_stat(&s, "in_flight"), 2);
	CHECK_INT(stage_stat(&s, "in_flight_max"), 2);
	reply_free(held[1]);
	stage_close(&s);
}

TEST(more_a_second_than_the_rate_get_429)
{
	int good[3] = { 0 };
	struct stage s;
	stage_open(&s, "rate 10\nrule\ntext a\n");

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++) {
			stage_prompt(&s, "x");
			good[round] += stage_status(&s) == 200;
		}
		s.now_ms += round ? 5000 : 500;
	}

	CHECK_INT(good[0], 10);
	CHECK_INT(good[1], 5);
	CHECK_INT(good[2], 10);
	stage_close(&s);
}

TEST(a_reset_forgets_the_counts_but_not_what_is_in_flight)
{
	struct stage s;
	stage_open(&s, "rule\nnth 1\ntext first\nrule\ntext later\n");
	stage_prompt(&s, "x");

	engine_reset(s.engine);

	CHECK_INT(stage_stat(&s, "requests"), 0);
	CHECK_INT(stage_stat(&s, "in_flight"), 1);
	stage_prompt(&s, "x");
	stage_play(&s);
	CHECK(strstr(s.bytes.p, "first"));
	stage_close(&s);
}

int fault_tests(void)
{
	return RUN_TESTS(
		T(a_status_has_its_type_text_and_headers), T(a_stream_is_cut_or_stalls_at_its_place),
		T(a_message_without_stream_is_cut_in_its_middle), T(a_drip_is_one_byte_a_step_and_changes_no_byte),
		T(garbage_has_its_size_and_is_no_text), T(a_body_and_a_content_type_replace_the_answer),
		T(filler_comes_in_small_events_and_a_line_in_one), T(pings_come_between_the_events),
		T(more_in_flight_than_the_capacity_get_429_until_one_is_over), T(more_a_second_than_the_rate_get_429),
		T(a_reset_forgets_the_counts_but_not_what_is_in_flight));
}
