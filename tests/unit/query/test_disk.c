/* SPDX-License-Identifier: MIT
 * test_disk.c - the disk is full at each line of a turn: the turn ends with an error, the file holds whole lines only,
 * and the conversation can go on once there is room. */
#include <signal.h>
#include <sys/resource.h>
#include "lib/io/file.h"
#include "stage.h"
#include "test_query.h"

static const struct reply turn[] = {
	{ .stream = ANSWER("m1", TEXT("look") CALL("t1", "Read", "{\"ms\":5}") CALL("t2", "Write", "{\"ms\":5}"),
			   "tool_use"),
	  .gap_ms = 10 },
	{ .status = 529, .stream = "" },
	{ .stream = ANSWER("m2", TEXT("half"), "max_tokens") },
	{ .stream = SAYS("m3", "done") },
	{ .stream = SAYS("m9", "fine") },
};

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static size_t read_lines(const char *path, struct buf *text, size_t ends[], size_t most)
{
	struct err err = { 0 };
	size_t count = 0;

	buf_clear(text);
	CHECK_INT(file_read(path, 1 << 20, text, &err), 0);
	for (size_t i = 0; i < text->n; i++)
		if (text->p[i] == '\n' && count < most)
			ends[count++] = i + 1;
	return count;
}

/* Files cannot grow past `room` bytes; `extra` more make the write short. The prompt is written before. */
static void run_with_room(struct stage *s, rlim_t room)
{
	struct agent *a = stage_agent(s);

	stage_prompt(a, "hi");
	query_notice(&a->q, NULL, STR("a notice"));
	limit_files(room);
	loop_run(s->loop);
	limit_files(RLIM_INFINITY);
	CHECK_INT(a->ends, 1);
}

TEST(every_line_of_a_turn_may_be_the_one_that_does_not_fit)
{
	AUTO_BUF struct buf text = { 0 };
	size_t ends[32], now[32];
	struct stage whole;
	stage_init(&whole, turn, COUNT_OF(turn));
	run_with_room(&whole, RLIM_INFINITY);
	CHECK_INT(whole.q->end, QUERY_DONE);
	size_t count = read_lines(whole.path, &text, ends, COUNT_OF(ends));
	/* prompt, notice, 3 blocks, 2 results, block, go on, block */
	CHECK_INT(count, 10);
	stage_check_disk(&whole);
	stage_release(&whole);

	for (size_t fits = 1; fits < count; fits++) {
		for (rlim_t extra = 0; extra < 100; extra += 99) {
			struct stage s;
			stage_init(&s, turn, COUNT_OF(turn));
			run_with_room(&s, ends[fits - 1] + extra);
			CHECK_INT(s.q->end, QUERY_DISK_ERROR);
			CHECK(strstr(s.q->failure.text, "cannot write") != NULL);
			CHECK_INT(read_lines(s.path, &text, now, COUNT_OF(now)), fits);
			CHECK_INT(text.n, ends[fits - 1]);
			(void)stage_transcript(&s, s.q);
			CHECK_INT(s.model.playing, 0);
			CHECK_INT(s.model.endpoint.governor.in_flight, 0);

			s.model.asked = 4;
			stage_prompt(&s.agents[0], "go on");
			loop_run(s.loop);
			CHECK_INT(s.q->end, QUERY_DONE);
			struct session_load l;
			struct err err = { 0 };
			CHECK_INT(session_load(s.path, &l, &err), 0);
			CHECK_INT(l.call_count, 0);
			CHECK(!l.interrupted);
			session_load_release(&l);
			stage_release(&s);
		}
	}
}

TEST(a_prompt_that_cannot_be_written_is_refused)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s, turn, COUNT_OF(turn));
	struct agent *a = stage_agent(&s);
	struct segment *block = segment_text(STR("hi"));

	limit_files(0);
	int status = query_add_user(&a->q, &block, 1, false, &err);
	limit_files(RLIM_INFINITY);

	CHECK_INT(status, -ERR_IO);
	CHECK_INT(transcript_count(&a->q.transcript), 0);
	stage_release(&s);
}

TEST(a_cancel_on_a_full_disk_ends_the_turn_all_the_same)
{
	STAGE(s, { .stream = ANSWER("m1", CALL("t1", "Write", "{\"ms\":-1}"), "tool_use") });
	struct agent *a = stage_agent(&s);
	AUTO_BUF struct buf text = { 0 };
	size_t ends[8];
	stage_prompt(a, "hi");
	loop_run(s.loop);
	CHECK_INT(read_lines(s.path, &text, ends, COUNT_OF(ends)), 2);

	limit_files(text.n);
	stage_after(&s, 10, query_cancel);
	limit_files(RLIM_INFINITY);

	CHECK_INT(a->ends, 1);
	CHECK_INT(s.q->end, QUERY_CANCELLED);
	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, a:call t1, u:t1=cancelled");
	stage_release(&s);
}

TEST(a_notice_that_cannot_be_written_waits_for_the_next_request)
{
	STAGE(s, { .stream = SAYS("m1", "seen") });
	struct agent *a = stage_agent(&s);
	AUTO_BUF struct buf text = { 0 };
	size_t ends[8];
	stage_prompt(a, "hi");
	query_notice(&a->q, NULL, STR("a child has ended"));
	CHECK_INT(read_lines(s.path, &text, ends, COUNT_OF(ends)), 1);
	limit_files(text.n);
	loop_run(s.loop);
	limit_files(RLIM_INFINITY);
	CHECK_INT(s.q->end, QUERY_DISK_ERROR);

	stage_prompt(a, "go on");
	loop_run(s.loop);

	CHECK_CSTR(stage_transcript(&s, s.q), "u:hi, u:go on, u:a child has ended, a:seen");
	stage_check_disk(&s);
	stage_release(&s);
}

int test_disk(void)
{
	return RUN_TESTS(T(a_notice_that_cannot_be_written_waits_for_the_next_request),
			 T(every_line_of_a_turn_may_be_the_one_that_does_not_fit),
			 T(a_prompt_that_cannot_be_written_is_refused),
			 T(a_cancel_on_a_full_disk_ends_the_turn_all_the_same));
}
