/* SPDX-License-Identifier: MIT
 * run_command.c - hooks that are processes: a line for the shell, or a program with its arguments. */
#include <signal.h>
#include <sys/wait.h>
#include "guard/hook/hook_int.h"
#include "guard/hook/template.h"
#include "lib/io/file.h"

/* ---- environment ---- */

enum { OWN_VARIABLES = 16, LONGEST_ASYNC_LINE = 1000 };

struct environment {
	struct arena *arena;
	const char **list;
	size_t count;
};

static void set(struct environment *env, const char *name, const char *value)
{
	if (value)
		env->list[env->count++] = arena_printf(env->arena, "%s=%s", name, value);
}

static bool is_set(const struct environment *env, size_t own, const char *entry)
{
	const char *equals = strchr(entry, '=');
	size_t n = equals ? (size_t)(equals - entry) + 1 : strlen(entry);

	for (size_t i = 0; i < own; i++)
		if (!strncmp(env->list[i], entry, n))
			return true;
	return false;
}

static void set_option(struct environment *env, const char *option)
{
	char *entry = arena_printf(env->arena, "CLAUDE_PLUGIN_OPTION_%s", option);

	for (char *c = entry; *c && *c != '='; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	env->list[env->count++] = entry;
}

static void set_own(struct environment *env, const struct hook_run *run)
{
	const struct hook_context *c = &run->firing->context;
	const struct hook_origin *origin = run->hook->origin;
	bool with_file = hook_event_info(run->firing->event)->flags & HOOK_HAS_ENV_FILE;

	set(env, "CLAUDECODE", "1");
	set(env, "CLAUDE_CODE_CHILD_SESSION", "1");
	set(env, "CLAUDE_CODE_SESSION_ID", c->session_id);
	set(env, "CLAUDE_PROJECT_DIR", c->project_dir);
	set(env, "CLAUDE_EFFORT", c->effort);
	set(env, "CLAUDE_ENV_FILE", with_file ? c->env_file : NULL);
	set(env, "CLAUDE_CODE_REMOTE", c->remote ? "true" : NULL);
	set(env, "CLAUDE_PLUGIN_ROOT", origin->plugin_root);
	set(env, "CLAUDE_PLUGIN_DATA", origin->plugin_data);
	for (const char *const *o = origin->plugin_options; o && *o; o++)
		set_option(env, *o);
}

/* The caller's, without OTEL_*: a hook must not report into the session's telemetry. */
static const char *const *make_environment(const struct hook_run *run)
{
	const char *const *base = run->firing->context.envp;
	size_t most = OWN_VARIABLES + str_count(run->hook->origin->plugin_options) + str_count(base) + 1;
	struct arena *arena = &run->firing->arena;
	struct environment env = { .arena = arena, .list = arena_calloc(arena, most * sizeof *env.list) };

	set_own(&env, run);
	size_t own = env.count;
	for (; base && *base; base++)
		if (strncmp(*base, "OTEL_", 5) != 0 && !is_set(&env, own, *base))
			env.list[env.count++] = *base;
	return env.list;
}

/* ---- the process ---- */

static void add_kept(struct buf *to, size_t limit, const char *p, size_t n)
{
	buf_add(to, p, MIN(n, limit - MIN(limit, to->n)));
}

/* A first line {"async": true} says that the rest takes its time. */
static void read_first_line(struct hook_run *run)
{
	const char *end = memchr(run->out.p, '\n', run->out.n);
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LONGEST_ASYNC_LINE, .depth = 4 } };
	const struct json *root;

	if (!end && run->out.n <= LONGEST_ASYNC_LINE)
		return;
	run->first_line_read = true;
	size_t n = end ? (size_t)(end - run->out.p) : 0;
	if (!n || n > LONGEST_ASYNC_LINE || (hook_event_info(run->firing->event)->flags & HOOK_PRINTS_PATH) ||
	    json_parse(&reader, run->out.p, n, &root, NULL) < 0 || !json_bool(json_get(root, "async")))
		return;
	run->out_skip = n + 1;
	int64_t timeout_ms = 0;
	(void)json_i64(json_get(root, "asyncTimeout"), &timeout_ms);
	hook_run_become_async(run, timeout_ms > 0 ? (uint64_t)timeout_ms : 0);
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct hook_run *run = child_data(c);

	if (is_stderr)
		add_kept(&run->err, HOOK_ERR_LIMIT, p, n);
	else
		add_kept(&run->out, HOOK_OUT_LIMIT, p, n);
	run->out_total += n;
	if (!is_stderr && !run->first_line_read)
		read_first_line(run);
	if (run->out_total > HOOK_FLOOD_LIMIT && !run->failure) {
		hook_run_fail(run, "it printed more than %d MB and was killed", HOOK_FLOOD_LIMIT >> 20);
		child_kill(c, SIGKILL);
	}
}

static void on_exit_of_child(struct child *c, int status)
{
	struct hook_run *run = child_data(c);

	run->child = NULL;
	if (WIFEXITED(status))
		run->exit_code = WEXITSTATUS(status);
	else
		hook_run_fail(run, "killed by signal %d", WTERMSIG(status));
	hook_engine_keep_group(run->firing->engine, child_pid(c), &run->firing->context);
	hook_run_ended(run);
}

static const char *const *make_arguments(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	struct arena *arena = &run->firing->arena;
	size_t n = str_count(hook->args);
	const char **argv = arena_calloc(arena, (n + 2) * sizeof *argv);

	for (size_t i = 0; i <= n; i++) {
		AUTO_BUF struct buf text = { 0 };
		template_add_argument(&text, i ? hook->args[i - 1] : hook->command, hook->origin,
				      run->firing->context.project_dir);
		argv[i] = arena_str(arena, buf_str(&text)).p;
	}
	return argv;
}

/* A shell expands ${CLAUDE_PROJECT_DIR} and the others itself, from the environment, where no path can become code. */
static const char *const *make_shell_line(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	const char **argv = arena_calloc(&run->firing->arena, 6 * sizeof *argv);
	size_t n = 0;

	if (hook->shell && !strcmp(hook->shell, "powershell")) {
		argv[n++] = "pwsh";
		argv[n++] = "-NoProfile";
		argv[n++] = "-NonInteractive";
		argv[n++] = "-Command";
	} else {
		argv[n++] = hook->shell ? "bash" : "sh";
		argv[n++] = "-c";
	}
	argv[n] = hook->command;
	return argv;
}

/* An agent that removed its own directory must not be without its hooks. */
static const char *pick_cwd(const struct hook_context *c)
{
	if (c->cwd && file_exists(c->cwd))
		return c->cwd;
	return c->project_dir && file_exists(c->project_dir) ? c->project_dir : "/";
}

static void command_start(struct hook_run *run)
{
	static const struct child_handlers handlers = { on_output, on_exit_of_child };
	struct hook_firing *f = run->firing;
	struct child_options options = {
		.argv = run->hook->args ? make_arguments(run) : make_shell_line(run),
		.envp = make_environment(run),
		.cwd = pick_cwd(&f->context),
		.input = buf_str(&f->input),
	};
	struct err err = { 0 };

	if (spawn_start(f->engine->options.spawner, &options, &handlers, run, &run->child, &err) < 0) {
		hook_run_fail(run, "%s", err.text);
		hook_run_ended(run);
	}
}

static void command_stop(struct hook_run *run)
{
	if (run->child)
		child_kill(run->child, SIGTERM);
}

const struct run_kind run_command = { command_start, command_stop };
