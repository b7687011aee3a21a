/* SPDX-License-Identifier: MIT
 * tree.h - all agents of one session: the main agent, its children and theirs. Their shared state, the limits for all of them
 * together, and a record of every child, including finished ones (docs/internals/subagent.md). */
#pragma once
#include "lib/base/map.h"
#include "defs/policy/services.h"
#include "agents/agent/agent.h"

struct checkpoint;
struct async_hook;
struct panes;
struct team;

enum { MOST_SKILL_HOOKS = 16 };

/* Limits of the whole tree */
struct tree_limits {
	unsigned depth;   /* layers below the main agent */
	unsigned alive;   /* children at work at a time; over it they wait */
	unsigned total;   /* children of a session; over it a call fails */
	double agent_usd; /* of each child with its descendants; 0: no limit of its own */
	int64_t agent_tokens;
};

/* Switches of the run, from settings and environment */
struct tree_switches {
	bool fork_mode; /* an omitted type is a fork */
	bool coordinator;
	bool teams, implicit_team; /* there are teams; a named call needs no TeamCreate */
	bool lead_only;            /* the lead of a team has the tools to lead it, and no others */
	bool user_plans;           /* the user approves plans of members, not the lead */
	bool background_off;       /* nothing runs in the background */
	bool background_host, background_default;
	unsigned patience_ms; /* an agent that takes longer continues in the background; 0: it is waited for */
	bool memory_on, trusted;
	bool forward_text; /* deltas and texts of children are wanted */
};

/* Of a child that is a member of a team (docs/internals/team.md) */
enum member_state {
	MEMBER_STARTS,
	MEMBER_WORKS,
	MEMBER_AWAITS, /* the lead has its plan */
	MEMBER_IDLE,
	MEMBER_PARKED, /* idle, and not in memory */
	MEMBER_FAILED, /* its last run failed; a message tries again */
	MEMBER_GONE,
};
struct agent_member {
	const char *team, *color;
	const char *mode;   /* permission mode of the call; NULL: as its definition and the lead have it */
	bool plan_required; /* it works only after the lead approved its plan ... */
	bool plan_approved; /* ... as it did */
	int64_t joined_ms, active_ms;
	enum member_state state;
	bool announced;       /* hosts know that it is there; also while it is parked */
	bool restoring;       /* its transcript of an earlier process is being read ... */
	bool mail_came;       /* ... and it got mail meanwhile */
	bool failed;          /* the run that is over */
	unsigned tasks_shown; /* to TaskCompleted hooks, at the end of this run */
	bool by_lead;         /* the lead began this run ... */
	bool told_lead;       /* ... and it has spoken to the lead in it */
	bool interrupted;     /* the run that is over, by the user */
	char said[256];       /* what it sent to other members since its last report to the lead: "[to NAME] SUMMARY" */
	char completed[12];   /* number of the task that it completed last, since then; "": none */
	const char *shutdown; /* id of the open request to shut down; NULL: none */
	const char *plan;     /* id of the open request for approval; NULL: none */
	const char *early;    /* texts of messages that came before its first message; NULL: none */
	bool in_pane;         /* it is a process of its own in a tmux pane (agents/team/pane.h) ... */
	bool foreign;         /* ... of another program, which has the inbox files only */
	const char *session;  /* ... and this session; NULL: it is not */
	char pane[16];        /* of its newest process; "": none */
	int64_t pid, pid_start; /* the same */
	uint32_t unread;        /* messages that wait for its process ... */
	size_t unread_bytes;    /* ... and their size */
};

/* Of a session that is such a member itself: its lead is another process */
struct tree_lead {
	const char *name, *team;   /* its own */
	bool plan_required;        /* until the lead approved its plan */
	char completed[12];        /* number of the task that it completed last in this run; "": none */
	struct worktree *worktree; /* that the lead took for it, until its main agent has it; NULL: none */
};

const char *member_state_name(enum member_state state); /* for people: running, awaiting, idle, failed, gone */

/* Callbacks of a team about the lives of its members (agents/team). Each comes from the loop. */
struct team_ops {
	void (*initial_message)(struct agent *a, struct buf *out); /* its task, as its first message */
	void (*spawned)(struct tool_call *call,
			const struct agent_record *record); /* the result of the call; takes it */
	/* A run is over: a step of pausing[]. What must go on sets a->stop_blocked and a->message; a->stop_asked ends it. */
	int (*run_over)(struct agent *a, struct err *err);
	void (*waits)(struct agent *a);            /* the run's end is on disk */
	void (*works)(struct agent *a);            /* a run begins */
	void (*gone)(struct agent_record *record); /* it has ended, also before it began */
	void (*restore)(struct agent_record *record,
			const struct map *delivered); /* one that an earlier process left */
	void (*spawn_pane)(struct agent_record *record, struct tool_call *call,
			   const char *note); /* a member in a pane starts; takes call */
	bool (*plan)(struct agent *a,
		     struct tool_call *call); /* ExitPlanMode; false: it is not for the lead to approve */
	/* A message of the user to a member. A message with the same id is not delivered twice. */
	int (*tell)(struct agent_record *record, const char *id, struct str text, struct err *err);
	void (*stop)(struct agent_record *record, bool by_user);  /* also a parked one */
	void (*describe)(const struct agent *a, struct buf *out); /* the team, for this agent after a compaction */
};

/* A child, also after its end */
struct agent_record {
	struct agent_tree *tree;
	struct agent_record *next; /* in the order of starting */
	struct arena arena;        /* holds the texts */
	char id[AGENT_ID_LEN + 1];
	const char *type, *name, *description, *tool_use_id, *parent_id, *prompt, *model;
	const char *worktree, *branch, *base; /* of a worktree that is there; base: the commit it began with */
	bool hook_made;                       /* a WorktreeCreate hook has named worktree in this process */
	unsigned depth, run;                  /* run: how often it was started or resumed */
	const char *message;                  /* what continues it in this run; NULL: it is the first one */
	const char
		*told; /* ids of messages that it got with its task or its message, with blanks between; NULL: none */
	const char *limits; /* that it inherited when it was born, as JSON (limits_note()); NULL: none are recorded */
	char run_id[UUID_LEN + 1];
	bool background, one_shot, is_fork, built_in;
	bool shares_history;  /* a fork, or forkContext: it began with its parent's history */
	bool stopped_by_user; /* agents cannot continue it */
	bool stop_asked;      /* this run is to end: on disk before the one that stops it gets an answer */
	enum end_state state;
	struct agent *live;           /* NULL: it does not run */
	int64_t started_ms, ended_ms; /* wall clock */
	int64_t run_started_ms;       /* of its newest run: reports count from there */
	struct usage usage;           /* when it had ended */
	double cost_usd;
	unsigned turns, tool_uses;
	char last_tool[64];
	const char *verdict; /* "PASS", "FAIL", "PARTIAL" or NULL */
	const char *failure; /* why it failed; NULL: it did not */
	int64_t turn_limit;
	struct buf report;             /* the last text; emptied when its parent has it and it is on disk */
	const char *transcript, *meta; /* paths; NULL: nothing is kept */
	bool recorded;
	bool restored; /* of an earlier process, and not resumed yet */
	bool cut_off;  /* the same: that process ended without its session being closed */
	struct {
		const char *model, *effort, *isolation; /* as the call wished; NULL: it did not */
		int64_t max_turns;
		const char *
			skill; /* whose allow rules replace those of its line, read again when it continues; NULL: none */
	} request;
	struct agent_wait *waits;    /* who waits for its end (TaskOutput) */
	struct agent_member *member; /* in the arena; NULL: it is in no team */
};

/* The same for other processes: what the control socket and `cadre tasks` show of it. Times are wall-clock milliseconds, 0 for "not
 * yet". */
struct task_row {
	const char *session, *agent;
	const char *parent, *tool_use_id; /* the parent and its call; parent "" is the main agent */
	const char *type, *name, *description, *model;
	int64_t depth, background;
	const char *state; /* "running", "completed", ... */
	int64_t started_ms, ended_ms;
	int64_t updated_ms; /* of one that was interrupted: when its transcript was written last */
	int64_t turns, tool_uses;
	int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens;
	double cost_usd;
	const char *last_tool, *worktree, *branch;
	const char *transcript; /* path */
	const char *verdict;
	const char *team;  /* of a member */
	int64_t unread;    /* messages of a member, of a session that runs ... */
	const char *tasks; /* ... and its open tasks */
};

/* A wait for the end of an agent. on_end is called once, from the loop, unless the wait is removed. */
struct agent_wait {
	struct agent_wait *next;
	void (*on_end)(struct agent_wait *wait);
};

/* Prompts of the user, oldest first, for the classifier. A zeroed struct is empty. */
enum { MOST_RECENT_PROMPTS = 10 };
struct recent_prompts {
	char *texts[MOST_RECENT_PROMPTS]; /* owned */
	size_t count;
};

/* For the result's permission_denials */
struct denial {
	const char *tool, *id, *agent; /* agent: "" for the main agent */
	struct str input;
};

struct model_spending {
	const char *model;
	struct usage usage;
	double usd;
};

struct hook_outcome;
/* May commands inside reach this host? */
struct host_question {
	struct agent_tree *tree;
	struct host_question *next, **prev;
	struct tool_call *call;
	char *host;
	unsigned port;
};

/* The part up to `main` is filled by the composition root before agent_tree_open; all borrowed unless it says otherwise. */
struct agent_tree {
	struct agent_tree *next, **prev; /* of the same runtime: services->trees */
	struct services *services;       /* borrowed */
	struct policy *policy;           /* the settings of this session; borrowed from services, or a reference */
	struct arena *arena;             /* the same: texts that live as long as the session */
	struct arena policy_arena;       /* texts of the settings, new with each change */
	struct checkpoint
		*checkpoint; /* keeps files before they are changed (core/store/checkpoint.h); NULL: none are */
	const struct tool_runtime *kit;
	void (*on_servers)(void *data); /* servers of the session may have come up: main.tools is brought up to date */
	struct {
		bool fresh;
		const char *const *symlink_dirs, *const *sparse_paths; /* NULL-terminated, or NULL */
	} worktree;                                                    /* as in agents/worktree/worktree.h */
	const struct json *allowed_models; /* the setting availableModels; NULL: agents and skills may name any */
	struct {
		struct catalog *registry;     /* NULL: there are none */
		const struct json *overrides; /* the setting skillOverrides; NULL: none */
		bool no_commands;             /* they run none */
		bool fork_in_background;      /* interactive: a skill that forks runs in the background */
		double listing_part;          /* of the model's context that their list may take */
		int64_t listing_chars;        /* of a description in it */
	} skills;
	const char *session_id, *entrypoint, *config_dir, *project_dir;
	const char *managed_dir; /* NULL: none */
	const char *plans_dir;   /* NULL: none */
	const char *session_dir; /* <config>/projects/<key>/<session>; NULL: nothing is kept */
	const char *agents_dir;  /* <session_dir>/subagents; the same */
	const char *results_dir, *tasks_dir;
	const char *temp_dir;                 /* of all sessions of this user */
	const char *todo_dir;                 /* <config>/tasks/<list>; NULL: nothing is kept */
	struct todo_book *todos;              /* how its agents have that open; freed with the main agent's env */
	struct host_question *host_questions; /* open ones of the sandbox (agents/life/host_question.c) */
	unsigned host_question_count;         /* that were asked */
	struct sandbox *sandbox;              /* what holds commands, of the session; NULL: nothing */
	struct sandbox *cage;                 /* what holds hooks and servers, without questions; owned */
	struct mcp_env *server_env;           /* of its servers; a reference; NULL: it has none yet */
	const char *no_shell;                 /* why Bash must not run; NULL: it may */
	struct tool_settings tool_settings;
	const char *memory_dir;             /* of the main conversation; NULL: it has none */
	const char *git_text;               /* of the policy */
	const char *claude_md;              /* managed instructions of the settings; NULL: none */
	const char *const *claude_excludes; /* patterns of instruction files that do not count; NULL: none */
	const char *env_dir;                /* what hooks leave for shells (hooks.h); NULL: no place for it */
	const char *append_system_prompt;   /* to every child but forks; NULL: none */
	const char *default_model;          /* configured for children; NULL: none */
	const char *effort;                 /* configured for the main agent; NULL: none */
	struct {
		const char *system_prompt, *append_system_prompt, *effort;
	} given; /* options of the main agent, of the time when the session was opened; effort may change; NULL: none */
	struct {
		bool on, keeps_prompt; /* it is added to the usual prompt; otherwise it stands in its place */
		struct str prompt;
	} style;                        /* of the main agent */
	const struct tool *answer_tool; /* of the main agent, whatever it chooses (StructuredOutput); NULL: none */
	int64_t task_budget;            /* of the main agent, as in head_spec */
	const char *thinking;           /* of all agents, as in head_spec; NULL: the usual one */
	const char *usual_thinking;     /* tokens for models that take a number; "": none; NULL: the model's own */
	const char *thinking_display;   /* the same */
	unsigned parallel_calls;
	uint64_t retry_deadline_ms;
	int64_t max_tokens; /* of an answer; 0: the model's own limit */
	struct tree_limits limits;
	struct tree_switches switches;
	struct compact_policy compact;   /* of all agents */
	struct fallback_list fallbacks;  /* the same */
	struct deferral_policy deferral; /* the same */
	event_fn *on_event;
	void (*on_state)(struct query *q, const char *to); /* of each agent's query, as its trace; may be NULL */
	/* A hook or the host changes permissions (JSON array); may be NULL */
	void (*on_permissions)(struct agent_tree *t, const struct json *updates);
	void (*on_async_hook)(struct agent_tree *t,
			      const struct hook_outcome *outcome); /* of asynchronous hooks; the same */
	void (*on_idle)(struct agent_tree *t);                     /* see agent_tree_kick(); may be NULL */
	void *data;                                                /* of all */
	struct team *team;                                         /* that the session leads; NULL: none */
	const struct team_ops *team_ops;                           /* the same */
	struct panes *panes;                                       /* members in panes; NULL: there were none */
	const char *peer_address; /* "uds:PATH", where other sessions reach this one; NULL: nowhere */
	struct tree_lead *lead;   /* this session is a member in a pane; NULL: it is not */

	/* its own */
	struct agent main;
	struct tool_set pool;  /* all tools of the session, which agents choose from (agents/life/access.c) */
	size_t pool_own;       /* the first ones; those of servers follow */
	struct buf hook_notes; /* classifierContext of hooks, the newest last */
	struct slot_pool slots;
	struct budget budget;
	struct agent *alive; /* list by next */
	unsigned alive_count;
	unsigned idle_count; /* of those: members in phase WAITS that are not waking */
	struct agent_record *records, **records_end;
	struct map by_id;       /* id -> struct agent_record */
	struct map old_notices; /* ids of those that the main agent had been given when the session was resumed */
	unsigned record_count, restored_count;
	struct timer tasks_timer; /* runs for a moment after the list of background tasks was sent */
	bool tasks_changed;       /* since then */
	bool closing;             /* children are suspended, not ended */
	struct tree_instructions {
		bool collected;
		struct segment *text;                /* owned; NULL: there are none */
	} instructions[2];                           /* all; managed ones only */
	struct instruction_rules *instruction_rules; /* NULL: not known yet */
	struct tool agent_tool;                      /* the Agent tool with the roster in its description */
	struct tool send_tool;                       /* SendMessage where there are teams */
	struct head *agent_definition;               /* a reference; shared with other sessions: it has several KB */
	const char *agent_base;                      /* the definition without the list of agents */
	struct {
		const char *file; /* borrowed from the set */
		struct hook_set *set;
	} skill_hooks[MOST_SKILL_HOOKS]; /* of skills that were used: they stay for the session */
	size_t skill_hook_count;
	struct async_hook *async_hooks; /* events with asynchronous hooks (hooks.h) */
	struct recent_prompts recent_prompts;
	struct denial *denials; /* in the next one */
	struct arena denial_arena;
	size_t denial_count;
	unsigned classifier_denials, denials_in_a_row; /* classifier.h */
	struct model_spending *spending;               /* in the arena */
	size_t spending_count;
};

void agent_tree_open(struct agent_tree *t);    /* main is initialised, not opened */
void agent_tree_release(struct agent_tree *t); /* no child may be alive */
/* Its owner may have waited for this: the last child, or the last asynchronous hook, is gone, or the team has changed. */
static inline void agent_tree_kick(struct agent_tree *t)
{
	if (t->on_idle)
		t->on_idle(t);
}

/* Ends all children, of a session that is closed and may be resumed. on_idle follows. */
void agent_tree_suspend(struct agent_tree *t);
static inline void agent_tree_pause(struct agent_tree *t, bool on) /* back-pressure, all agents */
{
	query_pause(&t->main.query, on);
	for (struct agent *a = t->alive; a; a = a->next)
		if (a->query.config.loop)
			query_pause(&a->query, on);
}

struct agent_record *agent_tree_record(struct agent_tree *t, struct str id_or_name); /* NULL: there is none */
struct agent_record *agent_record_new(struct agent_tree *t, const char *id);         /* added to the list */
struct agent_record *agent_tree_member(struct agent_tree *t, struct str name);       /* any case; NULL: there is none */
void agent_tree_sort_records(struct agent_tree *t);                                  /* by the time they started */
static inline bool agent_tree_trusts_plugin(const struct agent_tree *t,
					    const char *name) /* its agents' hooks and servers may run */
{
	const struct plugin *p = t->services->plugins && name ? plugin_list_find(t->services->plugins, name) : NULL;

	return p && p->state == PLUGIN_ENABLED && p->trusted;
}
/* As services_variable(), with the settings of this session. */
static inline const char *agent_tree_variable(const struct agent_tree *t, const char *name)
{
	return policy_variable(t->services, t->policy, name);
}
/* Whether what widens in a definition counts: one of a project needs the user's trust in the folder of the session, or, if --add-dir
 * brought it, in that very folder. Plugins are asked about by agent_tree_trusts_plugin(). */
bool agent_tree_trusts_definition(const struct agent_tree *t, const struct definition *d);
/* strictPluginOnlyCustomization: definitions of this source may not bring hooks ("hooks") or servers ("mcp"). */
bool agent_tree_bars(const struct agent_tree *t, enum definition_source source, const char *kind);
static inline struct agent *agent_tree_find(struct agent_tree *t, const char *id) /* alive; "" is the main agent */
{
	if (!id[0])
		return &t->main;
	struct agent_record *record = map_get(&t->by_id, str_from(id));
	return record && record->live ? record->live : NULL;
}
static inline void agent_wait_add(struct agent_record *record, struct agent_wait *wait)
{
	wait->next = record->waits;
	record->waits = wait;
}
void agent_wait_remove(struct agent_record *record, struct agent_wait *wait);
void agent_record_end_waits(struct agent_record *record);                     /* it has ended */
void agent_record_refresh(struct agent_record *record);                       /* takes the figures of one that runs */
void agent_record_event(struct agent_record *record, struct event_task *ret); /* as it stands now, for events */
/* Its texts are borrowed. */
struct event_agent agent_record_who(const struct agent_record *record);
void agent_record_row(struct agent_record *record,
		      struct task_row *ret_row); /* as it stands now, for other processes; borrowed */
void agent_record_told(struct agent_record *record, const char *id); /* the next meta_write records it */

/* Of one answer; the budget is the spending agent's. Returns its cost. */
double agent_tree_spend(struct agent_tree *t, struct budget *budget, const char *model, const struct usage *usage);
double agent_tree_cost(const struct agent_tree *t); /* of all agents */
void agent_tree_forget_denials(struct agent_tree *t);
/* EVENT_TASKS_CHANGED: at once, or a moment later for all that came soon after one. */
void agent_tree_tasks_changed(struct agent_tree *t);
void agent_tree_notify_tasks(struct agent_tree *t); /* what waits, now */
