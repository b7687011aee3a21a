/* SPDX-License-Identifier: MIT
 * hook_int.h - shared by hook.c (engine and batches), run.c (one hook's life), run_*.c (the types) and outcome.c. */
#pragma once
#include "lib/base/id.h"
#include "guard/hook/hook.h"

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
	size_t batch_count;
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
extern const struct run_kind run_command, run_http, run_call;

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
