/* SPDX-License-Identifier: MIT
 * hook_server.c - hooks that are tools of an MCP server: what the tool says is the hook's output. */
#include "product/session/server_call.h"
#include "product/session/session_int.h"

/* Freed by the runtime as one piece: hooks stays first. */
struct runner {
	struct hook_runner hooks;
	struct services *services;
};

static void on_done(void *data, const struct server_reply *reply)
{
	struct hook_call *call = data;

	call->state = NULL;
	hook_call_finish(call, reply->failed, reply->text);
}

static void start(struct hook_runner *runner, struct hook_call *call)
{
	const struct runner *r = CONTAINER_OF(runner, struct runner, hooks);
	struct cadre_session *s = session_by_id(r->services, call->session_id);
	struct err err = { 0 };

	if (s)
		call->state = server_call_start(
			s,
			&(struct server_call_spec){ .server = str_from(call->hook->server),
						    .tool = str_from(call->hook->tool),
						    .arguments = call->text.n ? call->text : STR("{}"),
						    .policy = { .apart = true, .chosen = true, .by_hook = true } },
			on_done, call, &err);
	if (!call->state)
		hook_call_finish(call, true, s ? str_from(err.text) : STR("the session is gone"));
}

static void cancel(struct hook_runner *runner, struct hook_call *call)
{
	(void)runner;
	if (call->state)
		server_call_cancel(call->state);
}

struct hook_runner *hook_server_new(struct services *sv)
{
	struct runner *r = xcalloc(1, sizeof *r);

	*r = (struct runner){ .hooks = { start, cancel }, .services = sv };
	return &r->hooks;
}
