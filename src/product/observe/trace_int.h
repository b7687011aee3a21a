/* SPDX-License-Identifier: MIT
 * trace_int.h - between trace.c (what is shown) and trace_write.c (how it is written). */
#pragma once
#include "product/observe/trace.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"

enum { MOST_LANES = 64 };

/* An agent */
struct track {
	unsigned pid, number;
	char *title;
	bool living, waiting; /* slices that are open on its own thread */
	char **lanes;         /* id of the call that is shown there; NULL: free */
	unsigned lane_count, busy;
};

struct trace {
	struct observer observer; /* first */
	struct loop *loop;
	int fd;
	struct kick kick; /* what a loop turn adds is written at its end, in one write */
	struct buf out;
	uint64_t started_ns;
	struct map sessions; /* id -> number */
	struct map tracks;   /* session/agent -> struct track */
	unsigned *alive;     /* children of each session, by its number - 1 */
	unsigned alive_count;
	unsigned flows;
	bool begun;         /* the array has an element */
	struct err failure; /* the first one; nothing is written after it */
	bool told;          /* somebody knows of it */
};

static inline unsigned track_tid(const struct track *k, unsigned lane)
{
	return k->number * MOST_LANES + lane;
}

void trace_writer_init(struct trace *t);
int trace_flush(struct trace *t,
		struct err *err);   /* writes what there is; -ERR_IO, once: nothing more will be written */
void trace_finish(struct trace *t); /* the end of the array */
unsigned *trace_alive(struct trace *t, unsigned pid);

void trace_name(struct trace *t, const char *what, unsigned pid, unsigned tid, const char *name);
void trace_order(struct trace *t, unsigned pid, unsigned tid);
/* text: what it does; may be empty */
void trace_begin(struct trace *t, const struct track *k, unsigned lane, const char *category, const char *name,
		 struct str text);
void trace_end(struct trace *t, const struct track *k, unsigned lane, const char *state); /* state may be NULL */
void trace_instant(struct trace *t, const struct track *k, const char *name, const struct event *event);
void trace_count(struct trace *t, unsigned pid, unsigned alive);
void trace_flow(struct trace *t, const struct track *from, const struct track *to); /* an arrow */
