/* SPDX-License-Identifier: MIT
 * end_state.c - how a child ended. */
#include "agents/agent/end_state.h"

static const struct end_words words[] = {
	[AGENT_RUNNING] = { "running", "running", "is running", false, false },
	[AGENT_COMPLETED] = { "completed", "completed", "finished", false, true },
	[AGENT_TURN_LIMIT] = { "turn_limit", "completed", "stopped at its turn limit", false, true },
	[AGENT_FAILED] = { "failed", "failed", "failed", true, true },
	[AGENT_REFUSED] = { "refused", "failed", "was refused an answer by the model", true, true },
	[AGENT_BUDGET] = { "budget", "failed", "stopped because the budget is used up", true, true },
	[AGENT_KILLED] = { "killed", "killed", "was stopped", true, false },
	[AGENT_SUSPENDED] = { "suspended", "running", "is suspended", true, false },
};

const struct end_words *end_words(enum end_state state)
{
	return &words[state];
}

enum end_state end_state_of(const struct query *q)
{
	static const enum end_state states[] = {
		[QUERY_RUNNING] = AGENT_RUNNING,      [QUERY_DONE] = AGENT_COMPLETED,
		[QUERY_MAX_TURNS] = AGENT_TURN_LIMIT, [QUERY_MODEL_ERROR] = AGENT_FAILED,
		[QUERY_REFUSED] = AGENT_REFUSED,      [QUERY_EMPTY] = AGENT_FAILED,
		[QUERY_CUT_OFF] = AGENT_FAILED,       [QUERY_CONTEXT_FULL] = AGENT_FAILED,
		[QUERY_CANCELLED] = AGENT_KILLED,     [QUERY_HALTED] = AGENT_COMPLETED,
		[QUERY_BLOCKED] = AGENT_FAILED,       [QUERY_REJECTED] = AGENT_FAILED,
		[QUERY_BUDGET] = AGENT_BUDGET,        [QUERY_DISK_ERROR] = AGENT_FAILED,
	};

	return states[q->end];
}

void end_reason(struct buf *out, const struct query *q)
{
	static const char *const reasons[] = {
		[QUERY_MODEL_ERROR] = "an API error: ",
		[QUERY_EMPTY] = "an empty answer of the model",
		[QUERY_CUT_OFF] = "an answer that was cut off at the output limit",
		[QUERY_CONTEXT_FULL] = "a conversation that no longer fits into the model's context",
		[QUERY_DISK_ERROR] = "a transcript that cannot be written: ",
	};

	if (q->end == QUERY_DONE)
		return;
	if ((size_t)q->end < COUNT_OF(reasons) && reasons[q->end])
		buf_addstr(out, reasons[q->end]);
	buf_addstr(out, q->failure.text);
}

bool end_state_parse(struct str name, enum end_state *ret_state)
{
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!str_is(name, words[i].state))
			continue;
		*ret_state = (enum end_state)i;
		return true;
	}
	return false;
}
