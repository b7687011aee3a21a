/* SPDX-License-Identifier: MIT
 * tool_scheduler.c - see tool_scheduler.h. */
#include "core/tool/tool_scheduler.h"

bool tool_scheduler_pass(struct tool_scheduler *pass, const struct tool_call *call)
{
	bool shares = call->flags & (TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_DELEGATES);
	bool delegates = call->flags & TOOL_DELEGATES;
	bool may_run = shares ? !pass->exclusive_ahead : pass->ahead == 0;

	if ((call->flags & TOOL_AFTER_ANSWER) && pass->in_answer)
		may_run = false;
	if (pass->limit && pass->counted >= pass->limit && !delegates)
		may_run = false;
	pass->ahead++;
	pass->counted += !delegates;
	pass->exclusive_ahead |= !shares;
	return may_run && !call->started;
}

void tool_scheduler_cancel(struct tool_call *call)
{
	tool_call_cancel(call);
	if (!call->started)
		tool_call_start(call);
}
