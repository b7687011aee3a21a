/* SPDX-License-Identifier: MIT
 * recorder.h - writes what happens to one agent as lines of its transcript, in the form that other programs read
 * (docs/internals/session.md). Every function returns after its line is on disk. */
#pragma once
#include "base/id.h"
#include "message/segment.h"
#include "message/usage.h"
#include "session/store.h"

/* Borrowed by its recorders */
struct record_context {
	const char *session_id;
	const char *cwd;
	const char *git_branch; /* "" if none */
	const char *version;
	const char *entrypoint; /* "cli", "sdk-cli", ... */
	const char *agent_id;   /* NULL for the main agent */
};

struct recorder {
	struct journal *journal; /* borrowed; NULL: nothing is kept, only uuids are made */
	struct store *store;     /* borrowed */
	const struct record_context *context;
	char last[UUID_LEN + 1]; /* uuid of the newest line; "" before the first */
};

/* Of one answer of the model */
struct answer_ids {
	const char *message_id, *model, *request_id;
};

/* uuid gets the line's id. meta: not typed by a person (context, notifications). */
int recorder_user(struct recorder *r, struct segment *const *blocks, size_t count, bool meta, char uuid[UUID_LEN + 1],
		  struct err *err);
int recorder_block(struct recorder *r, const struct answer_ids *ids, const struct segment *block,
		   char uuid[UUID_LEN + 1], struct err *err);
int recorder_close(struct recorder *r, const struct answer_ids *ids, const char *stop_reason, const char *stop_sequence,
		   const struct usage *usage, struct err *err);
int recorder_result(struct recorder *r, const struct segment *result, struct str tool_use_result,
		    char uuid[UUID_LEN + 1], struct err *err);
/* The first line of a fork. */
int recorder_fork_origin(struct recorder *r, const char *origin_session, const char *origin_uuid, struct err *err);
