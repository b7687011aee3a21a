/* SPDX-License-Identifier: MIT
 * task_json.h - a task row as JSON: the format of the control socket and of `cadre tasks --json`. */
#pragma once
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "core/store/state.h"

void task_json_write(struct json_out *w, const struct task_row *row); /* an object */
/* Texts go into the arena; missing members are "" or 0. */
void task_json_read(const struct json *object, struct arena *a, struct task_row *ret_row);
int64_t task_row_tokens(const struct task_row *row);
/* Until its end; until now while it runs; until its last update if it was interrupted. */
int64_t task_row_duration_ms(const struct task_row *row);
