/* SPDX-License-Identifier: MIT
 * observe.h - the observers of a runtime. Each is installed once, before the first session. */
#pragma once
#include "product/session/session.h"

/* If the option trace names a file, which is replaced. */
int trace_observe(struct services *sv, struct err *err);
/* If the option debug or debug-file is set. debug is a comma-separated list of subjects (session, api, tools, permission, hooks,
 * mcp, agents, plugins, error); '!' excludes one; "": all. debug-file NULL: standard error; otherwise lines are appended to that
 * file. */
int debug_observe(struct services *sv, struct err *err);
/* Opens a control socket (control.h) at the first child of a session. A failure is reported as an event; the session continues
 * without a socket. */
void control_observe(struct services *sv);
/* Opens the socket for messages of other sessions with the first turn, where the settings or a person want it. */
void peers_observe(struct services *sv);
