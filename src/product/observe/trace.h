/* SPDX-License-Identifier: MIT
 * trace.h - events as a trace file: the array form of the Trace Event Format, which ui.perfetto.dev and chrome://tracing
 * open. A process is a session, a thread an agent; a slice is a turn, the life of a child, a wait for the model or a tool;
 * instants are what else is of interest, and a counter shows how many children are alive. The array is never torn inside
 * an element: of a run that was killed only its end is missing, which readers accept. */
#pragma once
#include "lib/io/loop.h"
#include "core/message/event.h"

struct trace;

/* Replaces the file. Borrows loop until trace_free(). */
int trace_new(struct loop *loop, const char *path, struct trace **ret_trace, struct err *err);
void trace_event(struct trace *t, const char *session, const struct event *event);
/* Writes what there is. -ERR_IO, once: the file cannot be written, and nothing more will be. */
int trace_flush(struct trace *t, struct err *err);
void trace_free(struct trace *t); /* writes the end; NULL is nothing */
