/* SPDX-License-Identifier: MIT
 * state.h - <config>/cadre/state.db: the agents of all runs, for `cadre tasks` (docs/internals/state.md). An index of
 * the JSONL files: a write never fails and never waits, and losing the file loses no work.
 *
 * Texts in rows are NUL-terminated; NULL is written as "". Times are wall-clock milliseconds, 0 for "not yet". */
#pragma once
#include "lib/io/loop.h"

struct state;

/* One agent's life. session and agent are the key; a put replaces the whole row. */
struct task_row {
	const char *session, *agent;
	const char *parent, *tool_use_id; /* the parent and its call; parent "" is the main agent */
	const char *type, *name, *description, *model;
	int64_t depth, background;
	const char *state; /* "running", "completed", ... */
	int64_t started_ms, ended_ms;
	int64_t updated_ms; /* 0 in a put: now */
	int64_t turns, tool_uses;
	int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens;
	double cost_usd;
	const char *last_tool, *worktree, *branch;
	const char *transcript; /* path */
	const char *verdict;
	const char *
		team; /* of a member, and how many messages it has not read, and its open tasks; of sessions that run */
	int64_t unread;
	const char *tasks;
	int64_t pid, pid_start; /* the owning process; pid 0 in a put: this one */
};

/* Opens the file with the first put. Borrows loop until state_close(). */
struct state *state_new(struct loop *loop, const char *config_dir); /* returns owned */
/* Writes queued rows, waits, and frees s (NULL: does nothing). Returns the error that kept rows from being written, or
 * that damaged the file in this run. */
int state_close(struct state *s, struct err *err);

/* Copied and queued; written by a thread, in one transaction per loop turn at most. */
void state_put_task(struct state *s, const struct task_row *row);

/* Blocking. Reads committed rows, oldest first; a missing file has none. The row and its texts are borrowed until fn
 * returns. -ERR_PARSE: the file is damaged. */
typedef void task_row_fn(void *data, const struct task_row *row);
int state_each_task(const char *config_dir, task_row_fn *fn, void *data, struct err *err);
