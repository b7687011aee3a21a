/* SPDX-License-Identifier: MIT
 * state_int.h - between the queue (state.c) and the database (state_db.c). */
#pragma once
#include <sqlite3.h>
#include "lib/base/map.h"
#include "core/store/state.h"

/* SQLite is loaded with the first connection (lib/base/library.h): most runs have no children and never need it. */
#define SQLITE_FUNCTIONS(X)                     \
	X(sqlite3_open_v2, open)                \
	X(sqlite3_close, close)                 \
	X(sqlite3_exec, exec)                   \
	X(sqlite3_busy_timeout, busy_timeout)   \
	X(sqlite3_db_config, db_config)         \
	X(sqlite3_file_control, file_control)   \
	X(sqlite3_errmsg, errmsg)               \
	X(sqlite3_errstr, errstr)               \
	X(sqlite3_prepare_v3, prepare)          \
	X(sqlite3_step, step)                   \
	X(sqlite3_reset, reset)                 \
	X(sqlite3_finalize, finalize)           \
	X(sqlite3_bind_text, bind_text)         \
	X(sqlite3_bind_double, bind_double)     \
	X(sqlite3_bind_int64, bind_int64)       \
	X(sqlite3_bind_null, bind_null)         \
	X(sqlite3_column_text, column_text)     \
	X(sqlite3_column_double, column_double) \
	X(sqlite3_column_int64, column_int64)
#define SQLITE_MEMBER(name, member) __typeof__(name) *member;

/* A connection; belongs to its thread. */
struct state_db {
	char *path; /* owned */
	struct {
		SQLITE_FUNCTIONS(SQLITE_MEMBER)
	} lib;              /* set while sqlite is */
	sqlite3 *sqlite;    /* NULL: closed */
	sqlite3_stmt *stmt; /* writes a row, or reads all; NULL: not prepared */
	struct err moved;   /* kind 0, or: a damaged file was moved aside */
};

char *state_db_path(const char *config_dir); /* returns owned */
/* rows: key -> struct task_row. All of them or none. -ERR_IO: may work later; never: -ERR_DENIED, -ERR_NOT_FOUND (no SQLite). */
int state_db_commit(struct state_db *db, const struct map *rows, struct err *err);
void state_db_release(struct state_db *db);

/* A copy with its texts in one block, which free() frees. */
struct task_row *task_row_copy(const struct task_row *row); /* returns owned */
