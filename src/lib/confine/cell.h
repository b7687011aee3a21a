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
/* A socket that listens on 127.0.0.1:CELL_PROXY_PORT inside, to be served outside. Borrowed; -1: a view. */
int cell_proxy_fd(const struct cell *cell);
/* The n-th socket that listens on one of the ports, for all addresses: every address leads to the inside's own loopback, and
 * getsockname(2) says which one was meant. Borrowed; -1: there is none. A port that cannot be had is -1 and not the last. */
int cell_port_fd(const struct cell *cell, size_t n);
/* The n-th spare socket, not connected. Borrowed; -1: there is none. */
int cell_spare_fd(const struct cell *cell, size_t n);
/* type: SOCK_DGRAM or SOCK_STREAM; 127.0.0.1:53, or [::1]:53 if six. Borrowed; -1: none */
int cell_dns_fd(const struct cell *cell, int type, bool six);
/* A netlink socket of the inside, that knows which UNIX sockets are bound there. Borrowed; -1: a view. */
int cell_diag_fd(const struct cell *cell);
/* Paths that lead us to /proc, /dev/pts and /dev/shm of the inside: these are others than ours. NULL: a view. */
enum cell_dir { CELL_IN_PROC, CELL_IN_PTS, CELL_IN_SHM };
const char *cell_dir(const struct cell *cell, enum cell_dir dir);
