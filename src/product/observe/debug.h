/* SPDX-License-Identifier: MIT
 * debug.h - a log of what happens, for whoever looks for a fault (options debug and debug-file). A line is
 *
 *     2026-01-31T12:00:00.000Z [api] main: retry 529 overloaded_error: ...
 *
 * Subjects: session, api, tools, permission, hooks, mcp, agents, error. Without the options there is no log, and each function
 * here returns at once for NULL. */
#pragma once
#include "core/message/event.h"

struct debug_log;

/* subjects: a comma list, each with '!' before it if it is the one to leave out; "": all. path NULL: standard error; otherwise
 * lines are added to that file. */
int debug_new(const char *subjects, const char *path, struct debug_log **ret_log, struct err *err);
void debug_free(struct debug_log *log);
void debug_event(struct debug_log *log, const struct event *event);
void debug_say(struct debug_log *log, const char *subject, const char *fmt, ...) printf_like(3, 4);
