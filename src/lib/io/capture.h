/* SPDX-License-Identifier: MIT
 * capture.h - a short program: what it prints is kept, and its time and its output have limits. */
#pragma once
#include "lib/io/spawn.h"

enum { CAPTURE_ERRORS = 64 << 10 }; /* of what it prints as errors; the rest is dropped */

/* Part of its owner. Zeroed before the first run; may be run again when it is over. The buffers are the owner's to release. */
struct capture {
	size_t most;                     /* bytes of output */
	bool cuts;                       /* it may print more, which is dropped */
	int signal;                      /* that ends it when a limit is reached; 0: SIGTERM */
	void (*done)(struct capture *c); /* once for each start that returned 0, later */

	struct child *child;    /* NULL: it does not run */
	struct timer limit;     /* its time */
	struct buf out, errors; /* of the last run, as all that follows */
	int status;             /* as of waitpid */
	pid_t pid;
	bool late, flooded; /* it was ended because of its time, of its output */
};
int capture_start(struct capture *c, struct spawner *s, const struct child_options *options, uint64_t limit_ms,
		  struct err *err);
