/* SPDX-License-Identifier: MIT
 * tool_scheduler.h - which of several calls may run at the same time: those that only read, or wait for an agent, run beside each
 * other; any other waits for all before it and holds back all behind it.
 *
 * A scheduler is one pass over the calls that have not ended, in their order:
 *
 *     struct tool_scheduler pass = { .limit = 10 };
 *     for each call that has not ended
 *             if (tool_scheduler_pass(&pass, call))
 *                     tool_call_start(call); */
#pragma once
#include "core/tool/tool.h"

struct tool_scheduler {
	unsigned limit;       /* of calls that run; those that wait for agents do not count. 0: none */
	bool in_answer;       /* the answer that makes the calls still comes: those with TOOL_AFTER_ANSWER wait */
	unsigned ahead;       /* calls in front of the next one */
	unsigned counted;     /* those of them that count against the limit */
	bool exclusive_ahead; /* one of them runs alone */
};

/* Counts the call. True: it has not started, and now it may. */
bool tool_scheduler_pass(struct tool_scheduler *pass, const struct tool_call *call);
/* A request, as tool_call_cancel(). One that has not started ends without having run; its done comes too. */
void tool_scheduler_cancel(struct tool_call *call);
