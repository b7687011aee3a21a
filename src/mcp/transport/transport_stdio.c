/* SPDX-License-Identifier: MIT
 * transport_stdio.c - a server that is a child process: one JSON message a line on its stdin and stdout, logs on
 * stderr.
 *
 * Shutdown: stdin is closed, then after a delay SIGTERM, then SIGKILL (lib/io/child.c), for its whole process group. A
 * server that closes its stdout, sends a line above the limit or floods us with invalid lines is shut down too, because
 * its calls may never be answered. */
#include <signal.h>
#include <sys/wait.h>
#include "config/settings/settings.h"
#include "lib/base/utf8.h"
#include "mcp/transport/transport_int.h"
#include "mcp/transport/line_reader.h"

enum { OWN_VARIABLES = 3 };

struct environment {
	const char **list;
	size_t count;
};

static void env_put(struct environment *env, const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < env->count; i++)
		if (!strncmp(env->list[i], entry, n) && strcspn(env->list[i], "=") == n) {
			env->list[i] = entry;
			return;
		}
	env->list[env->count++] = entry;
}

const char *const *mcp_server_environment(const struct mcp_env *env, const struct mcp_server *server,
					  struct arena *arena)
{
	size_t most = str_count(env->envp) + str_count(server->env) + OWN_VARIABLES + 1;
	struct environment all = { .list = arena_calloc(arena, most * sizeof *all.list) };
	bool few = env_is_on(env_get(env->envp, "CLAUDE_CODE_MCP_ALLOWLIST_ENV"));

	for (const char *const *e = env->envp; e && *e; e++) {
		struct str value = str_from(*e);
		struct str name = str_cut(&value, '=');
		bool is_basic = str_is_one_of(name, "HOME|LANG|LC_ALL|LOGNAME|PATH|SHELL|TERM|TMPDIR|TZ|USER");
		if ((!few || is_basic) && !(server->of_project && env_holds_secret(name, value.p)))
			env_put(&all, *e);
	}
	for (const char *const *e = server->env; e && *e; e++)
		env_put(&all, *e);
	if (env->project_dir)
		env_put(&all, arena_printf(arena, "CLAUDE_PROJECT_DIR=%s", env->project_dir));
	if (env->session_id)
		env_put(&all, arena_printf(arena, "CLAUDE_CODE_SESSION_ID=%s", env->session_id));
	env_put(&all, "CLAUDECODE=1");
	return all.list;
}

enum {
	GRACE_MS = 500,             /* between the end of its stdin (or stdout) and SIGTERM */
	JUNK_LIMIT_BYTES = 4 << 20, /* consecutive invalid lines */
	EXCERPT_BYTES = 120,
	STDERR_LINE_BYTES = 4096,
};

struct stdio {
	struct mcp_core core;
	struct child *child; /* borrowed: NULL when it has ended */
	struct line_reader out, errors;
	size_t junk_bytes;                 /* since the last message */
	char last_line[EXCERPT_BYTES + 1]; /* the last line on stderr */
	struct timer grace;
};

static void close_stdin(struct stdio *s)
{
	child_close_stdin(s->child);
	if (!timer_running(&s->grace))
		timer_start(s->core.t.env->loop, &s->grace, GRACE_MS);
}

static void stdio_fail(struct stdio *s, enum err_kind kind, const char *text)
{
	struct err err;

	err_set(&err, kind, "%s", text);
	(void)mcp_core_close(&s->core, &err);
	child_kill(s->child, SIGTERM);
}

static void on_grace_over(struct timer *timer)
{
	struct stdio *s = CONTAINER_OF(timer, struct stdio, grace);

	stdio_fail(s, ERR_PROTOCOL, "the server closed its output");
}

static void on_out_line(void *data, struct str line, bool cut)
{
	struct stdio *s = data;
	struct err err;

	line = str_trim(line);
	if (s->core.closing || !line.n)
		return;
	if (cut) {
		stdio_fail(s, ERR_LIMIT, "the server sent a message above 64 MB");
	} else if (mcp_core_message(&s->core, line, 0, NULL, &err) == 0) {
		s->junk_bytes = 0;
	} else {
		struct str start = utf8_cut(line, EXCERPT_BYTES);
		mcp_core_log(&s->core, "invalid message (%s): " STR_FMT, err.text, STR_ARG(start));
		s->junk_bytes += line.n + 1;
		if (s->junk_bytes > JUNK_LIMIT_BYTES)
			stdio_fail(s, ERR_PROTOCOL, "the server floods its output with lines that are not messages");
	}
}

static void on_stderr_line(void *data, struct str line, bool cut)
{
	struct stdio *s = data;

	line = str_trim(line);
	if (!line.n)
		return;
	struct str kept = utf8_cut(line, EXCERPT_BYTES);
	memcpy(s->last_line, kept.p, kept.n);
	s->last_line[kept.n] = '\0';
	mcp_core_log(&s->core, STR_FMT, STR_ARG(line));
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct stdio *s = child_data(c);
	struct line_reader *r = is_stderr ? &s->errors : &s->out;

	if (n) {
		line_reader_feed(r, p, n);
		return;
	}
	line_reader_end(r);
	if (!is_stderr)
		close_stdin(s);
}

static void on_child_exit(struct child *c, int status)
{
	struct stdio *s = child_data(c);
	const struct mcp_env *env = s->core.t.env;
	bool killed = WIFSIGNALED(status);
	struct err err;

	s->child = NULL;
	timer_stop(env->loop, &s->grace);
	spawner_kill_group(env->spawner, child_pid(c));
	err_set(&err, ERR_IO, "the server %s %d%s%s", killed ? "was killed by signal" : "exited with status",
		killed ? WTERMSIG(status) : WEXITSTATUS(status), s->last_line[0] ? ": " : "", s->last_line);
	(void)mcp_core_close(&s->core, &err);
	mcp_core_over(&s->core);
}

static int stdio_start(struct mcp_transport *t, struct err *err)
{
	static const struct child_handlers handlers = { on_output, on_child_exit };
	struct stdio *s = CONTAINER_OF(t, struct stdio, core.t);
	AUTO_ARENA struct arena arena = { 0 };
	size_t arg_count = str_count(t->server->args);
	const char **argv = arena_calloc(&arena, (arg_count + 2) * sizeof *argv);

	argv[0] = t->server->command;
	for (size_t i = 0; i < arg_count; i++)
		argv[i + 1] = t->server->args[i];
	s->out = (struct line_reader){ .limit_bytes = MCP_MESSAGE_LIMIT, .line = on_out_line, .data = s };
	s->errors = (struct line_reader){ .limit_bytes = STDERR_LINE_BYTES, .line = on_stderr_line, .data = s };
	s->grace.fire = on_grace_over;
	struct child_options options = {
		.argv = argv,
		.envp = mcp_server_environment(t->env, t->server, &arena),
		.cwd = t->env->cwd,
		.keep_stdin = true,
		.tell_end = true,
		.of = t->env->held ? mcp_server_origin(t->server) : CHILD_OF_US,
		.cage = t->env->cage,
		.wishes = &t->server->wishes,
	};
	return spawn_start(t->env->spawner, &options, &handlers, s, &s->child, err);
}

static void stdio_send(struct mcp_transport *t, int64_t id, struct str json)
{
	struct stdio *s = CONTAINER_OF(t, struct stdio, core.t);
	AUTO_BUF struct buf line = { 0 };
	struct err err;

	if (s->core.closing || !s->child)
		return;
	if (child_unsent(s->child) + json.n > MCP_MESSAGE_LIMIT) {
		err_set(&err, ERR_LIMIT, "the server does not read its input");
		mcp_core_lose(&s->core, id, &err);
		return;
	}
	/* A line end between two tokens is only space in JSON, but on this wire it would end the message. */
	buf_reserve(&line, json.n + 1);
	buf_append(&line, json);
	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] == '\n' || line.p[i] == '\r')
			line.p[i] = ' ';
	buf_addch(&line, '\n');
	child_write(s->child, line.p, line.n);
}

static void stdio_close(struct mcp_transport *t)
{
	struct stdio *s = CONTAINER_OF(t, struct stdio, core.t);

	if (mcp_core_close(&s->core, NULL) && s->child)
		close_stdin(s);
}

static void stdio_free(struct mcp_transport *t)
{
	struct stdio *s = CONTAINER_OF(t, struct stdio, core.t);

	line_reader_release(&s->out);
	line_reader_release(&s->errors);
	mcp_core_release(&s->core);
	free(s);
}

const struct mcp_transport_class mcp_transport_stdio = {
	.size = sizeof(struct stdio),
	.start = stdio_start,
	.send = stdio_send,
	.close = stdio_close,
	.free = stdio_free,
};
