/* SPDX-License-Identifier: MIT
 * hook.h - the hook engine. The core calls it from one place per event:
 *
 *     if (hook_wanted(&spec))                            nothing is allocated when no hook waits for this
 *             q->hooks = hook_run_event(engine, &spec, on_hooks_done, q);
 *
 * All hooks that fit run side by side; `done` gets one merged outcome (docs/internals/hook.md). A hook that hangs,
 * floods, dies or prints garbage ends in a note of the outcome, never in a failure of the run. */
#pragma once
#include "guard/hook/event.h"
#include "guard/hook/output.h"
#include "guard/hook/set.h"
#include "lib/io/http.h"
#include "lib/io/loop.h"
#include "lib/io/spawn.h"

struct hook_engine;
struct hook_batch; /* the hooks of one event, until the last has ended */

/* Whose event it is. Copied where it is needed later: borrowed until hook_run_event returns. NULL: left out of the input. */
struct hook_context {
	const char *session_id, *transcript_path, *cwd;
	const char *prompt_id, *permission_mode, *effort;
	const char *agent_id, *agent_type; /* agent_id only inside a subagent: the processes belong to it, too */
	const char *project_dir;           /* CLAUDE_PROJECT_DIR: stays at the session's root, whatever cwd is */
	const char *env_file;              /* CLAUDE_ENV_FILE for the events that have one */
	const char *const *envp;           /* of child processes; NULL: ours */
	const char *results_dir;           /* texts above HOOK_TEXT_LIMIT go to files here; NULL: they are cut */
	void *cage;                        /* child_options.cage; borrowed until the agent has ended */
};

enum { HOOK_TEXT_LIMIT = 10000 }; /* UTF-16 units of a text for the model or the user */

/* Borrowed until hook_run_event returns */
struct hook_event_spec {
	enum hook_event event;
	struct str subject; /* what matchers look at: hook_events[event].subject */
	/* The event's own members as one JSON object, trusted to be valid. The common ones (session_id, transcript_path,
	 * cwd, prompt_id, permission_mode, effort, agent_id, agent_type, hook_event_name) come from the context, also for
	 * SubagentStart and SubagentStop. Empty: none. */
	struct str fields;
	const struct hook_context *context;
	struct hook_set *const *sets; /* the session's, then the agent's; a NULL among them is skipped */
	size_t set_count;
	const char *tool_use_id; /* for observers; NULL: none */
	/* Does this permission rule fit the call? For `if`; only called from inside hook_wanted and hook_run_event. NULL: hooks
	 * with `if` run. */
	bool (*matches_rule)(void *data, struct str rule);
	void *rule_data;
	const struct hook *except; /* does not run: it has changed the input that the others see now; NULL: none */
	bool by_hook; /* a hook made the call: those that make calls themselves (agent, mcp_tool) do not run */
};

/* All hooks of one batch, in the order of their sets, not of their ends. Borrowed until done returns. */
struct hook_outcome {
	size_t ran;                      /* hooks that were waited for to their end */
	bool cancelled;                  /* hook_cancel or the end of the agent came first; nothing else counts then */
	enum hook_permission permission; /* the strictest */
	struct str permission_reason;
	bool blocked;
	struct str block_reason; /* of all that blocked, a line end between them */
	bool stop;               /* "continue": false: ends the turn whatever else was said */
	struct str stop_reason;
	struct str updated_input; /* JSON object; the last one; empty when denied or not given */
	const struct hook *updated_by;
	enum hook_permission updated_permission; /* what that hook said */
	struct str *contexts;                    /* for the model, one system reminder each */
	size_t context_count;
	struct str *messages; /* for the user: systemMessage, and what blocked nothing but was said on stderr */
	size_t message_count;
	struct str *notes; /* hooks that failed, one line each */
	size_t note_count;
	struct str terminal_sequence;        /* only sequences that are harmless */
	struct str fields[HOOK_FIELD_COUNT]; /* JSON values, the last one of each; n == 0: not given */
};

typedef void hook_done_fn(void *data, const struct hook_outcome *outcome);

/* One hook that started or ended, for observers. Borrowed until return. */
struct hook_report {
	const char *id;  /* UUID of this run */
	struct str name; /* PreToolUse:Bash */
	enum hook_event event;
	const struct hook *hook;
	const char *session_id;
	const char *agent_id, *tool_use_id; /* or NULL */
	enum hook_result result;            /* from here on: only when it ended */
	int exit_code;                      /* HOOK_NO_EXIT: none */
	struct str out, err;                /* valid UTF-8 */
	struct str note;
};

/* What an async hook left for the next turn of its agent. Borrowed until return. */
struct hook_late {
	const char *session_id;
	const char *agent_id; /* NULL: the main agent */
	const struct hook *hook;
	struct str context, system_message;
	struct str wake; /* not empty: asyncRewake and exit 2; an idle session continues with this text */
};

/* Called from the loop, `skipped` from inside hook_run_event. Any may be NULL. */
struct hook_observer {
	void (*started)(void *data, const struct hook_report *report);
	void (*ended)(void *data, const struct hook_report *report);
	/* A hook that fits but may not run, once for each hook. */
	void (*skipped)(void *data, const struct hook_context *context, const struct hook *hook, const char *why);
	void (*late)(void *data, const struct hook_late *late);
	void *data;
};

/* A hook of a type that a runner of the core runs: prompt, agent, mcp_tool, callback. */
struct hook_call {
	const struct hook *hook;
	enum hook_event event;
	struct str input; /* JSON of the event */
	struct str text;  /* prompt with its arguments, or the JSON input of an MCP tool */
	const char *session_id;
	const char *agent_id, *tool_use_id; /* or NULL */
	void *state;                        /* the runner's own */
	bool unanswered;                    /* set before it fails: the server could not be asked, so a guard refuses */
};

/* start leads to hook_call_finish exactly once, from inside start or later, also after cancel, soon. data: of the engine's options */
struct hook_runner {
	void (*start)(void *data, struct hook_call *call);
	void (*cancel)(void *data, struct hook_call *call);
};
/* text (copied): a model's answer, an MCP tool's text or a callback's JSON; when failed: why. */
void hook_call_finish(struct hook_call *call, bool failed, struct str text);

/* All borrowed: they outlive the engine */
struct hook_engine_options {
	struct loop *loop;
	struct spawner *spawner;
	struct http *http;                                  /* NULL: http hooks are notes */
	const struct hook_runner *runners[HOOK_TYPE_COUNT]; /* NULL: hooks of that type are notes */
	void *runner_data;
	struct hook_observer observer;
	bool awaits_rewake;      /* no prompt will follow: hooks with asyncRewake are waited for */
	uint64_t session_end_ms; /* CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS; 0: as the hooks say */
};

struct hook_engine *hook_engine_new(const struct hook_engine_options *options); /* returns owned */
void hook_engine_free(struct hook_engine *engine);                              /* nothing may be active */

/* True if a hook waits for this, also one that may not run and that the observer does not know yet. Allocates nothing, but for the
 * first use of a regular expression; `fields` is not looked at. */
bool hook_wanted(const struct hook_event_spec *spec);
/* done is called exactly once, never from inside this function, also when no hook fits and after a cancel. The batch is
 * borrowed until then. Keeps references on the sets. */
struct hook_batch *hook_run_event(struct hook_engine *engine, const struct hook_event_spec *spec, hook_done_fn *done,
				  void *data);
void hook_cancel(struct hook_batch *batch); /* a request; async hooks continue */
/* The agent is over (NULL: the main one): its batches are cancelled, its async hooks and what its hooks left running are
 * killed. */
void hook_engine_end_agent(struct hook_engine *engine, const char *session_id, const char *agent_id);
/* The same for all agents; done comes later, exactly once, when nothing is left. Then the engine can be freed. */
void hook_engine_drain(struct hook_engine *engine, void (*done)(void *data), void *data);
