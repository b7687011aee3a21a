/* SPDX-License-Identifier: MIT
 * face.c - the output formats of `-p`. */
#include "face/cli/view.h"

/* text: the result of the last turn, nothing else, when the run is over. A failed turn is printed too, as "Error: ..."; a failed
 * request ends as a result whose text is the error. */
static void text_event(struct view *v, const struct cadre_event *e)
{
	struct str text = view_event_text(e);

	if (cadre_event_kind(e) != CADRE_TURN_ENDED) {
		view_note(v, e);
		return;
	}
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

static void face_write_last(struct view *v)
{
	if (v->last.n && v->last.p[v->last.n - 1] != '\n')
		buf_addch(&v->last, '\n');
	view_write(v, buf_str(&v->last));
}

const struct face face_text = { .name = "text", .tree_fd = STDERR_FILENO, .event = text_event, .end = face_write_last };

/* `--output-format json`: the result frame of the last turn as one line, when the run is
 * over. */
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

const struct face face_json = { .name = "json", .event = json_event, .end = face_write_last };

/* `--output-format stream-json`: every event that has a frame, as one line, at once.
 * Results are held back until the run is over, because readers stop at the first one and an agent in the
 * background may lead to another turn. Readers take the first frame for the one that describes the session, so
 * that warnings of the start follow it; later ones go to standard error. */
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

static const struct face face_stream = { .name = "stream-json", .event = stream_event, .end = stream_end };

static const struct face *const faces[] = { &face_json, &face_line, &face_stream, &face_text, NULL };

const struct face *face_find(const char *name)
{
	for (const struct face *const *f = faces; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}
