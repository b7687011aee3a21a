/* SPDX-License-Identifier: MIT
 * end_state.h - how a child stands, and how it ended. One table has the words for each reader. */
#pragma once
#include "agents/query/query.h"

enum end_state {
	AGENT_RUNNING,
	AGENT_COMPLETED,
	AGENT_TURN_LIMIT, /* stopped at its turn limit: what it has is a part */
	AGENT_FAILED,     /* the API, the disk, or an answer without text */
	AGENT_REFUSED,    /* the model would not */
	AGENT_BUDGET,     /* nothing was left to spend */
	AGENT_KILLED,     /* somebody stopped it */
	AGENT_SUSPENDED,  /* its session was closed: it goes on when that is resumed, and has no end on disk */
};

struct end_words {
	const char *state;   /* in our own files and events */
	const char *status;  /* of a notification: completed, failed or killed */
	const char *summary; /* behind: Agent "DESCRIPTION" */
	bool is_error;       /* of the result of a call that waited */
	bool has_report;     /* what it said counts, if only as a part */
};

const struct end_words *end_words(enum end_state state);
enum end_state end_state_of(const struct query *q);      /* of a turn that is over */
void end_reason(struct buf *out, const struct query *q); /* why a turn failed; nothing if it did not */
bool end_state_parse(struct str name, enum end_state *ret_state);
