/* SPDX-License-Identifier: MIT
 * face.c - the output formats of `-p`. */
#include "face/cli/view.h"
#include "face/screen/markdown.h"
#include "lib/base/utf8.h"

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

const struct face face_text = { .name = "text", .has_tree = true, .event = text_event, .end = face_write_last };

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

/* The terminal: the answer as it comes, one line for each tool, notes for what else happens.
 * Nothing that a model or a tool wrote reaches the terminal unrendered. */

#define DIM   "\033[2m"
#define RED   "\033[31m"
#define CYAN  "\033[36m"
#define PLAIN "\033[0m"

enum { SUMMARY_MAX_BYTES = 160 };

/* One line of ours: start of a line, mark, text, end of the line. */
static void line_note(struct view *v, const char *colour, const char *mark, struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	view_end_line(v);
	buf_addf(&b, "%s%s", v->colour ? colour : "", mark);
	render_line(&b, text);
	buf_addf(&b, "%s\n", v->colour ? PLAIN : "");
	view_write(v, buf_str(&b));
}

static const char *error_label(const struct view *v)
{
	return v->reader ? "error: " : "Error: ";
}

static struct str first_line(struct str text)
{
	struct str rest = str_trim(text);

	return utf8_cut(str_cut(&rest, '\n'), SUMMARY_MAX_BYTES);
}

static void line_write_answer(struct view *v, struct str text)
{
	if (!text.n)
		return;
	if (v->reader && !v->mid_line && !v->streamed)
		view_write(v, STR("agent: "));
	view_write(v, text);
	v->mid_line = text.p[text.n - 1] != '\n';
	v->streamed = true;
}

/* A screen reader gets each row of a table as a sentence. */
static void line_end_table(struct view *v)
{
	AUTO_BUF struct buf b = { 0 };
	AUTO_STYLED struct styled sentences = { 0 };
	struct str below = buf_str(&v->rows);
	size_t ruled = 0;

	(void)str_cut(&below, '\n');
	struct str rule = str_trim(str_cut(&below, '\n'));
	while (ruled < rule.n && char_in(rule.p[ruled], "|-: "))
		ruled++;
	bool table = ruled && ruled == rule.n;
	if (table)
		markdown_render(buf_str(&v->rows), 0, false, &sentences);
	else
		render_text(&b, buf_str(&v->rows));
	line_write_answer(v, table ? buf_str(&sentences.text) : buf_str(&b));
	buf_clear(&v->rows);
}

static void line_add_answer(struct view *v, struct str text)
{
	while (text.n) {
		AUTO_BUF struct buf b = { 0 };
		const char *end = memchr(text.p, '\n', text.n);
		struct str piece = { text.p, end ? (size_t)(end - text.p) + 1 : text.n };
		bool within = v->rows.n && v->rows.p[v->rows.n - 1] != '\n';
		text = str_tail(text, piece.n);
		if (within || (v->reader && !v->mid_line && piece.p[0] == '|')) {
			buf_add(&v->rows, piece.p, piece.n);
			continue;
		}
		line_end_table(v);
		render_text(&b, piece);
		line_write_answer(v, buf_str(&b));
	}
}

static void line_add_thinking(struct view *v, struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	if (!text.n || !v->verbose)
		return;
	buf_addstr(&b, v->colour ? DIM : "");
	render_text(&b, text);
	buf_addstr(&b, v->colour ? PLAIN : "");
	view_write(v, buf_str(&b));
	v->mid_line = text.p[text.n - 1] != '\n';
}

/* The tree shows what a child is doing; here is how it ended, and its errors. */
static void line_add_child(struct view *v, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };
	enum cadre_event_kind kind = cadre_event_kind(e);
	struct str text = view_event_text(e);

	if (kind == CADRE_AGENT_ENDED || (kind == CADRE_AGENT_STARTED && !v->live)) {
		agent_note(&b, e);
		line_note(v, cadre_event_is_error(e) ? RED : DIM, v->reader ? "subagent: " : "", buf_str(&b));
	} else if (kind == CADRE_RETRY || kind == CADRE_ERROR) {
		agent_title(&b, e);
		buf_addstr(&b, b.n ? ": " : "");
		buf_add(&b, text.p, text.n);
		line_note(v, view_is_error(e) ? RED : DIM, view_is_error(e) ? error_label(v) : "", buf_str(&b));
	}
}

static void line_face_event(struct view *v, const struct cadre_event *e)
{
	struct str text = view_event_text(e), summary;
	AUTO_BUF struct buf b = { 0 };

	if (cadre_event_agent(e)[0]) {
		line_add_child(v, e);
		return;
	}
	switch (cadre_event_kind(e)) {
	case CADRE_DELTA:
		(strcmp(cadre_event_name(e), "thinking") ? line_add_answer : line_add_thinking)(v, text);
		break;
	case CADRE_MESSAGE:
		line_end_table(v);
		view_end_line(v);
		break;
	case CADRE_TOOL_STARTED:
		summary = first_line(view_call_subject(e));
		buf_addf(&b, "%s%s" STR_FMT, cadre_event_name(e), summary.n ? " " : "", STR_ARG(summary));
		line_note(v, CYAN, v->reader ? "tool: " : "* ", buf_str(&b));
		break;
	case CADRE_TOOL_ENDED:
		if (cadre_event_is_error(e))
			line_note(v, RED, v->reader ? "tool failed: " : "  ",
				  first_line(view_result_text(str_trim(text))));
		break;
	case CADRE_RETRY:
	case CADRE_NOTIFICATION:
		line_note(v, DIM, "", text);
		break;
	case CADRE_ERROR:
		line_note(v, view_is_error(e) ? RED : DIM, view_is_error(e) ? error_label(v) : "", text);
		break;
	case CADRE_TURN_ENDED:
		line_end_table(v);
		view_end_line(v);
		if (v->cancelled) {
			line_note(v, DIM, "", STR("Interrupted. What should be done instead?"));
		} else if (cadre_event_is_error(e)) {
			line_note(v, RED, error_label(v), text.n ? text : str_from(cadre_event_subtype(e)));
		} else if (!v->streamed && text.n) {
			line_add_answer(v, text);
			line_end_table(v);
			view_end_line(v);
		}
		v->streamed = v->cancelled = false;
		break;
	case CADRE_COMPACTED:
		line_note(v, DIM, "", STR("The conversation continues from a summary"));
		break;
	case CADRE_COMPACTING:
	case CADRE_AGENT_STARTED:
	case CADRE_AGENT_PROGRESS:
	case CADRE_TOOL_PROGRESS:
	case CADRE_QUESTION_CLOSED:
	case CADRE_FILES_FOUND:
	case CADRE_TERMINAL_SEQUENCE:
	case CADRE_MEMBER_STATE:
	case CADRE_SANDBOX_VIOLATION: /* it stands in the result */
	case CADRE_AGENT_ENDED:
	case CADRE_TASKS_CHANGED:
	case CADRE_HOOK_STARTED:
	case CADRE_HOOK_ENDED:
	case CADRE_SESSION_STARTED:
	case CADRE_PERMISSION_ASKED: /* these three are asked by face/tui/ask.c */
	case CADRE_QUESTION_ASKED:
	case CADRE_ELICITATION_ASKED:
	case CADRE_PERMISSION_DENIED: /* the call ends with the reason as its error */
		break;
	}
}

const struct face face_line = { .name = "line", .event = line_face_event };
