/* SPDX-License-Identifier: MIT
 * trace.h - events as a trace file: the array form of the Trace Event Format, which ui.perfetto.dev and
 * chrome://tracing open. A process is a session, a thread an agent; a slice is a turn, the life of a child, a model
 * request or a tool call; instants mark other events, and a counter shows the number of live children. Elements are
 * written whole: a killed run lacks only the closing bracket, which readers accept. */
#pragma once
#include "product/session/session.h"

/* Installed if the option trace names a file, which is replaced. */
int trace_observe(struct services *sv, struct err *err);
