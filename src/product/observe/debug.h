/* SPDX-License-Identifier: MIT
 * debug.h - a log of what happens, for whoever looks for a fault (options debug and debug-file). A line is
 *
 *     2026-01-31T12:00:00.000Z [api] main: retry 529 overloaded_error: ...
 *
 * Subjects: session, api, tools, permission, hooks, mcp, agents, error. */
#pragma once
#include "defs/policy/services.h"

/* If the options debug or debug-file want it. debug is a list of subjects with commas between, each with '!' before it if it is
 * the one to leave out; "": all. debug-file NULL: standard error; otherwise lines are added to that file. */
int debug_observe(struct services *sv, struct err *err);
