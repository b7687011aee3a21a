/* SPDX-License-Identifier: MIT
 * agents.h - what is known about all agents of a session, for the rows below the answer and the view of all. */
#pragma once
#include <cadre.h>
#include "lib/base/buf.h"
#include "lib/base/map.h"

struct agent_row {
	struct agent_row *next;  /* parents before their children */
	char *id, *title, *type; /* harmless text */
	char *parent, *model, *worktree, *team, *name, *colour;
	int64_t depth, turns, tokens, cost_micros, started_ms, ended_ms; /* ended_ms 0: it has not ended */
	struct buf last_tool;
	bool asks, failed, waits; /* waits: a member of a team, between two runs */
	char *state;              /* how it ended; of one that waits: idle or failed */
};

struct agents {
	struct map by_id;
	struct agent_row *first;
	size_t running, asking;
	double cost_usd;
	int64_t recent_until_ms; /* from then on the newest end is not shown as new */
};

enum { AGENTS_RECENT_MS = 5000 }; /* so long an agent that has ended stays below the answer */

void agents_release(struct agents *a);
bool agents_event(struct agents *a, const struct cadre_event *e, int64_t now_ms); /* true: something changed */
void agents_remove(struct agents *a, const char *id);
void agents_set_asking(struct agents *a, const char *id, bool asks);
/* The order of the rows at the prompt: those that ask, that run, that have ended just now. NULL: there are fewer */
const struct agent_row *agents_shown(const struct agents *a, size_t index, int64_t now_ms);
