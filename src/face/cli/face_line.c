/* SPDX-License-Identifier: MIT
 * face_line.c - the terminal: the answer as it comes, one line for each tool, notes for what else happens.
 * Nothing that a model or a tool wrote reaches the terminal unrendered. */
#include "lib/base/utf8.h"
#include "face/cli/render.h"
#include "face/cli/view.h"

#define DIM   "\033[2m"
#define RED   "\033[31m"
#define CYAN  "\033[36m"
#define PLAIN "\033[0m"

enum { SUMMARY_MAX_BYTES = 160 };

/* One line of ours: start of a line, mark, text, end of the line. */
static void add_note(struct view *v, const char *colour, const char *mark, struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	view_end_line(v);
	buf_addf(&b, "%s%s", v->colour ? colour : "", mark);
	render_line(&b, text);
	buf_addf(&b, "%s\n", v->colour ? PLAIN : "");
	view_write(v, buf_str(&b));
}

static void add_delta(struct view *v, const struct cadre_event *e)
{
	bool thinking = !strcmp(cadre_event_name(e), "thinking");
	struct str text = view_event_text(e);
	AUTO_BUF struct buf b = { 0 };

	if (!text.n || (thinking && !v->verbose))
		return;
	if (thinking && v->colour)
		buf_addstr(&b, DIM);
	render_text(&b, text);
	if (thinking && v->colour)
		buf_addstr(&b, PLAIN);
	view_write(v, buf_str(&b));
	v->mid_line = text.p[text.n - 1] != '\n';
	v->streamed = v->streamed || !thinking;
}

static struct str first_line(struct str text)
{
	struct str rest = str_trim(text);
	struct str line = str_cut(&rest, '\n');

	return utf8_cut(line, SUMMARY_MAX_BYTES);
}

static void add_tool(struct view *v, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "%s ", cadre_event_name(e));
	struct str summary = first_line(view_event_text(e));
	buf_add(&b, summary.p, summary.n);
	add_note(v, CYAN, "* ", buf_str(&b));
}

/* What a child is doing stands in the tree; here is how it ended. */
static void add_end(struct view *v, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };

	agent_note(&b, e);
	add_note(v, cadre_event_is_error(e) ? RED : DIM, "", buf_str(&b));
}

/* A note that names the child it is about. */
static void add_about(struct view *v, const char *colour, const char *mark, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };
	struct str text = view_event_text(e);

	agent_title(&b, e);
	buf_addstr(&b, b.n ? ": " : "");
	buf_add(&b, text.p, text.n);
	add_note(v, colour, mark, buf_str(&b));
}

static void child_event(struct view *v, const struct cadre_event *e)
{
	switch (cadre_event_kind(e)) {
	case CADRE_AGENT_ENDED:
		add_end(v, e);
		break;
	case CADRE_RETRY:
		add_about(v, DIM, "", e);
		break;
	case CADRE_ERROR:
		add_about(v, RED, "Error: ", e);
		break;
	default:
		break;
	}
}

static void end_turn(struct view *v, const struct cadre_event *e)
{
	struct str text = view_event_text(e);

	view_end_line(v);
	if (v->cancelled) {
		add_note(v, DIM, "", STR("Interrupted. Say how to go on."));
	} else if (cadre_event_is_error(e)) {
		add_note(v, RED, "Error: ", text.n ? text : str_from(cadre_event_subtype(e)));
	} else if (!v->streamed && text.n) {
		AUTO_BUF struct buf b = { 0 };
		render_text(&b, text);
		buf_addch(&b, '\n');
		view_write(v, buf_str(&b));
	}
	v->streamed = v->cancelled = false;
}

static void line_start(struct view *v)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "cadre %s - /help for help, Ctrl-D to leave", cadre_version());
	add_note(v, DIM, "", buf_str(&b));
}

static void line_event(struct view *v, const struct cadre_event *e)
{
	if (cadre_event_agent(e)[0]) {
		child_event(v, e);
		return;
	}
	switch (cadre_event_kind(e)) {
	case CADRE_DELTA:
		add_delta(v, e);
		break;
	case CADRE_MESSAGE:
		view_end_line(v);
		break;
	case CADRE_TOOL_STARTED:
		add_tool(v, e);
		break;
	case CADRE_TOOL_ENDED:
		if (cadre_event_is_error(e))
			add_note(v, RED, "  ", first_line(view_event_text(e)));
		break;
	case CADRE_RETRY:
	case CADRE_NOTIFICATION:
		add_note(v, DIM, "", view_event_text(e));
		break;
	case CADRE_ERROR:
		add_note(v, RED, "Error: ", view_event_text(e));
		break;
	case CADRE_TURN_ENDED:
		end_turn(v, e);
		break;
	case CADRE_COMPACTED:
		add_note(v, DIM, "", STR("The conversation goes on from a summary of it"));
		break;
	case CADRE_COMPACTING:
	case CADRE_AGENT_STARTED:
	case CADRE_AGENT_PROGRESS:
	case CADRE_AGENT_ENDED:
	case CADRE_TASKS_CHANGED:
	case CADRE_HOOK_STARTED:
	case CADRE_HOOK_ENDED:
	case CADRE_SESSION_STARTED:
	case CADRE_PERMISSION_ASKED: /* these three are asked by line.c */
	case CADRE_QUESTION_ASKED:
	case CADRE_ELICITATION_ASKED:
	case CADRE_PERMISSION_DENIED: /* the call ends with the reason as its error */
		break;
	}
}

const struct face face_line = { .name = "line", .tree_fd = STDOUT_FILENO, .start = line_start, .event = line_event };
