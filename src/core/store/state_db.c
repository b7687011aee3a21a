/* SPDX-License-Identifier: MIT
 * state_db.c - the writer's connection: open, one transaction per batch, and a damaged file out of the way. */
#include "core/store/state_int.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include "lib/base/id.h"
#include "lib/io/file.h"

char *state_db_path(const char *config_dir)
{
	struct buf path = { 0 };

	buf_addf(&path, "%s/cadre/state.db", config_dir);
	return buf_take(&path, NULL);
}

/* ---- opening ---- */

static void close_db(struct state_db *db)
{
	for (size_t i = 0; i < COUNT_OF(db->put); i++) {
		sqlite3_finalize(db->put[i]);
		db->put[i] = NULL;
	}
	sqlite3_close(db->sqlite);
	db->sqlite = NULL;
}

void state_db_release(struct state_db *db)
{
	close_db(db);
	free(db->path);
	*db = (struct state_db){ 0 };
}

/* SQLite would make it readable for everybody. An existing file is not even opened here: closing a descriptor drops all
 * locks that this process has on the file, SQLite's too. */
static int make_file(const char *path, struct err *err)
{
	AUTO_FREE char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	int rc = file_make_dirs(dir, 0700, err);
	if (rc < 0)
		return rc;
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot make %s: %m", path);
	return 0;
}

static int exec(struct state_db *db, const char *sql, struct err *err)
{
	int status = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);

	return status == SQLITE_OK ? 0 : sqlite_error(db->sqlite, status, "write", db->path, err);
}

/* The version comes first: turning on the WAL of a newer file would be a write to it. */
static int open_db(struct state_db *db, struct err *err)
{
	int version;

	int rc = make_file(db->path, err);
	if (rc < 0)
		return rc;
	int status = sqlite3_open_v2(db->path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (status != SQLITE_OK)
		return sqlite_error(db->sqlite, status, "open", db->path, err);
	sqlite3_busy_timeout(db->sqlite, STATE_BUSY_MS);
	rc = schema_version(db->sqlite, db->path, &version, err);
	if (rc < 0)
		return rc;
	return exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
}

/* Is another file in our file's place, or none? */
static bool has_moved(const struct state_db *db)
{
	int moved = 0;

	return sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

/* ---- a batch ---- */

static int put_row(struct state_db *db, const struct queued *q, struct err *err)
{
	sqlite3_stmt **stmt = &db->put[q->kind];
	int status = SQLITE_OK;

	if (!*stmt) {
		AUTO_BUF struct buf sql = { 0 };
		row_write_sql(&row_kinds[q->kind], &sql);
		status = sqlite3_prepare_v3(db->sqlite, sql.p, (int)sql.n, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
	}
	if (status == SQLITE_OK) {
		row_bind(&row_kinds[q->kind], *stmt, q->row);
		(void)sqlite3_step(*stmt);
		status = sqlite3_reset(*stmt); /* gives the failure of the step again */
	}
	return status == SQLITE_OK ? 0 : sqlite_error(db->sqlite, status, "write", db->path, err);
}

static int put_rows(struct state_db *db, const struct batch *b, struct err *err)
{
	int rc = schema_ensure(db->sqlite, db->path, err);

	for (struct map_entry *e = map_next(&b->rows, NULL); e && rc == 0; e = map_next(&b->rows, e))
		rc = put_row(db, e->value, err);
	return rc;
}

static int try_commit(struct state_db *db, const struct batch *b, struct err *err)
{
	int rc = 0;

	if (db->sqlite && has_moved(db))
		close_db(db);
	if (!db->sqlite)
		rc = open_db(db, err);
	if (rc == 0)
		rc = exec(db, "BEGIN IMMEDIATE", err);
	if (rc == 0)
		rc = put_rows(db, b, err);
	return rc < 0 ? rc : exec(db, "COMMIT", err);
}

/* ---- a damaged file ---- */

static int rename_part(const struct state_db *db, const char *aside, const char *suffix)
{
	AUTO_BUF struct buf from = { 0 };
	AUTO_BUF struct buf to = { 0 };

	buf_addf(&from, "%s%s", db->path, suffix);
	buf_addf(&to, "%s%s", aside, suffix);
	return rename(from.p, to.p);
}

/* The WAL goes first: once the name of the database is free, another process may make a new one with a WAL of its
 * own, which must stay. Under the lock of the directory no second writer moves that new one. */
static int move_aside(struct state_db *db, struct err *err)
{
	AUTO_FREE char *dir = xstrndup(db->path, (size_t)(strrchr(db->path, '/') - db->path));
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_BUF struct buf aside = { 0 };
	char now[ISO_TIME_LEN + 1];

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_set(err, ERR_IO, "cannot lock %s: %m", dir);
	if (has_moved(db))
		return 0;
	id_iso_time(id_wall_ms(), now);
	buf_addf(&aside, "%s.broken-%s", db->path, now);
	(void)rename_part(db, aside.p, "-wal");
	(void)rename_part(db, aside.p, "-shm");
	if (rename_part(db, aside.p, "") < 0)
		return err_set(err, ERR_IO, "cannot move the damaged %s aside: %m", db->path);
	err_set(&db->moved, ERR_PARSE, "%s was damaged; it is %s now", db->path, strrchr(aside.p, '/') + 1);
	return 0;
}

int state_db_commit(struct state_db *db, const struct batch *b, struct err *err)
{
	if (!b->rows.count)
		return 0;
	int rc = try_commit(db, b, err);
	if (rc == -ERR_PARSE) {
		rc = move_aside(db, err);
		close_db(db);
		if (rc == 0)
			rc = try_commit(db, b, err);
	}
	if (rc < 0)
		close_db(db); /* rolls back; a new connection has no memory of what failed */
	return rc;
}
