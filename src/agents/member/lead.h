/* SPDX-License-Identifier: MIT
 * lead.h - the lead as seen by a member in a tmux pane, which is a separate process and session: it joins the lead and performs its
 * team operations there (docs/internals/team.md). */
#pragma once
#include "agents/team/team.h"
#include "core/store/line_link.h"

/* lead_join.c */

/* The lead's process answers, and its environment is this process's own. *ret_worktree: where it works; NULL: where it is. */
int lead_dial(const struct options *o, int *ret_fd, struct worktree **ret_worktree, struct err *err);

void lead_close_pane(void); /* its lead is gone: its tmux pane is to end with this process */

/* lead.c */

struct lead_callbacks {
	void (*prompt)(void *data, struct str text); /* its task */
	void (*resume)(void *data);                  /* it continues where it stood */
	void (*leave)(void *data);                   /* the program ends */
	void *data;
};

/* Blocking, before any setting is read: connects to the lead and takes its environment. Changes the environment of the
 * process. -ERR_USAGE: the lead is not there, or does not know it. */
int lead_join(struct agent_tree *t, struct options *o, struct err *err);
void lead_open(struct agent_tree *t, const struct lead_callbacks *callbacks); /* the session is open */
void lead_step(struct agent_tree *t, bool working);                           /* after each step of the session */
bool lead_ask(struct agent_tree *t, const struct event *event); /* a question goes to the lead; false: it cannot */
bool lead_send(struct tool_call *call);                         /* SendMessage; false: not for it */
bool lead_plan(struct tool_call *call);                         /* ExitPlanMode; the same */
void lead_assign(const struct agent_tree *t, const char *owner, const struct todo_info *task, const char *change);
void lead_forget_call(struct tool_call *call); /* one of those two is cancelled */
void lead_dismiss(struct agent_tree *t);       /* a hook ends it, with the turn */
void lead_close(struct agent_tree *t);
