/* SPDX-License-Identifier: MIT
 * task_json.h - an agent's life as JSON: the one form for the socket of a session, for `cadre tasks --json` and back. */
#pragma once
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "core/store/state.h"

void task_json_write(struct json_out *w, const struct task_row *row); /* an object */
/* Texts go into the arena; what is missing is "" or 0. */
void task_json_read(const struct json *object, struct arena *a, struct task_row *ret_row);
int64_t task_row_tokens(const struct task_row *row);
/* Until its end; now if it runs; the last that was heard of it if it was cut off. */
int64_t task_row_duration_ms(const struct task_row *row);
