/* SPDX-License-Identifier: MIT
 * test_end_state.c - how a child ended, in the words of each reader; and that the loop knows nothing of children. */
#include "unit.h"
#include <dirent.h>
#include "lib/io/file.h"
#include "agents/agent/agent.h"
#include "tests.h"

enum { STATE_COUNT = AGENT_SUSPENDED + 1, LARGEST_SOURCE = 1 << 20 };

TEST(every_end_of_a_turn_is_an_end_of_a_child)
{
	static const struct {
		enum query_end end;
		enum end_state state;
	} rows[] = {
		{ QUERY_RUNNING, AGENT_RUNNING },      { QUERY_DONE, AGENT_COMPLETED },
		{ QUERY_MAX_TURNS, AGENT_TURN_LIMIT }, { QUERY_MODEL_ERROR, AGENT_FAILED },
		{ QUERY_REFUSED, AGENT_REFUSED },      { QUERY_EMPTY, AGENT_FAILED },
		{ QUERY_CUT_OFF, AGENT_FAILED },       { QUERY_CONTEXT_FULL, AGENT_FAILED },
		{ QUERY_CANCELLED, AGENT_KILLED },     { QUERY_HALTED, AGENT_FAILED },
		{ QUERY_BLOCKED, AGENT_FAILED },       { QUERY_REJECTED, AGENT_FAILED },
		{ QUERY_BUDGET, AGENT_BUDGET },        { QUERY_DISK_ERROR, AGENT_FAILED },
	};

	CHECK_INT(COUNT_OF(rows), QUERY_DISK_ERROR + 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		CHECK_INT(end_state_of(&(struct query){ .end = rows[i].end }), rows[i].state);
}

TEST(a_turn_that_failed_has_a_reason)
{
	static const struct {
		enum query_end end;
		const char *text, *reason;
	} rows[] = {
		{ QUERY_DONE, "left over", "" },
		{ QUERY_MODEL_ERROR, "500 broken", "an API error: 500 broken" },
		{ QUERY_EMPTY, "", "an empty answer of the model" },
		{ QUERY_CUT_OFF, "", "an answer that was cut off at the output limit" },
		{ QUERY_CONTEXT_FULL, "", "a conversation that no longer fits into the model's context" },
		{ QUERY_DISK_ERROR, "no space", "a transcript that cannot be written: no space" },
		{ QUERY_REFUSED, "cyber", "cyber" },
		{ QUERY_BUDGET, "the budget is used up", "the budget is used up" },
		{ QUERY_CANCELLED, "", "" },
		{ QUERY_MAX_TURNS, "", "" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf reason = { 0 };
		struct query q = { .end = rows[i].end };
		snprintf(q.failure.text, sizeof q.failure.text, "%s", rows[i].text);
		end_reason(&reason, &q);
		CHECK_STR(buf_str(&reason), rows[i].reason);
	}
}

TEST(the_name_of_a_state_is_read_back)
{
	for (int i = 0; i < STATE_COUNT; i++) {
		enum end_state state = AGENT_RUNNING;
		CHECK(end_state_parse(str_from(end_states[(enum end_state)i].state), &state));
		CHECK_INT(state, i);
	}
}

TEST(what_is_no_state_is_not_read)
{
	static const char *const names[] = { "", "Completed", "complete", "completed ", "async", "null" };
	enum end_state state = AGENT_BUDGET;

	for (size_t i = 0; i < COUNT_OF(names); i++)
		CHECK(!end_state_parse(str_from(names[i]), &state));
	CHECK(!end_state_parse((struct str){ 0 }, &state));
	CHECK_INT(state, AGENT_BUDGET);
}

TEST(a_notification_has_one_of_three_ends)
{
	for (int i = 0; i < STATE_COUNT; i++) {
		const struct end_state_info *w = &end_states[(enum end_state)i];
		bool alive = i == AGENT_RUNNING || i == AGENT_SUSPENDED;
		bool known =
			!strcmp(w->status, "completed") || !strcmp(w->status, "failed") || !strcmp(w->status, "killed");
		CHECK_INT(known, !alive);
	}
}

TEST(only_a_normal_end_and_the_turn_limit_are_no_errors)
{
	for (int i = AGENT_COMPLETED; i < STATE_COUNT; i++)
		CHECK_INT(end_states[(enum end_state)i].is_error, i != AGENT_COMPLETED && i != AGENT_TURN_LIMIT);
}

TEST(the_loop_does_not_ask_whether_it_runs_a_child)
{
	AUTO_ARENA struct arena a = { 0 };
	DIR *d = opendir(QUERY_FOLDER);
	unsigned files = 0;

	CHECK(d != NULL);
	for (const struct dirent *e; (e = readdir(d));) {
		AUTO_BUF struct buf text = { 0 };
		struct err err = { 0 };
		if (!str_ends(str_from(e->d_name), STR(".c")) && !str_ends(str_from(e->d_name), STR(".h")))
			continue;
		CHECK_INT(file_read(path_join(&a, QUERY_FOLDER, e->d_name), LARGEST_SOURCE, &text, &err), 0);
		if (str_has(buf_str(&text), STR("is_subagent")) || str_has(buf_str(&text), STR("subagent/")))
			fail_msg("%s speaks of subagents", e->d_name);
		files++;
	}
	closedir(d);
	CHECK(files >= 5);
}

int test_end_state(void)
{
	return RUN_TESTS(T(every_end_of_a_turn_is_an_end_of_a_child), T(a_turn_that_failed_has_a_reason),
			 T(the_name_of_a_state_is_read_back), T(what_is_no_state_is_not_read),
			 T(a_notification_has_one_of_three_ends), T(only_a_normal_end_and_the_turn_limit_are_no_errors),
			 T(the_loop_does_not_ask_whether_it_runs_a_child));
}
