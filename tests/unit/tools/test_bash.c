/* SPDX-License-Identifier: MIT
 * test_bash.c - the Bash tool with real shells. Tests of long time limits run on the virtual clock, which
 * jumps to the next timer as soon as everything waits. */
#include "unit.h"
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/spawn.h"
#include "lib/json/json_write.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/shell/shell_set.h"

struct shellbox {
	struct toolbox box;
	char *cwd;
	const char *envp[8];
	size_t env_count;
	struct buf notices;
	unsigned notice_count;
};

static void set_cwd(struct tool_env *env, const char *path)
{
	struct shellbox *sb = CONTAINER_OF(env, struct shellbox, box.env);

	env->cwd = sb->cwd = arena_strdup(&sb->box.arena, path);
}

static void take_notice(struct tool_env *env, struct str text)
{
	struct shellbox *sb = CONTAINER_OF(env, struct shellbox, box.env);

	buf_add(&sb->notices, text.p, text.n);
	sb->notice_count++;
}

static void shellbox_open(struct shellbox *sb, unsigned loop_flags)
{
	char real[4096];

	*sb = (struct shellbox){ 0 };
	toolbox_open(&sb->box);
	CHECK(realpath(sb->box.dir, real));
	snprintf(sb->box.dir, sizeof sb->box.dir, "%.100s", real);
	if (loop_flags) {
		loop_free(sb->box.env.loop);
		sb->box.env.loop = loop_new(loop_flags);
	}
	for (; sb->box.env.envp[sb->env_count]; sb->env_count++)
		sb->envp[sb->env_count] = sb->box.env.envp[sb->env_count];
	sb->box.env.envp = sb->envp;
	sb->box.env.set_cwd = set_cwd;
	sb->box.env.notify = take_notice;
	sb->box.env.spawner = spawner_new(sb->box.env.loop);
	sb->box.env.shells = shell_set_new(&sb->box.env);
}

static void end_shells(struct shellbox *sb)
{
	shell_set_free(TAKE(sb->box.env.shells));
	while (spawner_active(sb->box.env.spawner))
		uv_run(loop_uv(sb->box.env.loop), UV_RUN_ONCE);
}

static void shellbox_close(struct shellbox *sb)
{
	if (sb->box.env.shells)
		end_shells(sb);
	spawner_free(sb->box.env.spawner);
	buf_release(&sb->notices);
	toolbox_close(&sb->box);
}

#define SHELLBOX(sb, flags)                         \
	CLEANUP(shellbox_close) struct shellbox sb; \
	shellbox_open(&sb, flags)

/* more: members behind the command, as in ",'timeout':50". */
static void begin(struct shellbox *sb, const char *command, const char *more)
{
	AUTO_BUF struct buf quoted = { 0 };
	AUTO_BUF struct buf input = { 0 };

	json_add_quoted(&quoted, str_from(command));
	buf_addstr(&input, "{'command':");
	for (size_t i = 0; i < quoted.n; i++)
		if (quoted.p[i] == '\'')
			buf_addstr(&input, "\\u0027");
		else
			buf_addch(&input, quoted.p[i]);
	buf_addf(&input, "%s}", more);
	toolbox_begin(&sb->box, "Bash", input.p);
}

static void run(struct shellbox *sb, const char *command)
{
	begin(sb, command, "");
	toolbox_finish(&sb->box);
}

static void stop_loop(struct tool_call *call)
{
	struct toolbox *box = call->owner;

	box->done++;
	loop_stop(call->env->loop);
}

/* Until the call is done, while its shell may go on. */
static void run_until_done(struct shellbox *sb, const char *command, const char *more)
{
	begin(sb, command, more);
	sb->box.call->done = stop_loop;
	toolbox_finish(&sb->box);
}

printf_like(2, 3) static char *text_of(struct shellbox *sb, const char *fmt, ...)
{
	va_list ap;
	AUTO_FREE char *text = NULL;

	va_start(ap, fmt);
	CHECK(vasprintf(&text, fmt, ap) >= 0);
	va_end(ap);
	return arena_strdup(&sb->box.arena, text);
}

static bool is_gone(pid_t pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool gone = p.fd < 0 || poll(&p, 1, 60000) == 1;

	if (p.fd >= 0)
		close(p.fd);
	return gone;
}

TEST(results_have_the_output_or_say_that_there_is_none)
{
	static const struct {
		const char *command, *want;
		bool is_error;
	} table[] = {
		{ "echo hello", "hello", false },
		{ "echo 1; echo 2 >&2; echo 3", "1\n2\n3", false },
		{ "true", "(Bash completed with no output)", false },
		{ "echo; echo", "(Bash completed with no output)", false },
		{ "echo out; exit 3", "Exit code 3\nout", true },
		{ "exit 7", "Exit code 7", true },
		{ "kill -9 $$", "Exit code 137", true },
		{ "cat; echo over", "over", false },
		{ "echo $#", "0", false },
		{ "echo $?", "0", false },
		{ "echo 'it''s \"quoted\"'", "its \"quoted\"", false },
		{ "grep x /dev/null", "(Bash completed with no output)", false },
		{ "echo a | grep b || false", "Exit code 1", true },
		{ "grep -y-z", "", true },
		{ "trap 'echo bye' EXIT; exit 4", "Exit code 4\nbye", true },
		{ "printf 'a\\000b\\377c'", "a\000b", false },
	};
	SHELLBOX(sb, 0);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		run(&sb, table[i].command);
		CHECK_INT(sb.box.call->is_error, table[i].is_error);
		if (table[i].want[0])
			CHECK_STR(toolbox_text(&sb.box), table[i].want);
		CHECK(utf8_valid(toolbox_text(&sb.box)));
	}
}

TEST(a_syntax_error_is_reported_in_terms_of_the_command)
{
	SHELLBOX(sb, 0);

	run(&sb, "echo a\nif then");

	CHECK(sb.box.call->is_error);
	CHECK(str_starts(toolbox_text(&sb.box), STR("Exit code ")));
	CHECK(str_has(toolbox_text(&sb.box), STR("syntax error")));
	CHECK(!str_has(toolbox_text(&sb.box), STR("cadre")));
}

TEST(the_result_object_has_what_consumers_read)
{
	SHELLBOX(sb, 0);

	run(&sb, "echo a; grep x /dev/null");

	CHECK_STR(toolbox_object(&sb.box),
		  "{\"stdout\":\"a\",\"stderr\":\"\",\"interrupted\":false,"
		  "\"isImage\":false,\"noOutputExpected\":false,\"returnCodeInterpretation\":\"No matches found\"}");
}

TEST(a_command_with_a_nul_is_rejected)
{
	SHELLBOX(sb, 0);

	toolbox_begin(&sb.box, "Bash", "{'command':'a\\u0000b'}");
	toolbox_finish(&sb.box);

	CHECK(sb.box.call->is_error);
	CHECK(str_starts(toolbox_text(&sb.box), STR("<tool_use_error>")));
}

TEST(the_environment_tells_who_calls_and_the_env_file_is_read_first)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "env.sh", "FROM_FILE=yes\n");
	sb.envp[sb.env_count++] = text_of(&sb, "CLAUDE_ENV_FILE=%s/env.sh", sb.box.dir);
	sb.envp[sb.env_count++] = "CLAUDECODE=0";

	run(&sb, "echo $CLAUDECODE $CLAUDE_CODE_CHILD_SESSION $CLAUDE_CODE_SESSION_ID $FROM_FILE");

	CHECK_STR(toolbox_text(&sb.box), "1 1 00000000-0000-4000-8000-000000000000 yes");
	run(&sb, "tr '\\0' '\\n' < /proc/$$/environ | grep ^CLAUDECODE=");
	CHECK_STR(toolbox_text(&sb.box), "CLAUDECODE=1");
}

TEST(without_any_shell_the_call_fails_with_the_reason)
{
	SHELLBOX(sb, 0);
	for (size_t i = 0; i < sb.env_count; i++)
		if (!strncmp(sb.envp[i], "PATH=", 5))
			sb.envp[i] = "PATH=/no/such/dir";

	run(&sb, "echo a");

	CHECK(sb.box.call->is_error);
	CHECK_STR(toolbox_text(&sb.box), "cannot run sh: No such file or directory");
}

TEST(output_up_to_the_limit_is_inline_counted_in_characters)
{
	SHELLBOX(sb, 0);

	run(&sb, "for ((i = 0; i < 29000; i++)); do printf '\xe4\xb8\xad'; done");

	CHECK_INT(toolbox_text(&sb.box).n, 3 * 29000);
	CHECK(!file_exists(sb.box.env.results_dir));
}

TEST(more_output_is_saved_and_shown_as_a_preview)
{
	SHELLBOX(sb, 0);

	run(&sb, "seq 1 20000");

	char *start = text_of(&sb,
			      "<persisted-output>\nOutput too large (106.3KB). Full output saved to: "
			      "%s/.results/toolu_1.txt\n\nPreview (first 2KB):\n1\n2\n",
			      sb.box.dir);
	CHECK(!sb.box.call->is_error);
	CHECK(str_starts(toolbox_text(&sb.box), str_from(start)));
	CHECK(str_ends(toolbox_text(&sb.box), STR("\n...\n</persisted-output>")));
	CHECK(toolbox_text(&sb.box).n < 2500);
	struct str all = toolbox_get(&sb.box, ".results/toolu_1.txt");
	CHECK_INT(all.n, 108894);
	CHECK(str_ends(all, STR("\n19999\n20000\n")));
	CHECK(str_has(toolbox_object(&sb.box), STR("\"persistedOutputPath\":\"")));
}

TEST(a_failure_shows_the_beginning_and_the_end_and_where_the_rest_is)
{
	SHELLBOX(sb, 0);

	run(&sb, "seq 1 100000; exit 2");

	struct str text = toolbox_text(&sb.box);
	CHECK(sb.box.call->is_error);
	CHECK(str_starts(text, STR("Exit code 2\n1\n2\n")));
	CHECK(str_ends(text, STR("\n99999\n100000")));
	char *where = text_of(&sb, "bytes left out; all of it is in %s/.results/toolu_1.txt]", sb.box.dir);
	CHECK(str_has(text, str_from(where)));
	CHECK(text.n < 10500);
	CHECK_INT(toolbox_get(&sb.box, ".results/toolu_1.txt").n, 588895);
}

TEST(output_that_cannot_be_saved_is_cut_with_the_reason)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "file", "");
	sb.box.env.results_dir = toolbox_path(&sb.box, "file/results");

	run(&sb, "seq 1 100000");

	struct str text = toolbox_text(&sb.box);
	CHECK(!sb.box.call->is_error);
	CHECK(str_starts(text, STR("1\n2\n3\n")));
	CHECK(str_has(text, STR("; they could not be saved: ")));
	CHECK(str_ends(text, STR("\n99999\n100000")));
}

TEST(a_flood_costs_little_memory_and_is_stopped_at_its_limit)
{
	SHELLBOX(sb, 0);
	sb.box.env.shells->flood_bytes = 30 << 20;

	run(&sb, "yes");

	struct stat st;
	CHECK(sb.box.call->is_error);
	CHECK(str_starts(toolbox_text(&sb.box), STR("Command was stopped because it printed too much\ny\ny\n")));
	CHECK_INT(stat(toolbox_path(&sb.box, ".results/toolu_1.txt"), &st), 0);
	CHECK(st.st_size > 30 << 20 && st.st_size < 31 << 20);
}

TEST(memory_for_output_stays_bounded_however_much_comes)
{
	struct shell_output o;
	char piece[10000];
	memset(piece, 'x', sizeof piece);
	shell_output_init(&o, 50000, NULL);

	for (int i = 0; i < 10000; i++) {
		shell_output_add(&o, piece, sizeof piece);
		CHECK(o.head.cap + o.tail.cap < 300000);
	}
	shell_output_add(&o, "end", 3);

	CHECK_INT(o.total, 100000003);
	CHECK_INT(o.head.n, 50000);
	CHECK_STR(shell_output_end(&o, 4), "xend");
	shell_output_release(&o);
}

TEST(the_directory_persists_inside_the_working_directories)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "sub dir/f", "");

	run(&sb, "cd 'sub dir' && exit 3");
	CHECK_STR(toolbox_text(&sb.box), "Exit code 3");
	run(&sb, "ls; pwd");

	CHECK_STR(toolbox_text(&sb.box), text_of(&sb, "f\n%s/sub dir", sb.box.dir));
	CHECK_CSTR(sb.box.env.cwd, text_of(&sb, "%s/sub dir", sb.box.dir));
}

TEST(outside_of_them_it_is_reset_and_the_result_says_so)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "sub/f", "");
	run(&sb, "cd sub");

	run(&sb, "cd /usr && pwd");

	CHECK_STR(toolbox_text(&sb.box), text_of(&sb, "/usr\nShell cwd was reset to %s", sb.box.dir));
	CHECK_CSTR(sb.box.env.cwd, sb.box.dir);
}

TEST(in_a_subagent_it_never_persists)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "sub/f", "");
	sb.box.env.main_thread = false;

	run(&sb, "cd sub; pwd");
	CHECK_STR(toolbox_text(&sb.box), text_of(&sb, "%s/sub\nShell cwd was reset to %s", sb.box.dir, sb.box.dir));
	run(&sb, "pwd");

	CHECK_STR(toolbox_text(&sb.box), sb.box.dir);
}

TEST(a_setting_keeps_the_directory_where_the_session_started)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "sub/f", "");
	sb.envp[sb.env_count++] = "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR=1";

	run(&sb, "cd sub");

	CHECK_STR(toolbox_text(&sb.box),
		  text_of(&sb, "(Bash completed with no output)\nShell cwd was reset to %s", sb.box.dir));
	CHECK_CSTR(sb.box.env.cwd, sb.box.dir);
}

TEST(a_directory_that_was_removed_leads_back_to_the_start)
{
	SHELLBOX(sb, 0);
	toolbox_put(&sb.box, "sub/f", "");
	run(&sb, "cd sub");

	run(&sb, text_of(&sb, "rm -r '%s/sub'", sb.box.dir));
	run(&sb, "pwd");

	CHECK_STR(toolbox_text(&sb.box), sb.box.dir);
	CHECK_CSTR(sb.box.env.cwd, sb.box.dir);
}

TEST(no_files_are_left_for_the_directory)
{
	SHELLBOX(sb, 0);

	run(&sb, "true");

	CHECK_INT(rmdir(sb.box.env.tasks_dir), 0);
}

TEST(a_command_that_may_not_move_is_stopped_at_its_timeout)
{
	SHELLBOX(sb, LOOP_VIRTUAL_CLOCK);

	run(&sb, "sleep 1000");

	CHECK(sb.box.call->is_error);
	CHECK_STR(toolbox_text(&sb.box), "Command timed out after 2m 0s");
}

TEST(timeouts_come_from_the_call_and_the_settings_and_have_a_ceiling)
{
	static const struct {
		const char *setting, *more, *want;
	} table[] = {
		{ "X=1", ",'timeout':1500", "Command timed out after 1.5s" },
		{ "X=1", ",'timeout':7200000", "Command timed out after 10m 0s" },
		{ "BASH_DEFAULT_TIMEOUT_MS=30_000", "", "Command timed out after 30s" },
		{ "BASH_MAX_TIMEOUT_MS=2e5", ",'timeout':7200000", "Command timed out after 3m 20s" },
		{ "BASH_DEFAULT_TIMEOUT_MS=nonsense", "", "Command timed out after 2m 0s" },
	};
	SHELLBOX(sb, LOOP_VIRTUAL_CLOCK);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		sb.envp[sb.env_count] = table[i].setting;
		begin(&sb, "sleep 1000", table[i].more);
		toolbox_finish(&sb.box);
		CHECK_STR(toolbox_text(&sb.box), table[i].want);
	}
}

TEST(a_background_command_of_a_subagent_may_live_as_long_as_the_environment_says)
{
	static const char *const settings[] = { "X=1", "CLAUDE_SUBAGENT_BG_SHELL_MAX_MS=5000" };
	static const char *const wanted[] = { "it ran for 30m 0s", "it ran for 5s" };

	for (unsigned i = 0; i < COUNT_OF(settings); i++) {
		SHELLBOX(sb, LOOP_VIRTUAL_CLOCK);
		sb.envp[sb.env_count] = settings[i];
		sb.box.env.main_thread = false;
		run_until_done(&sb, "sleep 100000", ",'run_in_background':true");
		loop_run(sb.box.env.loop);
		CHECK(str_has(buf_str(&sb.notices), str_from(wanted[i])));
	}
}

TEST(output_beyond_the_length_that_the_environment_names_is_cut)
{
	SHELLBOX(sb, 0);
	sb.envp[sb.env_count++] = "BASH_MAX_OUTPUT_LENGTH=100";

	run(&sb, "printf 'x%.0s' $(seq 100)");
	CHECK_INT(toolbox_text(&sb.box).n, 100);
	run(&sb, "printf 'x%.0s' $(seq 101)");
	CHECK(str_has(toolbox_text(&sb.box), STR("Output too large")));
}

TEST(where_background_is_disabled_a_timeout_stops_and_background_calls_wait)
{
	static const char *const switches[] = { "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
						"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=yes" };

	for (size_t i = 0; i < COUNT_OF(switches); i++) {
		SHELLBOX(sb, LOOP_VIRTUAL_CLOCK);
		sb.envp[sb.env_count++] = switches[i];

		begin(&sb, "cat <(sleep 1000)", ",'run_in_background':true");
		toolbox_finish(&sb.box);

		CHECK_STR(toolbox_text(&sb.box), "Command timed out after 2m 0s");
	}
}

/* A fifo lets the command go on when the test says so. */
static char *make_fifo(struct shellbox *sb)
{
	char *path = toolbox_path(&sb->box, "fifo");

	CHECK_INT(mkfifo(path, 0600), 0);
	return path;
}

static void open_fifo(const char *path)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs("go\n", f) >= 0);
	fclose(f);
}

static pid_t read_pid(const char *path)
{
	FILE *f = fopen(path, "r");
	int pid = 0;

	CHECK(f && fscanf(f, "%d", &pid) == 1);
	fclose(f);
	return pid;
}

TEST(other_commands_move_to_the_background_and_the_end_is_notified)
{
	SHELLBOX(sb, 0);
	char *fifo = make_fifo(&sb);

	run_until_done(&sb, "echo early; read x < fifo; echo late", ",'timeout':50");
	const struct shell *shell = sb.box.env.shells->shells;
	CHECK(!sb.box.call->is_error);
	char *path = text_of(&sb, "%s/.tasks/%s.output", sb.box.dir, shell->id);
	char *answer = text_of(&sb,
			       "Command did not complete within its 0.05s timeout and was moved to the background "
			       "(ID: %s). Output is being written to: %s.",
			       shell->id, path);
	CHECK(str_starts(toolbox_text(&sb.box), str_from(answer)));
	CHECK(str_has(toolbox_object(&sb.box), STR("\"timedOutAfterMs\":50")));
	CHECK_INT(sb.notice_count, 0);
	open_fifo(fifo);
	loop_run(sb.box.env.loop);

	CHECK_INT(sb.notice_count, 1);
	CHECK(str_has(buf_str(&sb.notices),
		      STR("<status>completed</status>\n<summary>Background command \"echo early; read x &lt; fifo; "
			  "echo late\" completed (exit code 0)</summary>")));
	CHECK(str_has(buf_str(&sb.notices), str_from(text_of(&sb, "<output-file>%s</output-file>", path))));
	CHECK_STR(toolbox_get(&sb.box, path), "early\nlate\n");
}

TEST(a_background_command_answers_at_once_and_reports_its_failure)
{
	SHELLBOX(sb, 0);
	char *fifo = make_fifo(&sb);

	run_until_done(&sb, "read x < fifo; echo over; exit 3", ",'run_in_background':true,'description':'wait & see'");
	const struct shell *shell = sb.box.env.shells->shells;
	char *id = text_of(&sb, "%s", shell->id);
	CHECK_INT(strlen(id), 9);
	CHECK(shell_set_find(sb.box.env.shells, str_from(id)) == shell);
	char *answer = text_of(&sb,
			       "Command running in background with ID: %s. Output is being written to: "
			       "%s/.tasks/%s.output.",
			       id, sb.box.dir, id);
	CHECK(str_starts(toolbox_text(&sb.box), str_from(answer)));
	CHECK(str_has(toolbox_object(&sb.box), str_from(text_of(&sb, "\"backgroundTaskId\":\"%s\"", id))));
	open_fifo(fifo);
	loop_run(sb.box.env.loop);

	CHECK_STR(buf_str(&sb.notices),
		  text_of(&sb,
			  "<task-notification>\n<task-id>%s</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n"
			  "<output-file>%s/.tasks/%s.output</output-file>\n<status>failed</status>\n"
			  "<summary>Background command \"wait &amp; see\" failed (exit code 3)</summary>\n"
			  "</task-notification>",
			  id, sb.box.dir, id));
	CHECK_STR(toolbox_get(&sb.box, text_of(&sb, ".tasks/%s.output", id)), "over\n");
	CHECK(!sb.box.env.shells->shells);
}

TEST(a_background_command_has_a_longest_life)
{
	SHELLBOX(sb, LOOP_VIRTUAL_CLOCK);

	run_until_done(&sb, "sleep 5000", ",'run_in_background':true");
	loop_run(sb.box.env.loop);

	CHECK_INT(sb.notice_count, 1);
	CHECK(str_has(buf_str(&sb.notices), STR("<status>killed</status>")));
	CHECK(str_has(buf_str(&sb.notices), STR("was stopped because it ran for 30m 0s")));
}

TEST(a_background_command_can_be_stopped)
{
	SHELLBOX(sb, 0);

	run_until_done(&sb, "sleep 1000", ",'run_in_background':true");
	shell_stop(sb.box.env.shells->shells, SHELL_STOPPED);
	loop_run(sb.box.env.loop);

	CHECK(str_has(buf_str(&sb.notices), STR("<status>killed</status>\n<summary>Background command "
						"\"sleep 1000\" was stopped</summary>")));
}

TEST(a_cancelled_call_ends_its_processes_and_finishes)
{
	SHELLBOX(sb, 0);
	char *fifo = make_fifo(&sb);

	begin(&sb, "sleep 1000 & echo $! > fifo; wait", "");
	pid_t shell = child_pid(sb.box.env.shells->shells->child);
	pid_t inner = read_pid(fifo);
	tool_call_cancel(sb.box.call);
	toolbox_finish(&sb.box);

	CHECK(sb.box.call->is_error);
	CHECK_STR(toolbox_text(&sb.box), "Command was cancelled before it ended");
	CHECK(is_gone(shell));
	CHECK(is_gone(inner));
}

TEST(the_end_of_the_agent_ends_its_shells_and_what_they_left_without_a_notice)
{
	SHELLBOX(sb, 0);

	run(&sb, "sleep 1000 >/dev/null 2>&1 & echo $!");
	pid_t left = atoi(sb.box.call->result.p);
	run_until_done(&sb, "sleep 1000", ",'run_in_background':true");
	pid_t running = child_pid(sb.box.env.shells->shells->child);
	CHECK_INT(kill(left, 0), 0);
	end_shells(&sb);

	CHECK(is_gone(left));
	CHECK(is_gone(running));
	CHECK_INT(sb.notice_count, 0);
}

TEST(exit_1_of_the_last_program_may_be_an_answer)
{
	static const struct {
		const char *command;
		int code;
		bool is_answer;
	} table[] = {
		{ "grep x f", 1, true },
		{ "grep x f", 2, false },
		{ "/usr/bin/grep x f", 1, true },
		{ "cd a && rg x", 1, true },
		{ "cat f | grep x 2>&1", 1, true },
		{ "grep x f | head -n 1 && false", 1, false },
		{ "LC_ALL=C grep x f", 1, true },
		{ "! diff a b", 1, true },
		{ "diff a b > out", 1, true },
		{ "[ -f x ]", 1, true },
		{ "test -f x;", 1, true },
		{ "find / -name x 2>/dev/null", 1, true },
		{ "git diff --quiet", 1, true },
		{ "git -C dir grep x", 1, true },
		{ "git commit -m 'diff'", 1, false },
		{ "echo 'a; grep x'", 1, false },
		{ "false", 1, false },
		{ "", 1, false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if ((bash_exit_meaning(str_from(table[i].command), table[i].code) != NULL) != table[i].is_answer)
			fail_msg("%s", table[i].command);
}

TEST(commands_that_only_wait_or_may_hold_a_lock_do_not_move)
{
	static const struct {
		const char *command;
		bool may_move;
	} table[] = {
		{ "make -j2", true },        { "make; sleep 10", true }, { "sleep 10", false },
		{ "sleep 10; make", false }, { "git fetch", false },     { "cd x && git gc", false },
		{ "legit tool", true },      { "ls .gitignore", true },  { "echo 'open", false },
		{ "echo \"it's\"", true },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (bash_may_move(str_from(table[i].command)) != table[i].may_move)
			fail_msg("%s", table[i].command);
}

int test_bash(void)
{
	return RUN_TESTS(
		T(results_have_the_output_or_say_that_there_is_none),
		T(a_syntax_error_is_reported_in_terms_of_the_command), T(the_result_object_has_what_consumers_read),
		T(a_command_with_a_nul_is_rejected), T(the_environment_tells_who_calls_and_the_env_file_is_read_first),
		T(without_any_shell_the_call_fails_with_the_reason),
		T(output_up_to_the_limit_is_inline_counted_in_characters),
		T(more_output_is_saved_and_shown_as_a_preview),
		T(a_failure_shows_the_beginning_and_the_end_and_where_the_rest_is),
		T(output_that_cannot_be_saved_is_cut_with_the_reason),
		T(a_flood_costs_little_memory_and_is_stopped_at_its_limit),
		T(memory_for_output_stays_bounded_however_much_comes),
		T(the_directory_persists_inside_the_working_directories),
		T(outside_of_them_it_is_reset_and_the_result_says_so), T(in_a_subagent_it_never_persists),
		T(a_setting_keeps_the_directory_where_the_session_started),
		T(a_directory_that_was_removed_leads_back_to_the_start), T(no_files_are_left_for_the_directory),
		T(a_command_that_may_not_move_is_stopped_at_its_timeout),
		T(timeouts_come_from_the_call_and_the_settings_and_have_a_ceiling),
		T(a_background_command_of_a_subagent_may_live_as_long_as_the_environment_says),
		T(output_beyond_the_length_that_the_environment_names_is_cut),
		T(where_background_is_disabled_a_timeout_stops_and_background_calls_wait),
		T(other_commands_move_to_the_background_and_the_end_is_notified),
		T(a_background_command_answers_at_once_and_reports_its_failure),
		T(a_background_command_has_a_longest_life), T(a_background_command_can_be_stopped),
		T(a_cancelled_call_ends_its_processes_and_finishes),
		T(the_end_of_the_agent_ends_its_shells_and_what_they_left_without_a_notice),
		T(exit_1_of_the_last_program_may_be_an_answer),
		T(commands_that_only_wait_or_may_hold_a_lock_do_not_move));
}
