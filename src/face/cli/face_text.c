/* SPDX-License-Identifier: MIT
 * face_text.c - `-p`: the result of the last turn, nothing else, when the run is over. A failed turn is
 * printed too, as "Error: ..."; a failed request ends as a result whose text says so itself. */
#include "face/cli/render.h"
#include "face/cli/view.h"

static void keep_result(struct view *v, const struct cadre_event *e)
{
	struct str text = view_event_text(e);

	buf_clear(&v->last);
	if (cadre_event_is_error(e) && strcmp(cadre_event_subtype(e), "success") != 0) {
		buf_addstr(&v->last, "Error: ");
		if (!text.n)
			text = str_from(cadre_event_subtype(e));
	}
	if (v->terminal)
		render_text(&v->last, text);
	else
		buf_add(&v->last, text.p, text.n);
}

static void text_event(struct view *v, const struct cadre_event *e)
{
	if (cadre_event_kind(e) == CADRE_TURN_ENDED)
		keep_result(v, e);
	else
		view_note(v, e);
}

static void text_end(struct view *v)
{
	if (v->last.n && v->last.p[v->last.n - 1] != '\n')
		buf_addch(&v->last, '\n');
	view_write(v, buf_str(&v->last));
}

const struct face face_text = { .name = "text", .tree_fd = STDERR_FILENO, .event = text_event, .end = text_end };
