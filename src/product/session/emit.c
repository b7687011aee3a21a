/* SPDX-License-Identifier: MIT
 * emit.c - events on their way out: to the observers of the runtime, then, numbered and with a time, to the host. */
#include "product/session/session_int.h"
#include "product/session/schema.h"
#include "product/session/server_call.h"

static void tell_host(struct cadre_session *s, const struct event *event)
{
	struct cadre_event e = { .event = event, .session = s, .seq = ++s->seq, .time_ms = id_wall_ms() };

	if (event->uuid)
		snprintf(e.uuid, sizeof e.uuid, "%s", event->uuid);
	else
		id_uuid(e.uuid);
	s->services->in_callback++;
	s->on_event(&e, s->data);
	s->services->in_callback--;
	buf_release(&e.text);
	buf_release(&e.frame);
	json_reader_release(&e.reader);
	arena_release(&e.arena);
	app_check_backlog(s->services);
}

void session_note(struct cadre_session *s, const struct event *event)
{
	for (struct observer *o = s->services->observers; o; o = o->next)
		if (o->on_event)
			o->on_event(o, s, event);
}

void session_emit(void *data, const struct event *event)
{
	struct cadre_session *s = data;

	session_note(s, event);
	structured_output_on_event(s, event);
	if (event->kind == EVENT_PERMISSION_ASKED && prompt_tool_is_given(s))
		prompt_tool_ask(s, event);
	else if (s->on_event)
		tell_host(s, event);
}

static void on_state(struct query *q, const char *to)
{
	const struct agent *a = CONTAINER_OF(q, struct agent, query);
	const struct cadre_session *s = a->tree->data;

	for (struct observer *o = s->services->observers; o; o = o->next)
		if (o->on_state)
			o->on_state(o, q, to);
}

void session_watch_states(struct cadre_session *s)
{
	for (const struct observer *o = s->services->observers; o; o = o->next)
		if (o->on_state)
			s->tree.on_state = on_state;
}
