/* SPDX-License-Identifier: MIT
 * tool.h - tools and their calls. The C file of a tool defines one const struct tool; NAME.json beside it has all other facts.
 *
 * How to add one, in the room of src/tools with its subject:
 *   1. NAME.json: name, description and input_schema exactly as the model sees them, and "facts" for the program:
 *      flags (enum tool_flags), the input member that rules match, older names (scripts/tools.py explains them).
 *   2. tool_NAME.c: includes "core/tool/tool_list.h", which the build makes, and defines
 *      `const struct tool tool_NAME = { TOOL_NAME_FACTS, .start = ... }` before its start function.
 *   3. tests/scenarios/tools/NAME.test; tests/unit/tools/test_NAME.c for cases that a scenario cannot show.
 * The table of tools and every list of their names are generated from the JSON files; no other file changes, but for a tool with the
 * flag `lead`, which docs/teams.md names.
 *
 * Life of a call: the query creates it when the model's block is complete; tool_call_start() checks the input against the
 * schema, asks the gate, then calls tool->start. The tool answers with tool_call_finish() exactly once, inside start or
 * later from the loop. A cancelled call must finish too, soon. */
#pragma once
#include <stdatomic.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/io/loop.h"
#include "lib/json/json.h"
#include "core/tool/tool_facts.h"

struct deferral;
struct tool_call;

struct tool {
	const char *name;           /* as the model uses it */
	const char *const *aliases; /* older names, NULL-terminated; NULL: none */
	const char *definition;     /* {"name":..,"description":..,"input_schema":..}: the JSON of the request */
	const char *accepts;        /* another definition, whose schema checks the input; NULL: the one above */
	const char *subject;        /* the input member that describes a call best; NULL: none ... */
	const char *detail;         /* ... and the one shown besides, or "*" for all others; NULL */
	unsigned flags;             /* enum tool_flags */
	const char *server;         /* tools of an MCP server: the prefix of their names, mcp__SERVER__; else NULL */
	void *ctx;                  /* for dynamic tools (MCP); NULL for built-in ones */
	/* Converts an older form of the input to that of the definition; false: it is current. NULL: there are no older forms. */
	bool (*rewrite)(const struct json *input, struct arena *a, struct buf *out);
	/* For the user's question: the change that the call would make in call->file_target, as hunks of line_diff_put(), or nothing
	 * if it cannot be applied. NULL: it changes no text file. */
	void (*preview)(struct tool_call *call, struct buf *out);
	void (*start)(struct tool_call *call);
	void (*cancel)(struct tool_call *call); /* NULL: it ends by itself, soon */
	/* Flags of this call, whose input is valid; NULL: tool->flags. (Bash: read-only if the command is.) */
	unsigned (*flags_for)(const struct tool_call *call);
};

/* Settings of tools, the same for all agents of a session. */
struct tool_settings {
	const char *shell;    /* for Bash, unless the environment names one; NULL: bash */
	bool search_ignored;  /* Grep searches files that git ignores, and @ suggests them */
	uint64_t question_ms; /* timeout of a question to the user; 0: none */
	bool fetch_private;   /* WebFetch may reach addresses that are not public */
};

/* The environment of an agent's calls. Owned by the agent (query), borrowed by its calls. */
struct tool_env {
	struct loop *loop;
	struct spawner *spawner;
	const char *cwd;         /* current directory of the agent; Bash may move it, see set_cwd */
	const char *root;        /* where the session started: cwd falls back to it */
	const char *const *dirs; /* working directories (root first, then --add-dir), NULL-terminated */
	const char *session_id;
	const char *results_dir; /* <config>/projects/<key>/<session>/tool-results; created on demand */
	const char *agents_dir;  /* transcripts of the session's agents; NULL: none are kept */
	const char *tasks_dir;   /* output files of background shells; created on demand */
	const char *todo_dir;    /* the task list of the session (tools/tasks/todo_list.h); NULL: none is kept */
	struct todo_book *
		*todos;        /* the session's open task list (tools/tasks/todo_book.c); NULL: opened for each call */
	const char *todo_file; /* the agent's own list (TodoWrite); NULL: the same */
	const char *const *envp;              /* environment of child processes ... */
	const char *const *own;               /* ... and this agent's additions, NULL-terminated; NULL: none */
	const char *env_dir;                  /* each shell sources *.sh in it first; need not exist; NULL: none */
	const char *no_shell;                 /* why Bash must not run; NULL: it may */
	const struct tool_settings *settings; /* NULL: nothing is set */
	const char *temp_dir;                 /* TMPDIR of child processes; NULL: that of the environment */
	int landlock_fd;                      /* ruleset that confines them; 0: none */
	const char *const *write_dirs;        /* directories which that ruleset lets them write; NULL: no limit */
	const struct git_objects
		*objects;         /* the object store of its commands (lib/git/git_objects.h); NULL: the shared one */
	struct sandbox *sandbox;  /* further confinement of commands (guard/sandbox/sandbox.h); NULL: none */
	struct file_state *files; /* files that this agent has read (tools/files/text_file.h) */
	struct shell_set *shells; /* its background shells (tools/shell/shell_set.h) */
	struct mcp_selection *servers;       /* servers that it has joined (mcp/client/pool.h); NULL: none */
	struct web *web;                     /* access to pages and searches (tools/web/web.h); NULL: none */
	struct deferral *deferral;           /* its deferred tools (core/tool/deferral.h); NULL: none */
	const struct permission *permission; /* its rules (guard/permission); NULL: none */
	bool main_thread;                    /* cwd persists between Bash calls only here */
	void (*set_cwd)(struct tool_env *env, const char *path); /* copies path */
	/* A background task ended: text becomes a notification to the agent's model. May be NULL. */
	void (*notify)(struct tool_env *env, struct str text);
	/* A running call has printed: its last line, and the number of lines so far. NULL: not wanted. */
	void (*progress)(struct tool_env *env, const char *call_id, struct str last_line, uint64_t lines);
	/* A tool is about to replace the content of a file with these bytes; path has no symlinks. The history stores the current
	 * content; if that fails (below 0), the file must not be changed. NULL: no history is kept. */
	int (*before_change)(struct tool_env *env, const char *path, struct str bytes, struct err *err);
	const char *no_tool; /* appended to "No such tool": the reason; NULL: nothing */
	void *owner;         /* the agent: struct agent of agents/agent */
};

/* The value of a variable in the agent's environment, or NULL. */
const char *tool_env_get(const struct tool_env *env, const char *name);
/* The path for display: relative to the agent's directory if it is inside, else absolute. */
const char *tool_env_shown_path(const struct tool_env *env, const char *path);

/* An item of the task list. Its texts are borrowed. */
struct todo_info {
	const char *id, *subject, *description; /* description NULL: it has none */
};

/* Functions of the room `tools` on its state for each agent (files it has seen, its shells). The rooms that start agents must not
 * include `tools`, so they call it through this table. */
struct tool_runtime {
	void (*open)(struct tool_env *env);       /* fills env->files and env->shells */
	void (*end_shells)(struct tool_env *env); /* kills them and what they left; env->shells is NULL afterwards */
	void (*close)(struct tool_env *env);      /* also after end_shells, also on a zeroed env */
	/* A tool of the session saw this file in that state, as an earlier run recorded. */
	void (*recall_file)(struct tool_env *env, const char *path, int64_t seen_ms, bool partial);
	void (*share_files)(struct tool_env *env,
			    const struct tool_env *from);          /* files that `from` saw count as seen */
	void (*list_files)(struct tool_env *env, struct buf *out); /* seen files, the latest last, a line each */
	void (*list_todos)(struct tool_env *env, struct buf *out); /* open items, a line each */
	/* Writes the open items of the task list that this agent owns (NULL: all; "": those that it could claim), a line each; returns
	 * how many are in progress. */
	unsigned (*tasks_of)(const struct tool_env *env, const char *owner, struct buf *out);
	/* Makes the same items pending without an owner: all of them, or none on an error. May run in a thread. wait_ms: for locks of
	 * other programs; -ERR_BUSY: one is still held. */
	int (*release_tasks)(const char *dir, const char *owner, unsigned wait_ms, struct buf *out, struct err *err);
	/* Gives the first free item to this agent, which owns no open one; its texts are in the arena. again: an item that it owns and
	 * has not begun counts too. 1: done; 0: there is none; -ERR_BUSY: try again later. */
	int (*claim_task)(const struct tool_env *env, const char *owner, bool again, struct arena *a,
			  struct todo_info *ret);
	/* The n-th task in progress of this owner; its texts are in the arena. False: there are not so many. */
	bool (*task_at)(const char *dir, const char *owner, unsigned n, struct arena *a, struct todo_info *ret);
	void (*open_tasks)(const char *dir, struct buf *out); /* as a JSON array; nothing if all are completed */
	const struct tool *const *table;                      /* all built-in tools, NULL-terminated */
};

/* Why a command needs no permission of the user or a rule: the kernel enforces this limit. */
enum tool_belief { BELIEF_NONE, BELIEF_READS, BELIEF_EDITS };
/* Where a command will run, if the settings want a sandbox */
enum tool_where {
	WHERE_FREE,        /* there is no sandbox in the settings */
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
	const struct tool_env *env; /* whose directories resolve paths; NULL: none */
	unsigned flags;             /* of the tool with this input */
	enum tool_where where;      /* of a command */
};

enum tool_verdict { TOOL_ALLOW, TOOL_DENY };

/* Checks before and after each call. It answers now or later, exactly once. */
struct tool_gate {
	void (*ask)(struct tool_gate *gate, struct tool_call *call); /* must lead to tool_call_decided() */
	void (*after)(struct tool_gate *gate,
		      struct tool_call *call); /* after a run: to tool_call_settle(); may be NULL */
	void (*cancel)(struct tool_gate *gate, struct tool_call *call); /* stop waiting; may be NULL */
};

/* How the gate treats a call that no model made; zeroed: like a model's. PreToolUse hooks and deny rules apply to every call. */
struct gate_policy {
	bool apart; /* outside the conversation: denials are not listed, and context or stops of hooks do not reach the model */
	bool chosen;      /* the user or the configuration chose this call: it needs no permission */
	bool no_question; /* denied unless a rule allows it; neither the user nor the classifier is asked */
	bool by_hook; /* a hook makes it: agent and mcp_tool hooks do not run for it, which could recurse for ever */
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
						     * text, which users still see; empty: the text */
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
	/* The file that the gate has checked, absolute, in the arena: as named, and its target with all links resolved.
	 * Tools open the target without following links, so that nothing else is opened. NULL: no file was checked. */
	const char *file, *file_target;
	enum tool_belief belief; /* set by the gate, with the verdict */
	enum tool_where where;   /* set by the gate, before it */
	bool settled;            /* the gate has seen the result */
	struct buf blocked;      /* accesses that a sandbox refused: lines of kind, what and rule, separated by tabs */
};

/* Fills id, name, input from the text of a tool_use block's input object (copied). A text that is not JSON or does not
 * fit the schema is not a failure of this function: the call is prepared so that start answers with an error result. */
struct tool_call *tool_call_new(struct tool_env *env, struct tool_gate *gate, const struct tool *tool, struct str id,
				struct str name, struct str input_json);
void tool_call_start(struct tool_call *call);  /* leads to call->done exactly once, never from inside this function */
void tool_call_cancel(struct tool_call *call); /* a request: done is still called */
void tool_call_free(struct tool_call *call);   /* only when finished or never started */

static inline struct tool_use tool_call_use(const struct tool_call *call)
{
	return (struct tool_use){
		.tool = call->tool, .input = call->input, .env = call->env, .flags = call->flags, .where = call->where
	};
}

/* One line about the call for users: its subject, else its input as JSON. In the call's arena. */
struct str tool_call_summary(struct tool_call *call);

/* For gates. reason is shown to the model when denied. */
void tool_call_decided(struct tool_call *call, enum tool_verdict verdict, struct str reason);
/* the result may have been changed */
static inline void tool_call_settle(struct tool_call *call)
{
	call->settled = true;
	loop_kick(call->env->loop, &call->kick);
}

/* Appends to the result, as a separate block if the result has blocks. */
void tool_call_add_text(struct tool_call *call, struct str text);
/* Replaces the model's input. False: it is invalid, and the call has been answered. */
bool tool_call_set_input(struct tool_call *call, struct str json);

/* For tools. text is copied and repaired to valid UTF-8. fail sets is_error. tool_call_end() and tool_call_end_as() finish with the
 * current call->result. tool_call_reject() wraps a usage mistake of the model in <tool_use_error>. */
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

/* The part of a tool call that runs in libuv's thread pool. The worker sees the job's copy of the input but not the call. It checks
 * `stop` often, and its results stay in the job until the loop takes them. */

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

/* Which of several calls may run at the same time: calls that only read, or wait for an agent, run in parallel;
 * any other waits for all before it and delays all after it.
 * 
 * A scheduler is one pass over the calls that have not ended, in their order:
 * 
 *     struct tool_scheduler pass = { .limit = 10 };
 *     for each call that has not ended
 *             if (tool_scheduler_pass(&pass, call))
 *                     tool_call_start(call); */
struct tool_scheduler {
	unsigned limit;       /* of running calls; those that wait for agents do not count. 0: none */
	bool in_answer;       /* the answer with the calls is incomplete: those with TOOL_AFTER_ANSWER wait */
	unsigned ahead;       /* calls before the next one */
	unsigned counted;     /* those of them that count against the limit */
	bool exclusive_ahead; /* one of them runs alone */
};

/* Counts the call. True: it has not started, and now it may. */
bool tool_scheduler_pass(struct tool_scheduler *pass, const struct tool_call *call);
/* A request, as tool_call_cancel(). A call that has not started ends without running; its done is called too. */
void tool_scheduler_cancel(struct tool_call *call);
