/* SPDX-License-Identifier: MIT
 * task.c - what the tools that speak of tasks have in common. */
#include "tools/task.h"

void task_add_running(struct buf *out, const struct agent_tree *t)
{
	bool any = false;

	for (const struct agent *s = t->alive; s; s = s->next) {
		buf_addf(out, "%s%s",
			 any ? ", " : " Running agents: ", s->record->name ? s->record->name : s->record->id);
		any = true;
	}
}
