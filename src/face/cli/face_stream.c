/* SPDX-License-Identifier: MIT
 * face_stream.c - `--output-format stream-json`: every event that has a frame, as one line, at once.
 * Results are held back until the run is over, because readers stop at the first one and an agent in the
 * background may lead to another turn. Progress is in the frames; only an error that has none goes to
 * standard error. */
#include "face/cli/view.h"

static void stream_event(struct view *v, const struct cadre_event *e)
{
	size_t n = 0;
	const char *frame = cadre_event_frame(e, &n);

	if (frame && cadre_event_kind(e) == CADRE_TURN_ENDED) {
		buf_add(&v->last, frame, n);
		buf_addch(&v->last, '\n');
	} else if (frame) {
		view_write(v, (struct str){ frame, n });
		view_write(v, STR("\n"));
	} else if (cadre_event_kind(e) == CADRE_ERROR) {
		view_note(v, e);
	}
}

static void stream_end(struct view *v)
{
	view_write(v, buf_str(&v->last));
}

const struct face face_stream = { .name = "stream-json", .event = stream_event, .end = stream_end };
