/* SPDX-License-Identifier: MIT
 * initial_messages.h - the messages of an agent before its first request, and the texts that turn its parent's conversation
 * into that of a child. All forks of one answer get the same bytes up to their directive, which is what the server's prompt cache needs. */
#pragma once
#include "agents/agent/tree.h"

#define FORK_TYPE "fork"
#define FORK_TAG  "<fork-boilerplate>"

extern const char fork_placeholder_text[];
struct segment *fork_placeholder(const char *call_id); /* the result of an open call, as every fork sees it */
/* The message behind the history: what a fork is, and its task. */
void fork_directive(struct buf *out, struct str task);
/* For a child that has its parent's history but works in another directory. */
void fork_worktree_notice(struct buf *out, const char *parent_cwd, const char *worktree);
/* The history has the directive of a fork: its agent is one. */
bool fork_is_marked(const struct transcript *t);

/* The first step of life[]: reads the transcript of a child that continues. */
int agent_load(struct agent *a, struct err *err);
/* A step of life[]: the stored conversation of one that continues, or its origin's. */
int agent_find_history(struct agent *a, struct err *err);
int agent_record_origin(struct agent *a, struct err *err); /* of a fork, before its first message; once */
/* The context of a new conversation: environment, instructions, servers, skills that it has from birth. */
int agent_add_context(struct agent *a, struct err *err);
int agent_add_skills(struct agent *a, struct err *err); /* those that it can use, if the model does not know of them */
int child_initial_messages(struct agent *a, struct err *err); /* on disk when it returns */
int agent_remind(struct agent *a, struct str text, struct err *err);
void agent_last_text(struct buf *out, const struct transcript *t); /* that the model said; nothing if it did not */

/* Restores the rest of a stored transcript: notices that no request has carried yet (not of a fork, whose origin has them),
 * files that it has seen, and open calls. run: calls without a result are started again. */
int agent_restore(struct agent *a, bool run, struct err *err);
/* Of one that has not begun: this becomes a part of its task, or of the message that it goes on with. On disk on return. */
int agent_extend_task(struct agent *a, struct str text, struct err *err);
void agent_drop_load(struct agent *a);
