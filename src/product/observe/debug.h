/* SPDX-License-Identifier: MIT
 * debug.h - the debug log (options debug and debug-file). A line is
 *
 *     2026-01-31T12:00:00.000Z [api] main: retry 529 overloaded_error: ...
 *
 * Subjects: session, api, tools, permission, hooks, mcp, agents, plugins, error. */
#pragma once
#include "defs/policy/services.h"

/* Installed if the option debug or debug-file is set. debug is a comma-separated list of subjects; '!' excludes one;
 * "": all. debug-file NULL: standard error; otherwise lines are appended to that file. */
int debug_observe(struct services *sv, struct err *err);
