/* SPDX-License-Identifier: MIT
 * pane.h - members as separate processes in tmux panes (docs/internals/team.md). On the lead's side a record without
 * a struct agent and a struct pane; on the member's side a session that has joined its lead. */
#pragma once
#include "agents/team/team.h"
#include "agents/worktree/worktree.h"
#include "core/store/line_link.h"

/* pane.c: the lead's side, processes. */

enum pane_state { PANE_STARTS, PANE_RUNS, PANE_ENDS, PANE_OVER };

struct remote_call;

struct pane_ask { /* a question of a member to the user: may a call run, or AskUserQuestion */
	struct pane_ask *next;
	const char *id, *tool, *rule; /* rule NULL: none fits */
	struct str input;             /* of the call */
	struct arena arena;           /* holds the texts */
};

struct pane {
	struct pane *next;
	struct panes *all;
	struct agent_record *record;
	enum pane_state state;
	unsigned splits;        /* how often this part of the window was divided */
	unsigned restarts;      /* so far */
	bool in_window;         /* there was no room beside the others: it gets a window */
	bool suspend;           /* of PANE_ENDS: it is resumed later */
	bool again;             /* the same: it is started again when its process is gone */
	bool left;              /* it said goodbye ... */
	bool by_user, by_hook;  /* ... because its user left, or a hook ended it */
	bool late;              /* it was not up in time */
	bool up;                /* it reads its mailbox ... */
	int64_t sent;           /* ... and so many lines of it were sent to this process ... */
	int64_t sent_bytes;     /* ... of so many bytes */
	struct tool_call *call; /* of the lead, to be answered when the pane is recorded; NULL: none */
	char *note;
	struct child *tmux; /* a command that runs; NULL: none */
	struct buf said;    /* by it */
	struct link link;
	uv_poll_t *watch; /* of the process */
	int pidfd;
	struct timer limit;
	bool termed;
	struct pane_ask *asks;
	struct remote_call *calls; /* of the member, that run here */
	struct agent *proxy;       /* what calls of the member run as at the lead */
	struct evp_pkey_st *key;   /* of the lead, for a member of another program; NULL */
	bool announced;            /* hosts and observers know that it is there */
	struct worktree *worktree; /* where its process works; NULL: in the lead's directory */
	struct worktree_job *job;  /* takes or releases it; NULL: none */
};

struct pane_guest; /* a connection that has not said who it is, or comes before tmux said who that is */

struct panes {
	struct agent_tree *tree;
	struct pane *first;
	uv_poll_t *listener;
	int fd;
	struct pane_guest *guests;
	struct kick meet;
	unsigned version;  /* of tmux, 302 is 3.2; 0: not asked yet */
	bool own_server;   /* no tmux is around the lead */
	uint64_t start_ms; /* so long tmux, and then a process, may take to answer */
	char *socket;      /* of that server */
	int64_t server;    /* its pid; 0: none was started */
	uv_poll_t *server_watch;
	int server_fd;
};

/* Where a new member lives; a reason why not in a pane is added to note. */
bool pane_is_wanted(const struct agent_tree *t, struct buf *note);
void pane_spawn(struct agent_record *record, struct tool_call *call, const char *note); /* takes call */
bool pane_restore(struct agent_record *record); /* of an earlier process of the lead; false: there is no tmux now */
void pane_end(struct agent_record *record);     /* for good */
void pane_start(struct pane *p);
void pane_emit(struct pane *p, enum event_kind kind);    /* the member as it is now, for hosts and observers */
struct pane *pane_of(const struct agent_record *record); /* NULL: none */
/* What works for the team outside of this loop: members in panes, and threads for members here */
unsigned team_working(const struct agent_tree *t);
void pane_start_next(struct panes *all); /* of those that wait for tmux */
void pane_start_failed(struct pane *p, const char *why);
void pane_announce_end(struct pane *p);  /* once, when nothing of it is left */
bool pane_end_all(struct agent_tree *t); /* suspended; true: some are still there */
void pane_free_all(struct agent_tree *t);

/* pane_worktree.c */

/* Why a new member must live in this process, by the isolation that its call or its definition wants; NULL: it need not. */
const char *pane_isolation(struct agent_record *r);
void pane_take_worktree(struct pane *p);    /* if it wants one; p->job until it has it */
void pane_release_worktree(struct pane *p); /* if it has one, and no process */

/* pane_tmux.c: commands of tmux; one at a time for a pane, what it says is in p->said. */

typedef void tmux_done_fn(struct child *c, int status); /* child_data(): the pane */
bool tmux_is_there(void);
const char *tmux_foreign_program(void); /* CLAUDE_CODE_TEAMMATE_COMMAND, if that is not this program; NULL: none */
bool tmux_is_around(void);              /* this process is in a pane */
int tmux_ask_version(struct pane *p, tmux_done_fn *done, struct err *err); /* says "tmux 3.3a" */
int tmux_make_pane(struct pane *p, tmux_done_fn *done,
		   struct err *err); /* says pane, pid, pid and socket of the server */
int tmux_dress_pane(struct pane *p, tmux_done_fn *done, struct err *err);
/* Removes a pane that still shows its dead process (remain-on-exit); tmux itself checks that the pid is the same. */
void tmux_kill_pane(struct pane *p, int64_t pid, tmux_done_fn *done);

/* pane_mail.c: what waits for a member. */

void pane_send_mailbox(struct pane *p); /* it is up: from the beginning */
int pane_put(struct agent_record *to, const struct mail *m, struct err *err);
void pane_learn(struct team *t, const struct agent_record *to); /* ids that are in its mailbox */
int pane_put_prompt(struct agent_record *to, struct err *err);
void pane_post_prompt(struct agent_record *to); /* of another program: its first message */
/* One of another program has written to the lead's inbox: its idleness, its answer to a request to shut down, a question for permission.
 * The file may be forged: nothing but a question, and an end that the lead has asked for, follows from it. True: it is not for the
 * model. */
bool pane_heard(struct agent_record *r, struct str text);
void pane_post_decision(struct agent_record *to, const char *id, struct str decision); /* into its inbox, signed */
/* Its next run is in this process, with the history of its own session and what waits in its mailbox. l: that session; NULL: it has
 * not begun. */
int pane_move_here(struct agent_record *r, const struct session_load *l, struct err *err);

/* pane_lead.c: the lead's side, words. */

int pane_listen(struct panes *all, struct err *err);
void pane_stop_listening(struct panes *all);
void pane_meet_guests(struct panes *all); /* a process is known now */
void pane_drop_asks(struct pane *p);
void pane_drop_calls(struct pane *p);                        /* the pane is freed: they end without it */
void pane_ask_host(struct pane *p, const struct json *line); /* {id, tool, input, text, why, rule, question} */
void pane_approve_plan(struct agent_record *to, bool approve);
const struct pane_ask *pane_question(const struct agent_tree *t, const char *id); /* NULL: there is none */
/* Of the host: {"behavior": "allow" | "deny", "message", "updatedInput"}, as for agent_decide(). It goes to the member, and the question
 * is over. False: there is no such question. */
bool pane_decide(struct agent_tree *t, const char *id, struct str decision);
void pane_refuse(struct agent_tree *t, const char *id, struct str why); /* a denial with this message */
void pane_tell_rule(struct agent_tree *t, const char *rule);
