/* SPDX-License-Identifier: MIT
 * run_command.c - hooks that are processes: a line for the shell, or a program with its arguments. */
#include <signal.h>
#include <sys/wait.h>
#include "guard/hook/hook_int.h"
#include "lib/io/file.h"

enum { LONGEST_ASYNC_LINE = 1000, SHELL_KILLED = 128 };

/* The caller's, without OTEL_*: a hook must not report into the session's telemetry. */
static const char *const *make_environment(const struct hook_run *run)
{
	const struct hook_context *c = &run->batch->context;
	const struct hook_origin *origin = run->hook->origin;
	bool with_file = hook_events[run->batch->event].flags & HOOK_HAS_ENV_FILE;
	const struct {
		const char *name, *value;
	} variables[] = {
		{ "CLAUDECODE", "1" },
		{ "CLAUDE_CODE_CHILD_SESSION", "1" },
		{ "CLAUDE_CODE_SESSION_ID", c->session_id },
		{ "CLAUDE_PROJECT_DIR", c->project_dir },
		{ "CLAUDE_EFFORT", c->effort },
		{ "CLAUDE_ENV_FILE", with_file ? c->env_file : NULL },
		{ "CLAUDE_PLUGIN_ROOT", origin->plugin_root },
		{ "CLAUDE_PLUGIN_DATA", origin->plugin_data },
	};
	struct arena *arena = &run->batch->arena;
	size_t most = COUNT_OF(variables) + str_count(origin->plugin_options) + str_count(c->envp) + 1;
	const char **list = arena_calloc(arena, most * sizeof *list);
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(variables); i++)
		if (variables[i].value)
			list[count++] = arena_printf(arena, "%s=%s", variables[i].name, variables[i].value);
	for (const char *const *o = origin->plugin_options; o && *o; o++) {
		char *entry = arena_printf(arena, "CLAUDE_PLUGIN_OPTION_%s", *o);
		list[count++] = entry;
		for (; *entry && *entry != '='; entry++)
			if (*entry >= 'a' && *entry <= 'z')
				*entry = (char)(*entry - 'a' + 'A');
	}
	size_t own = count;
	for (const char *const *entry = c->envp; entry && *entry; entry++) {
		size_t name = strcspn(*entry, "=") + 1;
		bool replaced = !strncmp(*entry, "OTEL_", 5);
		for (size_t i = 0; i < own && !replaced; i++)
			replaced = !strncmp(list[i], *entry, name);
		if (!replaced)
			list[count++] = *entry;
	}
	return list;
}

/* A first line {"async": true} says that the rest takes its time. */
static void read_first_line(struct hook_run *run)
{
	const char *end = memchr(run->out.p, '\n', run->out.n);
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LONGEST_ASYNC_LINE, .depth = 4 } };

	if (!end && run->out.n <= LONGEST_ASYNC_LINE)
		return;
	run->first_line_read = true;
	size_t n = end ? (size_t)(end - run->out.p) : 0;
	const struct json *root = json_read(&reader, (struct str){ run->out.p, n });
	if ((hook_events[run->batch->event].flags & HOOK_PRINTS_PATH) || !json_bool(json_get(root, "async")))
		return;
	run->out_skip = n + 1;
	int64_t timeout_ms = 0;
	(void)json_i64(json_get(root, "asyncTimeout"), &timeout_ms);
	hook_run_become_async(run, timeout_ms > 0 ? (uint64_t)timeout_ms : 0);
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct hook_run *run = child_data(c);
	struct buf *to = is_stderr ? &run->err : &run->out;
	size_t limit = is_stderr ? HOOK_ERR_LIMIT : HOOK_OUT_LIMIT;

	buf_add(to, p, MIN(n, limit - MIN(limit, to->n)));
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
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : HOOK_NO_EXIT;
	/* A shell that waits for its program says so by its own status. */
	bool of_shell = !run->hook->args && code > SHELL_KILLED && code < SHELL_KILLED + NSIG;
	int number = code == HOOK_NO_EXIT ? WTERMSIG(status) : of_shell ? code - SHELL_KILLED : 0;

	run->child = NULL;
	run->killed = number != 0;
	if (!run->killed)
		run->exit_code = code;
	else
		hook_run_fail(run, "killed by signal %d", number);
	hook_engine_keep_group(run->batch->engine, child_pid(c), &run->batch->context);
	hook_run_ended(run);
}

static const char *const *make_arguments(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	struct arena *arena = &run->batch->arena;
	size_t n = str_count(hook->args);
	const char **argv = arena_calloc(arena, (n + 2) * sizeof *argv);

	for (size_t i = 0; i <= n; i++) {
		AUTO_BUF struct buf text = { 0 };
		template_add_argument(&text, i ? hook->args[i - 1] : hook->command, hook->origin,
				      run->batch->context.project_dir);
		argv[i] = arena_str(arena, buf_str(&text)).p;
	}
	return argv;
}

/* A shell expands ${CLAUDE_PROJECT_DIR} and the others itself, from the environment, where no path can become code. */
static const char *const *make_shell_line(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	const char **argv = arena_calloc(&run->batch->arena, 6 * sizeof *argv);
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

static void command_start(struct hook_run *run)
{
	static const struct child_handlers handlers = { on_output, on_exit_of_child };
	const struct hook_context *c = &run->batch->context;
	/* An agent that removed its own directory must not be without its hooks. */
	const char *const dirs[] = { c->cwd, c->project_dir };
	const char *cwd = "/";
	enum hook_layer layer = run->hook->origin->layer;
	bool of_user = layer != HOOK_FROM_PROJECT && layer != HOOK_FROM_PLUGIN && layer != HOOK_FROM_SKILL &&
		       layer != HOOK_FROM_AGENT; /* which a project or a plugin brings */
	for (size_t i = COUNT_OF(dirs); i-- > 0;)
		if (dirs[i] && file_exists(dirs[i]))
			cwd = dirs[i];
	struct child_options options = {
		.argv = run->hook->args ? make_arguments(run) : make_shell_line(run),
		.envp = make_environment(run),
		.cwd = cwd,
		.input = buf_str(&run->batch->input),
		.of = of_user ? CHILD_OF_HOOK : CHILD_OF_PROJECT_HOOK,
		.cage = run->batch->context.cage,
		.ret_held = &run->held,
	};
	struct err err = { 0 };

	if (spawn_start(run->batch->engine->options.spawner, &options, &handlers, run, &run->child, &err) < 0) {
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
