/* SPDX-License-Identifier: MIT
 * trace.h - events as a trace file: the array form of the Trace Event Format, which ui.perfetto.dev and chrome://tracing
 * open. A process is a session, a thread an agent; a slice is a turn, the life of a child, a wait for the model or a tool;
 * instants are what else is of interest, and a counter shows how many children are alive. The array is never torn inside
 * an element: of a run that was killed only its end is missing, which readers accept. */
#pragma once
#include "product/session/session.h"

/* If the option trace names a file, which is replaced. */
int trace_observe(struct services *sv, struct err *err);
