/* SPDX-License-Identifier: MIT
 * state_int.h - the parts of the state database, for its own files: rows by table, the batch, the writer's connection. */
#pragma once
#include <sqlite3.h>
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "core/store/state.h"

enum { STATE_BUSY_MS = 1000 };

enum column_type {
	COLUMN_TEXT, /* const char * */
	COLUMN_INT,  /* int64_t */
	COLUMN_TIME, /* int64_t; 0 is NULL in the file */
	COLUMN_REAL, /* double */
};

struct column {
	const char *name;
	enum column_type type;
	size_t offset; /* in the row's struct */
};

/* One kind of write, and how its row lies in memory. The first key_count columns are texts and name the row: of
 * several writes with the same ones in a batch the last counts. */
struct row_kind {
	const char *table;
	const char *insert; /* "INSERT OR ...", NULL if sql is the whole statement */
	const char *sql;
	const struct column *columns;
	size_t column_count, key_count, row_size;
};

enum row_kind_id { ROW_TASK, ROW_NOTICE, ROW_DELIVERED, ROW_KIND_COUNT };
enum { ROW_COLUMNS_MAX = 32 };
extern const struct row_kind row_kinds[ROW_KIND_COUNT];

void row_write_sql(const struct row_kind *kind, struct buf *out);
void row_select_sql(const struct row_kind *kind, struct buf *out); /* up to the table's name */
void row_bind(const struct row_kind *kind, sqlite3_stmt *stmt, const void *row);
void row_read(const struct row_kind *kind, sqlite3_stmt *stmt, void *ret_row); /* texts die with the next step */

/* Brings the file to our version; inside a write transaction. -ERR_DENIED: it is newer. */
int schema_ensure(sqlite3 *db, const char *path, struct err *err);
/* 0 is an empty file. -ERR_DENIED: newer than ours. */
int schema_version(sqlite3 *db, const char *path, int *ret_version, struct err *err);

/* "VERB PATH: why". -ERR_PARSE for a damaged file, with the advice that it can be removed. */
int sqlite_error(sqlite3 *db, int status, const char *verb, const char *path, struct err *err);
char *state_db_path(const char *config_dir); /* returns owned */

static inline void cleanup_sqlite(sqlite3 **db)
{
	sqlite3_close(*db);
}
static inline void cleanup_stmt(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}
#define AUTO_SQLITE CLEANUP(cleanup_sqlite)
#define AUTO_STMT   CLEANUP(cleanup_stmt)

/* A queued write: the row and its texts in one block. */
struct queued {
	enum row_kind_id kind;
	size_t cap; /* bytes behind the struct */
	_Alignas(max_align_t) char row[];
};

struct batch {
	struct map rows; /* key -> struct queued */
	size_t bytes;
	struct buf key; /* scratch */
};

void batch_put(struct batch *b, enum row_kind_id kind, const void *row); /* copies */
void batch_merge(struct batch *b, struct batch *newer);                  /* newer is empty afterwards */
void batch_release(struct batch *b);

/* The writer's connection; belongs to its thread. */
struct state_db {
	char *path; /* owned */
	sqlite3 *sqlite;
	sqlite3_stmt *put[ROW_KIND_COUNT];
	struct err moved; /* kind 0, or a file was moved aside that nobody has been told of */
};

/* All rows or none. -ERR_IO: may work later; -ERR_DENIED: never. */
int state_db_commit(struct state_db *db, const struct batch *b, struct err *err);
void state_db_release(struct state_db *db);

int64_t process_start(int64_t pid); /* in clock ticks after boot; 0: no such process */
