/* SPDX-License-Identifier: MIT
 * view.c - where a face writes. */
#include "face/cli/view.h"
#include "face/screen/paint.h"
#include <sys/ioctl.h>

enum { USUAL_COLUMNS = 80 };

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !strcmp(term, "dumb");
}

bool view_is_for_reader(void)
{
	const char *wanted = getenv("CLAUDE_AX_SCREEN_READER");

	return wanted && *wanted && strcmp(wanted, "0") != 0;
}

bool view_wants_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return !(no && *no) && !is_dumb();
}

void view_init(struct view *v, struct cadre *c, const struct face *face, bool verbose)
{
	*v = (struct view){ .face = face, .verbose = verbose };
	v->terminal = isatty(STDOUT_FILENO);
	v->reader = view_is_for_reader();
	v->colour = v->terminal && view_wants_colour() && !v->reader;
	v->notes = verbose || isatty(STDERR_FILENO);
	v->live = face->has_tree && isatty(STDERR_FILENO) && !is_dumb() && !v->reader;
	v->tree.colour = v->live && view_wants_colour();
	v->out = cadre_writer_new(c, STDOUT_FILENO);
}

void view_release(struct view *v)
{
	cadre_writer_free(v->out);
	buf_release(&v->held);
	buf_release(&v->last);
	buf_release(&v->early);
	buf_release(&v->rows);
	agents_release(&v->tree.agents);
	*v = (struct view){ 0 };
}

void view_hide_tree(struct view *v)
{
	AUTO_BUF struct buf b = { 0 };

	tree_view_erase(&v->tree, &b);
	if (b.n)
		fwrite(b.p, 1, b.n, stderr);
}

void view_event(struct view *v, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };
	struct winsize size;

	if (!v->face) /* released, and the session still has events */
		return;
	v->face->event(v, e);
	if (!v->live || !v->face->has_tree)
		return;
	tree_view_event(&v->tree, e);
	if (!tree_view_is_due(&v->tree, e))
		return;
	tree_view_erase(&v->tree, &b);
	bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
	tree_view_draw(&v->tree, &b, known ? size.ws_col : USUAL_COLUMNS);
	v->tree.drawn_ms = cadre_event_time_ms(e);
	fwrite(buf_str(&b).p, 1, b.n, stderr);
}

void view_write(struct view *v, struct str s)
{
	if (v->hold) {
		buf_add(&v->held, s.p, s.n);
		return;
	}
	if (!s.n)
		return;
	view_hide_tree(v);
	cadre_write(v->out, s.p, s.n);
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

struct str view_call_subject(const struct cadre_event *e)
{
	struct str text = str_trim(view_event_text(e));

	return str_starts(text, STR("{\"")) || str_is(text, "{}") ? STR("") : text;
}

struct str view_result_text(struct str text)
{
	struct str open = STR("<tool_use_error>"), close = STR("</tool_use_error>");

	if (!str_starts(text, open) || !str_ends(text, close))
		return text;
	return (struct str){ text.p + open.n, text.n - open.n - close.n };
}

static const char *note_label(const struct view *v, const struct cadre_event *e)
{
	switch (cadre_event_kind(e)) {
	case CADRE_ERROR:
		return view_is_error(e) ? "error" : "note";
	case CADRE_RETRY:
		return v->notes ? "retry" : NULL;
	case CADRE_PERMISSION_DENIED:
		return v->notes ? "denied" : NULL;
	case CADRE_TOOL_STARTED:
		return v->verbose ? "runs" : NULL;
	case CADRE_NOTIFICATION:
		return v->notes && !cadre_event_agent(e)[0] ? "note" : NULL; /* the end of a child is its own line */
	case CADRE_AGENT_STARTED:
		return v->verbose && !v->live ? "agent" : NULL;
	case CADRE_AGENT_ENDED:
		return v->verbose || v->live ? "agent" : NULL;
	default:
		return NULL;
	}
}

void view_note(struct view *v, const struct cadre_event *e)
{
	const char *label = note_label(v, e);
	const char *name = cadre_event_name(e);
	enum cadre_event_kind kind = cadre_event_kind(e);
	AUTO_BUF struct buf b = { 0 }, who = { 0 };

	if (!label)
		return;
	buf_addf(&b, "cadre: %s: ", label);
	if (kind == CADRE_AGENT_STARTED || kind == CADRE_AGENT_ENDED) {
		agent_note(&who, e);
		render_line(&b, buf_str(&who));
	} else {
		agent_title(&who, e);
		render_line(&b, buf_str(&who));
		buf_addstr(&b, who.n ? ": " : "");
		bool named = kind != CADRE_ERROR && name[0];
		render_line(&b, str_from(named ? name : ""));
		buf_addstr(&b, named ? ": " : "");
		render_line(&b, view_event_text(e));
	}
	view_hide_tree(v);
	fprintf(stderr, "%s\n", b.p);
}
