/* SPDX-License-Identifier: MIT
 * cell_int.h - shared by cell.c, which makes a cell, and confine.c, which enters it. */
#pragma once
#include <sys/types.h>
#include "lib/io/cell.h"

/* In this order they are entered: the first gives the right to enter the others. */
enum cell_namespace { CELL_USER, CELL_PID, CELL_NET, CELL_IPC, CELL_MOUNT, CELL_NAMESPACES };

#define CELL_EMPTY_FILE "/dev/.empty"
#define CELL_EMPTY_DIR  "/dev/.empty.d"

/* Sent to us by process 1: what listens, and directories that have other inodes inside than outside */
enum cell_gift { CELL_PROXY, CELL_PROC_DIR, CELL_SHM_DIR, CELL_GIFTS };

struct cell {
	pid_t init;
	int life; /* our end of the pipe that process 1 reads */
	int gifts[CELL_GIFTS];
	char paths[CELL_GIFTS][32];
	int namespaces[CELL_NAMESPACES];
};
