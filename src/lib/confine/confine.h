/* SPDX-License-Identifier: MIT
 * confine.h - the kernel's confinement of one child, as a plan that the parent makes and the child carries out with plain
 * system calls before it runs anything (lib/io/spawn.c). There is no policy here. */
#pragma once
#include <linux/filter.h>
#include "lib/base/base.h"

struct cell;

enum confine_kind {
	CONFINE_WRITABLE,  /* a directory or file of the cell's read-only view */
	CONFINE_READ_ONLY, /* taken out of what is writable; its parents cannot be renamed away */
	CONFINE_HIDDEN,    /* an empty place stands there, which cannot be opened */
	CONFINE_EMPTIED,   /* a directory that shows nothing but what later CONFINE_BACKs bring back */
	CONFINE_BACK,
};

struct confine_mount {
	enum confine_kind kind;
	bool is_dir;
	const char *path;
};

/* All borrowed until spawn_start returns. No path has a link in it: one that is found there fails the start. */
struct confine {
	int landlock_fd;                  /* 0: none; beside the one of child_options */
	const struct sock_fprog *filter;  /* NULL: none */
	int listener_to;                  /* > 0: the filter supervises, and its listener is sent to this socket */
	const struct cell *cell;          /* NULL: no namespaces, and no mounts */
	const struct confine_mount *list; /* in this order: a deeper one comes later */
	size_t count;
	int *trees; /* room for a descriptor of each CONFINE_BACK, for the child */
	/* NULL: none. This directory is covered by another, which is writable, and is itself seen, read-only, in a third. All are
	 * there; the plan must not name them. */
	const char *covered, *cover, *covered_at;
	/* What stands in hidden places; NULL: the cell's own, which root of the cell can still open, and a view does not have. */
	const char *empty_file, *empty_dir;
	bool keep_capabilities; /* root of the cell may still use files of others in the writable places */
	bool no_cores;
};

/* Carried out in the child. All return 0, or -1 with errno; ret_at is the mount that failed. */
int confine_enter_cell(const struct confine *c, size_t *ret_at);
int confine_restrict(const struct confine *c);
