/* SPDX-License-Identifier: MIT
 * state.h - <config>/cadre/state.db: tasks and notices, for other programs to see and for a resumed session to find
 * (docs/internals/state.md). It is an index of what the JSONL files say: a write never fails and never waits, and losing
 * the file loses no work.
 *
 * Texts in rows are NUL-terminated; NULL is written as "" and "" is what readers give. Times are wall-clock milliseconds, 0
 * for "not yet". */
#pragma once
#include "lib/io/loop.h"

struct state;

/* One agent's life. session and agent are the key; a put replaces the whole row. */
struct task_row {
	const char *session, *agent;
	const char *parent, *tool_use_id; /* who asked for it, in which call; parent "" is the main agent */
	const char *type, *name, *description, *model;
	int64_t depth, background;
	const char *state; /* "running", "completed", ... */
	int64_t started_ms, ended_ms;
	int64_t updated_ms; /* 0 in a put: now */
	int64_t turns, tool_uses;
	int64_t input_tokens, output_tokens, cache_read_tokens, cache_write_tokens;
	double cost_usd;
	const char *last_tool, *worktree, *branch;
	const char *transcript, *output; /* paths */
	const char *verdict;
	int64_t pid, pid_start; /* the owning process; pid 0 in a put: this one */
};

/* A text on its way to an agent. Immutable but for its delivery: a second put of an id changes nothing. */
struct notice_row {
	const char *id;
	const char *session, *recipient; /* recipient "" is the main agent */
	const char *task;                /* the agent that it is about */
	const char *text;
	int64_t created_ms; /* 0 in a put: now */
	int64_t delivered_ms;
};

/* Opens nothing and starts nothing before the first put. Borrows loop until state_free(). */
struct state *state_new(struct loop *loop, const char *config_dir); /* returns owned */
void state_free(struct state *s); /* tries once more to write what is queued, and waits for it */

/* Copied and queued; written by a thread, in one transaction per loop turn at most. */
void state_put_task(struct state *s, const struct task_row *row);
void state_put_notice(struct state *s, const struct notice_row *row);
void state_notice_delivered(struct state *s, const char *id); /* now; after its put */

/* Blocks until all that was put is on disk (true), or a try failed or five seconds passed (false). */
bool state_flush(struct state *s);
/* 0, or what keeps rows from being written, or what befell the file in this run. */
int state_error(struct state *s, struct err *err);

/* Blocking readers. They see what is committed, oldest first; a missing file has no rows. The row and its texts are borrowed
 * until fn returns; fn returns false to stop. session NULL: all. -ERR_PARSE: the file is damaged. */
typedef bool task_row_fn(void *data, const struct task_row *row);
typedef bool notice_row_fn(void *data, const struct notice_row *row);
int state_each_task(const char *config_dir, const char *session, task_row_fn *fn, void *data, struct err *err);
int state_each_notice(const char *config_dir, const char *session, bool undelivered_only, notice_row_fn *fn, void *data,
		      struct err *err);

/* Does the process that put the row still live? Its start time tells it from a later one with the same pid. */
bool task_owner_lives(const struct task_row *row);
