/* SPDX-License-Identifier: MIT
 * subagent.h - a child from its call to its end (docs/internals/subagent.md).
 *
 *     agent_spawn -> life[0..n] up -> turns -> ending[0..n] -> reported to the parent, freed
 *
 * agents/life/life.c has the table of steps with a way up and a way down, subagent.c the one order of every end. A tool call waits
 * for a child: it is finished with the child's report, or at once with "launched" for one in the background, whose end becomes a
 * notification. */
#pragma once
#include "agents/life/life.h"

/* Texts are borrowed until return */
struct spawn_request {
	struct str description, prompt;
	const char *type, *model, *effort, *isolation, *name; /* NULL: not given */
	bool background_given, background;
	const char *skill;                 /* whose allow rules replace the session's; NULL: none does */
	int64_t max_turns;                 /* 0: not given */
	const char *note;                  /* for its parent; NULL: none */
	const struct agent_member *member; /* what it joins a team as; copied; NULL: it joins none */
};

/* Starts a child of parent for call, which it takes: the call is finished by the child or with an error. A child that this
 * very call had started before a crash continues instead. */
void agent_spawn(struct agent *parent, const struct spawn_request *request, struct tool_call *call);
/* A member that was to live in a pane starts in this process. note: why, for the result. */
void agent_spawn_here(struct agent_record *record, struct tool_call *call, const char *note);
/* By this call before a crash; NULL: none */
struct agent_record *agent_started_by_call(const struct agent *parent, const struct tool_call *call);
struct skill;
/* context: fork. Starts a child with this text as its task; takes call as agent_spawn() does. */
void skill_use_fork(struct agent *a, const struct skill *skill, struct str text, struct tool_call *call);
/* Whether a child of this type (NULL: none named) gets its parent's history: then its call starts when the answer that
 * makes it is complete. */
bool agent_needs_history(const struct agent *parent, const char *type);
/* A child that has ended, or that an earlier process left, continues with message. call as above, not taken on failure; NULL:
 * in the background. max_turns: 0: as before. -ERR_NOT_FOUND, -ERR_BUSY (it runs), -ERR_DENIED (the user stopped it), -ERR_IO. */
int agent_continue(struct agent_record *record, struct str message, struct tool_call *call, bool background,
		   int64_t max_turns, struct err *err);
/* A child that has ended acts for the agent that continues it: it must live under all limits of that one. -ERR_DENIED: it does not. */
int agent_may_continue(const struct agent *by, struct agent_record *record, struct err *err);
/* A member that is not in memory works on what waits in its transcript. Failures as above. */
static inline int agent_wake(struct agent_record *record, struct err *err)
{
	return agent_continue(record, (struct str){ 0 }, NULL, true, 0, err);
}
/* The same for one that an earlier process left at work. */
int agent_resume_run(struct agent_record *record, struct err *err);
static inline void agent_park(struct agent *a) /* in phase WAITS: it leaves memory */
{
	a->park_asked = true;
	agent_kick(a);
}
static inline void agent_shut_down(struct agent *a) /* a member that shuts down: a normal end */
{
	a->leaves = true;
	agent_kick(a);
}
/* Ends it; by_user: it is not resumed by agents. */
void agent_stop(struct agent_record *record, bool by_user);
/* The child that this call waits for. */
static inline void agent_stop_waited(struct agent_tree *t, const struct tool_call *call)
{
	for (struct agent *a = t->alive; a; a = a->next)
		if (a->call == call)
			agent_stop(a->record, false);
}
/* Moves it to the background: its call is finished with "launched". False: no call waited, or it cannot be. */
bool agent_to_background(struct agent *a);
/* The conversation was set back: children of later calls are to end; ret_names: which. Before agent_tree_restore. */
void agent_tree_set_back(struct agent_tree *t, const struct map *later, struct buf *ret_names);
/* After a resumed parent is open: continues children that were at work and reports ends that were not reported. */
void agent_tree_restore(struct agent *parent, const struct map *delivered);
/* Would that find anything for the main agent? */
bool agent_tree_unfinished(const struct agent_tree *t, const struct map *delivered);

/* Between the files of this room */
struct agent *subagent_new(struct agent *parent, struct agent_record *record,
			   struct agent_definition *definition); /* takes it */
void subagent_launched(struct agent *a);

enum { AGENT_NOTICE_LEN = 40 };
static inline void agent_record_notice_id(const struct agent_record *t,
					  char out[AGENT_NOTICE_LEN]) /* one for each run of a child */
{
	snprintf(out, AGENT_NOTICE_LEN, "%s.%u", t->id, t->run);
}
void agent_record_notify(struct agent_record *t, struct agent *parent); /* its end, to one who does not wait */
struct agent_definition *agent_find_definition(const struct agent *parent, const char *type, struct buf *why);
void agent_resume(struct agent_record *record, struct agent *parent, struct tool_call *call);

/* Foreground or background? The one function that decides. wanted: by the definition */
bool spawn_in_background(const struct tree_switches *w, const struct spawn_request *r, bool wanted);

/* Limits that a child inherits stay for its life. */

/* Of a new child of parent: into its record, for its meta file. A child of the main agent has no limits but its own. */
void limits_note(struct agent_record *t, const struct agent *parent);

struct limits {
	struct permission_line gone; /* ancestors that parent's line lacks */
	const char *root;            /* where the child began, in the record's arena; NULL: where its parent is */
};

/* A message from one agent to another that runs. It is on disk before the sender gets its result. */

/* from: name or id of the sender, NULL: the user; id: of the message. Failures: -ERR_BUSY, it is about to end; -ERR_IO. */
int agent_message(struct agent *to, const char *from, const char *id, struct str text, struct err *err);
int agent_message_main(struct agent_tree *t, const char *from, const char *id, struct str text, struct err *err);

/* Reports to a parent: the result of a call that waited, the note that a child was launched, the notification of
 * one in the background. The texts are for the model; the JSON beside them is for SDKs. */
enum { REPORT_LIMIT = 30000 }; /* characters; a longer report is cut, with the path of the whole */

/* notes: lines for the parent about this run; may be empty. */
void report_completed(struct tool_call *call, const struct agent_record *t, struct str notes);
void report_launched(struct tool_call *call, const struct agent_record *t);
void report_notification(struct buf *out, const struct agent_record *t, struct str notes);
/* The report of a child that has ended, from its transcript. False: it has none. */
bool report_read(struct buf *out, struct agent_record *t);
/* Adds a model's text: what looks like a tag of ours, or like the turn of another speaker, is marked as text with a backslash. */
void text_add_marked(struct buf *out, struct str text);
/* The verdict of an agent that checks, in the last line that has one: "PASS", "FAIL", "PARTIAL", or NULL. */
const char *report_verdict(struct str text);
