/* SPDX-License-Identifier: MIT
 * todo.h - what the tools of the task list share; only for this room. */
#pragma once
#include "lib/json/json_write.h"
#include "core/tool/tool.h"
#include "tools/todo_list.h"

/* The list of the call's session. False: the call has been answered. */
bool todo_open(struct tool_call *call, struct todo_list *l, bool to_change);
/* The item as an object; whole: with what only the file has. */
void todo_put(struct json_out *w, const struct todo *t, bool whole);
/* "#1, #3": those of them that are open. Nothing if none is. */
void todo_add_open(struct buf *out, const struct todo_list *l, const struct todo_ids *ids);
/* What is open in both lists of this agent, a line each (todo_recall.c). */
void todo_recall(const struct tool_env *env, struct buf *out);
