/* SPDX-License-Identifier: MIT
 * test_hostile.c - hooks that hang, flood, die, print garbage, do not read or leave others behind. */
#include "unit.h"
#include <poll.h>
#include <sys/syscall.h>
#include "stage.h"
#include "tests.h"

static int pidfd_of(const char *pid)
{
	return (int)syscall(SYS_pidfd_open, (pid_t)atoi(pid), 0);
}

static bool lives(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 0;
}

/* Waits for the event; the limit only keeps a broken build from hanging. Closes pidfd. */
static bool dies(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool dead = pidfd < 0 || poll(&p, 1, 60000) == 1;

	if (pidfd >= 0)
		close(pidfd);
	return dead;
}

TEST(a_guard_that_hangs_ends_at_its_time_limit_and_refuses)
{
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	stage_handler(&st, HOOK_PRE_TOOL_USE,
		      "{\"type\":\"command\",\"command\":\"echo x; sleep 1000\",\"timeout\":7}");

	CHECK_CSTR(
		stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"),
		"ran 1; deny: no end within 7 s; blocked: no end within 7 s; note: PreToolUse:Bash hook (echo x; sleep "
		"1000): no end within 7 s");

	CHECK(strstr(st.log.p, "end cancelled -1\n"));
	stage_release(&st);
}

TEST(without_a_time_limit_the_events_own_holds)
{
	static const struct {
		enum hook_event event;
		const char *limit;
	} table[] = {
		{ HOOK_PRE_TOOL_USE, "no end within 600 s" },
		{ HOOK_USER_PROMPT_SUBMIT, "no end within 30 s" },
		{ HOOK_SESSION_END, "no end within 1.5 s" },
	};
	struct stage st;
	stage_init(&st, LOOP_VIRTUAL_CLOCK);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		stage_command(&st, table[i].event, "sleep 1000");
		CHECK(strstr(stage_run(&st, table[i].event, "x"), table[i].limit));
	}
	stage_release(&st);
}

TEST(the_end_of_a_session_waits_as_long_as_settings_ask_up_to_a_minute)
{
	static const struct {
		const char *handlers, *limit;
		uint64_t session_end_ms;
	} table[] = {
		{ "{\"command\":\"sleep 1000\",\"timeout\":5}", "within 5 s", 0 },
		{ "{\"command\":\"sleep 1000\",\"timeout\":500}", "within 60 s", 0 },
		{ "{\"command\":\"sleep 1000\",\"timeout\":0.5}", "within 0.5 s", 0 },
		{ "{\"command\":\"sleep 1000\"},{\"command\":\"true\",\"timeout\":9}", "within 9 s", 0 },
		{ "{\"command\":\"sleep 1000\",\"timeout\":5}", "within 2 s", 2000 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage st;
		stage_init_with(&st, LOOP_VIRTUAL_CLOCK,
				&(struct hook_engine_options){ .session_end_ms = table[i].session_end_ms });
		stage_handler(&st, HOOK_SESSION_END, table[i].handlers);
		CHECK(strstr(stage_run(&st, HOOK_SESSION_END, "other"), table[i].limit));
		stage_release(&st);
	}
}

TEST(the_time_of_a_sessions_end_runs_for_hooks_that_still_wait_to_be_started)
{
	struct stage st;
	AUTO_BUF struct buf json = { 0 };
	stage_init(&st, LOOP_VIRTUAL_CLOCK);
	for (int i = 0; i < 300; i++)
		buf_addf(&json, "%s{\"type\":\"command\",\"command\":\"sleep\",\"args\":[\"1000\",\"%d\"]}",
			 i ? "," : "", i);
	stage_handler(&st, HOOK_SESSION_END, json.p);

	CHECK(str_starts(str_from(stage_run(&st, HOOK_SESSION_END, "other")), STR("ran 300; note: ")));

	CHECK_INT(st.starts, 256); /* as many as may run at once; the others never did */
	stage_release(&st);
}

TEST(a_hook_that_ignores_sigterm_is_killed)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_STOP,
		      "{\"type\":\"command\",\"command\":\"trap '' TERM; echo $$ >&2; while :; do sleep 1000; done\","
		      "\"timeout\":2}");

	CHECK(strstr(stage_run(&st, HOOK_STOP, ""), "no end within 2 s"));

	CHECK(dies(pidfd_of(st.stderr_text.p)));
	stage_release(&st);
}

/* Of events that do not guard a call, failures are notes. */
TEST(other_hooks_that_fail_refuse_nothing)
{
	static const char *const commands[] = { "kill -9 $$", "kill -TERM $$", "exit 1", "exit 127" };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct stage st;
		stage_init(&st, 0);
		stage_command(&st, HOOK_POST_TOOL_USE, commands[i]);
		stage_command(&st, HOOK_USER_PROMPT_SUBMIT, commands[i]);
		CHECK(!strstr(stage_run(&st, HOOK_POST_TOOL_USE, "Bash"), "blocked"));
		CHECK(!strstr(stage_run(&st, HOOK_USER_PROMPT_SUBMIT, ""), "blocked"));
		stage_release(&st);
	}
}

TEST(a_guard_that_is_killed_refuses)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_PRE_TOOL_USE, "kill -9 $$");

	CHECK_CSTR(
		stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"),
		"ran 1; deny: killed by signal 9; blocked: killed by signal 9; note: PreToolUse:Bash hook (kill -9 $$): "
		"killed by signal 9");
	stage_release(&st);
}

/* A shell stands between: it says by its exit status that what it ran was killed. */
TEST(a_guard_whose_program_is_killed_refuses)
{
	static const char *const commands[] = { "sh -c 'kill -9 $$'; exit $?", "sh -c 'kill -SEGV $$'; exit $?" };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct stage st;
		stage_init(&st, 0);
		stage_command(&st, HOOK_PRE_TOOL_USE, commands[i]);
		CHECK(str_starts(str_from(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash")),
				 STR("ran 1; deny: killed by signal ")));
		stage_command(&st, HOOK_POST_TOOL_USE, commands[i]);
		CHECK(str_starts(str_from(stage_run(&st, HOOK_POST_TOOL_USE, "Bash")), STR("ran 1; note: ")));
		stage_release(&st);
	}
}

/* It begins as JSON, so it is an answer, and nobody knows which. With another exit it has failed as any program may. */
TEST(a_guard_whose_answer_cannot_be_read_refuses)
{
	static const char *const answers[] = {
		"{\"decision\": \"deny\"}",
		"{\"hookSpecificOutput\": {\"permissionDecision\": \"Deny\"}}",
		"{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"permissionDecision\": \"deny\"}}",
		"{\"systemMessage\": 5, \"decision\": \"block\"}",
		"{\"decision\": \"block\"} bye",
		"{} {\"decision\": \"block\"}",
		"{\"decision\": \"block\", \"reason\": \"\\377\"}",
		"{\"decision\": \"block\"",
	};

	for (size_t i = 0; i < COUNT_OF(answers); i++)
		for (int code = 0; code < 2; code++) {
			struct stage st;
			AUTO_BUF struct buf command = { 0 };
			stage_init(&st, 0);
			buf_addf(&command, "printf '%s'; exit %d", answers[i], code);
			stage_command(&st, HOOK_PRE_TOOL_USE, command.p);
			CHECK_INT(strstr(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 1; deny: ") != NULL,
				  code == 0);
			stage_command(&st, HOOK_POST_TOOL_USE, command.p);
			CHECK(!strstr(stage_run(&st, HOOK_POST_TOOL_USE, "Bash"), "blocked"));
			stage_release(&st);
		}
}

TEST(a_guard_whose_answer_is_longer_than_what_is_kept_refuses)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(
		&st, HOOK_PRE_TOOL_USE,
		"printf '{\"reason\": \"'; head -c 3000000 /dev/zero | tr '\\0' x; echo '\", \"decision\": \"block\"}'");

	CHECK(str_starts(str_from(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash")),
			 STR("ran 1; deny: it printed JSON of more")));
	stage_release(&st);
}

TEST(an_answer_behind_a_mark_of_byte_order_counts)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_PRE_TOOL_USE, "printf '\\357\\273\\277{\"decision\": \"block\", \"reason\": \"no\"}'");

	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 1; deny: no; blocked: no");
	stage_release(&st);
}

TEST(garbage_is_repaired_before_anybody_sees_it)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_SESSION_START, "printf 'a\\377\\000b'; printf '\\300' >&2");

	stage_run(&st, HOOK_SESSION_START, "startup");

	CHECK_INT(st.said.n, sizeof("ran 1; context: a\xef\xbf\xbd\0"
				    "b") -
				     1);
	CHECK(!memcmp(st.said.p,
		      "ran 1; context: a\xef\xbf\xbd\0"
		      "b",
		      st.said.n));
	CHECK_STR(buf_str(&st.stderr_text), "\xef\xbf\xbd");
	stage_release(&st);
}

TEST(a_hook_that_prints_much_still_blocks)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_PRE_TOOL_USE, "head -c 3000000 /dev/zero; echo no >&2; exit 2");

	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 1; deny: no; blocked: no");

	CHECK_INT(st.stdout_text.n, HOOK_OUT_LIMIT);
	stage_release(&st);
}

TEST(a_hook_that_floods_without_end_is_killed)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_PRE_TOOL_USE, "echo $$ >&2; cat /dev/zero");

	CHECK_CSTR(
		stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"),
		"ran 1; deny: it printed more than 64 MB and was killed; blocked: it printed more than 64 MB and was killed; note: "
		"PreToolUse:Bash hook (echo $$ >&2; cat /dev/zero): it printed more than 64 MB and was killed");

	CHECK(dies(pidfd_of(st.stderr_text.p)));
	stage_release(&st);
}

TEST(a_hook_that_does_not_read_its_input_is_no_failure)
{
	struct stage st;
	stage_init(&st, 0);
	AUTO_BUF struct buf fields = { 0 };
	buf_addstr(&fields, "{\"tool_input\":\"");
	for (int i = 0; i < 1 << 20; i++)
		buf_addch(&fields, 'x');
	buf_addstr(&fields, "\"}");
	struct hook_event_spec spec = stage_spec(&st, HOOK_PRE_TOOL_USE, "Write");
	spec.fields = buf_str(&fields);

	stage_command(&st, HOOK_PRE_TOOL_USE, "exec <&-; echo no >&2; exit 2");
	stage_fire(&st, &spec);
	loop_run(st.loop);
	CHECK_CSTR(st.said.p, "ran 1; deny: no; blocked: no");
	stage_command(&st, HOOK_PRE_TOOL_USE, "wc -c >&2; exit 2");
	spec.sets = &st.set;
	stage_fire(&st, &spec);
	loop_run(st.loop);
	CHECK(atol(st.stderr_text.p) > 1 << 20);
	stage_release(&st);
}

TEST(what_a_hook_leaves_running_does_not_delay_it_and_dies_with_its_agent)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_STOP, "sleep 1000 & echo $! >&2");

	st.context.agent_id = "a1";
	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 1");
	int of_child = pidfd_of(st.stderr_text.p);
	st.context.agent_id = NULL;
	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 1");
	int of_main = pidfd_of(st.stderr_text.p);

	CHECK(lives(of_child));
	hook_engine_end_agent(st.engine, "s1", "a1");
	CHECK(dies(of_child));
	CHECK(lives(of_main));
	hook_engine_end_agent(st.engine, "s1", NULL);
	CHECK(dies(of_main));
	stage_release(&st);
}

int test_hostile(void)
{
	return RUN_TESTS(
		T(a_guard_that_hangs_ends_at_its_time_limit_and_refuses), T(without_a_time_limit_the_events_own_holds),
		T(the_end_of_a_session_waits_as_long_as_settings_ask_up_to_a_minute),
		T(the_time_of_a_sessions_end_runs_for_hooks_that_still_wait_to_be_started),
		T(a_hook_that_ignores_sigterm_is_killed), T(a_guard_that_is_killed_refuses),
		T(a_guard_whose_program_is_killed_refuses), T(a_guard_whose_answer_cannot_be_read_refuses),
		T(a_guard_whose_answer_is_longer_than_what_is_kept_refuses),
		T(an_answer_behind_a_mark_of_byte_order_counts), T(other_hooks_that_fail_refuse_nothing),
		T(garbage_is_repaired_before_anybody_sees_it), T(a_hook_that_prints_much_still_blocks),
		T(a_hook_that_floods_without_end_is_killed), T(a_hook_that_does_not_read_its_input_is_no_failure),
		T(what_a_hook_leaves_running_does_not_delay_it_and_dies_with_its_agent));
}
