/* SPDX-License-Identifier: MIT
 * git_clone.h - gets a repository as a child process: its newest commit, no hooks, no questions, no programs of the address's
 * choice, at most ten minutes. */
#pragma once
#include "io/spawn.h"
#include "plugin/marketplace.h"

/* The owner zeroes it, sets loop, done and data, and keeps it until done. */
struct git_clone {
	struct loop *loop;
	void (*done)(struct git_clone *g); /* once, never from inside git_clone_start */
	void *data;
	/* the result */
	int status; /* as of waitpid */
	bool timed_out;
	struct buf said; /* what git printed */
	/* its own */
	struct child *child;
	struct timer cap;
	struct kick kick;
};

/* dir must not be there, or be empty. */
int git_clone_start(struct git_clone *g, struct spawner *spawner, const struct git_source *source, const char *dir,
		    struct err *err);
int git_clone_result(const struct git_clone *g, const struct git_source *source, struct err *err);
void git_clone_release(struct git_clone *g); /* after done */
