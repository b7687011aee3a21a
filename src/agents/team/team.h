/* SPDX-License-Identifier: MIT
 * team.h - a lead and its members: agents that stay alive after their turn, get messages and share a task list
 * (docs/internals/team.md). The lead is the main agent of the session; a member is a child whose record has a member. */
#pragma once
#include "agents/teamfile/format.h"
#include "agents/subagent/subagent.h"
#include "agents/agent/record.h"
#include "lib/json/json_write.h"

#define TEAM_LEAD "team-lead"

enum { MOST_MEMBERS = 1000, LARGEST_MESSAGE = 256 << 10 };

struct member_job;
struct team_files;

struct team {
	struct agent_tree *tree; /* borrowed */
	struct arena arena;      /* holds the texts */
	const char *name, *description, *agent_type;
	int64_t created_ms;
	bool implicit;           /* made by the first named call, not by TeamCreate */
	const char *todo_before; /* the task list of the session without a team */
	int64_t park_after_ms;
	bool asks, tells_all;     /* settings askBeforeShutdown, idleNotifications ... */
	bool claims;              /* ... and autoClaim */
	struct timer claim;       /* runs while a member could not claim because the list was locked */
	unsigned joined;          /* members that there ever were: the next one's colour */
	unsigned unheard;         /* runs whose end the lead did not hear of yet */
	struct map sent;          /* ids of messages of this process */
	struct timer park;        /* runs while a member is idle and in memory */
	bool closing_told;        /* the lead had its closing turn, and no member has worked since */
	struct team_files *files; /* config.json and inboxes */
	/* Work for members in threads: transcripts that are read, tasks that another program has locked */
	struct member_job *jobs;
};

/* team.c */

/* -ERR_BUSY: the session leads one already, or another live session has the name. note: for the result; may stay empty. */
int team_create(struct agent_tree *t, const char *name, const char *description, const char *agent_type, bool implicit,
		struct buf *note, struct err *err);
/* The line `team` of a session that is continued. */
void team_restore(struct agent_tree *t, struct str fields);
/* Members that count as active without force are named in who, and nothing is done: false. open_tasks: the file that tasks
 * which were not completed went to; empty: there were none. */
bool team_delete(struct agent_tree *t, bool force, struct buf *who, struct buf *open_tasks, struct err *err);
void team_close(struct agent_tree *t); /* the session is closed: no member may be alive */

/* What a named call of the Agent tool starts. name is replaced where a member has it already. Texts of ret_member are borrowed
 * from the team. False: why says why not. note: for the result. */
bool team_admit(struct agent *parent, struct spawn_request *request, const char *team_name, const char *mode,
		struct agent_member *ret_member, struct arena *a, struct buf *note, struct buf *why);
void team_limit_idle(struct team *t); /* one more is idle now */
static inline bool team_is_lead(const struct agent *a)
{
	return !a->parent;
}
const char *team_name_of(const struct agent *a);         /* as its messages say it */
unsigned team_count(const struct team *t, bool working); /* members that are not gone; or those that work */
/* Adds the open tasks of an owner, a line each ("": of none; NULL: all); returns how many are in progress. */
unsigned team_tasks_of(const struct agent_tree *t, const char *owner, struct buf *out);
void team_describe(const struct team *t, struct buf *out); /* roster with states, a line each */
void team_list_agents(const struct agent_tree *tree,
		      struct buf *out);                    /* of a session with a team or without: ListAgents */
void team_stop(struct agent_record *record, bool by_user); /* as in struct team_ops */
void team_remind(const struct agent *a, struct buf *out);
/* With teams.autoClaim: a member that waits gets a task that is free. again: it may have got one before a crash. */
void team_claim_task(struct agent_record *r, bool again);
/* A closing turn for the lead of a run that ends when all is quiet, then an end for all members. True: something is under way. */
bool team_wind_up(struct agent_tree *t);

/* mail.c */

struct mail {
	const char *id;
	const char *from, *color; /* color NULL: none */
	struct str summary, text;
	const char *about; /* a newer one replaces it; NULL: it stays */
	bool quiet;        /* it begins no turn by itself */
	bool of_user;      /* words of the user, shown as they are */
	bool unverified;   /* it claims to be of an agent and comes from a file */
};

void mail_id(const struct agent_tree *t, const char *call_id, const char *receiver, char out[UUID_LEN + 1]);
/* Durable at the receiver when it returns 0; to NULL: the lead. again: the call may have sent it before a crash. A second put
 * of an id changes nothing. -ERR_LIMIT: too much waits there. */
int mail_put(struct team *t, struct agent_record *to, const struct mail *m, bool again, struct err *err);
void mail_learn(struct team *t,
		const struct agent_record *to);         /* ids that are in the receiver's transcript count as sent */
void mail_learn_ids(const char *path, struct map *ids); /* of texts that were queued in a transcript */
void mail_learn_told(const struct agent_record *to, struct map *ids);   /* of what its record has */
void mail_learn_record(const struct agent_record *to, struct map *ids); /* of all that it got */
void mail_write(struct buf *out, const struct mail *m);                 /* as a model sees it */
void mail_add_attribute(struct buf *out, const char *name, struct str value);
void mail_summary(struct buf *out, struct str text); /* the first line, cut */
struct notice notice_of_mail(const struct json *line,
			     struct arena *a); /* of a mailbox, as pane_put() writes it; id NULL: none */

/* send.c */

/* SendMessage in a session with a team. False: the address is not of the team; the call is open. */
bool team_send(struct tool_call *call);
/* A plan for the lead, on disk there when it returns; the open request is in r->member->plan. */
int team_put_plan(struct agent_record *r, const char *call_id, const char *path, struct str plan, struct err *err);
bool team_plan(struct agent *a, struct tool_call *call); /* ExitPlanMode of a member whose plan the lead approves */
/* Ends the call: the lead has the plan, and the agent waits. */
void team_answer_planned(struct agent *a, struct tool_call *call, struct str plan, const char *request);

/* run_end.c */

extern const struct team_ops team_ops;

/* A member in a pane is idle: a request to shut down is decided, the lead gets a notice. a: as what its calls run. again: the lead
 * may know it already. all_read: it has read all that was sent to it. */
void team_run_over(struct agent *a, bool again, bool all_read);
void team_announce_gone(struct agent_record *r); /* to hosts: of one that is not in memory */
void team_forget_jobs(struct team *t);           /* it is closed; what they change is changed all the same */
void team_run_begins(struct agent_record *r);    /* what the lead was told of its runs is forgotten */
/* What became of a member, as a message to the lead */
void team_tell_end(struct agent_record *r, const char *id, const char *text);

/* The owner of a task gets it as a message, once for each change; TEAM_LEAD: it has no owner, and nothing blocks it now. again: the change may have been made before a crash. */
void team_assign(struct team *t, const char *owner, const struct todo_info *task, const char *by, const char *change,
		 bool again);

/* files.c, config_file.c */

struct team_files *team_files_new(struct team *t);
void team_files_changed(struct team_files *f); /* config.json is written soon */
void team_files_drain(struct team_files *f);   /* inboxes are looked at again */
/* Until then a message may be on its way from an inbox to its receiver; on_idle of the tree says that it changed. */
bool team_files_reading(const struct team_files *f);
/* A member of another program, which config.json names and which is none of ours */
bool team_files_knows(const struct team_files *f, struct str name);
/* Adds an entry to its inbox. done is called once, later: status below 0, and why. again: a call of before a crash. */
typedef void team_posted_fn(void *data, int status, const char *why);
void team_files_post(struct team_files *f, struct str name, const char *id, struct str entry, bool again,
		     team_posted_fn *done, void *data);
/* A message that waits for an agent of ours (name: as in the file's name), for programs that show inboxes; with mirrorInboxes */
void team_files_mirror(struct team_files *f, const char *name, const struct mail *m);
/* keep: the directory stays, and config.json names no process of a lead. What a thread has in its hands ends later, and a lock
 * that another program holds is waited for by the change queue. */
void team_files_close(struct team_files *f, bool keep);
/* The directory of a team with this name: 0 none, 1 of a dead lead, -ERR_BUSY with who leads it. */
int team_files_look(const char *config_dir, const char *name, struct err *err);
void team_files_remove(const char *config_dir, const char *kind,
		       const char *name); /* <config>/KIND/NAME and all in it */
int team_files_move_away(const char *config_dir, const char *name, struct buf *ret_path, struct err *err);
