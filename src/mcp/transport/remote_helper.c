/* SPDX-License-Identifier: MIT
 * remote_helper.c - headersHelper: a shell command that prints a JSON object of headers, for secrets that change. It runs
 * once for each connection and again when the server refuses what it printed. Without its headers no request is sent. */
#include <signal.h>
#include <sys/wait.h>
#include "mcp/transport/remote.h"
#include "mcp/transport/transport_stdio_env.h"

enum { HELPER_MS = 10 * 1000, HELPER_BYTES = 64 << 10 };

static void fail(struct remote *r, const char *fmt, ...) printf_like(2, 3);
static void fail(struct remote *r, const char *fmt, ...)
{
	struct remote_helper *h = &r->helper;
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (!h->failed)
		err_set(&h->err, ERR_IO, "headersHelper: %s", text);
	h->failed = true;
}

/* What it printed must not become a second header or the end of all. */
static bool is_clean(struct str s, const char *unwanted)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f || strchr(unwanted, s.p[i]))
			return false;
	return true;
}

static const char *make_header(struct remote *r, struct json_member m)
{
	struct arena *arena = &r->helper.arena;
	struct str name = json_str(m.key, arena);
	struct str value = json_str(m.value, arena);

	if (name.n && json_is(m.value, JSON_STRING) && is_clean(name, " :") && is_clean(value, ""))
		return arena_printf(arena, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(value));
	fail(r, "its output has a member that is no header");
	return NULL;
}

static void read_headers(struct remote *r)
{
	struct remote_helper *h = &r->helper;
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;
	size_t n = 0;

	arena_reset(&h->arena);
	h->headers = NULL;
	if (json_parse(&reader, h->out.p, h->out.n, &root, NULL) < 0 || !json_is(root, JSON_OBJECT)) {
		fail(r, "its output is no JSON object");
		return;
	}
	const char **list = arena_calloc(&h->arena, (root->count + 1) * sizeof *list);
	for (struct json_member m = json_members(root); m.key && !h->failed; m = json_member_next(root, m))
		list[n++] = make_header(r, m);
	h->headers = h->failed ? NULL : list;
}

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct remote *r = child_data(c);

	if (is_stderr)
		return; /* may have secrets in it */
	if (r->helper.out.n + n <= HELPER_BYTES) {
		buf_add(&r->helper.out, p, n);
		return;
	}
	fail(r, "it printed more than %d KB", HELPER_BYTES >> 10);
	child_kill(c, SIGKILL);
}

static void on_exit_of_child(struct child *c, int status)
{
	struct remote *r = child_data(c);
	struct remote_helper *h = &r->helper;

	h->child = NULL;
	timer_stop(r->core.t.world->loop, &h->timer);
	spawner_kill_group(r->core.t.world->spawner, child_pid(c));
	if (WIFSIGNALED(status))
		fail(r, "it was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fail(r, "it exited with status %d", WEXITSTATUS(status));
	else if (!h->failed)
		read_headers(r);
	buf_release(&h->out);
	remote_helper_done(r);
}

static void on_time_over(struct timer *timer)
{
	struct remote *r = CONTAINER_OF(timer, struct remote, helper.timer);

	fail(r, "it did not end within %d s", HELPER_MS / 1000);
	remote_helper_stop(r);
}

static const char *const *make_environment(const struct remote *r, struct arena *arena)
{
	const struct mcp_transport *t = &r->core.t;
	const char *const *base = mcp_server_environment(t->world, t->server, arena);
	size_t n = 0;

	while (base[n])
		n++;
	const char **env = arena_calloc(arena, (n + 3) * sizeof *env);
	memcpy(env, base, n * sizeof *env);
	env[n] = arena_printf(arena, "CLAUDE_CODE_MCP_SERVER_NAME=%s", t->server->name);
	env[n + 1] = arena_printf(arena, "CLAUDE_CODE_MCP_SERVER_URL=%s", t->server->url);
	return env;
}

int remote_helper_start(struct remote *r, struct err *err)
{
	static const struct child_handlers handlers = { on_output, on_exit_of_child };
	const struct mcp_transport *t = &r->core.t;
	struct remote_helper *h = &r->helper;
	AUTO_ARENA struct arena arena = { 0 };
	const char *argv[] = { "sh", "-c", t->server->headers_helper, NULL };

	if (!t->server->headers_helper || !t->server->believed)
		return 0;
	h->failed = false;
	h->timer.fire = on_time_over;
	struct child_options options = {
		.argv = argv,
		.envp = make_environment(r, &arena),
		.cwd = t->world->cwd,
	};
	if (spawn_start(t->world->spawner, &options, &handlers, r, &h->child, err) < 0)
		return err_wrap(err, "headersHelper");
	timer_start(t->world->loop, &h->timer, HELPER_MS);
	return 0;
}

void remote_helper_stop(struct remote *r)
{
	if (r->helper.child)
		child_kill(r->helper.child, SIGKILL);
}

void remote_helper_release(struct remote *r)
{
	arena_release(&r->helper.arena);
	buf_release(&r->helper.out);
}
