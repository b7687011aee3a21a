/* SPDX-License-Identifier: MIT
 * todo_hook.h - hooks look at an item of the task list when it is made, and before it counts as completed. */
#pragma once
#include "core/tool/tool.h"

/* Borrowed until return */
struct todo_words {
	const char *id, *subject, *description;
};

/* id: as it was shown, in the call's arena. refusal: why it must not be; p == NULL: it may. Borrowed until return. */
typedef void todo_seen_fn(struct tool_call *call, const char *id, struct str refusal);

/* then comes exactly once: at once where no hook wants to see it, else later. Uses call->state. */
void todo_show(struct tool_call *call, bool completed, const struct todo_words *words, todo_seen_fn *then);
void todo_show_cancel(struct tool_call *call); /* a tool's .cancel */
