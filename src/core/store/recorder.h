/* SPDX-License-Identifier: MIT
 * recorder.h - appends lines to the transcript file of one agent, in the format that other programs read
 * (docs/internals/session.md). Every function returns after its line is on disk. */
#pragma once
#include "lib/base/id.h"
#include "core/message/message.h"
#include "core/store/store.h"

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
	struct journal *journal; /* borrowed; NULL: nothing is stored, only uuids are made */
	struct store *store;     /* borrowed */
	const struct record_context *context;
	char last[UUID_LEN + 1]; /* uuid of the newest line; "" before the first */
};

/* Of one answer of the model */
struct answer_ids {
	const char *message_id, *model, *request_id;
	const char *asked; /* the model as it was asked for; NULL: as it calls itself */
};

/* How it ended */
struct answer_stop {
	const char *reason, *sequence; /* sequence may be NULL */
	const struct usage *usage;
	bool summary; /* of the conversation: beside it, so that its usage is in the file */
};

/* Of one line of the user's side */
struct user_line {
	struct segment *const *blocks;
	size_t count;
	bool meta;                     /* not typed by a person (context, notifications) */
	const char *const *notice_ids; /* of the notifications it delivers, NULL-terminated; NULL: none */
	bool mail;                     /* words of other agents of a team are among them */
	const char *uuid;              /* predefined; NULL: a new one */
};

/* uuid gets the line's id. */
int recorder_user(struct recorder *r, const struct user_line *line, char uuid[UUID_LEN + 1], struct err *err);
/* end: how the answer ended, with its last block; NULL: there is more, or it was cut. */
int recorder_block(struct recorder *r, const struct answer_ids *ids, const struct segment *block,
		   const struct answer_stop *end, char uuid[UUID_LEN + 1], struct err *err);
int recorder_result(struct recorder *r, const struct segment *result, struct str tool_use_result,
		    char uuid[UUID_LEN + 1], struct err *err);
/* A summary that replaces the conversation */
struct compact_line {
	const char *trigger; /* "auto" or "manual" */
	int64_t tokens_before;
	struct segment *const *blocks; /* the conversation from now on */
	size_t count;
	bool between_turns; /* nothing waits for an answer */
};
/* Writes a boundary line and the summary line, whose id goes to uuid. A boundary without its summary is ignored. */
int recorder_compact(struct recorder *r, const struct compact_line *line, char uuid[UUID_LEN + 1], struct err *err);
/* The origin of a fork's history */
struct fork_origin {
	const char *session_id;
	const char *agent_id; /* NULL: the main agent's */
	const char *uuid;     /* of the last shared line */
	uint64_t bytes;       /* of a session's file, up to its end: a forked session's file begins with them */
	const char
		*placeholder; /* result of every call of its last answer, regardless of the file; NULL: no open calls */
};
/* The first line of a fork. */
int recorder_fork_origin(struct recorder *r, const struct fork_origin *origin, struct err *err);
/* What the session runs as: a line {"type": type, key: value}. Not part of the parent chain. */
int recorder_setting(struct recorder *r, const char *type, const char *key, const char *value, struct err *err);
/* A text that waits for the next request: something ended in the background, or another agent of a team speaks */
struct notice {
	const char *id;    /* recorded with the message that delivers it; NULL: nothing is */
	const char *about; /* a newer one about the same replaces it; NULL: none does */
	bool mail;         /* of another agent of the team */
	bool quiet;        /* no turn begins for it alone: it goes with the next request */
	struct str text;
};
struct queue_line {
	struct notice notice;
	const char *from, *team; /* of mail; NULL: it is none */
	const char *replaces;    /* id of the notice that it replaces; NULL: none */
};
/* Records a notice that is queued; the user line with its id in notice_ids delivers it. Not part of the parent chain. */
int recorder_queue(struct recorder *r, const struct queue_line *line, struct err *err);
/* Records that a team was made or deleted. fields: a JSON object. Not part of the parent chain. */
int recorder_team(struct recorder *r, const char *operation, struct str fields, struct err *err);
/* Records the end of an agent's run. fields: a JSON object. */
int recorder_end(struct recorder *r, struct str fields, struct err *err);
