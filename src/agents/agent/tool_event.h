/* SPDX-License-Identifier: MIT
 * tool_event.h - a tool call as hooks see it: paths of file tools are absolute, and a plan that stands in its file is there. */
#pragma once
#include "lib/json/json_write.h"
#include "agents/agent/agent.h"

/* Opens an object with tool_name and tool_input; the caller adds to it and closes it. */
void tool_event_open(struct json_out *w, struct agent *a, struct tool_call *call);
/* An input that a hook gave, which may have what only hooks see. False: it does not fit, and the call has been answered. */
bool tool_event_amend(struct tool_call *call, struct str json);
