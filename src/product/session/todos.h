/* SPDX-License-Identifier: MIT
 * todos.h - who is offered a task list. */
#pragma once
#include "product/session/session.h"

/* Of a tool with TOOL_TASK_LIST or TOOL_TODOS: CLAUDE_CODE_ENABLE_TASKS=0 says TodoWrite in place of the task list;
 * CLAUDE_CODE_ENABLE_TODO_TOOLS=1 offers it to models that plan without one, as an allow rule for the tool does. */
bool session_offers_list(const struct cadre_session *s, const struct tool *tool);
