/* SPDX-License-Identifier: MIT
 * test_command.c - hooks that are processes: their surroundings, and how several become one outcome. */
#include "unit.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "stage.h"
#include "tests.h"

TEST(one_hook_decides_and_is_reported)
{
	struct stage st;
	stage_init(&st, 0);
	stage_command(&st, HOOK_PRE_TOOL_USE, "echo no way >&2; exit 2");

	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 1; deny: no way; blocked: no way");

	CHECK_STR(buf_str(&st.log), "start PreToolUse:Bash echo no way >&2; exit 2\nend error 2\n");
	CHECK_INT(st.engine->batch_count, 0);
	stage_release(&st);
}

TEST(the_strictest_decision_wins_whatever_ends_first)
{
	static const struct {
		const char *first, *second, *said;
	} table[] = {
		{ "allow", "ask", "ran 2; ask: 2" },     { "ask", "allow", "ran 2; ask: 1" },
		{ "ask", "defer", "ran 2; defer: 2" },   { "deny", "defer", "ran 2; deny: 1" },
		{ "allow", "allow", "ran 2; allow: 1" }, { "allow", "deny", "ran 2; deny: 2" },
	};
	struct stage st;
	stage_init(&st, 0);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf json = { 0 };
		buf_addstr(&json, "{\"PreToolUse\":[{\"hooks\":[");
		for (int k = 1; k <= 2; k++)
			buf_addf(
				&json,
				"%s{\"type\":\"command\",\"command\":\"echo '{\\\"hookSpecificOutput\\\":"
				"{\\\"permissionDecision\\\":\\\"%s\\\",\\\"permissionDecisionReason\\\":\\\"%d\\\"}}'\"}",
				k > 1 ? "," : "", k > 1 ? table[i].second : table[i].first, k);
		buf_addstr(&json, "]}]}");
		stage_hooks(&st, json.p);
		CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), table[i].said);
	}
	stage_release(&st);
}

TEST(contexts_messages_and_reasons_of_all_hooks_are_kept_in_their_order)
{
	struct stage st;
	stage_init(&st, 0);
	stage_hooks(
		&st,
		"{\"UserPromptSubmit\":[{\"hooks\":["
		"{\"command\":\"sleep 0.05; echo one\"},{\"command\":\"echo two\"},"
		"{\"command\":\"echo '{\\\"systemMessage\\\":\\\"m\\\",\\\"decision\\\":\\\"block\\\",\\\"reason\\\":\\\"r1\\\"}'\"},"
		"{\"command\":\"echo r2 >&2; exit 2\"},{\"command\":\"echo bad >&2; exit 3\"},"
		"{\"command\":\"echo '{\\\"continue\\\":false,\\\"stopReason\\\":\\\"s\\\"}'\"}]}]}");

	CHECK_CSTR(stage_run(&st, HOOK_USER_PROMPT_SUBMIT, ""),
		   "ran 6; blocked: r1\nr2; stop: s; context: one; context: two; message: m; "
		   "note: UserPromptSubmit hook (echo bad >&2; exit 3): exit 3: bad");
	stage_release(&st);
}

TEST(the_last_changed_input_counts_unless_the_call_is_denied)
{
	struct stage st;
	stage_init(&st, 0);
	const char *two =
		"{\"PreToolUse\":[{\"hooks\":["
		"{\"command\":\"echo '{\\\"hookSpecificOutput\\\":{\\\"updatedInput\\\":{\\\"a\\\":1}}}'\"},"
		"{\"command\":\"echo '{\\\"hookSpecificOutput\\\":{\\\"updatedInput\\\":{\\\"a\\\":2}}}'\"}%s]}]}";
	AUTO_BUF struct buf json = { 0 };

	buf_addf(&json, "%.*s]}]}", (int)(strstr(two, "%s") - two), two);
	stage_hooks(&st, json.p);
	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Edit"), "ran 2; input: {\"a\":2}");
	buf_clear(&json);
	buf_addf(&json, "%.*s,{\"command\":\"exit 2\"}]}]}", (int)(strstr(two, "%s") - two), two);
	stage_hooks(&st, json.p);
	CHECK_CSTR(
		stage_run(&st, HOOK_PRE_TOOL_USE, "Edit"),
		"ran 3; deny: a hook blocked this and gave no reason; blocked: a hook blocked this and gave no reason");
	stage_release(&st);
}

TEST(the_environment_is_the_callers_without_telemetry_and_with_our_names)
{
	static const char *const envp[] = { "PATH=/usr/bin:/bin", "OTEL_EXPORTER=x", "CLAUDE_PROJECT_DIR=/wrong",
					    "MINE=1", NULL };
	struct stage st;
	stage_init(&st, 0);
	st.context.envp = envp;
	st.context.project_dir = "/project";
	st.context.effort = "low";
	st.context.env_file = "/env";
	stage_command(&st, HOOK_SESSION_START,
		      "env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^CADRE_SPAWN= -e ^OLDPWD= | sort >&2");

	stage_run(&st, HOOK_SESSION_START, "startup");

	CHECK_STR(buf_str(&st.stderr_text), "CLAUDECODE=1\nCLAUDE_CODE_CHILD_SESSION=1\nCLAUDE_CODE_SESSION_ID=s1\n"
					    "CLAUDE_EFFORT=low\nCLAUDE_ENV_FILE=/env\nCLAUDE_PROJECT_DIR=/project\n"
					    "MINE=1\nPATH=/usr/bin:/bin\n");
	stage_command(&st, HOOK_STOP, "echo ${CLAUDE_ENV_FILE-none} ${CLAUDE_PROJECT_DIR} >&2; pwd >&2");
	stage_run(&st, HOOK_STOP, "");
	CHECK_STR(buf_str(&st.stderr_text), "none /project\n/tmp\n");
	stage_release(&st);
}

TEST(a_plugins_hook_knows_its_places_and_options)
{
	static const char *const options[] = { "api_key=k 1", NULL };
	struct stage st;
	stage_init(&st, 0);
	struct hook_source source = { .layer = HOOK_FROM_PLUGIN,
				      .file = "hooks.json",
				      .plugin_root = "/plugin",
				      .plugin_data = "/data",
				      .plugin_options = options,
				      .trusted = true };
	st.set = hook_set_parse(
		&source,
		STR("{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":"
		    "\"echo $CLAUDE_PLUGIN_ROOT $CLAUDE_PLUGIN_DATA $CLAUDE_PLUGIN_OPTION_API_KEY >&2\"}]}]}"),
		NULL, NULL);

	stage_run(&st, HOOK_STOP, "");

	CHECK_STR(buf_str(&st.stderr_text), "/plugin /data k 1\n");
	stage_release(&st);
}

TEST(the_exec_form_has_no_shell)
{
	struct stage st;
	stage_init(&st, 0);
	st.context.project_dir = "/pro ject";
	stage_handler(&st, HOOK_STOP,
		      "{\"type\":\"command\",\"command\":\"sh\",\"args\":[\"-c\",\"printf '%s|' \\\"$@\\\" >&2\",\"x\","
		      "\"${CLAUDE_PROJECT_DIR}/a\",\"$HOME; ls\",\"*\"]}");

	stage_run(&st, HOOK_STOP, "");

	CHECK_STR(buf_str(&st.stderr_text), "/pro ject/a|$HOME; ls|*|");
	stage_release(&st);
}

TEST(a_program_that_cannot_be_started_is_a_note)
{
	struct stage st;
	stage_init(&st, 0);
	stage_handler(&st, HOOK_PRE_TOOL_USE, "{\"type\":\"command\",\"command\":\"/no/such/hook\",\"args\":[]}");

	CHECK_CSTR(
		stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"),
		"ran 1; note: PreToolUse:Bash hook (/no/such/hook): cannot run /no/such/hook: No such file or directory");
	stage_release(&st);
}

TEST(a_directory_that_is_gone_does_not_switch_hooks_off)
{
	struct stage st;
	stage_init(&st, 0);
	st.context.cwd = "/no/such/dir";
	st.context.project_dir = "/usr";
	stage_command(&st, HOOK_PRE_TOOL_USE, "pwd >&2; exit 2");

	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 1; deny: /usr; blocked: /usr");
	st.context.project_dir = NULL;
	CHECK_CSTR(stage_run(&st, HOOK_PRE_TOOL_USE, "Bash"), "ran 1; deny: /; blocked: /");
	stage_release(&st);
}

TEST(a_long_text_goes_to_a_file_and_its_place_to_the_model)
{
	char dir[FOLDER_MAX];
	folder_make(dir);
	struct stage st;
	stage_init(&st, 0);
	st.context.results_dir = dir;
	stage_command(&st, HOOK_SESSION_START, "head -c 10001 /dev/zero | tr '\\0' x");
	AUTO_BUF struct buf want = { 0 };
	buf_addf(&want, "ran 1; context: <persisted-output>\nOutput too large (9.8KB). Full output saved to: %s/hook-",
		 dir);

	CHECK(str_starts(str_from(stage_run(&st, HOOK_SESSION_START, "startup")), buf_str(&want)));

	AUTO_FREE char *path = xstrndup(strstr(st.said.p, dir), strcspn(strstr(st.said.p, dir), "\n"));
	AUTO_BUF struct buf text = { 0 };
	CHECK_INT(file_read(path, 1 << 20, &text, NULL), 0);
	CHECK_INT(text.n, 10001);
	stage_command(&st, HOOK_SESSION_START, "head -c 10000 /dev/zero | tr '\\0' x");
	CHECK_INT(strlen(stage_run(&st, HOOK_SESSION_START, "startup")), 10000 + strlen("ran 1; context: "));
	st.context.results_dir = "/dev/null/none";
	stage_command(&st, HOOK_SESSION_START, "head -c 10001 /dev/zero | tr '\\0' x");
	CHECK(strstr(stage_run(&st, HOOK_SESSION_START, "startup"), "x\n[... the rest of 9.8KB is left out ...]"));
	folder_remove(dir);
	stage_release(&st);
}

int test_command(void)
{
	return RUN_TESTS(T(one_hook_decides_and_is_reported), T(the_strictest_decision_wins_whatever_ends_first),
			 T(contexts_messages_and_reasons_of_all_hooks_are_kept_in_their_order),
			 T(the_last_changed_input_counts_unless_the_call_is_denied),
			 T(the_environment_is_the_callers_without_telemetry_and_with_our_names),
			 T(a_plugins_hook_knows_its_places_and_options), T(the_exec_form_has_no_shell),
			 T(a_program_that_cannot_be_started_is_a_note),
			 T(a_directory_that_is_gone_does_not_switch_hooks_off),
			 T(a_long_text_goes_to_a_file_and_its_place_to_the_model));
}
