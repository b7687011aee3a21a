/* SPDX-License-Identifier: MIT
 * test_input.c - what hooks read on stdin, byte for byte, for every event. */
#include "unit.h"
#include "stage.h"
#include "tests.h"

#define COMMON "\"session_id\":\"s1\",\"transcript_path\":\"/t.jsonl\",\"cwd\":\"/tmp\""

/* Members of events, as the core gives them; an event without a row has none here, and a scenario of its own */
static const char *const own_fields[HOOK_EVENT_COUNT] = {
	[HOOK_SESSION_START] = "\"source\":\"startup\",\"model\":\"m\"",
	[HOOK_SETUP] = "\"trigger\":\"init\"",
	[HOOK_INSTRUCTIONS_LOADED] =
		"\"file_path\":\"/CLAUDE.md\",\"memory_type\":\"Project\",\"load_reason\":\"session_start\"",
	[HOOK_USER_PROMPT_SUBMIT] = "\"prompt\":\"do \\\"it\\\"\"",
	[HOOK_USER_PROMPT_EXPANSION] =
		"\"expansion_type\":\"slash_command\",\"command_name\":\"c\",\"command_args\":\"\","
		"\"prompt\":\"p\"",
	[HOOK_PRE_TOOL_USE] = "\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"toolu_1\"",
	[HOOK_PERMISSION_REQUEST] = "\"tool_name\":\"Bash\",\"tool_input\":{},\"permission_suggestions\":[]",
	[HOOK_PERMISSION_DENIED] = "\"tool_name\":\"Bash\",\"tool_input\":{},\"tool_use_id\":\"t\",\"reason\":\"r\"",
	[HOOK_POST_TOOL_USE] = "\"tool_name\":\"Read\",\"tool_input\":{},\"tool_response\":{\"a\":[1]},"
			       "\"tool_use_id\":\"t\",\"duration_ms\":3",
	[HOOK_POST_TOOL_USE_FAILURE] = "\"tool_name\":\"Read\",\"tool_input\":{},\"tool_use_id\":\"t\",\"error\":\"e\"",
	[HOOK_POST_TOOL_BATCH] = "\"tool_calls\":[{\"tool_name\":\"Read\",\"tool_input\":{},\"tool_use_id\":\"t\"}]",
	[HOOK_NOTIFICATION] = "\"message\":\"m\",\"notification_type\":\"idle_prompt\"",
	[HOOK_SUBAGENT_START] = "",
	[HOOK_SUBAGENT_STOP] = "\"stop_hook_active\":false,\"agent_transcript_path\":\"/a.jsonl\"",
	[HOOK_TASK_CREATED] = "\"task_id\":\"1\",\"task_subject\":\"s\"",
	[HOOK_TASK_COMPLETED] = "\"task_id\":\"1\",\"task_subject\":\"s\"",
	[HOOK_TEAMMATE_IDLE] = "\"teammate_name\":\"n\",\"team_name\":\"t\"",
	[HOOK_STOP] = "\"stop_hook_active\":true,\"last_assistant_message\":\"done\"",
	[HOOK_STOP_FAILURE] = "\"error\":\"rate_limit\"",
	[HOOK_PRE_COMPACT] = "\"trigger\":\"manual\",\"custom_instructions\":null",
	[HOOK_POST_COMPACT] = "\"trigger\":\"auto\",\"compact_summary\":\"s\"",
	[HOOK_PRE_MODEL_SWITCH] = "\"from_model\":\"a\",\"to_model\":\"b\"",
	[HOOK_POST_MODEL_SWITCH] = "\"from_model\":\"a\",\"to_model\":\"b\"",
	[HOOK_CONFIG_CHANGE] = "\"source\":\"user_settings\",\"file_path\":\"/s.json\"",
	[HOOK_CWD_CHANGED] = "\"old_cwd\":\"/a\",\"new_cwd\":\"/b\"",
	[HOOK_DIRECTORY_ADDED] = "\"directory\":\"/d\",\"source\":\"slash_command\"",
	[HOOK_FILE_CHANGED] = "\"file_path\":\"/f\",\"event\":\"change\"",
	[HOOK_WORKTREE_CREATE] = "\"name\":\"w\"",
	[HOOK_WORKTREE_REMOVE] = "\"worktree_path\":\"/w\"",
	[HOOK_ELICITATION] = "\"mcp_server_name\":\"s\",\"message\":\"m\"",
	[HOOK_ELICITATION_RESULT] = "\"mcp_server_name\":\"s\",\"action\":\"accept\"",
	[HOOK_SESSION_END] = "\"reason\":\"other\"",
};

static const char *fields_of(enum hook_event event)
{
	return own_fields[event] ? own_fields[event] : "";
}

static void check_input(struct stage *st, enum hook_event event, const char *fields, const char *want)
{
	struct hook_event_spec spec = stage_spec(st, event, "");

	stage_command(st, event, "cat >&2");
	spec.fields = str_from(fields);
	stage_fire(st, &spec);
	loop_run(st->loop);
	CHECK_STR(buf_str(&st->stderr_text), want);
}

TEST(every_event_has_exactly_its_input_on_stdin)
{
	struct stage st;
	stage_init(&st, 0);

	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		AUTO_BUF struct buf fields = { 0 };
		AUTO_BUF struct buf want = { 0 };
		const char *own = fields_of(i);
		buf_addf(&fields, "{%s}", own);
		buf_addf(&want, "{" COMMON ",\"hook_event_name\":\"%s\"%s%s}\n", hook_events[i].name, *own ? "," : "",
			 own);
		check_input(&st, i, fields.p, want.p);
	}
	stage_release(&st);
}

TEST(inside_a_subagent_every_event_names_it)
{
	struct stage st;
	stage_init(&st, 0);
	st.context.agent_id = "a0123456789abcdef";
	st.context.agent_type = "Explore";

	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		AUTO_BUF struct buf fields = { 0 };
		AUTO_BUF struct buf want = { 0 };
		buf_addf(&fields, "{%s}", fields_of(i));
		buf_addf(&want,
			 "{" COMMON ",\"agent_id\":\"a0123456789abcdef\",\"agent_type\":\"Explore\","
			 "\"hook_event_name\":\"%s\"%s%s}\n",
			 hook_events[i].name, *fields_of(i) ? "," : "", fields_of(i));
		check_input(&st, i, fields.p, want.p);
	}
	stage_release(&st);
}

TEST(members_that_are_known_come_before_the_name_of_the_event)
{
	struct stage st;
	stage_init(&st, 0);
	st.context.prompt_id = "p1";
	st.context.permission_mode = "plan";
	st.context.effort = "high";
	st.context.agent_type = "writer"; /* the main agent of --agent has no id */

	check_input(&st, HOOK_STOP, " { \"stop_hook_active\" : false } ",
		    "{" COMMON ",\"prompt_id\":\"p1\",\"permission_mode\":\"plan\",\"effort\":{\"level\":\"high\"},"
		    "\"agent_type\":\"writer\",\"hook_event_name\":\"Stop\",\"stop_hook_active\" : false}\n");
	check_input(&st, HOOK_STOP, "",
		    "{" COMMON ",\"prompt_id\":\"p1\",\"permission_mode\":\"plan\",\"effort\":{\"level\":\"high\"},"
		    "\"agent_type\":\"writer\",\"hook_event_name\":\"Stop\"}\n");
	stage_release(&st);
}

int test_input(void)
{
	return RUN_TESTS(T(every_event_has_exactly_its_input_on_stdin), T(inside_a_subagent_every_event_names_it),
			 T(members_that_are_known_come_before_the_name_of_the_event));
}
