/* SPDX-License-Identifier: MIT
 * agent.h - an agent that runs: the main agent of a session, or a child. Both are this struct; they differ only in what
 * is in it (docs/internals/subagent.md).
 *
 *     agent_init -> fill cwd, model, tools, permission -> agent_open -> turns by query_start -> agent_release */
#pragma once
#include "defs/agentdef/registry.h"
#include "lib/base/map.h"
#include "core/message/event.h"
#include "core/model/budget.h"
#include "core/model/endpoints.h"
#include "guard/permission/record.h"
#include "agents/query/query.h"
#include "core/store/recorder.h"
#include "agents/agent/fallback.h"
#include "agents/agent/turn_model.h"
#include "core/tool/deferral.h"

struct agent_tree;
struct batch;
struct compact_watch;
struct hook_set;
struct mcp_set;
struct skill_use;
struct skill_wake;
struct subagent;

/* What several forks of one answer share: the history with every open call answered by the same words. */
struct fork_base {
	struct transcript history;
	struct fork_gate *gate; /* reference */
	uint32_t count;         /* blocks of the transcript that it was made of */
};

struct agent {
	struct agent_tree *tree; /* borrowed */
	struct agent *parent;    /* borrowed: no child outlives it; NULL: the main agent */
	struct subagent *child;  /* its life; NULL: the main agent */
	struct event_agent who;
	struct arena arena; /* texts that live as long as it */
	const char *model, *cwd, *branch;
	struct endpoint *endpoint; /* borrowed; of its model */
	struct fallback fallback;
	struct turn_model turn_model;
	char *moved_cwd;         /* where Bash went; owned, NULL: still in cwd */
	struct mcp_set *servers; /* that it joined itself; owned; NULL: none, or only those of the main agent */
	struct tool_set tools;   /* all that it has; those that wait are in none of its requests (tool_load.h) */
	struct deferral deferral;
	struct hook_set *hooks;  /* of its definition; reference, NULL: none */
	const char *agent_types; /* "a, b" of Agent(a, b) in its tools: whom it may start; NULL: anybody */
	bool is_fork;            /* it runs on its parent's history, and starts no forks */
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
	struct record_context record;
	struct recorder recorder;
	struct query query; /* open once config.loop is set */
	struct fork_base forks;
	struct batch *batch;                 /* calls that hooks look at (batch.h); NULL: none */
	struct compact_watch *compact_watch; /* hooks around a compaction (compact.h); NULL: none */

	/* of all its turns in this process */
	struct usage usage;
	unsigned turns, tool_uses;
	char last_tool[64];

	struct skill_use *skill_uses; /* skills that are being made ready (skill_use.h) */
	struct map skills_told;       /* name -> which text the model has of it (skill_recall.c) */
	uint64_t skills_listed;       /* generation of the registry that it was told, + 1 */
	uint64_t skills_list_hash;    /* of that list */
	struct skill_wake *wake;      /* what it touched (skill_wake.h) */

	unsigned children; /* alive, background ones too */
	/* Set by the owner. on_notice: something is to be told while no turn runs. Both come from the loop. */
	void (*on_turn_end)(struct agent *a);
	void (*on_notice)(struct agent *a);
};

struct agent_query_spec {
	struct head *head; /* takes the reference */
	const char *reminder, *interrupt_note;
	unsigned max_turns;
	bool want_deltas, want_raw;
	bool needs_slot; /* it counts against the cap on agents at work */
};

void agent_init(struct agent *a, struct agent_tree *tree, struct agent *parent);
void agent_open(struct agent *a, const struct agent_query_spec *spec); /* cwd, model, journal, tools are set */
void agent_release(struct agent *a);                                   /* no turn may run */

/* A text for the model, when it comes to the next request; an idle agent is woken by on_notice. id may be NULL. */
void agent_notice(struct agent *a, const char *id, struct str text);
event_fn agent_emit; /* data is the agent */
/* History for a fork made now; only while its answer is complete and its calls are open, or while it is idle. */
struct fork_base *agent_fork_base(struct agent *a);
void agent_drop_fork_base(struct agent *a); /* its history is another one from now on */
