/* SPDX-License-Identifier: MIT
 * emit.c - events on their way out: numbered, with a time, given to the host. Frames are made only if it asks. */
#include "app/app_int.h"

_Static_assert((int)EVENT_TURN_ENDED == (int)CADRE_TURN_ENDED && (int)EVENT_RETRY == (int)CADRE_RETRY,
	       "one list of kinds");

void session_emit(void *data, const struct event *event)
{
	struct cadre_session *s = data;
	struct cadre_event e = { .event = event, .session = s, .seq = ++s->seq, .time_ms = id_wall_ms() };

	if (!s->on_event)
		return;
	if (event->uuid)
		snprintf(e.uuid, sizeof e.uuid, "%s", event->uuid);
	else
		id_uuid(e.uuid);
	s->on_event(&e, s->data);
	buf_release(&e.text);
	buf_release(&e.frame);
	app_check_backlog(s->cadre);
}

enum cadre_event_kind cadre_event_kind(const struct cadre_event *e)
{
	return (enum cadre_event_kind)e->event->kind;
}

uint64_t cadre_event_seq(const struct cadre_event *e)
{
	return e->seq;
}

int64_t cadre_event_time_ms(const struct cadre_event *e)
{
	return e->time_ms;
}

const char *cadre_event_session(const struct cadre_event *e)
{
	return e->session->id;
}

const char *cadre_event_agent(const struct cadre_event *e)
{
	return e->session->query.config.agent;
}

const char *cadre_event_name(const struct cadre_event *e)
{
	return e->event->name ? e->event->name : "";
}

const char *cadre_event_id(const struct cadre_event *e)
{
	return e->event->id ? e->event->id : "";
}

int cadre_event_is_error(const struct cadre_event *e)
{
	return e->event->is_error;
}

/* Accessors build lazily behind a const handle: the event is ours, only its caches change. */
static struct cadre_event *mutable(const struct cadre_event *e)
{
	return (struct cadre_event *)(uintptr_t)e;
}

const char *cadre_event_text(const struct cadre_event *e, size_t *ret_n)
{
	struct cadre_event *m = mutable(e);

	if (!m->text.p)
		buf_add(&m->text, e->event->text.n ? e->event->text.p : "", e->event->text.n);
	if (ret_n)
		*ret_n = m->text.n;
	return m->text.p;
}

const char *cadre_event_frame(const struct cadre_event *e, size_t *ret_n)
{
	struct cadre_event *m = mutable(e);

	if (!m->frame.p)
		frame_write(m);
	if (ret_n)
		*ret_n = m->frame.n;
	return m->frame.n ? m->frame.p : NULL;
}

const char *cadre_event_subtype(const struct cadre_event *e)
{
	return e->event->kind == EVENT_TURN_ENDED ? turn_subtype(e->session) : "";
}
