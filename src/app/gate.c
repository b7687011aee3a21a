/* SPDX-License-Identifier: MIT
 * gate.c - the session's side of a permission: decides what can be decided, asks the host for the rest. */
#include "app/app_int.h"

static void note_denial(struct cadre_session *s, const struct tool_call *call)
{
	struct str input = json_raw(call->input);

	s->denials = xrealloc(s->denials, (s->denial_count + 1) * sizeof *s->denials);
	struct denial *d = &s->denials[s->denial_count++];
	*d = (struct denial){ .tool = xstrdup(call->name), .id = xstrdup(call->id) };
	buf_add(&d->input, input.p, input.n);
}

void gate_forget_denials(struct cadre_session *s)
{
	for (size_t i = 0; i < s->denial_count; i++) {
		free(s->denials[i].tool);
		free(s->denials[i].id);
		buf_release(&s->denials[i].input);
	}
	free(s->denials);
	s->denials = NULL;
	s->denial_count = 0;
}

static void deny(struct cadre_session *s, struct tool_call *call, struct str reason)
{
	note_denial(s, call);
	session_emit(s, &(struct event){
				.kind = EVENT_PERMISSION_DENIED, .name = call->name, .id = call->id, .text = reason });
	tool_call_decided(call, TOOL_DENY, reason);
}

void gate_ask(struct tool_gate *gate, struct tool_call *call)
{
	struct cadre_session *s = CONTAINER_OF(gate, struct cadre_session, gate);
	AUTO_BUF struct buf reason = { 0 };

	switch (permission_decide(&s->permission, call, &reason)) {
	case PERMISSION_ALLOW:
		tool_call_decided(call, TOOL_ALLOW, STR(""));
		break;
	case PERMISSION_DENY:
		deny(s, call, buf_str(&reason));
		break;
	case PERMISSION_ASK:
		session_emit(s, &(struct event){ .kind = EVENT_PERMISSION_ASKED,
						 .name = call->name,
						 .id = call->id,
						 .text = tool_call_summary(call) });
		break;
	}
}

/* Questions are not stored: a call that was started, does not run and has not ended is one. */
static struct tool_call *asked_about(struct cadre_session *s, const char *id)
{
	for (uint32_t i = 0; i < s->query.call_count; i++) {
		struct tool_call *call = s->query.calls[i]->call;
		if (call && !strcmp(call->id, id) && call->started && !call->running && !call->finished)
			return call;
	}
	return NULL;
}

int cadre_answer(struct cadre_session *s, const char *id, int allow, int for_session, const char *reason)
{
	struct tool_call *call = asked_about(s, id);

	if (!call)
		return CADRE_NOT_FOUND;
	if (allow && for_session)
		permission_allow_tool(&s->permission, str_from(call->tool->name));
	if (allow) {
		tool_call_decided(call, TOOL_ALLOW, STR(""));
		return CADRE_OK;
	}
	AUTO_BUF struct buf text = { 0 };
	buf_addf(&text, "The user does not want %s to run now.%s%s", call->name,
		 reason && reason[0] ? " They said: " : "", reason ? reason : "");
	deny(s, call, buf_str(&text));
	return CADRE_OK;
}
