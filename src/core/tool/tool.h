/* SPDX-License-Identifier: MIT
 * tool.h - tools and their calls. The C file of a tool defines one const struct tool; NAME.json beside it has all other facts.
 *
 * How to add one, in the room of src/tools with its subject:
 *   1. NAME.json: name, description and input_schema exactly as the model sees them, and "facts" for the program:
 *      flags (enum tool_flags), what rules look at, older names (scripts/tools.py explains them).
 *   2. tool_NAME.c: includes "core/tool/tool_list.h", which the build makes, and defines
 *      `const struct tool tool_NAME = { TOOL_NAME_FACTS, .start = ... }` before its start function.
 *   3. tests/scenarios/tools/NAME.test; tests/unit/tools/test_NAME.c for what a scenario cannot show.
 * The table of tools and every list of their names are made from the JSON files; no other file changes.
 *
 * Life of a call: the query makes it when the model's block is complete; tool_call_start() checks the input against the
 * schema, asks the gate, then calls tool->start. The tool answers with tool_call_finish(), at once from inside start or
 * later from the loop, exactly once. A cancelled call must finish too, soon. */
#pragma once
#include <stdatomic.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/io/loop.h"
#include "lib/json/json.h"
#include "core/tool/tool_facts.h"

struct deferral;
struct tool_call;
struct tool_env;

struct tool {
	const char *name;           /* as the model says it */
	const char *const *aliases; /* older names, NULL-terminated; NULL: none */
	const char *definition;     /* {"name":..,"description":..,"input_schema":..}: the JSON of the request */
	const char *accepts;        /* another definition, whose schema checks the input; NULL: the one above */
	const char *subject;        /* the input member that describes a call best; NULL: none ... */
	const char *detail; /* ... and what people want to know besides: a member, or "*" for all others; NULL */
	unsigned flags;     /* enum tool_flags */
	const char *server; /* of an MCP server: what the names of all its tools begin with, mcp__SERVER__; else NULL */
	void *ctx;          /* of dynamic members (MCP); NULL for built-in ones */
	/* An older form of the input as the one that the definition has; false: it is that already. NULL: there are none. */
	bool (*rewrite)(const struct json *input, struct arena *a, struct buf *out);
	/* What the call would change in call->file_target, for the person who is asked: the hunks of line_diff_put(), or nothing if
	 * it cannot be applied. NULL: it changes no text file. */
	void (*preview)(struct tool_call *call, struct buf *out);
	void (*start)(struct tool_call *call);
	void (*cancel)(struct tool_call *call); /* NULL: it ends by itself, soon */
	/* Flags of this very call, whose input is good; NULL: tool->flags. (Bash: read-only when the command is.) */
	unsigned (*flags_for)(const struct tool_call *call);
};

/* Settings of tools, the same for all agents of a session. */
struct tool_settings {
	const char *shell;    /* of Bash, unless the environment names one; NULL: bash */
	bool search_ignored;  /* Grep searches files that git ignores */
	uint64_t question_ms; /* timeout of a question to the user; 0: none */
	bool fetch_private;   /* WebFetch gets pages of addresses that are not public */
};

/* What a call may use. Owned by the agent (query), borrowed by its calls. */
struct tool_env {
	struct loop *loop;
	struct spawner *spawner;
	const char *cwd;         /* current directory of the agent; Bash may move it, see set_cwd */
	const char *root;        /* where the session started: cwd falls back to it */
	const char *const *dirs; /* working directories (root first, then --add-dir), NULL-terminated */
	const char *session_id;
	const char *results_dir;  /* <config>/projects/<key>/<session>/tool-results; made when first needed */
	const char *agents_dir;   /* transcripts of the session's agents; NULL: none are kept */
	const char *tasks_dir;    /* output files of background shells; made when first needed */
	const char *todo_dir;     /* the task list of the session (tools/tasks/todo_list.h); NULL: none is kept */
	struct todo_book **todos; /* how the session has it open (tools/tasks/todo_book.c); NULL: by itself each time */
	const char *todo_file;    /* the agent's own list (TodoWrite); NULL: the same */
	const char *const *envp;  /* environment of child processes ... */
	const char *const *own;   /* ... and what this agent adds to it, NULL-terminated; NULL: nothing */
	const char *env_dir;      /* *.sh in it are read by each shell first; need not be there; NULL: none */
	const char *no_shell;     /* why Bash must not run; NULL: it may */
	const struct tool_settings *settings; /* NULL: nothing is set */
	const char *temp_dir;                 /* their TMPDIR; NULL: that of the environment */
	int landlock_fd;                      /* ruleset that confines them; 0: none */
	const char *const *write_dirs; /* what that ruleset lets them write, NULL-terminated; NULL: no such limit */
	const struct git_objects
		*objects;         /* the object store of its commands (lib/git/git_objects.h); NULL: the shared one */
	struct sandbox *sandbox;  /* what else holds commands (guard/sandbox/sandbox.h); NULL: nothing */
	struct file_state *files; /* what this agent has read (tools/files/text_file.h) */
	struct shell_set *shells; /* its background shells (tools/shell/shell_set.h) */
	struct mcp_selection *servers;       /* what it has joined (mcp/client/pool.h); NULL: none */
	struct web *web;                     /* the way to pages and searches (tools/web/web.h); NULL: there is none */
	struct deferral *deferral;           /* which of its tools wait (core/tool/deferral.h); NULL: none */
	const struct permission *permission; /* its rules (guard/permission); NULL: none */
	bool main_thread;                    /* cwd persists between Bash calls only here */
	void (*set_cwd)(struct tool_env *env, const char *path); /* copies path */
	/* A background task ended: text becomes a notification to the agent's model. May be NULL. */
	void (*notify)(struct tool_env *env, struct str text);
	/* A call prints: its last line, and how many lines so far. NULL: it is not wanted. */
	void (*progress)(struct tool_env *env, const char *call_id, struct str last_line, uint64_t lines);
	/* A tool is about to replace the content of a file with these bytes; path has no symlinks. The history stores the present
	 * content; below 0 the file must stay as it is. NULL: no history is kept. */
	int (*before_change)(struct tool_env *env, const char *path, struct str bytes, struct err *err);
	const char *no_tool; /* behind "No such tool": why not; NULL: nothing */
	void *owner;         /* the agent: struct agent of agents/agent */
};

/* The value of a variable in the agent's environment, or NULL. */
const char *tool_env_get(const struct tool_env *env, const char *name);
/* Path as a person would write it: relative to the agent's directory when it lies inside, else absolute. */
const char *tool_env_shown_path(const struct tool_env *env, const char *path);

/* State of the room `tools` for each agent (files it has seen, its shells), for the rooms below it, which start agents. */
struct tool_runtime {
	void (*open)(struct tool_env *env);       /* fills env->files and env->shells */
	void (*end_shells)(struct tool_env *env); /* kills them and what they left; env->shells is NULL afterwards */
	void (*close)(struct tool_env *env);      /* also after end_shells, also on a zeroed env */
	/* A tool of the session saw this file in that state, as an earlier run recorded. */
	void (*recall_file)(struct tool_env *env, const char *path, int64_t seen_ms, bool partial);
	void (*share_files)(struct tool_env *env,
			    const struct tool_env *from);          /* what that agent saw, this one has seen */
	void (*list_files)(struct tool_env *env, struct buf *out); /* that it has seen, the latest last, a line each */
	void (*list_todos)(struct tool_env *env, struct buf *out); /* that are open, a line each */
	/* Open items of the task list that this agent owns (NULL: all; "": those that it could claim), a line each; returns how many are
	 * in progress. */
	unsigned (*tasks_of)(const struct tool_env *env, const char *owner, struct buf *out);
	/* The same items become pending and have no owner: all of them, or with an error none. Also in a thread. wait_ms: for locks of
	 * other programs; -ERR_BUSY: one is still held. */
	int (*release_tasks)(const char *dir, const char *owner, unsigned wait_ms, struct buf *out, struct err *err);
	/* Gives this agent, which owns no open item, the first one that is free: id, subject and description, in the arena. One that it
	 * owns and has not begun counts too if again. 1: done; 0: there is none; -ERR_BUSY: try again later. */
	int (*claim_task)(const struct tool_env *env, const char *owner, bool again, struct arena *a,
			  const char *ret[3]);
	/* The n-th task in progress of this owner: id, subject and description, in the arena. False: there are not so many. */
	bool (*task_at)(const char *dir, const char *owner, unsigned n, struct arena *a, const char *ret[3]);
	void (*open_tasks)(const char *dir, struct buf *out); /* as a JSON array; nothing if all are completed */
	const struct tool *const *table;                      /* of all built-in tools, NULL-terminated */
};

/* Why a command runs without a person's or a rule's permission: the kernel enforces the limit. */
enum tool_belief { BELIEF_NONE, BELIEF_READS, BELIEF_EDITS };
/* Where a command will run, if the settings want a sandbox */
enum tool_where {
	WHERE_FREE,        /* they want none */
	WHERE_IN,          /* inside, with the usual question */
	WHERE_IN_UNASKED,  /* inside, so without a question */
	WHERE_OUT_BY_WISH, /* outside: the call asks for it */
	WHERE_OUT_GRANTED, /* the same, and the user's settings allow it explicitly */
	WHERE_OUT_BY_LIST, /* outside: sandbox.excludedCommands */
	WHERE_OUT_BY_NEED, /* outside: there is none */
};

/* A tool and its input, for permission rules. Borrows everything. */
struct tool_use {
	const struct tool *tool;
	const struct json *input;   /* the parsed input object */
	const struct tool_env *env; /* whose directories paths are about; NULL: none */
	unsigned flags;             /* of the tool with this input */
	enum tool_where where;      /* of a command */
};

enum tool_verdict { TOOL_ALLOW, TOOL_DENY };

/* The gate stands before each call and behind it. It answers now or later, exactly once. */
struct tool_gate {
	void (*ask)(struct tool_gate *gate, struct tool_call *call); /* must lead to tool_call_decided() */
	void (*after)(struct tool_gate *gate,
		      struct tool_call *call); /* of one that ran: to tool_call_settle(); may be NULL */
	void (*cancel)(struct tool_gate *gate,
		       struct tool_call *call); /* what the gate waits for is not wanted; may be NULL */
};

/* How the gate treats a call that no model made; zeroed: like a model's. PreToolUse hooks and rules that forbid hold for each. */
struct gate_policy {
	bool apart; /* not of the conversation: a denial is not listed, what hooks add or stop does not reach the model */
	bool chosen;      /* a person or the configuration chose this very call: it needs no permission */
	bool no_question; /* denied unless a rule allows it, without a question to a person or the classifier */
	bool by_hook; /* a hook makes it: hooks of the types agent and mcp_tool do not run for it, to avoid endless recursion */
};

struct tool_call {
	const struct tool *tool;                    /* NULL: the model named one that does not exist */
	struct tool_env *env;                       /* borrowed */
	struct tool_gate *gate;                     /* borrowed */
	struct gate_policy policy;                  /* set before the start */
	struct arena arena;                         /* dies with the call */
	struct json_reader reader;                  /* holds input */
	const struct json *input;                   /* the parsed input object */
	char *id;                                   /* toolu_..., in the arena */
	char *name;                                 /* as the model wrote it */
	unsigned flags;                             /* flags_for this input; set by tool_call_new() */
	struct buf result;                          /* text of the result */
	struct buf result_json;                     /* tool_use_result object for SDK consumers, or empty */
	struct buf result_blocks;                   /* JSON array of content blocks for the model in place of the
						     * text, which people still see; empty: the text */
	bool started, running, cancelled, finished; /* asked to start; tool->start was called */
	bool is_error, denied;
	bool again;   /* an earlier process may have run it: it had no result when that was killed */
	bool amended; /* a hook or the host has replaced the model's input */
	uint64_t started_ms;
	void (*done)(struct tool_call *call); /* set by the query: records and kicks */
	void *owner;                          /* the query's own */
	void *state;                          /* the tool's own, usually in the arena */
	char *complaint;                      /* why the input cannot be used; in the arena */
	struct kick kick;                     /* brings done to the next loop turn */
	void *pass;                           /* the gate's own */
	/* The file that the gate has judged, absolute, in the arena: as named, and where that led with all links resolved.
	 * Tools open the target without following links, so that nothing else is opened. NULL: no file was judged. */
	const char *file, *file_target;
	enum tool_belief belief; /* set by the gate, with the verdict */
	enum tool_where where;   /* set by the gate, before it */
	bool settled;            /* the gate has seen the result */
	struct buf blocked;      /* what a sandbox refused to it: lines of kind, what and rule, tabs between them */
};

/* Fills id, name, input from the text of a tool_use block's input object (copied). A text that is not JSON or does not
 * fit the schema is not a failure of this function: the call is prepared so that start answers with an error result. */
struct tool_call *tool_call_new(struct tool_env *env, struct tool_gate *gate, const struct tool *tool, struct str id,
				struct str name, struct str input_json);
void tool_call_start(struct tool_call *call);  /* leads to call->done exactly once, never from inside this function */
void tool_call_cancel(struct tool_call *call); /* a request: done still comes */
void tool_call_free(struct tool_call *call);   /* only when finished or never started */

static inline struct tool_use tool_call_use(const struct tool_call *call)
{
	return (struct tool_use){
		.tool = call->tool, .input = call->input, .env = call->env, .flags = call->flags, .where = call->where
	};
}

/* One line about the call for people: its subject, else its input as JSON. In the call's arena. */
struct str tool_call_summary(struct tool_call *call);

/* For gates. reason is shown to the model when denied. */
void tool_call_decided(struct tool_call *call, enum tool_verdict verdict, struct str reason);
/* the result may have been changed */
static inline void tool_call_settle(struct tool_call *call)
{
	call->settled = true;
	loop_kick(call->env->loop, &call->kick);
}

/* Behind the result, and in a block of its own where the result has blocks. */
void tool_call_add_text(struct tool_call *call, struct str text);
/* Another input in place of the model's. False: it does not fit, and the call has been answered. */
bool tool_call_set_input(struct tool_call *call, struct str json);

/* For tools. text is copied and repaired to valid UTF-8. fail: is_error. finish with what is in call->result already:
 * tool_call_end() and tool_call_end_as(). A usage mistake of the model is wrapped in <tool_use_error>: tool_call_reject(). */
void tool_call_finish(struct tool_call *call, struct str text);
void tool_call_fail(struct tool_call *call, const char *fmt, ...) printf_like(2, 3);
void tool_call_reject(struct tool_call *call, const char *fmt, ...) printf_like(2, 3);
void tool_call_end_as(struct tool_call *call, bool is_error);
static inline void tool_call_end(struct tool_call *call)
{
	tool_call_end_as(call, false);
}

/* A result that is too large for the conversation: writes text to results_dir/<call id>.txt and puts a notice with the
 * path and the first 2 KB into *out. If the file cannot be written, *out gets the head and the tail of the text. */
enum { TOOL_RESULT_LIMIT = 100000 }; /* bytes; for all tools without TOOL_OWN_LIMIT */
void tool_persist(struct tool_call *call, struct str text, struct buf *out);
char *tool_result_path(struct tool_call *call); /* of that file; in the arena; NULL: results are not kept */
void tool_add_persisted(struct buf *out, uint64_t size, const char *path,
			struct str text); /* the notice; text: its beginning */

/* A set of tools of one agent: starts from the const table, MCP tools are appended. */
struct tool_set {
	const struct tool **tools;
	size_t count, cap;
};
static inline void tool_set_add(struct tool_set *set, const struct tool *tool)
{
	*xpush(set->tools, set->count, set->cap) = tool;
}

/* By its exact name, else ignoring case, else by an older name. */
const struct tool *tool_set_find(const struct tool_set *set, struct str name);
static inline void tool_set_release(struct tool_set *set)
{
	free(set->tools);
	*set = (struct tool_set){ 0 };
}

/* The part of a tool call that runs in libuv's thread pool. The worker sees the job's own copy of its input
 * and nothing of the call; it looks at `stop` often, and what it finds out stays in the job until the loop takes it. */

/* The first member of a tool's own struct; that one lives in the call's arena */
struct tool_job {
	uv_work_t work;
	struct tool_call *call;
	atomic_bool stop;                      /* cancelled */
	void (*run)(struct tool_job *job);     /* in a worker thread */
	void (*report)(struct tool_job *job);  /* on the loop, ends the call; not after a cancel */
	void (*release)(struct tool_job *job); /* last, on the loop: frees what run made; may be NULL */
	void (*cancel)(struct tool_job *job);  /* on the loop, to end what runs beside the worker; may be NULL */
};

void tool_job_start(struct tool_job *job, struct tool_call *call); /* sets call->state; leads to the end of the call */
void tool_job_cancel(struct tool_call *call);                      /* a tool's .cancel; call->state is a job */

/* Which of several calls may run at the same time: those that only read, or wait for an agent, run beside each
 * other; any other waits for all before it and holds back all behind it.
 * 
 * A scheduler is one pass over the calls that have not ended, in their order:
 * 
 *     struct tool_scheduler pass = { .limit = 10 };
 *     for each call that has not ended
 *             if (tool_scheduler_pass(&pass, call))
 *                     tool_call_start(call); */
struct tool_scheduler {
	unsigned limit;       /* of calls that run; those that wait for agents do not count. 0: none */
	bool in_answer;       /* the answer that makes the calls still comes: those with TOOL_AFTER_ANSWER wait */
	unsigned ahead;       /* calls in front of the next one */
	unsigned counted;     /* those of them that count against the limit */
	bool exclusive_ahead; /* one of them runs alone */
};

/* Counts the call. True: it has not started, and now it may. */
bool tool_scheduler_pass(struct tool_scheduler *pass, const struct tool_call *call);
/* A request, as tool_call_cancel(). One that has not started ends without having run; its done comes too. */
void tool_scheduler_cancel(struct tool_call *call);
