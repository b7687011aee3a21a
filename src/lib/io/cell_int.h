/* SPDX-License-Identifier: MIT
 * cell_int.h - shared by cell.c, which makes a cell, and confine.c, which enters it. */
#pragma once
#include <sys/types.h>
#include "lib/io/cell.h"

/* In this order they are entered: the first gives the right to enter the others. */
enum cell_namespace { CELL_USER, CELL_PID, CELL_NET, CELL_IPC, CELL_MOUNT, CELL_NAMESPACES };

#define CELL_EMPTY_FILE "/dev/.empty"
#define CELL_EMPTY_DIR  "/dev/.empty.d"

struct cell {
	pid_t init;
	int life; /* our end of the pipe that process 1 reads */
	int proxy;
	int namespaces[CELL_NAMESPACES];
};
