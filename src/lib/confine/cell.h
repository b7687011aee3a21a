/* SPDX-License-Identifier: MIT
 * cell.h - namespaces that live as long as a session: user, processes, network, IPC and mounts. Commands enter it
 * (confine.h) and each gets a view of files of its own on top. In a cell all of the file system is read-only, /proc shows its
 * own processes, /dev has no devices but the plain ones, /run is empty, and the network is a loopback without a way out.
 *
 * Its process 1 does nothing but wait for our end: then it ends, and the kernel ends all that is in the cell. */
#pragma once
#include <sys/types.h>
#include "lib/base/base.h"

struct cell;

enum { CELL_PROXY_PORT = 61080, CELL_PORTS_MAX = 24, CELL_DEVICES_MAX = 32, CELL_SPARES_MAX = 16 };
#define CELL_NOBODY ((uid_t)4294967294U) /* the user that no process of a cell is, nor has power over */

enum cell_kind {
	CELL_WHOLE,
	CELL_VIEW, /* only the read-only view of files: network, processes, /dev and /run are those outside */
};

/* Borrowed until return */
struct cell_options {
	enum cell_kind kind;
	const uint16_t
		*ports; /* TCP ports of all addresses inside that are to be served outside, ending with 0; NULL: none */
	const char *const *
		devices; /* files and directories of /dev that are there inside too, at most CELL_DEVICES_MAX; NULL: none */
	bool keep_proc; /* where /proc cannot be mounted: the one outside, read-only */
	bool spares;    /* TCP sockets of the inside are made, for connections from outside */
	bool own_proc; /* files of processes in /proc are writable: user namespaces of the inside map their ids there */
};
/* Returns owned. -ERR_LIMIT: the kernel refuses, and err names the step. It takes some milliseconds. */
int cell_new(const struct cell_options *options, struct cell **ret_cell, struct err *err);
/* Ends what still runs in it, and waits for process 1, 2 s at most. reap waits for children of ours that were in it, without blocking;
 * NULL: there are none. */
void cell_free(struct cell *cell, void (*reap)(void *data), void *data);
/* Sockets of the inside, to be served outside */
enum cell_socket {
	CELL_SOCKET_PROXY, /* listens on 127.0.0.1:CELL_PROXY_PORT */
	CELL_SOCKET_DIAG,  /* netlink: knows which UNIX sockets are bound there */
	CELL_SOCKET_DNS,   /* port 53 of 127.0.0.1: 0 UDP, 1 TCP; of [::1]: 2 UDP, 3 TCP */
	/* Listens on one of the ports, for all addresses: every address leads to the inside's own loopback, and getsockname(2) says which
	 * one was meant. A port that cannot be had is -1 and not the last. */
	CELL_SOCKET_PORT,
	CELL_SOCKET_SPARE, /* not connected */
};
int cell_fd(const struct cell *cell, enum cell_socket kind, size_t n); /* borrowed; -1: there is none, as in a view */
/* Paths that lead us to /proc, /dev/pts and /dev/shm of the inside: these are others than ours. NULL: a view. */
enum cell_dir { CELL_IN_PROC, CELL_IN_PTS, CELL_IN_SHM };
const char *cell_dir(const struct cell *cell, enum cell_dir dir);
/* What hidden places show inside. */
#define CELL_EMPTY_FILE "/dev/.empty"
#define CELL_EMPTY_DIR  "/dev/.empty.d"
/* In a child, by system calls alone: its namespaces, and one of its own for mounts. -1: errno */
int cell_enter(const struct cell *cell);
