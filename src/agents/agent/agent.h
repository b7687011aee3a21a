/* SPDX-License-Identifier: MIT
 * agent.h - a running agent: the main agent of a session, or a child. Both are this struct; only the contents
 * differ (docs/internals/subagent.md).
 *
 *     agent_init -> life[] up (agents/life/life.h) -> turns by query_start -> life[] down -> agent_release */
#pragma once
#include "defs/agentdef/registry.h"
#include "lib/base/map.h"
#include "core/message/event.h"
#include "core/model/governor.h"
#include "core/model/provider.h"
#include "guard/permission/record.h"
#include "agents/query/query.h"
#include "agents/profile/model_choice.h"
#include "agents/profile/tool_choice.h"
#include "core/store/recorder.h"
#include "agents/agent/model.h"
#include "core/tool/deferral.h"

struct agent_tree;
struct turn_hooks;
struct hook_set;
struct mcp_selection;
struct skill_use;
struct skill_activation;

struct agent_record;
struct hook_batch;
struct load_job;
struct preload;
struct session_load;
struct worktree;
struct worktree_job;

/* How it ended (record.c). */
enum end_state {
	AGENT_RUNNING,
	AGENT_COMPLETED,
	AGENT_TURN_LIMIT, /* stopped at its turn limit: what it has is a part */
	AGENT_FAILED,     /* the API, the disk, or an answer without text */
	AGENT_REFUSED,    /* the model would not */
	AGENT_BUDGET,     /* nothing was left to spend */
	AGENT_KILLED,     /* stopped by a call, the user or the host */
	AGENT_SUSPENDED,  /* its session was closed: it continues when that is resumed, and has no end on disk */
	AGENT_IDLE,       /* a run of a member is over, the member is not: it waits for a message */
	END_STATE_COUNT
};

struct end_state_info {
	const char *state;   /* in our own files and events */
	const char *status;  /* of a notification: completed, failed or killed */
	const char *summary; /* behind: Agent "DESCRIPTION" */
	bool is_error;       /* of the result of a call that waited */
	bool has_report;     /* what it said counts, if only as a part */
};

extern const struct end_state_info end_states[END_STATE_COUNT];
enum end_state end_state_of(const struct query *q);      /* of a turn that is over */
void end_reason(struct buf *out, const struct query *q); /* why a turn failed; nothing if it did not */
bool end_state_parse(struct str name, enum end_state *ret_state);

/* What several forks of one answer share: the history with every open call answered by the same words. */
struct fork_base {
	struct transcript history;
	struct context_measure measured; /* of the history: a thousand forks need not read it a thousand times */
	struct fork_barrier *gate;       /* reference */
	uint32_t count;                  /* blocks of the transcript that it was made of */
};

/* Of a child */
enum agent_phase { CHILD_STARTS, CHILD_RUNS, CHILD_RESTS, CHILD_WAITS, CHILD_ENDS, CHILD_TEARDOWN };

struct agent {
	struct agent_tree *tree; /* borrowed */
	struct agent *parent;    /* borrowed: no child outlives it; NULL: the main agent */
	struct event_agent who;
	struct arena arena; /* texts that live as long as it */
	const char *model, *cwd, *branch;
	struct endpoint *endpoint; /* borrowed; of its model */
	struct fallback fallback;
	struct mode_model mode_model;
	struct turn_model turn_model;
	char *moved_cwd;               /* where Bash went; owned, NULL: still in cwd */
	struct mcp_selection *servers; /* that it joined itself; owned; NULL: none, or only those of the main agent */
	struct tool_set tools;         /* all that it has; deferred ones are not in its requests (context.h) */
	struct deferral deferral;
	struct hook_set *hooks;  /* of its definition; reference, NULL: none */
	const char *agent_types; /* "a, b" of Agent(a, b) in its tools: the types that it may start; NULL: all */
	bool is_fork;            /* a child with its parent's history, prompt and tools; it starts no forks */
	/* Whose history it begins with: its parent, or of a forked session the other main agent, until it is up. NULL: none */
	struct agent *origin;
	struct fork_origin from; /* the same, for its file; session_id NULL: not a fork */
	bool from_recorded;
	struct tool_env env;
	struct tool_gate gate;
	struct permission permission;
	struct permission_line gone; /* of ancestors that have ended, between its parent's and its own; owned */
	struct {
		enum permission_mode before; /* plan mode was entered; ExitPlanMode goes back to it */
		bool accept_edits;           /* or on to this one */
		const char *path;            /* of its file; found when first needed */
	} plan;                              /* plan.h */
	struct budget budget;

	struct journal *journal; /* owned; NULL: nothing is kept */
	struct record_context record_context;
	struct recorder recorder;
	struct query query; /* open once config.loop is set */
	struct fork_base forks;
	/* Hooks that its turn waits for (hooks.h): PostToolBatch, and those around a compaction; NULL: none */
	struct turn_hooks *batch_hooks, *compact_hooks;

	/* of all its turns in this process */
	struct usage usage;
	double cost_usd;
	unsigned turns, tool_uses;
	char last_tool[64];

	struct skill_use *skill_uses;        /* skills that are being made ready (skill_use.h) */
	struct map skills_told;              /* name -> which text the model has of it (defs/skill/skill_text.h) */
	uint64_t skills_listed;              /* generation of the registry whose list it has, + 1 */
	uint64_t skills_list_hash;           /* of that list */
	struct skill_activation *activation; /* paths that it touched (skill_use.h) */
	struct map instructions_seen;        /* files and directories whose instructions it has, by their paths ... */
	bool instructions_forgotten;         /* ... since a compaction */

	unsigned children; /* alive, background ones too */
	/* Set by the owner. on_notice: something is to be told while no turn runs. Both come from the loop. */
	void (*on_turn_end)(struct agent *a);
	void (*on_notice)(struct agent *a);

	/* How it comes to life (agents/life/life.c) and ends. */
	struct agent_record *record;         /* borrowed; NULL: the main agent */
	struct agent_definition *definition; /* reference; NULL: a fork, or the usual main agent */
	struct agent *next, **prev;          /* in tree->alive: children only */
	struct kick kick;
	enum agent_phase phase;
	size_t step;  /* of life[] on the way up and down, of ending[] in the end */
	bool in_step; /* the step was begun; step_over is the fact that ends it */
	bool step_over;
	struct err step_err; /* kind != 0: it failed */
	bool turn_over, stop_asked, suspend_asked;
	bool pausing;              /* of a member: what ends is a run, not the member */
	bool waking;               /* the same: in phase WAITS, its next run begins */
	bool park_asked;           /* the same: it leaves memory, and is loaded with its next message */
	bool leaves;               /* the same: it was let go, its end is a normal one */
	bool lived;                /* it was up: it has an end of its own */
	enum end_state end;        /* once the end has begun */
	struct buf failure;        /* why it failed or was not started */
	struct tool_call *call;    /* of its parent, waits for its end; NULL: none */
	struct buf message;        /* of a resumed one: what to continue with; empty: its interrupted turn */
	struct session_load *load; /* owned; of a resumed one until its first turn; empty until it was read */
	struct load_job *loading;  /* while its transcript is read; NULL: it is not */
	bool resumes;              /* of a resumed one: an earlier process left it, maybe with its message on disk */
	const char *root;          /* the same: where it works; NULL: where its parent is */

	/* What the steps made */
	struct model_choice model_choice;
	struct tool_choice choice;
	size_t limit_count;       /* of its limits: so many are in the permission of a main agent */
	struct buf system, notes; /* notes: for its parent or the user, a line each */
	struct preload *preload;  /* while skills are made ready; in the arena */
	struct buf skills;        /* texts of preloaded ones; empty: none */
	struct buf initial;       /* the initial prompt, if it is a skill's */
	struct buf start_context; /* of the start hooks */
	struct buf start_refusal; /* the same; empty: they let it live */
	struct hook_batch *hook_batch;
	struct timer patience;        /* of the call that waits for it */
	struct timer hook_limit;      /* of the stop hooks of one that was stopped */
	bool start_fired;             /* start hooks ran: stop hooks will */
	bool stop_blocked;            /* a stop hook wants it to continue ... */
	unsigned stop_blocks;         /* ... as so many before */
	bool awaits_servers;          /* the step waits for MCP servers */
	struct kick sync_kick;        /* its lines are forced to the disk */
	size_t own_servers;           /* of those that it joined, the first: its definition's own */
	struct tool_set server_tools; /* of those; until they are left */
	struct worktree_job *job;     /* while one runs */
	struct worktree *worktree;    /* owned; NULL: it works where its parent does */
};

struct agent_query_spec {
	struct head *head; /* takes the reference */
	const char *reminder, *interrupt_note;
	unsigned max_turns;
	bool want_deltas, want_raw;
	bool needs_slot; /* it counts against the cap on agents at work */
};

/* It has prompt, tools and head of its origin, too. */
static inline bool agent_is_copy(const struct agent *a)
{
	return a->origin && (a->is_fork || !a->parent);
}

void agent_init(struct agent *a, struct agent_tree *tree, struct agent *parent);
void agent_open(struct agent *a, const struct agent_query_spec *spec); /* cwd, model, journal, tools are set */
void agent_release(struct agent *a);                                   /* no turn may run */

/* The tool is in its requests, unless it waits: no deny rule is about every use of it. It has it all the same, so that a call gets
 * the rule as its answer. */
bool agent_offers(const struct agent *a, const struct tool *tool);
void agent_kick(struct agent *a); /* a fact was recorded: its owner looks at it from the loop */
/* A step of its life: 0 is done, STEP_TAKES_TIME leads to agent_step_done, below 0 is a failure. */
enum { STEP_TAKES_TIME = 1 };
void agent_step_done(struct agent *a, const struct err *err); /* err may be NULL */
/* A text for the model with its next request; an idle agent is woken by on_notice, unless the notice is quiet. */
static inline void agent_put_notice(struct agent *a, const struct notice *notice)
{
	query_put_notice(&a->query, notice);
	if (a->query.state == QUERY_IDLE && !notice->quiet)
		a->on_notice(a);
}
static inline void agent_notice(struct agent *a, const char *id, struct str text)
{
	agent_put_notice(a, &(struct notice){ .id = id, .text = text });
}
event_fn agent_emit; /* data is the agent */
/* History for a fork made now; only while its answer is complete and its calls are open, or while it is idle. */
struct fork_base *agent_fork_base(struct agent *a);
static inline void agent_drop_fork_base(struct agent *a) /* its history is another one from now on */
{
	transcript_release(&a->forks.history);
	fork_barrier_unref(a->forks.gate);
	a->forks = (struct fork_base){ 0 };
}
