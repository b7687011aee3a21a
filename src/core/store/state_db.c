/* SPDX-License-Identifier: MIT
 * state_db.c - the file of the state database: its columns and versions, one transaction for each batch of rows, a damaged file
 * moved out of the way, and the reader. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "lib/base/id.h"
#include "lib/base/library.h"
#include "lib/io/file.h"
#include "core/store/state_int.h"

enum { BUSY_MS = 1000 };

#define SYMBOL(name, member) { #name, offsetof(struct state_db, lib.member) },
static const struct library_symbol symbols[] = { SQLITE_FUNCTIONS(SYMBOL) };
static const char *const files[] = { "libsqlite3.so.0", NULL };
static const struct library library = { files, "libsqlite3-0", symbols, COUNT_OF(symbols) };

enum column_type {
	COLUMN_TEXT, /* const char * */
	COLUMN_INT,  /* int64_t */
	COLUMN_TIME, /* int64_t; 0 is NULL in the file */
	COLUMN_REAL, /* double */
};

/* Statements, their parameters and their results all come from this table. */
#define COLUMN(name, type)                                   \
	{                                                    \
#name, type, offsetof(struct task_row, name) \
	}
static const struct column {
	const char *name;
	enum column_type type;
	size_t offset;
} columns[] = {
	COLUMN(session, COLUMN_TEXT),
	COLUMN(agent, COLUMN_TEXT),
	COLUMN(parent, COLUMN_TEXT),
	COLUMN(tool_use_id, COLUMN_TEXT),
	COLUMN(type, COLUMN_TEXT),
	COLUMN(name, COLUMN_TEXT),
	COLUMN(description, COLUMN_TEXT),
	COLUMN(model, COLUMN_TEXT),
	COLUMN(depth, COLUMN_INT),
	COLUMN(background, COLUMN_INT),
	COLUMN(state, COLUMN_TEXT),
	COLUMN(started_ms, COLUMN_TIME),
	COLUMN(ended_ms, COLUMN_TIME),
	COLUMN(updated_ms, COLUMN_TIME),
	COLUMN(turns, COLUMN_INT),
	COLUMN(tool_uses, COLUMN_INT),
	COLUMN(input_tokens, COLUMN_INT),
	COLUMN(output_tokens, COLUMN_INT),
	COLUMN(cache_read_tokens, COLUMN_INT),
	COLUMN(cache_write_tokens, COLUMN_INT),
	COLUMN(cost_usd, COLUMN_REAL),
	COLUMN(last_tool, COLUMN_TEXT),
	COLUMN(worktree, COLUMN_TEXT),
	COLUMN(branch, COLUMN_TEXT),
	COLUMN(transcript, COLUMN_TEXT),
	COLUMN(verdict, COLUMN_TEXT),
	COLUMN(pid, COLUMN_INT),
	COLUMN(pid_start, COLUMN_INT),
};

static void add_column_names(struct buf *out)
{
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		buf_addf(out, "%s%s", i ? "," : "", columns[i].name);
}

static const char *text_at(const struct task_row *row, const struct column *c)
{
	const char *text = *(const char *const *)((const char *)row + c->offset);

	return text ? text : "";
}

struct task_row *task_row_copy(const struct task_row *row)
{
	size_t size = sizeof *row;

	for (size_t i = 0; i < COUNT_OF(columns); i++)
		if (columns[i].type == COLUMN_TEXT)
			size += strlen(text_at(row, &columns[i])) + 1;
	struct task_row *copy = xmalloc(size);
	*copy = *row;
	char *at = (char *)(copy + 1);
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		if (columns[i].type != COLUMN_TEXT)
			continue;
		const char *text = text_at(row, &columns[i]);
		size_t n = strlen(text) + 1;
		*(const char **)(void *)((char *)copy + columns[i].offset) = memcpy(at, text, n);
		at += n;
	}
	return copy;
}

static void bind_row(const struct state_db *db, const struct task_row *row)
{
	for (int i = 0; i < (int)COUNT_OF(columns); i++) {
		const void *member = (const char *)row + columns[i].offset;
		if (columns[i].type == COLUMN_TEXT)
			db->lib.bind_text(db->stmt, i + 1, text_at(row, &columns[i]), -1, SQLITE_STATIC);
		else if (columns[i].type == COLUMN_REAL)
			db->lib.bind_double(db->stmt, i + 1, *(const double *)member);
		else if (columns[i].type == COLUMN_INT || *(const int64_t *)member)
			db->lib.bind_int64(db->stmt, i + 1, *(const int64_t *)member);
		else
			db->lib.bind_null(db->stmt, i + 1);
	}
}

/* The texts are valid until the next step of the statement. */
static struct task_row read_row(const struct state_db *db)
{
	struct task_row row = { 0 };

	for (int i = 0; i < (int)COUNT_OF(columns); i++) {
		void *member = (char *)&row + columns[i].offset;
		if (columns[i].type == COLUMN_TEXT) {
			const char *text = (const char *)db->lib.column_text(db->stmt, i);
			*(const char **)member = text ? text : "";
		} else if (columns[i].type == COLUMN_REAL) {
			*(double *)member = db->lib.column_double(db->stmt, i);
		} else {
			*(int64_t *)member = db->lib.column_int64(db->stmt, i);
		}
	}
	return row;
}

/* To change the schema: append a migration, never edit one (files that have seen it exist), and change the columns with it.
 * user_version is the number of migrations that a file has seen. */
static const char *const migrations[] = {
	"CREATE TABLE task ("
	" session TEXT NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL, tool_use_id TEXT NOT NULL,"
	" type TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL, model TEXT NOT NULL,"
	" depth INTEGER NOT NULL, background INTEGER NOT NULL, state TEXT NOT NULL,"
	" started_ms INTEGER, ended_ms INTEGER, updated_ms INTEGER,"
	" turns INTEGER NOT NULL, tool_uses INTEGER NOT NULL, input_tokens INTEGER NOT NULL,"
	" output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,"
	" cost_usd REAL NOT NULL, last_tool TEXT NOT NULL, worktree TEXT NOT NULL, branch TEXT NOT NULL,"
	" transcript TEXT NOT NULL, output TEXT NOT NULL, verdict TEXT NOT NULL,"
	" pid INTEGER NOT NULL, pid_start INTEGER NOT NULL,"
	" PRIMARY KEY (session, agent)) WITHOUT ROWID;",

	/* The first version wrote notices, and had a table for mail, which no program ever read. */
	"DROP TABLE IF EXISTS notice; DROP TABLE IF EXISTS mail; ALTER TABLE task DROP COLUMN output",
};

enum { OUR_VERSION = COUNT_OF(migrations) };

/* "VERB PATH: why". -ERR_PARSE for a damaged file, with the advice that it can be removed. */
static int sqlite_error(const struct state_db *db, int status, const char *verb, struct err *err)
{
	const char *why = db->sqlite ? db->lib.errmsg(db->sqlite) : db->lib.errstr(status);
	int primary = status & 0xff;

	if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT)
		return err_set(err, ERR_PARSE, "cannot %s %s: %s; it is only an index and can be removed", verb,
			       db->path, why);
	return err_set(err, ERR_IO, "cannot %s %s: %s", verb, db->path, why);
}

/* 0 is an empty file. -ERR_DENIED: newer than ours. */
static int read_version(const struct state_db *db, int *ret_version, struct err *err)
{
	sqlite3_stmt *stmt = NULL;

	int status = db->lib.prepare(db->sqlite, "PRAGMA user_version", -1, 0, &stmt, NULL);
	if (status == SQLITE_OK)
		status = db->lib.step(stmt);
	int rc = status == SQLITE_ROW ? 0 : sqlite_error(db, status, "read", err);
	int64_t version = rc == 0 ? db->lib.column_int64(stmt, 0) : 0;
	db->lib.finalize(stmt);
	if (rc == 0 && version > OUR_VERSION)
		return err_set(err, ERR_DENIED, "%s was made by a newer cadre (version %lld, known up to %d)", db->path,
			       (long long)version, OUR_VERSION);
	*ret_version = (int)MAX(version, INT64_C(0));
	return rc;
}

/* Brings the file to our version; inside a write transaction. */
static int db_migrate(const struct state_db *db, struct err *err)
{
	char set_version[64];
	int version;

	int rc = read_version(db, &version, err);
	if (rc < 0 || version == OUR_VERSION)
		return rc;
	snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", OUR_VERSION);
	for (int i = version; i <= OUR_VERSION; i++) {
		int status = db->lib.exec(db->sqlite, i < OUR_VERSION ? migrations[i] : set_version, NULL, NULL, NULL);
		if (status != SQLITE_OK)
			return sqlite_error(db, status, "make the tables of", err);
	}
	return 0;
}

char *state_db_path(const char *config_dir)
{
	struct buf path = { 0 };

	buf_addf(&path, "%s/cadre/state.db", config_dir);
	return buf_take(&path, NULL);
}

static void close_db(struct state_db *db)
{
	if (!db->sqlite)
		return;
	db->lib.finalize(TAKE(db->stmt));
	db->lib.close(TAKE(db->sqlite));
}

void state_db_release(struct state_db *db)
{
	close_db(db);
	free(db->path);
	*db = (struct state_db){ 0 };
}

static int run_sql(struct state_db *db, const char *sql, struct err *err)
{
	int status = db->lib.exec(db->sqlite, sql, NULL, NULL, NULL);

	return status == SQLITE_OK ? 0 : sqlite_error(db, status, "write", err);
}

/* A transaction of a killed process must be rolled back before the file can be read, and only a writable connection does
 * that; SQLite makes it read-only if the file cannot be written. A reader leaves the log to the writers. */
static int connect_db(struct state_db *db, bool reader, int *ret_version, struct err *err)
{
	int rc = library_load(&library, db, err);
	if (rc < 0)
		return rc;
	int status = db->lib.open(db->path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (status == SQLITE_OK && reader)
		status = db->lib.db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (status != SQLITE_OK)
		return sqlite_error(db, status, "open", err);
	db->lib.busy_timeout(db->sqlite, BUSY_MS);
	return read_version(db, ret_version, err);
}

static int open_writer(struct state_db *db, struct err *err)
{
	AUTO_FREE char *dir = xstrndup(db->path, (size_t)(strrchr(db->path, '/') - db->path));
	int version;

	int rc = file_make_dirs(dir, 0700, err);
	if (rc < 0)
		return rc;
	/* SQLite would make it readable for all users. An existing file is not even opened here: closing a descriptor
	 * drops all locks that this process has on the file, SQLite's too. */
	int fd = open(db->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot make %s: %m", db->path);
	if (fd >= 0)
		close(fd); /* before SQLite locks anything */
	/* The version comes first: turning on the WAL of a newer file would be a write to it. */
	rc = connect_db(db, false, &version, err);
	if (rc < 0)
		return rc;
	return run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
}

/* Is another file in our file's place, or none? */
static bool has_moved(const struct state_db *db)
{
	int moved = 0;

	return db->lib.file_control(db->sqlite, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

static int put_rows(struct state_db *db, const struct map *rows, struct err *err)
{
	int rc = db_migrate(db, err);
	int status = SQLITE_OK;

	if (rc == 0 && !db->stmt) {
		AUTO_BUF struct buf sql = { 0 };
		buf_addstr(&sql, "INSERT OR REPLACE INTO task (");
		add_column_names(&sql);
		buf_addstr(&sql, ") VALUES (?");
		for (size_t i = 1; i < COUNT_OF(columns); i++)
			buf_addstr(&sql, ",?");
		buf_addch(&sql, ')');
		status = db->lib.prepare(db->sqlite, sql.p, (int)sql.n, SQLITE_PREPARE_PERSISTENT, &db->stmt, NULL);
	}
	for (struct map_entry *e = map_next(rows, NULL); e && rc == 0 && status == SQLITE_OK; e = map_next(rows, e)) {
		bind_row(db, e->value);
		(void)db->lib.step(db->stmt);
		status = db->lib.reset(db->stmt); /* gives the failure of the step again */
	}
	return rc < 0 || status == SQLITE_OK ? rc : sqlite_error(db, status, "write", err);
}

static int try_commit(struct state_db *db, const struct map *rows, struct err *err)
{
	int rc = 0;

	if (db->sqlite && has_moved(db))
		close_db(db);
	if (!db->sqlite)
		rc = open_writer(db, err);
	if (rc == 0)
		rc = run_sql(db, "BEGIN IMMEDIATE", err);
	if (rc == 0)
		rc = put_rows(db, rows, err);
	return rc < 0 ? rc : run_sql(db, "COMMIT", err);
}

/* The WAL goes first: once the name of the database is free, another process may make a new one with a WAL of its
 * own, which must stay. Under the lock of the directory no second writer moves that new one. */
static int move_aside(struct state_db *db, struct err *err)
{
	AUTO_FREE char *dir = xstrndup(db->path, (size_t)(strrchr(db->path, '/') - db->path));
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static const char *const parts[] = { "-wal", "-shm", "" };
	char now[ISO_TIME_LEN + 1];

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_set(err, ERR_IO, "cannot lock %s: %m", dir);
	if (has_moved(db))
		return 0;
	id_iso_time(id_wall_ms(), now);
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		AUTO_BUF struct buf from = { 0 }, to = { 0 };
		buf_addf(&from, "%s%s", db->path, parts[i]);
		buf_addf(&to, "%s.broken-%s%s", db->path, now, parts[i]);
		if (rename(from.p, to.p) < 0 && !*parts[i])
			return err_set(err, ERR_IO, "cannot move the damaged %s aside: %m", db->path);
	}
	err_set(&db->moved, ERR_PARSE, "%s was damaged; it is %s.broken-%s now", db->path, strrchr(db->path, '/') + 1,
		now);
	return 0;
}

int state_db_commit(struct state_db *db, const struct map *rows, struct err *err)
{
	if (!rows->count)
		return 0;
	int rc = try_commit(db, rows, err);
	if (rc == -ERR_PARSE) {
		rc = move_aside(db, err);
		close_db(db);
		if (rc == 0)
			rc = try_commit(db, rows, err);
	}
	if (rc < 0)
		close_db(db); /* rolls back; a new connection has no memory of what failed */
	else if (err)
		err->kind = 0;
	return rc;
}

static int read_tasks(struct state_db *db, task_row_fn *fn, void *data, struct err *err)
{
	AUTO_BUF struct buf sql = { 0 };
	int version;

	int rc = connect_db(db, true, &version, err);
	if (rc < 0 || version == 0)
		return rc;
	buf_addstr(&sql, "SELECT ");
	add_column_names(&sql);
	buf_addstr(&sql, " FROM task ORDER BY started_ms, session, agent");
	int status = db->lib.prepare(db->sqlite, sql.p, (int)sql.n, 0, &db->stmt, NULL);
	if (status != SQLITE_OK)
		return sqlite_error(db, status, "read", err);
	while ((status = db->lib.step(db->stmt)) == SQLITE_ROW) {
		struct task_row row = read_row(db);
		fn(data, &row);
	}
	return status == SQLITE_DONE ? 0 : sqlite_error(db, status, "read", err);
}

int state_each_task(const char *config_dir, task_row_fn *fn, void *data, struct err *err)
{
	struct state_db db = { .path = state_db_path(config_dir) };
	struct stat st;
	int rc = 0;

	if (stat(db.path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		rc = read_tasks(&db, fn, data, err);
	state_db_release(&db);
	return rc;
}
