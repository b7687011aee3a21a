/* SPDX-License-Identifier: MIT
 * hook_server.c - hooks that are tools of an MCP server: what the tool says is the hook's output. */
#include "product/session/server_call.h"

/* Freed by the runtime as one piece: hooks stays first. */
struct runner {
	struct hook_runner hooks;
	struct cadre *cadre;
};

static void on_done(void *data, bool failed, struct str text)
{
	struct hook_call *call = data;

	call->state = NULL;
	hook_call_finish(call, failed, text);
}

static void start(struct hook_runner *runner, struct hook_call *call)
{
	const struct runner *r = CONTAINER_OF(runner, struct runner, hooks);
	struct cadre_session *s = app_session(r->cadre, call->session_id);
	struct err err = { 0 };

	if (s)
		call->state = server_call_start(s, str_from(call->hook->server), str_from(call->hook->tool),
						call->text.n ? call->text : STR("{}"), on_done, call, &err);
	if (!call->state)
		hook_call_finish(call, true, s ? str_from(err.text) : STR("the session is gone"));
}

static void cancel(struct hook_runner *runner, struct hook_call *call)
{
	(void)runner;
	if (call->state)
		server_call_cancel(call->state);
}

struct hook_runner *hook_server_new(struct cadre *c)
{
	struct runner *r = xcalloc(1, sizeof *r);

	*r = (struct runner){ .hooks = { start, cancel }, .cadre = c };
	return &r->hooks;
}
