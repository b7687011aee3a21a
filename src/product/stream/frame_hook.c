/* SPDX-License-Identifier: MIT
 * frame_hook.c - frames about hooks: system/hook_started and system/hook_response. */
#include "product/stream/frame_int.h"

static void begin(struct json_out *w, const char *subtype, const struct event *e)
{
	json_kcstr(w, "type", "system");
	json_kcstr(w, "subtype", subtype);
	json_kcstr(w, "hook_id", e->id);
	json_kstr(w, "hook_name", e->text);
	json_kcstr(w, "hook_event", e->hook->event);
	frame_put_agent(w, e);
}

void frame_hook_started(struct json_out *w, const struct cadre_event *e)
{
	begin(w, "hook_started", e->event);
}

/* Readers show output; what went wrong without a word of the hook's own is said there. */
void frame_hook_response(struct json_out *w, const struct cadre_event *e)
{
	const struct event_hook *h = e->event->hook;

	begin(w, "hook_response", e->event);
	json_kstr(w, "output", h->out.n ? h->out : h->err.n ? h->err : h->note);
	json_kstr(w, "stdout", h->out);
	json_kstr(w, "stderr", h->err);
	if (h->exited)
		json_ki64(w, "exit_code", h->exit_code);
	json_kcstr(w, "outcome", h->outcome);
}
