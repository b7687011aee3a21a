/* SPDX-License-Identifier: MIT
 * test_call.c - hooks that the core runs: models, agents, MCP tools, functions of the SDK. */
#include "unit.h"
#include "stage.h"
#include "tests.h"

struct fake_runner {
	const char *answer; /* NULL: only after a cancel */
	bool fails;
	struct buf asked;
};

static void fake_start(void *data, struct hook_call *call)
{
	struct fake_runner *fake = data;

	buf_addf(&fake->asked, "%s " STR_FMT "\n", hook_types[call->hook->type].name, STR_ARG(call->text));
	if (fake->answer)
		hook_call_finish(call, fake->fails, str_from(fake->answer));
}

static void fake_cancel(void *data, struct hook_call *call)
{
	struct fake_runner *fake = data;

	buf_addstr(&fake->asked, "cancel\n");
	hook_call_finish(call, true, STR("late"));
}

static void init(struct stage *st, struct fake_runner *fake, const char *answer)
{
	static const struct hook_runner runner = { fake_start, fake_cancel };
	struct hook_engine_options options = { .runner_data = fake };

	*fake = (struct fake_runner){ .answer = answer };
	for (size_t i = HOOK_MCP_TOOL; i < HOOK_TYPE_COUNT; i++)
		options.runners[i] = &runner;
	stage_init_with(st, LOOP_VIRTUAL_CLOCK, &options);
}

static void release(struct stage *st, struct fake_runner *fake)
{
	stage_release(st);
	buf_release(&fake->asked);
}

TEST(a_prompt_is_asked_with_the_event_and_its_answer_decides)
{
	struct stage st;
	struct fake_runner fake;
	init(&st, &fake, "{\"ok\":false,\"reason\":\"tests are missing\"}");
	stage_handler(&st, HOOK_STOP, "{\"type\":\"prompt\",\"prompt\":\"Done? $ARGUMENTS\"}");

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 1; blocked: tests are missing");

	CHECK_STR(buf_str(&fake.asked), "prompt Done? {\"session_id\":\"s1\",\"transcript_path\":\"/t.jsonl\","
					"\"cwd\":\"/tmp\",\"hook_event_name\":\"Stop\"}\n");
	release(&st, &fake);
}

TEST(an_agent_never_ends_the_turn)
{
	struct stage st;
	struct fake_runner fake;
	init(&st, &fake, "{\"ok\":false,\"reason\":\"r\"}");
	stage_handler(&st, HOOK_POST_TOOL_USE, "{\"type\":\"agent\",\"prompt\":\"check\"}");

	CHECK_CSTR(stage_run(&st, HOOK_POST_TOOL_USE, "Edit"), "ran 1; blocked: r");
	stage_handler(&st, HOOK_POST_TOOL_USE, "{\"type\":\"prompt\",\"prompt\":\"check\"}");
	CHECK_CSTR(stage_run(&st, HOOK_POST_TOOL_USE, "Edit"), "ran 1; blocked: r; stop: r");
	release(&st, &fake);
}

/* What the call says may have made it answer so. */
TEST(a_guard_whose_model_does_not_decide_refuses)
{
	static const char *const types[] = { "prompt", "agent" };
	struct stage st;
	struct fake_runner fake;

	for (size_t i = 0; i < COUNT_OF(types); i++)
		for (int fails = 0; fails < 2; fails++) {
			AUTO_BUF struct buf handler = { 0 };
			init(&st, &fake, "Certainly! All is well.");
			fake.fails = fails;
			buf_addf(&handler, "{\"type\":\"%s\",\"prompt\":\"safe?\"}", types[i]);
			stage_handler(&st, HOOK_PRE_TOOL_USE, handler.p);
			CHECK(str_starts(str_from(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash")), STR("ran 1; deny: ")));
			stage_handler(&st, HOOK_POST_TOOL_USE, handler.p);
			CHECK(str_starts(str_from(stage_run(&st, HOOK_POST_TOOL_USE, "Bash")), STR("ran 1; note: ")));
			release(&st, &fake);
		}
}

TEST(the_text_of_a_tool_is_read_like_stdout)
{
	struct stage st;
	struct fake_runner fake;
	init(&st, &fake, "remember this");
	stage_handler(&st, HOOK_SESSION_START,
		      "{\"type\":\"mcp_tool\",\"server\":\"s\",\"tool\":\"t\",\"input\":{\"in\":\"${cwd}\"}}");

	CHECK_CSTR(stage_run(&st, HOOK_SESSION_START, "startup"), "ran 1; context: remember this");

	CHECK_STR(buf_str(&fake.asked), "mcp_tool {\"in\":\"/tmp\"}\n");
	fake.fails = true;
	CHECK_CSTR(stage_run(&st, HOOK_SESSION_START, "startup"),
		   "ran 1; note: SessionStart:startup hook (s t): remember this");
	release(&st, &fake);
}

TEST(a_type_that_nobody_runs_is_a_visible_note)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_STOP,
		      "{\"type\":\"prompt\",\"prompt\":\"p\"},{\"type\":\"agent\",\"prompt\":\"p\"},"
		      "{\"type\":\"mcp_tool\",\"server\":\"s\",\"tool\":\"t\"}");

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 3; note: Stop hook (p): prompt hooks cannot be run here; "
						  "note: Stop hook (p): agent hooks cannot be run here; "
						  "note: Stop hook (s t): mcp_tool hooks cannot be run here");
	stage_release(&st);
}

TEST(a_runner_that_is_late_is_cancelled_and_nothing_of_it_counts)
{
	struct stage st;
	struct fake_runner fake;
	init(&st, &fake, NULL);
	stage_handler(&st, HOOK_STOP, "{\"type\":\"prompt\",\"prompt\":\"p\"}");

	CHECK_CSTR(stage_run(&st, HOOK_STOP, ""), "ran 1; note: Stop hook (p): no end within 30 s");

	CHECK(str_ends(buf_str(&fake.asked), STR("\ncancel\n")));
	release(&st, &fake);
}

static const char *run_callback(struct stage *st, enum hook_event event, const char *more)
{
	struct hook_source source = { .layer = HOOK_FROM_SDK, .file = "sdk", .trusted = true };
	AUTO_BUF struct buf json = { 0 };

	buf_addf(&json, "{\"%s\":[{\"hookCallbackIds\":[\"h\"]%s}]}", hook_events[event].name, more);
	hook_set_unref(st->set);
	st->set = hook_set_parse(&source, buf_str(&json), NULL, NULL);
	return stage_run(st, event, "Bash");
}

TEST(a_callback_that_is_late_blocks_where_it_guards)
{
	struct stage st;
	struct fake_runner fake;
	init(&st, &fake, NULL);

	CHECK_CSTR(run_callback(&st, HOOK_PRE_TOOL_USE, ",\"timeout\":2"),
		   "ran 1; deny: no end within 2 s; blocked: no end within 2 s; "
		   "note: PreToolUse:Bash hook (h): no end within 2 s");
	CHECK_CSTR(run_callback(&st, HOOK_POST_TOOL_USE, ",\"timeout\":2"),
		   "ran 1; note: PostToolUse:Bash hook (h): no end within 2 s");
	release(&st, &fake);
}

TEST(a_callback_that_fails_blocks_only_if_it_wants_to)
{
	struct stage st;
	struct fake_runner fake;
	init(&st, &fake, "it threw");
	fake.fails = true;

	CHECK_CSTR(run_callback(&st, HOOK_POST_TOOL_USE, ""), "ran 1; note: PostToolUse:Bash hook (h): it threw");
	CHECK_CSTR(run_callback(&st, HOOK_POST_TOOL_USE, ",\"onFailure\":\"block\""),
		   "ran 1; blocked: it threw; note: PostToolUse:Bash hook (h): it threw");
	fake.fails = false;
	fake.answer = "{\"decision\":\"block\",\"reason\":\"r\"}";
	CHECK_CSTR(run_callback(&st, HOOK_POST_TOOL_USE, ""), "ran 1; blocked: r");
	release(&st, &fake);
}

int test_call(void)
{
	return RUN_TESTS(T(a_prompt_is_asked_with_the_event_and_its_answer_decides), T(an_agent_never_ends_the_turn),
			 T(a_guard_whose_model_does_not_decide_refuses), T(the_text_of_a_tool_is_read_like_stdout),
			 T(a_type_that_nobody_runs_is_a_visible_note),
			 T(a_runner_that_is_late_is_cancelled_and_nothing_of_it_counts),
			 T(a_callback_that_is_late_blocks_where_it_guards),
			 T(a_callback_that_fails_blocks_only_if_it_wants_to));
}
