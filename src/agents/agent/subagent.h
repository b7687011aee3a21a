/* SPDX-License-Identifier: MIT
 * subagent.h - a child from its call to its end (docs/internals/subagent.md).
 *
 *     agent_spawn -> life[0..n] up -> turns -> ending[0..n] -> the parent is told, freed
 *
 * life.c has the table of steps with a way up and a way down, end.c the one order of every end. Who waits for a child is a
 * tool call: it is finished with the child's report, or at once with "launched" for one in the background, whose end becomes
 * a notification. */
#pragma once
#include "agents/agent/model_choice.h"
#include "agents/agent/tool_choice.h"
#include "guard/hook/hook.h"
#include "core/store/load.h"
#include "agents/agent/tree.h"
#include "agents/worktree/worktree.h"

/* Texts are borrowed until return */
struct spawn_request {
	struct str description, prompt;
	const char *type, *model, *effort, *isolation, *name; /* NULL: not given */
	bool background_given, background;
	int64_t max_turns; /* 0: not given */
};

/* Starts a child of parent for call, which it takes: the call is finished by the child or with an error. A child that this
 * very call had started before a crash goes on instead. */
void agent_spawn(struct agent *parent, const struct spawn_request *request, struct tool_call *call);
/* Whether a child of this type (NULL: none named) gets its parent's history: then its call starts when the answer that
 * makes it is complete. */
bool agent_needs_history(const struct agent *parent, const char *type);
/* A child that has ended, or that an earlier process left, goes on with message. call as above, not taken on failure; NULL:
 * in the background. -ERR_NOT_FOUND, -ERR_BUSY (it runs), -ERR_DENIED (the user stopped it), -ERR_IO. */
int agent_continue(struct agent_record *record, struct str message, struct tool_call *call, bool background,
		   struct err *err);
/* Ends it; by_user: it is not resumed by agents. */
void agent_stop(struct agent_record *record, bool by_user);
/* The child that this call waits for. */
void agent_stop_waited(struct agent_tree *t, const struct tool_call *call);
/* Nobody waits for it any more: its call is finished with "launched". False: nobody did, or it cannot be. */
bool agent_to_background(struct agent *a);
/* After a resumed parent is open: children that were at work go on, ends that were not told are told. */
void agent_tree_restore(struct agent *parent, const struct map *delivered);
/* Would that find anything for the main agent? */
bool agent_tree_unfinished(const struct agent_tree *t, const struct map *delivered);

/* Between the files of this room */
struct agent *subagent_new(struct agent *parent, struct agent_record *record,
			   struct agent_definition *definition); /* takes it */
void subagent_kick(struct agent *a);
void subagent_step_done(struct agent *a, const struct err *err); /* of a step that took time; err may be NULL */
void subagent_begin_end(struct agent *a, enum end_state end);
bool subagent_shares_history(const struct agent *a);
int subagent_initial_messages(struct agent *a, struct err *err); /* initial_messages.c; on disk when it returns */
int subagent_remind(struct agent *a, struct str text, struct err *err);
void subagent_launched(struct agent *a);
void subagent_tell(struct agent *a);
void subagent_last_text(struct buf *out, const struct transcript *t); /* that the model said; nothing if it did not */
int subagent_release_worktree(struct agent *a, struct err *err);

enum { AGENT_NOTICE_LEN = 40 };
void agent_record_notice_id(const struct agent_record *t, char out[AGENT_NOTICE_LEN]); /* one for each run of a child */
void agent_record_notify(struct agent_record *t, struct agent *parent,
			 struct str notes); /* its end, to one who does not wait */
struct agent_definition *agent_find_definition(const struct agent *parent, const char *type, struct buf *why);
void agent_take_up(struct agent_record *record, struct agent *parent, struct tool_call *call);

/* Steps: 0 is done, STEP_TAKES_TIME leads to subagent_step_done, below 0 is a failure. */
enum { STEP_TAKES_TIME = 1 };
struct life_step {
	const char *name;
	int (*up)(struct agent *a, struct err *err);
	int (*down)(struct agent *a, struct err *err); /* NULL: nothing to undo */
};
extern const struct life_step life[];
extern const size_t life_count;
struct end_step {
	const char *name;
	int (*run)(struct agent *a, struct err *err);
};
extern const struct end_step ending[];
extern const size_t ending_count;
