/* SPDX-License-Identifier: MIT
 * test_fork.c - sessions that were forked from others, and finding the newest session. */
#include <sys/stat.h>
#include "lines.h"
#include "core/store/session_list.h"
#include "core/store/store.h"
#include "stage.h"
#include "test_session.h"

#define A "aaaaaaaa-0000-4000-8000-000000000001"
#define B "bbbbbbbb-0000-4000-8000-000000000002"
#define C "cccccccc-0000-4000-8000-000000000003"

static int load(struct stage *s, const char *name, struct session_load *ret, struct err *err)
{
	return session_load(stage_path(s, name), ret, err);
}

TEST(a_fork_is_its_origin_up_to_a_line_and_then_its_own)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);
	stage_write(&s, A ".jsonl",
		    PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("yo"))
			    CLOSE("3", OF("2"), "m1", "end_turn") PROMPT("4", OF("3"), "later, in the origin only"));
	stage_write(&s, B ".jsonl", FORK("f", A, "3") PROMPT("5", OF("f"), "own"));

	CHECK_INT(load(&s, B ".jsonl", &l, &err), 0);

	CHECK_CSTR(stage_describe(&s, &l), "u:hi, a:yo, u:own; interrupted");
	CHECK_CSTR(l.last, "5");
	session_load_release(&l);
	stage_release(&s);
}

TEST(a_fork_of_a_fork_reaches_the_first_origin)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);
	stage_write(&s, A ".jsonl", PROMPT("1", NONE, "first") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")));
	stage_write(&s, B ".jsonl",
		    FORK("f", A, "2") PROMPT("3", OF("f"), "second") FOREIGN("4", OF("3"), "m2", TEXT_BLOCK("yes")));
	stage_write(&s, C ".jsonl", FORK("g", B, "4"));

	CHECK_INT(load(&s, C ".jsonl", &l, &err), 0);

	CHECK_CSTR(stage_describe(&s, &l), "u:first, a:yo, u:second, a:yes");
	CHECK_CSTR(l.last, "g");
	session_load_release(&l);
	stage_release(&s);
}

TEST(an_open_call_of_the_origin_is_settled_by_the_prompt_of_the_fork)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);
	stage_write(&s, A ".jsonl", PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")));
	stage_write(&s, B ".jsonl", FORK("f", A, "2") PROMPT("3", OF("f"), "own"));

	CHECK_INT(load(&s, B ".jsonl", &l, &err), 0);

	CHECK_CSTR(stage_describe(&s, &l), "u:hi, a:call t1, u:t1=LOST, u:own; interrupted");
	session_load_release(&l);
	stage_release(&s);
}

/* Cut at a message: what came behind it and its results is not of the fork. */
TEST(a_copy_of_the_origin_ends_with_the_conversation)
{
	static const struct {
		const char *until, *conversation;
	} cuts[] = {
		{ "", "u:hi, a:call t1, u:t1=one, u:later; interrupted" },
		{ "2", "u:hi, a:call t1, u:t1=one; interrupted" },
		{ "1", "u:hi; interrupted" },
	};

	for (size_t i = 0; i < COUNT_OF(cuts); i++) {
		struct stage s;
		struct store store;
		struct session_load l;
		struct err err = { 0 };
		stage_init(&s);
		store_init(&store, NULL, stage_path(&s, ""));
		stage_write(&s, A ".jsonl",
			    PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1"))
				    RESULT("3", OF("2"), "t1", "one") PROMPT("4", OF("3"), "later") "{\"to");
		CHECK_INT(session_load_until(stage_path(&s, A ".jsonl"), str_from(cuts[i].until), &l, &err), 0);
		uint64_t bytes = l.bytes;
		session_load_release(&l);
		struct journal *j = journal_new(&store, stage_path(&s, "below/" B ".jsonl"));

		CHECK_INT(journal_begin_with(j, stage_path(&s, A ".jsonl"), bytes, &err), 0);

		CHECK_INT(load(&s, "below/" B ".jsonl", &l, &err), 0);
		CHECK_CSTR(stage_describe(&s, &l), cuts[i].conversation);
		CHECK(!l.repaired && !l.skipped);
		session_load_release(&l);
		CHECK_INT(journal_begin_with(j, stage_path(&s, A ".jsonl"), bytes, &err), -ERR_IO); /* it is there */
		journal_free(j);
		j = journal_new(&store, stage_path(&s, C ".jsonl"));
		CHECK_INT(journal_begin_with(j, stage_path(&s, A ".jsonl"), 1 << 20, &err), -ERR_IO); /* too short */
		CHECK_INT(load(&s, C ".jsonl", &l, &err), -ERR_NOT_FOUND);
		journal_free(j);
		store_release(&store);
		stage_release(&s);
	}
}

static const struct {
	const char *what, *origin, *fork;
	enum err_kind kind;
	const char *says;
} broken[] = {
	{ "no such file", NULL, FORK("f", C, "1"), ERR_NOT_FOUND, "origin" },
	{ "no such line", PROMPT("1", NONE, "hi"), FORK("f", A, "9"), ERR_NOT_FOUND, "origin" },
	{ "a fork of itself", NULL, FORK("f", B, "f"), ERR_LIMIT, "forked from each other" },
	{ "a circle", FORK("1", B, "f"), FORK("f", A, "1"), ERR_LIMIT, "forked from each other" },
	{ "a path in place of an id", NULL, FORK("f", "../../" A, "1"), ERR_PARSE, "not a session id" },
	{ "no origin named", NULL, "{\"type\":\"fork-origin\",\"uuid\":\"f\"}\n", ERR_PARSE, "not a session id" },
};

TEST(a_fork_without_its_origin_is_an_error_that_says_so)
{
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		struct stage s;
		struct session_load l;
		struct err err = { 0 };
		stage_init(&s);
		print_message("# %s\n", broken[i].what);
		if (broken[i].origin)
			stage_write(&s, A ".jsonl", broken[i].origin);
		stage_write(&s, B ".jsonl", broken[i].fork);
		CHECK_INT(load(&s, B ".jsonl", &l, &err), -(int)broken[i].kind);
		CHECK(strstr(err.text, broken[i].says) != NULL);
		stage_release(&s);
	}
}

TEST(the_newest_session_is_the_file_that_changed_last)
{
	struct stage s;
	struct timespec old[2] = { { 1000, 0 }, { 1000, 5 } }, newer[2] = { { 1000, 0 }, { 1000, 6 } };
	stage_init(&s);
	CHECK(session_newest(&s.arena, stage_path(&s, "none")) == NULL);
	CHECK(session_newest(&s.arena, s.dir) == NULL);
	CHECK_INT(utimensat(-1, stage_write(&s, A ".jsonl", "x\n"), newer, 0), 0);
	CHECK_INT(utimensat(-1, stage_write(&s, B ".jsonl", "x\n"), old, 0), 0);
	stage_write(&s, C ".jsonl", "");
	stage_write(&s, "agent-1.jsonl", "x\n");
	stage_write(&s, C ".lock", "x\n");

	CHECK_CSTR(session_newest(&s.arena, s.dir), A);
	stage_release(&s);
}

int test_fork(void)
{
	return RUN_TESTS(T(a_fork_is_its_origin_up_to_a_line_and_then_its_own),
			 T(a_copy_of_the_origin_ends_with_the_conversation),
			 T(a_fork_of_a_fork_reaches_the_first_origin),
			 T(an_open_call_of_the_origin_is_settled_by_the_prompt_of_the_fork),
			 T(a_fork_without_its_origin_is_an_error_that_says_so),
			 T(the_newest_session_is_the_file_that_changed_last));
}
