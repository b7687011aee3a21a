/* SPDX-License-Identifier: MIT
 * state_int.h - between the queue (state.c) and the database (state_db.c). */
#pragma once
#include <sqlite3.h>
#include "lib/base/map.h"
#include "core/store/state.h"

/* The writer's connection; belongs to its thread. */
struct state_db {
	char *path; /* owned */
	sqlite3 *sqlite;
	sqlite3_stmt *put;
	struct err moved; /* kind 0, or: a damaged file was moved aside */
};

char *state_db_path(const char *config_dir); /* returns owned */
/* rows: key -> struct task_row. All of them or none. -ERR_IO: may work later; -ERR_DENIED: never. */
int state_db_commit(struct state_db *db, const struct map *rows, struct err *err);
void state_db_release(struct state_db *db);

/* A copy with its texts in one block, which free() frees. */
struct task_row *task_row_copy(const struct task_row *row); /* returns owned */
