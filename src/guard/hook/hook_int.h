/* SPDX-License-Identifier: MIT
 * hook_int.h - shared by hook.c (engine and batches), run.c (one hook's life), run_*.c (the types) and outcome.c. */
#pragma once
#include "lib/base/id.h"
#include "guard/hook/hook.h"
#include "lib/base/buf.h"
#include "guard/hook/set.h"
#include "config/settings/settings_file.h"

enum run_state { RUN_QUEUED, RUN_STARTED, RUN_OVER };

/* One hook of one batch. Lives in the batch's arena. */
struct hook_run {
	struct hook_batch *batch;
	struct hook_run *next; /* of the batch, in the order of the sets */
	const struct hook *hook;
	enum run_state state;
	char id[UUID_LEN + 1];
	struct hook_run *queue_next, **queue_prev; /* while RUN_QUEUED */
	struct kick kick;                          /* it ended: read what it said */
	struct timer timer;
	uint64_t timeout_ms;
	bool ended, cancelled, timed_out;
	bool killed;          /* a command: by a signal, or because it printed without end */
	bool held;            /* a command: by the sandbox, or it did not run because that could not hold it */
	bool async;           /* not waited for, or no longer */
	bool first_line_read; /* of a command: a first line {"async":true} has been looked for */
	size_t out_skip;      /* bytes of that line */
	const char *failure;  /* in the arena: why there is nothing to read */
	struct buf out, err;
	uint64_t out_total;
	int exit_code;
	struct hook_reply reply;
	struct child *child;   /* command */
	struct http_req *req;  /* http */
	struct hook_call call; /* the others */
	bool called;
};

struct hook_batch {
	struct hook_engine *engine;
	struct hook_batch *next, **prev;
	struct arena arena;
	enum hook_event event;
	struct str name;             /* PreToolUse:Bash */
	struct buf input;            /* JSON and a line end: what every hook reads */
	struct hook_context context; /* copied */
	const char *tool_use_id;
	struct hook_set **sets; /* references */
	size_t set_count;
	struct hook_run *runs, **runs_end;
	size_t run_count;
	size_t waiting; /* runs whose end is waited for */
	size_t open;    /* these and the async ones */
	bool cancelled, delivered;
	hook_done_fn *done;
	void *data;
	struct kick kick;
	struct hook_outcome outcome;
};

/* A process group that a hook left behind */
struct left_group {
	pid_t pgid;
	char *session_id, *agent_id; /* owned; agent_id NULL: the main agent */
};

struct hook_engine {
	struct hook_engine_options options;
	struct hook_batch *batches;
	size_t batch_count;                  /* for tests: how many are there */
	struct hook_run *queue, **queue_end; /* runs that wait to be started */
	size_t running;                      /* processes and requests that are waited for */
	struct kick start_kick;
	struct left_group *groups;
	size_t group_count, group_cap;
	struct kick drain_kick;
	void (*drained)(void *data);
	void *drain_data;
};

/* A type of handler. start leads to hook_run_ended, at once or later; so does stop, soon. */
struct run_kind {
	void (*start)(struct hook_run *run);
	void (*stop)(struct hook_run *run);
};
extern const struct run_kind run_command;

/* run.c */
void hook_run_queue(struct hook_run *run);
void hook_run_cancel(struct hook_run *run);             /* in any state */
static inline void hook_run_ended(struct hook_run *run) /* for the types: the fact, no more */
{
	run->ended = true;
	loop_kick(run->batch->engine->options.loop, &run->kick);
}
void hook_run_fail(struct hook_run *run, const char *fmt, ...)
	printf_like(2, 3);                                             /* nothing to read; the first one counts */
void hook_run_become_async(struct hook_run *run, uint64_t timeout_ms); /* 0: its time limit stays */
void hook_engine_start_some(struct kick *kick);                        /* step of start_kick */

/* hook.c */
void hook_engine_keep_group(struct hook_engine *engine, pid_t pgid, const struct hook_context *owner);
/* outcome.c: all runs are over; fills batch->outcome. */
void hook_outcome_merge(struct hook_batch *batch);

/* template.c: placeholders in the texts of handlers. Each kind has its own syntax; unknown placeholders stay as they are,
 * and an inserted text is never expanded again. */

/* Arguments of the exec form: ${CLAUDE_PROJECT_DIR}, ${CLAUDE_PLUGIN_ROOT}, ${CLAUDE_PLUGIN_DATA}, ${user_config.KEY}. */
void template_add_argument(struct buf *out, const char *text, const struct hook_origin *origin,
			   const char *project_dir);
/* Prompts: $ARGUMENTS is the event's JSON, \$ is a dollar; without $ARGUMENTS it comes after the text. */
void template_add_prompt(struct buf *out, const char *text, struct str input);
/* Headers: $NAME and ${NAME} for the names of the list; others become nothing. Line ends are left out. */
void template_add_header(struct buf *out, const char *text, const char *const *names, const char *const *envp);
/* Inputs of MCP tools: ${tool_input.file_path} in strings is a value of the event's JSON. */
void template_add_json(struct buf *out, struct str input_json, struct str event_json);

/* Shared by set.c (sources, events, matchers) and handler.c (one handler). */
struct hook_builder {
	struct hook_set *set;
	const struct hook_source *source;
	const struct hook_policy *policy;
	struct diagnostics *diagnostics;
	struct hook_origin *origin;
	struct hook **tails[HOOK_EVENT_COUNT];
	enum hook_event event; /* being read */
	const struct hook_matcher *matcher;
	struct settings_cursor cursor; /* values come in the order of the file: lines are counted once */
};

unsigned hook_builder_line(struct hook_builder *b, const struct json *value);
void hook_builder_note(struct hook_builder *b, enum diagnostic_level level, const struct json *where, const char *fmt,
		       ...) printf_like(4, 5);
/* Something of the event that is read has no effect: an error if its hooks guard calls or prompts, because a guard that is lost opens
 * the door. */
void hook_builder_warn(struct hook_builder *b, const struct json *where, const char *fmt, ...) printf_like(3, 4);

enum { HOOKS_LIMIT = 10000 }; /* in a set */

/* One object of a list "hooks" is added to the set; what cannot be used is a diagnostic instead. */
void hook_read(struct hook_builder *b, const struct json *handler);
/* A function of the SDK; entry has timeout and onFailure. */
void hook_read_callback(struct hook_builder *b, const struct json *entry, const struct json *id);
