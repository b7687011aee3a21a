/* SPDX-License-Identifier: MIT
 * face_json.c - `--output-format json`: the result frame of the last turn as one line, when the run is
 * over. */
#include "face/cli/view.h"

static void json_event(struct view *v, const struct cadre_event *e)
{
	size_t n = 0;
	const char *frame;

	if (cadre_event_kind(e) != CADRE_TURN_ENDED) {
		view_note(v, e);
		return;
	}
	frame = cadre_event_frame(e, &n);
	buf_clear(&v->last);
	if (frame)
		buf_add(&v->last, frame, n);
}

static void json_end(struct view *v)
{
	if (v->last.n)
		buf_addch(&v->last, '\n');
	view_write(v, buf_str(&v->last));
}

const struct face face_json = { .name = "json", .event = json_event, .end = json_end };
