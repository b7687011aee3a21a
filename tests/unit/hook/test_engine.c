/* SPDX-License-Identifier: MIT
 * test_engine.c - which hooks run, async ones, cancelling, the end of agents, and what it all costs. */
#include "unit.h"
#include <poll.h>
#include <sys/syscall.h>
#include "stage.h"
#include "tests.h"

TEST(without_a_match_done_comes_all_the_same)
{
	struct stage st;
	stage_init(&st, 0);
	stage_hooks(&st, "{\"PreToolUse\":[{\"matcher\":\"Edit\",\"hooks\":[{\"command\":\"exit 2\"}]}]}");

	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 0");
	CHECK_CSTR(stage_run(&st, HOOK_POST_TOOL_USE, "Edit"), "ran 0");
	stage_release(&st);
}

TEST(the_same_hook_of_several_files_runs_once_but_a_plugins_copy_is_its_own)
{
	const char *text = "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"echo x\"}]}]}";
	AUTO_JSON struct json_reader reader = { 0 };
	struct stage st;
	stage_init(&st, 0);
	struct hook_source sources[] = {
		{ .layer = HOOK_FROM_USER, .file = "u", .trusted = true },
		{ .layer = HOOK_FROM_PROJECT, .file = "p", .trusted = true },
		{ .layer = HOOK_FROM_PLUGIN, .file = "plugin a", .trusted = true },
		{ .layer = HOOK_FROM_PLUGIN, .file = "plugin b", .trusted = true },
	};
	for (size_t i = 0; i < COUNT_OF(sources); i++)
		CHECK_INT(json_parse(&reader, text, strlen(text), &sources[i].hooks, NULL), 0);
	for (size_t i = 0; i < COUNT_OF(sources); i++)
		sources[i].hooks = sources[COUNT_OF(sources) - 1].hooks;
	st.set = hook_set_new(sources, COUNT_OF(sources), NULL, NULL);

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 3");
	stage_release(&st);
}

TEST(the_sets_of_the_session_and_of_the_agent_are_both_asked)
{
	struct hook_source source = { .layer = HOOK_FROM_AGENT, .file = "a.md", .trusted = true, .of_subagent = true };
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_SUBAGENT_STOP, "echo session >&2; exit 2");
	struct hook_set *own = hook_set_parse(
		&source, STR("{\"Stop\":[{\"hooks\":[{\"command\":\"echo own >&2; exit 2\"}]}]}"), NULL, NULL);
	struct hook_set *both[] = { st.set, NULL, own };
	struct hook_event_spec spec = stage_spec(&st, HOOK_SUBAGENT_STOP, "Explore");
	spec.sets = both;
	spec.set_count = COUNT_OF(both);

	stage_fire(&st, &spec);
	hook_set_unref(own); /* the batch has its own reference */
	loop_run(st.loop);

	CHECK_CSTR(st.said.p, "ran 2; blocked: session\nown");
	stage_release(&st);
}

TEST(hooks_that_are_not_trusted_do_not_run_and_are_named_once)
{
	struct hook_source source = { .layer = HOOK_FROM_PROJECT, .file = ".claude/settings.json" };
	struct stage st;
	stage_init(&st, 0);
	st.set = hook_set_parse(
		&source, STR("{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"exit 2\"}]}]}"), NULL, NULL);
	struct hook_event_spec spec = stage_spec(&st, HOOK_STOP, "");

	CHECK(hook_wanted(&spec));
	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 0");
	CHECK(!hook_wanted(&spec));
	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 0");

	CHECK_STR(buf_str(&st.log), "skipped exit 2: the folder is not trusted\n");
	stage_release(&st);
}

static bool is_git_rule(void *data, struct str rule)
{
	++*(int *)data;
	return str_is(rule, "Bash(git *)");
}

TEST(if_asks_the_callers_rules)
{
	struct stage st;
	int asked = 0;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_PRE_TOOL_USE,
		      "{\"command\":\"echo git >&2; exit 2\",\"if\":\"Bash(git *)\"},"
		      "{\"command\":\"echo npm >&2; exit 2\",\"if\":\"Bash(npm *)\"}");
	struct hook_event_spec spec = stage_spec(&st, HOOK_PRE_TOOL_USE, "Bash");

	spec.matches_rule = is_git_rule;
	spec.rule_data = &asked;
	stage_fire(&st, &spec);
	CHECK_INT(asked, 2);
	loop_run(st.loop);
	CHECK_CSTR(st.said.p, "ran 1; deny: git; blocked: git");
	spec.matches_rule = NULL; /* nobody can say: they run */
	stage_fire(&st, &spec);
	loop_run(st.loop);
	CHECK_CSTR(st.said.p, "ran 2; deny: git; blocked: git\nnpm");
	stage_release(&st);
}

TEST(a_skills_once_hook_runs_once)
{
	struct hook_source source = { .layer = HOOK_FROM_SKILL, .file = "SKILL.md", .trusted = true };
	struct stage st;
	stage_init(&st, 0);
	st.set = hook_set_parse(
		&source, STR("{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\",\"once\":true}]}]}"),
		NULL, NULL);
	struct hook_event_spec spec = stage_spec(&st, HOOK_STOP, "");

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 1");
	CHECK(!hook_wanted(&spec));
	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 0");
	stage_release(&st);
}

TEST(an_async_hook_is_not_waited_for_and_speaks_later)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_POST_TOOL_USE,
		      "{\"command\":\"echo '{\\\"decision\\\":\\\"block\\\",\\\"systemMessage\\\":\\\"m\\\","
		      "\\\"hookSpecificOutput\\\":{\\\"additionalContext\\\":\\\"c\\\"}}'\",\"async\":true},"
		      "{\"command\":\"echo woke >&2; exit 2\",\"asyncRewake\":true,\"rewakeMessage\":\"Look:\"},"
		      "{\"command\":\"echo quiet >&2; exit 2\",\"async\":true}");

	CHECK_CSTR(stage_run(&st, HOOK_POST_TOOL_USE, "Edit"), "ran 0");

	CHECK(strstr(st.log.p, "late main context c message m wake \n"));
	CHECK(strstr(st.log.p, "late main context  message  wake Look:\nwoke\n"));
	CHECK(!strstr(st.log.p, "wake quiet"));
	CHECK_INT(st.engine->batch_count, 0);
	stage_release(&st);
}

TEST(a_hook_becomes_async_by_its_first_line_alone)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_PRE_TOOL_USE,
		      "{\"command\":\"echo '{\\\"async\\\":true}'; echo log; echo "
		      "'{\\\"systemMessage\\\":\\\"m\\\",\\\"decision\\\":\\\"block\\\"}'\"},"
		      "{\"command\":\"echo; echo '{\\\"async\\\":true}'; echo no >&2; exit 2\"}");

	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Edit"), "ran 1; deny: no; blocked: no");

	CHECK(strstr(st.log.p, "late main context  message m wake \n"));
	CHECK_INT(st.engine->batch_count, 0);
	CHECK_INT(st.engine->running, 0);
	stage_release(&st);
}

TEST(an_async_hook_may_name_its_own_time_limit)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_POST_TOOL_USE, "echo '{\"async\":true,\"asyncTimeout\":20}'; exec sleep 1000");

	CHECK_CSTR(stage_run(&st, HOOK_POST_TOOL_USE, "Edit"), "ran 0");

	CHECK_INT(st.engine->batch_count, 0);
	CHECK(!strstr(st.log.p, "late"));
	stage_release(&st);
}

TEST(where_no_prompt_follows_a_hook_that_wakes_is_waited_for)
{
	struct stage st;
	stage_init_with(&st, 0, &(struct hook_engine_options){ .awaits_rewake = true });
	stage_handler(&st, HOOK_STOP,
		      "{\"command\":\"echo woke >&2; exit 2\",\"asyncRewake\":true,\"rewakeMessage\":\"Look:\"},"
		      "{\"command\":\"echo quiet >&2; exit 2\",\"async\":true}");

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 1; blocked: woke");
	stage_release(&st);
}

static int pidfd_in(const char *path)
{
	char text[32] = "";
	FILE *f = fopen(path, "r");

	CHECK(f && fgets(text, sizeof text, f));
	fclose(f);
	return (int)syscall(SYS_pidfd_open, (pid_t)atoi(text), 0);
}

static bool dies(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool dead = pidfd < 0 || poll(&p, 1, 60000) == 1;

	if (pidfd >= 0)
		close(pidfd);
	return dead;
}

TEST(async_hooks_die_with_their_agent_and_with_the_engine)
{
	char dir[FOLDER_MAX];
	folder_make(dir);
	AUTO_BUF struct buf command = { 0 };
	AUTO_BUF struct buf child = { 0 };
	AUTO_BUF struct buf of_main = { 0 };
	buf_addf(&child, "%s/a1", dir);
	buf_addf(&of_main, "%s/main", dir);
	buf_addf(&command,
		 "{\"command\":\"echo $$ > %s/$CLAUDE_EFFORT; sleep 1000\",\"async\":true},"
		 "{\"command\":\"while ! [ -s %s/$CLAUDE_EFFORT ]; do sleep 0.01; done\"}",
		 dir, dir);
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_STOP, command.p);
	struct hook_event_spec spec = stage_spec(&st, HOOK_STOP, "");

	st.context.agent_id = st.context.effort = "a1"; /* effort only names the file */
	stage_fire(&st, &spec);
	while (st.dones < 1)
		uv_run(loop_uv(st.loop), UV_RUN_ONCE);
	st.context.agent_id = NULL;
	st.context.effort = "main";
	stage_fire(&st, &spec);
	while (st.dones < 2)
		uv_run(loop_uv(st.loop), UV_RUN_ONCE);
	int first = pidfd_in(child.p);
	int second = pidfd_in(of_main.p);
	CHECK_INT(st.engine->batch_count, 2);
	hook_engine_end_agent(st.engine, "s1", "a1");

	CHECK(dies(first));
	while (st.engine->batch_count > 1)
		uv_run(loop_uv(st.loop), UV_RUN_ONCE);
	struct pollfd p = { .fd = second, .events = POLLIN };
	CHECK_INT(poll(&p, 1, 0), 0);
	stage_release(&st); /* drains */
	CHECK(dies(second));
	folder_remove(dir);
}

TEST(a_cancelled_firing_is_done_once_and_says_so)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_PRE_TOOL_USE, "{\"command\":\"exit 2\"},{\"command\":\"sleep 1000\"}");
	struct hook_event_spec spec = stage_spec(&st, HOOK_PRE_TOOL_USE, "Bash");

	stage_fire(&st, &spec); /* before any has started */
	hook_cancel(st.batch);
	hook_cancel(st.batch);
	loop_run(st.loop);
	CHECK_CSTR(st.said.p, "ran 2; cancelled");
	CHECK_INT(st.dones, 1);
	CHECK_INT(st.starts, 0);
	st.cancel_at_start = 2; /* from inside an observer, while the second one starts */
	stage_fire(&st, &spec);
	loop_run(st.loop);
	CHECK_CSTR(st.said.p, "ran 2; cancelled");
	CHECK_INT(st.dones, 2);
	stage_release(&st);
}

TEST(the_end_of_an_agent_cancels_its_firings_only)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_STOP, "if [ $CLAUDE_EFFORT = a1 ]; then sleep 1000; fi");
	struct hook_event_spec spec = stage_spec(&st, HOOK_STOP, "");

	st.context.agent_id = st.context.effort = "a1";
	stage_fire(&st, &spec);
	st.context.agent_id = st.context.effort = "a2";
	stage_fire(&st, &spec);
	hook_engine_end_agent(st.engine, "s1", "a1");
	loop_run(st.loop);

	CHECK_INT(st.dones, 2);
	CHECK_CSTR(st.said.p, "ran 1"); /* a2 is last */
	stage_release(&st);
}

int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
					      void (*free_hook)(const volatile void *)) __attribute__((weak));
static size_t allocations;

static void count_malloc(const volatile void *p, size_t n)
{
	(void)p;
	(void)n;
	allocations++;
}

static void count_free(const volatile void *p)
{
	(void)p;
}

TEST(asking_whether_a_hook_waits_allocates_nothing)
{
	struct stage st;
	if (!__sanitizer_install_malloc_and_free_hooks)
		return; /* a build without sanitizers cannot count them */
	static int installed;
	if (!installed)
		installed = __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free);
	CHECK(installed);
	stage_init(&st, 0);
	stage_hooks(&st, "{\"PreToolUse\":[{\"matcher\":\"Edit|Write\",\"hooks\":[{\"command\":\"a\"}]},"
			 "{\"matcher\":\"mcp__.*__write\",\"hooks\":[{\"command\":\"b\"}]}]}");
	struct hook_event_spec spec = stage_spec(&st, HOOK_PRE_TOOL_USE, "Bash");

	CHECK(!hook_wanted(&spec)); /* PCRE2 allocates its frames with the first match */
	size_t before = allocations;
	for (int i = 0; i < 1000; i++)
		CHECK(!hook_wanted(&spec));
	spec.subject = STR("Edit");
	CHECK(hook_wanted(&spec));
	size_t used = allocations - before;

	CHECK_INT(used, 0);
	CHECK(before > 0); /* it does count */
	stage_release(&st);
}

/* How long each turn of the loop was busy, waiting left out, and how many hooks were started in it */
struct turn_meter {
	uv_prepare_t prepare;
	struct stage *st;
	uint64_t at_ns, idle_ns, longest_ns;
	unsigned starts, most_starts, turns;
};

static void on_turn(uv_prepare_t *prepare)
{
	struct turn_meter *m = prepare->data;
	uint64_t now_ns = uv_hrtime();
	uint64_t idle_ns = uv_metrics_idle_time(prepare->loop);

	if (m->turns++)
		m->longest_ns = MAX(m->longest_ns, now_ns - m->at_ns - (idle_ns - m->idle_ns));
	m->most_starts = MAX(m->most_starts, m->st->starts - m->starts);
	m->at_ns = now_ns;
	m->idle_ns = idle_ns;
	m->starts = m->st->starts;
}

TEST(a_hundred_hooks_are_started_over_many_turns_of_the_loop)
{
	struct stage st;
	struct turn_meter m = { .st = &st };
	AUTO_BUF struct buf json = { 0 };
	stage_init(&st, 0);
	CHECK_INT(uv_loop_configure(loop_uv(st.loop), UV_METRICS_IDLE_TIME), 0);
	uv_prepare_init(loop_uv(st.loop), &m.prepare);
	m.prepare.data = &m;
	uv_prepare_start(&m.prepare, on_turn);
	uv_unref((uv_handle_t *)&m.prepare);
	for (int i = 0; i < 100; i++)
		buf_addf(&json, "%s{\"type\":\"command\",\"command\":\"echo %d\"}", i ? "," : "", i);
	stage_handler(&st, HOOK_USER_PROMPT_SUBMIT, json.p);

	CHECK(str_starts(str_from(stage_run(&st, HOOK_USER_PROMPT_SUBMIT, "")),
			 STR("ran 100; context: 0; context: 1; context: 2;")));

	CHECK_INT(st.starts, 100);
	CHECK(m.most_starts < 100);
	printf("# 100 hooks: longest turn of the loop %.1f ms, at most %u starts in one of %u turns\n",
	       (double)m.longest_ns / 1e6, m.most_starts, m.turns);
	uv_close((uv_handle_t *)&m.prepare, NULL);
	stage_release(&st);
}

TEST(more_hooks_than_may_run_at_once_all_end)
{
	struct stage st;
	AUTO_BUF struct buf json = { 0 };
	stage_init(&st, 0);
	for (int i = 0; i < 300; i++)
		buf_addf(&json, "%s{\"type\":\"command\",\"command\":\"true\",\"args\":[\"%d\"]}", i ? "," : "", i);
	stage_handler(&st, HOOK_STOP, json.p);

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 300");
	stage_release(&st);
}

int test_engine(void)
{
	return RUN_TESTS(
		T(without_a_match_done_comes_all_the_same),
		T(the_same_hook_of_several_files_runs_once_but_a_plugins_copy_is_its_own),
		T(the_sets_of_the_session_and_of_the_agent_are_both_asked),
		T(hooks_that_are_not_trusted_do_not_run_and_are_named_once), T(if_asks_the_callers_rules),
		T(a_skills_once_hook_runs_once), T(an_async_hook_is_not_waited_for_and_speaks_later),
		T(a_hook_becomes_async_by_its_first_line_alone), T(an_async_hook_may_name_its_own_time_limit),
		T(where_no_prompt_follows_a_hook_that_wakes_is_waited_for),
		T(async_hooks_die_with_their_agent_and_with_the_engine), T(a_cancelled_firing_is_done_once_and_says_so),
		T(the_end_of_an_agent_cancels_its_firings_only), T(asking_whether_a_hook_waits_allocates_nothing),
		T(a_hundred_hooks_are_started_over_many_turns_of_the_loop), T(more_hooks_than_may_run_at_once_all_end));
}
