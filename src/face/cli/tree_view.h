/* SPDX-License-Identifier: MIT
 * tree_view.h - the children that run, as a few lines at the end of a terminal, drawn again in place. It only makes text;
 * other output to the terminal erases the tree before and draws it again behind. */
#pragma once
#include <cadre.h>
#include "lib/base/buf.h"
#include "face/cli/agents.h"

struct tree_view {
	struct agents agents; /* those that run */
	unsigned drawn;       /* lines of it on the terminal */
	int64_t drawn_ms;     /* when, in the time of events */
	bool colour, changed;
};

void tree_view_event(struct tree_view *t, const struct cadre_event *e);
/* Appends what takes the tree off the terminal; nothing if it is not there. */
void tree_view_erase(struct tree_view *t, struct buf *out);
/* Appends the tree; it must be erased. */
void tree_view_draw(struct tree_view *t, struct buf *out, unsigned columns);
/* Worth drawing again at the time of this event? Not while events of many children come faster than a person can read. */
bool tree_view_is_due(const struct tree_view *t, const struct cadre_event *e);

/* One line about a child that begins or has ended: Agent "x" finished (3 turns, 1.2 k tokens, 4 s). Not rendered. */
void agent_note(struct buf *out, const struct cadre_event *e);
/* Who an event is about: agent "x" (Explore); nothing for the main agent. Not rendered. */
void agent_title(struct buf *out, const struct cadre_event *e);
