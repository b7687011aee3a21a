/* SPDX-License-Identifier: MIT
 * face_stream.c - `--output-format stream-json`: every event that has a frame, as one line, at once.
 * Results are held back until the run is over, because readers stop at the first one and an agent in the
 * background may lead to another turn. Readers take the first frame for the one that describes the session, so
 * that warnings of the start follow it; later ones go to standard error. */
#include "face/cli/view.h"

static void stream_begin(struct view *v)
{
	v->began = true;
	if (v->early.n)
		view_write(v, buf_str(&v->early));
	buf_release(&v->early);
}

static void stream_event(struct view *v, const struct cadre_event *e)
{
	size_t n = 0;
	const char *frame = cadre_event_frame(e, &n);

	if (cadre_event_kind(e) == CADRE_ERROR && v->began) {
		view_note(v, e);
		return;
	}
	if (!frame)
		return;
	if (cadre_event_kind(e) == CADRE_TURN_ENDED) {
		buf_add(&v->last, frame, n);
		buf_addch(&v->last, '\n');
	} else if (cadre_event_kind(e) == CADRE_ERROR) {
		buf_add(&v->early, frame, n);
		buf_addch(&v->early, '\n');
	} else {
		view_write(v, (struct str){ frame, n });
		view_write(v, STR("\n"));
	}
	if (cadre_event_kind(e) == CADRE_SESSION_STARTED)
		stream_begin(v);
}

static void stream_end(struct view *v)
{
	stream_begin(v);
	view_write(v, buf_str(&v->last));
}

const struct face face_stream = { .name = "stream-json", .event = stream_event, .end = stream_end };
