/* SPDX-License-Identifier: MIT
 * load.h - loads a session from its file, ready to continue (docs/internals/session.md). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/id.h"
#include "lib/base/map.h"
#include "core/message/transcript.h"
#include "core/message/message.h"
#include "core/store/recorder.h"

struct loop;

/* A tool call of the last answer */
struct loaded_call {
	struct str id, name, input;
	struct segment *result; /* owned; NULL: the call has none */
};

/* A file that a tool of the session read or wrote */
struct loaded_file {
	const char *path;
	int64_t time_ms; /* when */
	bool partial;    /* read in part only */
	bool summarized; /* before a compaction: what came with it is not in the conversation any more */
};

struct session_load {
	struct arena arena;
	struct transcript transcript;
	char last[UUID_LEN + 1];   /* uuid of the newest line */
	uint64_t bytes;            /* of the file, up to the end of the newest line of the conversation */
	char *cwd;                 /* of the newest line; NULL if unknown */
	char *model;               /* that gave the newest answer; NULL: there is none */
	struct loaded_call *calls; /* set if one of them has no result; then the results are not in the transcript */
	size_t call_count;
	struct loaded_file *files; /* newest last */
	size_t file_count;
	const char **tools; /* deferred tools that were loaded, in order; may repeat */
	size_t tool_count;
	bool interrupted;       /* the last turn has no final answer: it can be continued */
	struct str team;        /* JSON of the team that the session leads; n == 0: none */
	char *agent;            /* type of the agent that the session runs as; NULL: not recorded */
	bool coordinator;       /* its main agent coordinates workers */
	struct map delivered;   /* ids of the notifications that are in it */
	struct map later;       /* up to a uuid: ids of the calls behind that line ... */
	bool team_later;        /* ... and the team was made there */
	struct notice *waiting; /* not delivered yet, the oldest first */
	size_t waiting_count;
	struct usage usage; /* of the run without an end: the sum of the answers in this file ... */
	unsigned tool_uses; /* ... and the calls in them */
	unsigned prompts;   /* lines of this file without context and results */
	struct str end;     /* JSON object of the agent-end line, if it is the last one */
	unsigned skipped;   /* lines that are not JSON */
	bool repaired;      /* a torn last line was cut off */
};

/* Repairs a torn last line in the file. -ERR_NOT_FOUND: no such file. uuid: up to the line that has it; empty: all lines; -ERR_USAGE: no
 * such line. */
int session_load_until(const char *path, struct str uuid, struct session_load *ret, struct err *err);
static inline int session_load(const char *path, struct session_load *ret, struct err *err)
{
	return session_load_until(path, (struct str){ 0 }, ret, err);
}
/* Its worker may still be reading when it is stopped. */
struct load_job;
/* From the loop, once; takes l. NULL: err says why; -ERR_CANCELLED: it was stopped. */
typedef void load_done_fn(void *data, struct session_load *l, const struct err *err);
/* session_load() on libuv's pool, for a loop on which others are at work. A torn last line is repaired before it returns: lines
 * that are added to the file from now on may be in the result or not. Returns owned, until done. */
struct load_job *session_load_start(struct loop *loop, const char *path, load_done_fn *done, void *data);
void session_load_stop(struct load_job *job); /* done comes soon; also when it is NULL */
/* Has the file a prompt? Reads up to the first one. */
bool session_load_begun(const char *path);
/* 1 and what session_load() gives as end, from the last lines of the file alone; 0: there is none. */
int session_load_end(const char *path, struct buf *ret_end, struct err *err);
void session_load_release(struct session_load *l);
/* One more waits since the file was read; its texts are copied. */
void session_load_add_waiting(struct session_load *l, const struct notice *notice);
