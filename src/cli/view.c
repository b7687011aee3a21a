/* SPDX-License-Identifier: MIT
 * view.c - where a face writes. */
#include "cli/view.h"
#include "cli/render.h"

enum { MOVE_FLUSH_MS = 2000 };

bool view_wants_colour(void)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return !(no && *no) && term && strcmp(term, "dumb") != 0;
}

void view_init(struct view *v, struct cadre *c, const struct face *face, bool verbose)
{
	*v = (struct view){ .face = face, .verbose = verbose };
	v->terminal = isatty(STDOUT_FILENO);
	v->colour = v->terminal && view_wants_colour();
	v->notes = verbose || isatty(STDERR_FILENO);
	v->out = cadre_writer_new(c, STDOUT_FILENO);
	if (face->start)
		face->start(v);
}

void view_move(struct view *v, struct cadre *c)
{
	(void)view_flush(v, MOVE_FLUSH_MS, NULL);
	cadre_writer_free(v->out);
	v->out = cadre_writer_new(c, STDOUT_FILENO);
}

void view_release(struct view *v)
{
	cadre_writer_free(v->out);
	buf_release(&v->held);
	buf_release(&v->last);
	*v = (struct view){ 0 };
}

void view_event(struct view *v, const struct cadre_event *e)
{
	v->face->event(v, e);
}

void view_end(struct view *v)
{
	if (v->face->end)
		v->face->end(v);
}

void view_write(struct view *v, struct str s)
{
	if (v->hold)
		buf_add(&v->held, s.p, s.n);
	else if (s.n)
		cadre_write(v->out, s.p, s.n);
}

void view_end_line(struct view *v)
{
	if (v->mid_line)
		view_write(v, STR("\n"));
	v->mid_line = false;
}

void view_release_held(struct view *v)
{
	v->hold = false;
	view_write(v, buf_str(&v->held));
	buf_clear(&v->held);
}

int view_flush(struct view *v, unsigned timeout_ms, struct err *err)
{
	char why[200] = "";

	if (cadre_writer_flush(v->out, timeout_ms, why, sizeof why) == 0)
		return 0;
	return err_set(err, ERR_IO, "cannot write to standard output: %s", why);
}

struct str view_event_text(const struct cadre_event *e)
{
	size_t n = 0;
	const char *p = cadre_event_text(e, &n);

	return (struct str){ p ? p : "", p ? n : 0 };
}

static const char *note_label(const struct view *v, const struct cadre_event *e)
{
	switch (cadre_event_kind(e)) {
	case CADRE_ERROR:
		return "error";
	case CADRE_RETRY:
		return v->notes ? "retry" : NULL;
	case CADRE_PERMISSION_DENIED:
		return v->notes ? "denied" : NULL;
	case CADRE_TOOL_STARTED:
		return v->verbose ? "runs" : NULL;
	case CADRE_NOTIFICATION:
		return v->notes ? "note" : NULL;
	default:
		return NULL;
	}
}

void view_note(const struct view *v, const struct cadre_event *e)
{
	const char *label = note_label(v, e);
	const char *name = cadre_event_name(e);
	AUTO_BUF struct buf b = { 0 };

	if (!label)
		return;
	buf_addf(&b, "cadre: %s: ", label);
	if (name[0]) {
		render_line(&b, str_from(name));
		buf_addstr(&b, ": ");
	}
	render_line(&b, view_event_text(e));
	fprintf(stderr, "%s\n", b.p);
}
