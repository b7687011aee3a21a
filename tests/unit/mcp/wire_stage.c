/* SPDX-License-Identifier: MIT
 * wire_stage.c - runs one transport and notes what it reports. */
#include "wire_stage.h"

enum { GUARD_MS = 10 * 60 * 1000 }; /* above any load: the runner has a limit of its own */

bool wire_has(const struct wire *w, const char *text)
{
	return str_has(buf_str(&w->trail), str_from(text));
}

static void note(struct wire *w, const char *fmt, ...) printf_like(2, 3);
static void note(struct wire *w, const char *fmt, ...)
{
	char line[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	buf_addstr(&w->trail, line);
	if (w->wanted && wire_has(w, w->wanted))
		loop_stop(w->env.loop);
}

static void on_message(void *data, struct str json)
{
	struct wire *w = data;

	CHECK_INT(w->closes, 0);
	if (json.n < 4096)
		note(w, "message " STR_FMT "\n", STR_ARG(json));
	else
		note(w, "message of %zu bytes\n", json.n);
	if (w->close_at_message)
		w->transport->class->close(w->transport);
}

static void on_log(void *data, struct str line)
{
	struct wire *w = data;

	CHECK_INT(w->closes, 0);
	w->logs++;
	if (!w->quiet)
		note(w, "log " STR_FMT "\n", STR_ARG(line));
}

static void on_lost(void *data, int64_t id, const struct err *err)
{
	struct wire *w = data;

	CHECK_INT(w->closes, 0);
	note(w, "lost %d %s\n", (int)id, err->text);
}

static void on_returned(void *data, int64_t id)
{
	struct wire *w = data;

	CHECK_INT(w->closes, 0);
	note(w, "returned %d\n", (int)id);
}

static void on_closed(void *data, const struct err *err, bool needs_auth, bool again)
{
	struct wire *w = data;

	w->closes++;
	w->transport = NULL;
	note(w, "closed %s%s%s\n", err ? err->text : "on request", needs_auth ? " needs-auth" : "",
	     again ? " again" : "");
}

static void on_guard(struct timer *timer)
{
	struct wire *w = CONTAINER_OF(timer, struct wire, guard);

	print_error("%s", w->trail.n ? w->trail.p : "nothing was reported\n");
	fail_msg("what was waited for did not come");
}

void wire_init(struct wire *w, enum mcp_kind kind, unsigned loop_flags)
{
	static const struct http_options options = { 0 };

	*w = (struct wire){ .guard.fire = on_guard, .is_virtual = loop_flags & LOOP_VIRTUAL_CLOCK };
	w->env.loop = loop_new(loop_flags);
	w->env.spawner = spawner_new(w->env.loop);
	w->env.http = http_new(w->env.loop, &options);
	w->env.envp = (const char *const *)environ;
	w->env.project_dir = "/project";
	w->env.session_id = "session-1";
	w->server = xcalloc(1, sizeof *w->server);
	w->server->refs = 1;
	w->server->name = w->server->key = "test";
	w->server->kind = kind;
}

void wire_start(struct wire *w)
{
	static const struct mcp_transport_handlers handlers = { on_message, on_log, on_lost, on_returned, on_closed };
	struct err err = { 0 };

	w->transport = mcp_transport_new(&w->env, w->server, &handlers, w);
	if (w->transport->class->start(w->transport, &err) < 0)
		fail_msg("%s", err.text);
	CHECK_INT(w->trail.n, 0);
}

void wire_send(struct wire *w, int64_t id, const char *json)
{
	size_t before = w->trail.n;

	w->transport->class->send(w->transport, id, str_from(json));
	CHECK_INT(w->trail.n, before);
}

void wire_wait(struct wire *w, const char *text)
{
	if (wire_has(w, text))
		return;
	w->wanted = text;
	if (!w->is_virtual)
		timer_start(w->env.loop, &w->guard, GUARD_MS);
	loop_run(w->env.loop);
	timer_stop(w->env.loop, &w->guard);
	w->wanted = NULL;
	if (!wire_has(w, text)) {
		print_error("%s", w->trail.n ? w->trail.p : "nothing was reported\n");
		fail_msg("the loop ended without: %s", text);
	}
}

void wire_close(struct wire *w)
{
	w->transport->class->close(w->transport);
	w->transport->class->close(w->transport);
	CHECK_INT(w->closes, 0);
	wire_wait(w, "closed on request\n");
}

void wire_release(struct wire *w)
{
	CHECK_INT(w->closes, 1);
	CHECK(!w->transport);
	CHECK_INT(w->server->refs, 1);
	CHECK_INT(spawner_active(w->env.spawner), 0);
	CHECK_INT(w->env.http->active, 0);
	mcp_server_unref(w->server);
	http_free(w->env.http);
	spawner_free(w->env.spawner);
	loop_free(w->env.loop);
	buf_release(&w->trail);
}
