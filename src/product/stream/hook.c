/* SPDX-License-Identifier: MIT
 * hook.c - hooks that are functions of the client: hook_callback, and its answer is the hook's output. */
#include "product/stream/wire_int.h"

/* Freed by the runtime as one piece: hooks stays first. */
struct runner {
	struct hook_runner hooks;
	struct services *services;
};

static struct cadre_wire *wire_of(const struct services *sv, const char *session_id)
{
	struct cadre_wire *w = sv->wires;

	while (w && strcmp(w->session_id, session_id) != 0)
		w = w->next;
	return w;
}

static void on_answer(void *data, const struct json *payload, struct str why)
{
	struct hook_call *call = data;

	call->state = NULL;
	if (payload)
		hook_call_finish(call, false, json_raw(payload));
	else
		hook_call_finish(call, true, why);
}

/* The client has closed our input but still reads: it learns of the end, and nobody waits for what it makes of it. */
static void on_nothing(void *data, const struct json *payload, struct str why)
{
	(void)data;
	(void)payload;
	(void)why;
}

static void tell_end(struct cadre_wire *w, struct hook_call *call, struct str request)
{
	(void)wire_ask(w, WIRE_ASK_OTHER, request, on_nothing, NULL);
	hook_call_finish(call, false, STR("{}"));
}

static void start(struct hook_runner *runner, struct hook_call *call)
{
	const struct runner *r = CONTAINER_OF(runner, struct runner, hooks);
	struct cadre_wire *w = wire_of(r->services, call->session_id);
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);

	bool at_end = w && w->input_over && call->event == HOOK_SESSION_END;

	if (!w || (w->input_over && !at_end)) {
		hook_call_finish(call, true, STR("the client that has this hook is gone"));
		return;
	}
	json_open(&out, '{');
	json_kcstr(&out, "subtype", "hook_callback");
	json_kcstr(&out, "callback_id", call->hook->callback);
	json_kraw(&out, "input", call->input);
	if (call->tool_use_id)
		json_kcstr(&out, "tool_use_id", call->tool_use_id);
	json_close(&out);
	if (at_end)
		tell_end(w, call, buf_str(&line));
	else
		call->state = wire_ask(w, WIRE_ASK_OTHER, buf_str(&line), on_answer, call);
}

static void cancel(struct hook_runner *runner, struct hook_call *call)
{
	struct wire_ask *ask = call->state;

	(void)runner;
	if (!ask)
		return;
	call->state = NULL;
	wire_ask_take_back(ask);
	hook_call_finish(call, true, STR("it was cancelled"));
}

struct hook_runner *wire_hook_runner_new(struct services *sv)
{
	struct runner *r = xcalloc(1, sizeof *r);

	*r = (struct runner){ .hooks = { start, cancel }, .services = sv };
	return &r->hooks;
}
