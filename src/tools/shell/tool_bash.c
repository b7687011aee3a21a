/* SPDX-License-Identifier: MIT
 * tool_bash.c - Bash: a command in a new shell, in the foreground with a time limit or in the background. */
#include <limits.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/shell/shell_set.h"
#include "core/tool/tool_list.h"

/* The text of a result: whole when it is short, a file and a preview when it is long. */

enum { FAILURE_CHARS = 10000 }; /* of a failure: beginning and end, half of it each */

static bool output_fits(const struct shell_output *o, size_t chars)
{
	size_t n = 0;

	if (o->total <= chars)
		return true;
	for (size_t i = 0; i < o->head.n; i++)
		n += ((unsigned char)o->head.p[i] & 0xc0) != 0x80;
	return o->total == o->head.n && n <= chars;
}

/* Without the line ends behind the last line. */
static struct str without_line_ends(struct str s)
{
	while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
		s.n--;
	return s;
}

/* True when all of the output is in a file now. */
static bool output_save(struct shell_output *o)
{
	if (!o->path && !o->err.text[0] && o->spill_path)
		(void)shell_output_save(o, o->spill_path, &o->err);
	return o->path && !o->err.text[0];
}

static void add_ends(struct buf *out, struct shell_output *o)
{
	struct str head = utf8_cut(buf_str(&o->head), FAILURE_CHARS / 2);
	struct str end = shell_output_end(o, FAILURE_CHARS / 2);
	bool saved = output_save(o);

	utf8_add_repaired(out, head);
	buf_addf(out, "\n\n... [%llu bytes left out", (unsigned long long)(o->total - head.n - end.n));
	if (saved)
		buf_addf(out, "; all of it is in %s", o->path);
	else if (o->err.text[0])
		buf_addf(out, "; they could not be saved: %s", o->err.text);
	buf_addstr(out, "] ...\n\n");
	utf8_add_repaired(out, without_line_ends(end));
}

static struct json_out open_json(struct tool_call *call, struct str text)
{
	buf_clear(&call->result_json);
	struct json_out w = json_out(&call->result_json);

	json_putf(&w, "{stdout:'%.*s', stderr:'', interrupted:false, isImage:false, noOutputExpected:false",
		  STR_ARG(text));
	return w;
}

/* The reason in the first line, then the output. */
static void bash_result_failure(struct tool_call *call, struct shell *shell, uint64_t timeout_ms)
{
	struct shell_output *o = &shell->output;
	struct str text = without_line_ends(buf_str(&o->head));

	switch (shell->reason) {
	case SHELL_TIMED_OUT:
		buf_addstr(&call->result, "Command timed out after ");
		bash_add_duration(&call->result, timeout_ms);
		break;
	case SHELL_FLOODED:
		buf_addstr(&call->result, "Command was stopped because it printed too much");
		break;
	case SHELL_STOPPED:
		buf_addstr(&call->result, "Command was cancelled before it ended");
		break;
	default:
		buf_addf(&call->result, "Exit code %d", shell_exit_code(shell));
	}
	if (!o->total || (output_fits(o, FAILURE_CHARS) && !text.n))
		return;
	buf_addch(&call->result, '\n');
	if (output_fits(o, FAILURE_CHARS))
		buf_append(&call->result, text);
	else
		add_ends(&call->result, o);
}

/* No output yet; the id and, when it was moved, the time it had. */
static void bash_result_background(struct tool_call *call, const struct shell *shell, uint64_t timed_out_ms)
{
	struct buf *out = &call->result;

	if (timed_out_ms) {
		buf_addstr(out, "Command did not complete within its ");
		bash_add_duration(out, timed_out_ms);
		buf_addf(out, " timeout and was moved to the background (ID: %s).", shell->id);
	} else {
		buf_addf(out, "Command running in background with ID: %s.", shell->id);
	}
	buf_addf(out,
		 " Output is being written to: %s. You will be notified when it completes; until then Read "
		 "shows what that file has so far.",
		 shell->output.path);
	struct json_out w = open_json(call, STR(""));
	json_putf(&w, "backgroundTaskId:'%s', timedOutAfterMs?:%lld", shell->id, (long long)timed_out_ms);
	json_close(&w);
}

static void bash_start(struct tool_call *call);
static void bash_cancel(struct tool_call *call);

const struct tool tool_bash = { TOOL_BASH_FACTS, .start = bash_start, .cancel = bash_cancel };

enum {
	TIMEOUT_MS = 120 * 1000,
	TIMEOUT_MAX_MS = 600 * 1000,
	LIFE_MS = 30 * 60 * 1000, /* of a background shell */
	LIFE_MAX_MS = 2 * 60 * 60 * 1000,
	INLINE_CHARS = 30000,
	INLINE_MAX_CHARS = 150000,
};

/* Call->state, in the call's arena */
struct bash_call {
	struct tool_call *call;
	struct shell *shell; /* NULL when it is over or runs in the background */
	struct str command;
	size_t inline_chars; /* more goes to a file */
	uint64_t timeout_ms;
	bool can_move;
};

/* Numbers in settings may be written as 64_000 or 2e3. Anything else, and 0, is as if it were not set. */
static uint64_t env_number(const struct tool_env *env, const char *name, uint64_t fallback)
{
	const char *text = tool_env_get(env, name);
	char digits[32];
	size_t n = 0;
	double value;

	for (; text && *text && n < sizeof digits - 1; text++)
		if (*text != '_')
			digits[n++] = *text;
	bool good = str_to_double((struct str){ digits, n }, &value);
	return good && value >= 1 && value < 1e15 ? (uint64_t)value : fallback;
}

static uint64_t wanted_ms(const struct tool_call *call, uint64_t fallback, uint64_t most)
{
	double wanted = json_double(json_get(call->input, "timeout"));

	return wanted >= 1 ? (uint64_t)MIN(wanted, (double)most) : MIN(fallback, most);
}

static uint64_t background_ms(const struct tool_call *call, bool asked)
{
	uint64_t most = LIFE_MAX_MS;

	if (!call->env->main_thread)
		most = MIN(most, env_number(call->env, "CLAUDE_SUBAGENT_BG_SHELL_MAX_MS", LIFE_MAX_MS / 2));
	return asked ? wanted_ms(call, LIFE_MS, most) : MIN((uint64_t)LIFE_MS, most);
}

static bool is_inside(const char *path, const char *dir)
{
	char real[PATH_MAX];

	return path_is_inside(path, dir) || (realpath(dir, real) && path_is_inside(path, real));
}

static void follow_shell(struct tool_call *call, const char *last_dir)
{
	struct tool_env *env = call->env;
	bool persists = env->main_thread && env->set_cwd;
	bool maintain = env_is_on(tool_env_get(env, "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR"));
	const char *back = persists ? env->root : env->cwd;
	const char *expected = persists && maintain ? back : env->cwd;
	char real[PATH_MAX];

	if (!last_dir || !strcmp(last_dir, expected) || (realpath(expected, real) && !strcmp(last_dir, real)))
		return;
	/* A command can write what its shell says. pwd -P has no links in it, and none that lead out. */
	if (!realpath(last_dir, real) || strcmp(last_dir, real) != 0)
		return;
	bool allowed = is_inside(last_dir, env->root);
	for (const char *const *dir = env->dirs; dir && *dir && !allowed; dir++)
		allowed = is_inside(last_dir, *dir);
	if (persists && !maintain && allowed) {
		env->set_cwd(env, last_dir);
		return;
	}
	if (persists)
		env->set_cwd(env, env->root);
	buf_addf(&call->result, "\nShell cwd was reset to %s", back);
}

static void on_shell_end(struct shell *shell)
{
	struct bash_call *b = shell->data;
	struct tool_call *call = b->call;

	b->shell = NULL;
	const char *meaning = bash_exit_meaning(b->command, shell_exit_code(shell));
	bool failed = shell->reason != SHELL_ENDED || (shell->status && !meaning);
	if (failed)
		bash_result_failure(call, shell, b->timeout_ms);
	else {
		/* Fills result and result_json. meaning explains an exit code that does not mean failure; may be NULL. */
		struct shell_output *o = &shell->output;
		struct str text = without_line_ends(buf_str(&o->head));
		bool whole = output_fits(o, b->inline_chars);

		if (whole && !text.n)
			buf_addstr(&call->result, "(Bash completed with no output)");
		else if (whole)
			buf_append(&call->result, text);
		else if (output_save(o))
			tool_add_persisted(&call->result, o->total, o->path, buf_str(&o->head));
		else
			add_ends(&call->result, o);
		struct json_out w = open_json(call, whole ? text : utf8_cut(text, b->inline_chars));
		json_putf(&w, "persistedOutputPath?:'%s', returnCodeInterpretation?:'%s'", o->path, meaning);
		json_close(&w);
	}
	if (shell->held) {
		sandbox_report(shell->held, buf_str(&shell->output.head), failed, &call->result);
		sandbox_violations(shell->held, &call->blocked);
	}
	follow_shell(call, shell->last_dir);
	tool_call_end_as(call, failed);
}

static void on_timeout(struct shell *shell)
{
	struct bash_call *b = shell->data;

	if (!b->can_move || shell_to_background(shell, background_ms(b->call, false), NULL) < 0) {
		shell_stop(shell, SHELL_TIMED_OUT);
		return;
	}
	b->shell = NULL;
	bash_result_background(b->call, shell, b->timeout_ms);
	tool_call_end(b->call);
}

static void bash_cancel(struct tool_call *call)
{
	struct bash_call *b = call->state;

	if (b->shell)
		shell_stop(b->shell, SHELL_STOPPED);
}

static void start_shell(struct bash_call *b, const char *command, bool background)
{
	struct tool_call *call = b->call;
	struct tool_env *env = call->env;
	struct err err = { 0 };
	/* When the directory was removed, Bash returns to where the session started. */
	bool removed = !file_exists(env->cwd) && file_exists(env->root);
	if (removed && env->main_thread && env->set_cwd)
		env->set_cwd(env, env->root);
	struct shell_options options = {
		.command = command,
		.description = json_cstr(json_get(call->input, "description"), &call->arena),
		.call_id = call->id,
		.cwd = removed ? env->root : env->cwd,
		.keep_bytes = 4 * b->inline_chars,
		.spill_path = tool_result_path(call),
		.limit_ms = background ? background_ms(call, true) : b->timeout_ms,
		.background = background,
		.belief = call->belief,
		.where = call->where,
		.on_end = on_shell_end,
		.on_time = on_timeout,
		.data = b,
	};

	if (shell_start(env->shells, &options, &b->shell, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
	} else if (background) {
		bash_result_background(call, b->shell, 0);
		b->shell = NULL;
		tool_call_end(call);
	}
}

static void bash_start(struct tool_call *call)
{
	struct bash_call *b = arena_calloc(&call->arena, sizeof *b);
	const char *command = json_cstr(json_get(call->input, "command"), &call->arena);
	bool no_background = env_is_on(tool_env_get(call->env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"));

	call->state = b;
	b->call = call;
	if (call->env->no_shell) {
		tool_call_reject(call, "%s", call->env->no_shell);
		return;
	}
	if (!command) {
		tool_call_reject(call, "command must not contain a NUL.");
		return;
	}
	b->command = str_from(command);
	uint64_t usual_ms = env_number(call->env, "BASH_DEFAULT_TIMEOUT_MS", TIMEOUT_MS);
	uint64_t most_ms = env_number(call->env, "BASH_MAX_TIMEOUT_MS", TIMEOUT_MAX_MS);
	b->timeout_ms = wanted_ms(call, usual_ms, MAX(usual_ms, most_ms));
	b->can_move = !no_background && bash_may_move(b->command);
	uint64_t chars = env_number(call->env, "BASH_MAX_OUTPUT_LENGTH", INLINE_CHARS);
	b->inline_chars = MIN(chars, (uint64_t)INLINE_MAX_CHARS);
	start_shell(b, command, json_bool(json_get(call->input, "run_in_background")) && !no_background);
}
