/* SPDX-License-Identifier: MIT
 * test_output.c - exits and outputs as a table: what a hook said, and what it means. */
#include "unit.h"
#include "guard/hook/output.h"
#include "tests.h"

static void add(struct buf *out, const char *what, struct str text)
{
	buf_addf(out, "%s%s: " STR_FMT, out->n ? "; " : "", what, STR_ARG(text));
}

static const char *render(struct buf *out, const struct hook_reply *r)
{
	static const char *const permissions[] = { "", "allow", "ask", "defer", "deny" };

	buf_addstr(out, hook_result_name(r->result));
	if (r->note.n)
		add(out, "note", r->note);
	if (r->permission)
		add(out, permissions[r->permission], r->permission_reason);
	if (r->block)
		add(out, "blocked", r->reason);
	if (r->stop)
		add(out, "stop", r->stop_reason);
	if (r->context.n)
		add(out, "context", r->context);
	if (r->system_message.n)
		add(out, "message", r->system_message);
	if (r->terminal_sequence.n)
		buf_addstr(out, "; sequence");
	if (r->fields[HOOK_UPDATED_INPUT].n)
		add(out, "input", r->fields[HOOK_UPDATED_INPUT]);
	for (enum hook_field i = HOOK_INITIAL_MESSAGE; i < HOOK_FIELD_COUNT; i++)
		if (r->fields[i].n)
			add(out, hook_fields[i].name, r->fields[i]);
	return out->p;
}

struct row {
	enum hook_event event;
	int exit_code;
	const char *out, *err, *means;
};

static void check(const struct row *row, bool json_only)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct hook_raw raw = { .event = row->event,
				.exit_code = row->exit_code,
				.out = str_from(row->out),
				.err = str_from(row->err),
				.json_only = json_only };
	struct hook_reply reply;

	hook_output_read(&arena, &raw, &reply);
	if (strcmp(render(&text, &reply), row->means) != 0)
		fail_msg("exit %d, %s\n  is   %s\n  want %s", row->exit_code, row->out, text.p, row->means);
}

#define SPECIFIC(event, members) "{\"hookSpecificOutput\":{\"hookEventName\":\"" event "\"," members "}}"

TEST(an_exit_and_its_streams_mean_what_the_table_says)
{
	static const struct row table[] = {
		/* plain text */
		{ HOOK_PRE_TOOL_USE, 0, "", "", "success" },
		{ HOOK_PRE_TOOL_USE, 0, "some text", "", "success" },
		{ HOOK_SESSION_START, 0, " hello\n", "", "success; context: hello" },
		{ HOOK_USER_PROMPT_SUBMIT, 0, "hello", "", "success; context: hello" },
		{ HOOK_USER_PROMPT_EXPANSION, 0, "hello", "", "success; context: hello" },
		{ HOOK_SUBAGENT_START, 0, "hello", "", "success" },
		{ HOOK_SESSION_START, 0, "{not json", "", "success; context: {not json" },
		{ HOOK_SESSION_START, 0, "[1]", "", "success; context: [1]" },
		{ HOOK_SESSION_START, 0,
		  "a\xff\xfe"
		  "b",
		  "",
		  "success; context: a\xef\xbf\xbd\xef\xbf\xbd"
		  "b" },
		/* exit 2 */
		{ HOOK_PRE_TOOL_USE, 2, "", "no!\n", "error; deny: no!; blocked: no!" },
		{ HOOK_PRE_TOOL_USE, 2, "", "",
		  "error; deny: a hook blocked this and gave no reason; blocked: a hook blocked this and gave no reason" },
		{ HOOK_PRE_TOOL_USE, 2, "text", "no", "error; deny: no; blocked: no" },
		{ HOOK_PRE_TOOL_USE, 2, "{\"decision\":\"block\",\"reason\":\"mine\"}", "err",
		  "error; deny: mine; blocked: mine" },
		{ HOOK_PRE_TOOL_USE, 2, "{\"reason\":\"mine\"}", "err", "error; deny: err; blocked: err" },
		{ HOOK_PRE_TOOL_USE, 2, SPECIFIC("PreToolUse", "\"permissionDecision\":\"allow\""), "err",
		  "error; deny: err; blocked: err" },
		{ HOOK_PRE_TOOL_USE, 2,
		  SPECIFIC("PreToolUse", "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"mine\""),
		  "err", "error; deny: mine; blocked: mine" },
		{ HOOK_PRE_TOOL_USE, 2, "{\"continue\":7}", "err", "error; deny: err; blocked: err" },
		{ HOOK_STOP, 2, "", "go on", "error; blocked: go on" },
		{ HOOK_POST_TOOL_USE, 2, "", "look", "error; blocked: look" },
		{ HOOK_SESSION_START, 2, "", "oh", "error; message: oh" },
		{ HOOK_SUBAGENT_START, 2, "", "oh", "error; message: oh" },
		{ HOOK_PERMISSION_REQUEST, 2, "", "oh", "error; note: exit 2: oh" },
		{ HOOK_SESSION_END, 2, "", "oh", "error; note: exit 2: oh" },
		/* other exits */
		{ HOOK_PRE_TOOL_USE, 1, "", "broken\nsecond line", "error; note: exit 1: broken" },
		{ HOOK_PRE_TOOL_USE, 127, "text", "", "error; note: exit 127" },
		{ HOOK_PRE_TOOL_USE, 1, "{\"decision\":\"block\",\"reason\":\"r\"}", "x",
		  "success; deny: r; blocked: r" },
		{ HOOK_PRE_TOOL_USE, 1, "{}", "x", "success" },
		{ HOOK_STOP, 1, "{\"decision\":\"no\"}", "x", "error; note: \"decision\" must be block or approve" },
		/* the members of all events */
		{ HOOK_STOP, 0, "{\"continue\":false,\"stopReason\":\"why\"}", "", "success; stop: why" },
		{ HOOK_STOP, 0, "{\"continue\":true,\"stopReason\":\"why\"}", "", "success" },
		{ HOOK_TASK_CREATED, 0, "{\"continue\":false}", "", "success" },
		{ HOOK_TASK_COMPLETED, 0, "{\"continue\":false}", "", "success; stop: " },
		{ HOOK_STOP, 0, "{\"systemMessage\":\"m\\u00e9\"}", "", "success; message: m\xc3\xa9" },
		{ HOOK_STOP, 0, "{\"systemMessage\":null}", "", "success" },
		{ HOOK_STOP, 0, "{\"terminalSequence\":\"\\u001b]0;title\\u0007\"}", "", "success; sequence" },
		{ HOOK_STOP, 0, "{\"terminalSequence\":\"\\u001b[2J\"}", "", "success" },
		{ HOOK_STOP, 0, "{\"unknown\":1}", "", "success" },
		{ HOOK_STOP, 0, "{\"continue\":\"false\"}", "",
		  "error; note: \"continue\" has a value of another type than expected" },
		{ HOOK_STOP, 0, "{\"hookSpecificOutput\":1}", "",
		  "error; note: \"hookSpecificOutput\" has a value of another type than expected" },
		/* decision */
		{ HOOK_STOP, 0, "{\"decision\":\"block\",\"reason\":\"more\"}", "", "success; blocked: more" },
		{ HOOK_STOP, 0, "{\"decision\":\"block\"}", "",
		  "success; blocked: a hook blocked this and gave no reason" },
		{ HOOK_STOP, 0, "{\"decision\":\"approve\"}", "", "success" },
		{ HOOK_PRE_TOOL_USE, 0, "{\"decision\":\"approve\",\"reason\":\"r\"}", "", "success; allow: r" },
		{ HOOK_SESSION_END, 0, "{\"decision\":\"block\",\"reason\":\"r\"}", "", "success" },
		{ HOOK_PRE_TOOL_USE, 0,
		  "{\"decision\":\"block\",\"reason\":\"r\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}",
		  "", "success; deny: r; blocked: r" },
		/* the members of one event */
		{ HOOK_PRE_TOOL_USE, 0,
		  SPECIFIC("PreToolUse", "\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"r\","
					 "\"updatedInput\":{\"a\":1},\"additionalContext\":\"c\""),
		  "", "success; ask: r; context: c; input: {\"a\":1}" },
		{ HOOK_PRE_TOOL_USE, 0, SPECIFIC("PreToolUse", "\"permissionDecision\":\"defer\""), "",
		  "success; defer: " },
		{ HOOK_PRE_TOOL_USE, 0, SPECIFIC("PreToolUse", "\"permissionDecision\":\"maybe\""), "",
		  "error; note: \"permissionDecision\" must be allow, deny, ask or defer" },
		{ HOOK_PRE_TOOL_USE, 0, SPECIFIC("PreToolUse", "\"updatedInput\":[]"), "",
		  "error; note: \"updatedInput\" has a value of another type than expected" },
		{ HOOK_PRE_TOOL_USE, 0, SPECIFIC("PostToolUse", "\"permissionDecision\":\"allow\""), "",
		  "error; note: \"hookEventName\" is not PreToolUse" },
		{ HOOK_POST_TOOL_USE, 0,
		  SPECIFIC("PostToolUse", "\"permissionDecision\":\"allow\",\"updatedInput\":{}"), "", "success" },
		{ HOOK_POST_TOOL_USE, 0, SPECIFIC("PostToolUse", "\"updatedToolOutput\":[1]"), "",
		  "success; updatedToolOutput: [1]" },
		{ HOOK_SUBAGENT_STOP, 0, SPECIFIC("Stop", "\"additionalContext\":\"c\""), "", "success; context: c" },
		{ HOOK_STOP, 0, SPECIFIC("SubagentStop", "\"additionalContext\":\"c\""), "",
		  "error; note: \"hookEventName\" is not Stop" },
		{ HOOK_SESSION_START, 0,
		  SPECIFIC("SessionStart", "\"initialUserMessage\":\"go\",\"reloadSkills\":true"), "",
		  "success; initialUserMessage: \"go\"; reloadSkills: true" },
		{ HOOK_PERMISSION_REQUEST, 0,
		  SPECIFIC("PermissionRequest", "\"decision\":{\"behavior\":\"allow\",\"updatedInput\":{\"a\":2}}"), "",
		  "success; allow: ; input: {\"a\":2}" },
		{ HOOK_PERMISSION_REQUEST, 0,
		  SPECIFIC("PermissionRequest",
			   "\"decision\":{\"behavior\":\"deny\",\"message\":\"m\",\"interrupt\":true}"),
		  "", "success; deny: m" },
		{ HOOK_PERMISSION_REQUEST, 0, SPECIFIC("PermissionRequest", "\"decision\":{\"behavior\":\"x\"}"), "",
		  "error; note: \"behavior\" must be allow or deny" },
		{ HOOK_PERMISSION_DENIED, 0, SPECIFIC("PermissionDenied", "\"retry\":true"), "",
		  "success; retry: true" },
		{ HOOK_ELICITATION, 0, SPECIFIC("Elicitation", "\"action\":\"accept\",\"content\":{\"a\":1}"), "",
		  "success; action: \"accept\"; content: {\"a\":1}" },
		{ HOOK_ELICITATION, 0, SPECIFIC("Elicitation", "\"action\":\"run\""), "",
		  "error; note: \"action\" must be accept, decline or cancel" },
		/* a printed path */
		{ HOOK_WORKTREE_CREATE, 0, "making it\n\x1b[32m/w/a b\x1b[0m\n\n", "",
		  "success; worktreePath: \"/w/a b\"" },
		{ HOOK_WORKTREE_CREATE, 0, "\n\x1b[0m\n", "",
		  "error; note: it gave no path; blocked: it gave no path" },
		{ HOOK_WORKTREE_CREATE, 1, "/w", "disk full", "error; note: exit 1: disk full; blocked: disk full" },
		{ HOOK_WORKTREE_CREATE, 0, SPECIFIC("WorktreeCreate", "\"worktreePath\":\"/w\""), "",
		  "success; worktreePath: \"/w\"" },
		{ HOOK_WORKTREE_CREATE, 0, "{}", "", "error; note: it gave no path; blocked: it gave no path" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		check(&table[i], false);
}

TEST(an_answer_over_http_is_nothing_or_an_object)
{
	static const struct row table[] = {
		{ HOOK_USER_PROMPT_SUBMIT, 0, "", "", "success" },
		{ HOOK_USER_PROMPT_SUBMIT, 0, " \n", "", "success" },
		{ HOOK_USER_PROMPT_SUBMIT, 0, "ok", "", "error; note: the answer is not a JSON object: ok" },
		{ HOOK_USER_PROMPT_SUBMIT, 0, "{oops", "", "error; note: the answer is not a JSON object: {oops" },
		{ HOOK_USER_PROMPT_SUBMIT, 0, "{\"decision\":\"block\",\"reason\":\"r\"}", "", "success; blocked: r" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		check(&table[i], true);
}

TEST(json_that_was_cut_is_an_error_but_exit_2_still_blocks)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct hook_raw raw = {
		.event = HOOK_PRE_TOOL_USE, .out = STR("{\"a\":\""), .err = STR("no"), .out_cut = true
	};
	struct hook_reply reply;

	hook_output_read(&arena, &raw, &reply);
	CHECK_STR(reply.note, "it printed JSON of more than 1048576 bytes");
	raw.exit_code = 2;
	hook_output_read(&arena, &raw, &reply);
	CHECK_INT(reply.permission, HOOK_PERMISSION_DENY);
	CHECK_STR(reply.reason, "no");
}

TEST(an_answer_of_a_model_means_what_its_event_says)
{
	static const struct {
		enum hook_event event;
		bool continue_on_block;
		const char *answer, *means;
	} table[] = {
		{ HOOK_STOP, false, "{\"ok\":true}", "success" },
		{ HOOK_STOP, false, "{\"ok\":false,\"reason\":\"tests fail\"}", "success; blocked: tests fail" },
		{ HOOK_STOP, false, "{\"ok\":false,\"impossible\":true}", "success" },
		{ HOOK_STOP, false, "Here:\n```json\n{\"ok\": false, \"reason\": \"r\"}\n```", "success; blocked: r" },
		{ HOOK_STOP, false, "no idea", "error; note: the model did not answer with {\"ok\": true or false}" },
		{ HOOK_STOP, false, "{\"ok\":1}",
		  "error; note: the model did not answer with {\"ok\": true or false}" },
		{ HOOK_STOP, false, "}{", "error; note: the model did not answer with {\"ok\": true or false}" },
		{ HOOK_PRE_TOOL_USE, false, "{\"ok\":false,\"reason\":\"r\"}",
		  "success; deny: r; blocked: r; stop: r" },
		{ HOOK_PRE_TOOL_USE, true, "{\"ok\":false,\"reason\":\"r\"}", "success; deny: r; blocked: r" },
		{ HOOK_POST_TOOL_USE, false, "{\"ok\":false,\"reason\":\"r\"}", "success; blocked: r; stop: r" },
		{ HOOK_POST_TOOL_USE, true, "{\"ok\":false,\"reason\":\"r\"}", "success; blocked: r" },
		{ HOOK_USER_PROMPT_SUBMIT, true, "{\"ok\":false,\"reason\":\"r\"}", "success; blocked: r; stop: r" },
		{ HOOK_POST_TOOL_USE_FAILURE, false, "{\"ok\":false,\"reason\":\"r\"}", "success; blocked: r" },
		{ HOOK_POST_TOOL_USE_FAILURE, false, "{\"ok\":false,\"impossible\":true,\"reason\":\"r\"}",
		  "success; blocked: r" },
		{ HOOK_TEAMMATE_IDLE, false, "{\"ok\":false}",
		  "success; blocked: a hook refused this and gave no reason; stop: a hook refused this and gave no reason" },
		{ HOOK_PERMISSION_REQUEST, false, "{\"ok\":false,\"reason\":\"r\"}", "success" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARENA struct arena arena = { 0 };
		AUTO_BUF struct buf text = { 0 };
		struct hook_reply reply;
		hook_answer_read(&arena, table[i].event, table[i].continue_on_block, str_from(table[i].answer), &reply);
		CHECK_CSTR(render(&text, &reply), table[i].means);
	}
}

TEST(only_titles_notices_and_the_bell_are_harmless)
{
	static const struct {
		const char *text;
		bool harmless;
	} table[] = {
		{ "", true },
		{ "\a\a", true },
		{ "\x1b]0;t\a", true },
		{ "\x1b]2;t\x1b\\", true },
		{ "\x1b]9;done\a\x1b]777;notify;a;b\a", true },
		{ "\x1b]99;;hi\x1b\\", true },
		{ "\x1b]52;c;aGk=\a", false }, /* the clipboard */
		{ "\x1b]8;;http://x\a", false },
		{ "\x1b]0;t", false },
		{ "\x1b]0;t\x1b", false },
		{ "\x1b]0;t\x1b[", false },
		{ "\x1b]0;a\nb\a", false },
		{ "\x1b];t\a", false },
		{ "\x1b]00000000000000000000002;t\a", true },
		{ "\x1b]4294967296;t\a", false },
		{ "\x1b[2J", false },
		{ "text", false },
		{ "\x1b", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (hook_sequence_is_harmless(str_from(table[i].text)) != table[i].harmless)
			fail_msg("row %zu", i);
}

int test_output(void)
{
	return RUN_TESTS(
		T(an_exit_and_its_streams_mean_what_the_table_says), T(an_answer_over_http_is_nothing_or_an_object),
		T(json_that_was_cut_is_an_error_but_exit_2_still_blocks),
		T(an_answer_of_a_model_means_what_its_event_says), T(only_titles_notices_and_the_bell_are_harmless));
}
