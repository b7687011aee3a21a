/* SPDX-License-Identifier: MIT
 * view.h - where a face writes, and the faces. A face makes one kind of output of a session's events.
 *
 * To add a face: 1. a const struct face in face.c; 2. its place in the list there; 3. if users choose
 * it, its name among the choices of --output-format in flag.c. */
#pragma once
#include <cadre.h>
#include "lib/base/buf.h"
#include "face/cli/tree_view.h"

struct view;

struct face {
	const char *name; /* as in --output-format; "line" for the terminal */
	bool has_tree;    /* running children are shown on standard error, if it is a terminal */
	void (*event)(struct view *v, const struct cadre_event *e);
	void (*end)(struct view *v); /* after the last event; may be NULL */
};

extern const struct face face_text, face_json, face_line;
const struct face *face_find(const char *name); /* NULL: no such face */

struct view {
	const struct face *face;
	struct cadre_writer *out; /* standard output, owned */
	bool terminal;            /* out is one: foreign text is made harmless */
	bool colour;
	bool notes; /* progress goes to standard error */
	bool verbose;
	bool live;   /* running children are shown as a tree */
	bool reader; /* lines have labels, for screen readers */
	struct tree_view tree;
	bool hold; /* what is written stays in held */
	struct buf held;
	/* what the faces remember */
	struct buf last;  /* text, json: the latest result */
	bool began;       /* stream-json: the frame that describes the session was written */
	struct buf early; /* stream-json: frames that wait for it */
	bool mid_line;    /* line: the cursor is not at the start of a line */
	struct buf rows;  /* line: for a screen reader, of a table that has not ended */
	bool streamed;    /* line: the answer of this turn was seen piece by piece */
	bool cancelled;   /* line: the user ended this turn, so its end is not an error */
};

bool view_wants_colour(void);  /* NO_COLOR and TERM allow it */
bool view_is_for_reader(void); /* CLAUDE_AX_SCREEN_READER */
void view_init(struct view *v, struct cadre *c, const struct face *face, bool verbose);
void view_release(struct view *v);

void view_event(struct view *v, const struct cadre_event *e);
void view_write(struct view *v, struct str s);
static inline void view_end_line(struct view *v) /* what follows starts at the left */
{
	if (v->mid_line)
		view_write(v, STR("\n"));
	v->mid_line = false;
}
void view_hide_tree(struct view *v); /* until the next event */
static inline void view_end(struct view *v)
{
	view_hide_tree(v);
	if (v->face->end)
		v->face->end(v);
}
/* Waits until all is written. On failure err has the reason: the reader went away, or the disk is full. */
int view_flush(struct view *v, unsigned timeout_ms, struct err *err);

/* Events that are not part of the output but of interest: errors always, progress if the view wants notes.
 * For faces whose output is read by programs; it goes to standard error. */
void view_note(struct view *v, const struct cadre_event *e);
struct str view_event_text(const struct cadre_event *e);
struct str view_call_subject(const struct cadre_event *e); /* "": its input is JSON, which says nothing to a person */
struct str view_result_text(struct str text);              /* a result without the marks for the model around it */
static inline bool view_is_error(const struct cadre_event *e) /* of a message for the user: not a note of a hook */
{
	return cadre_event_kind(e) == CADRE_ERROR && strcmp(cadre_event_name(e), "note") != 0;
}
