/* SPDX-License-Identifier: MIT
 * state_read.c - the blocking readers of the state database, each on a connection of its own. */
#include "core/store/state_int.h"
#include <errno.h>
#include <sys/stat.h>

/* What a process left half done that was killed must be undone before anything can be read, and only a connection that may
 * write does that; one to a file that cannot be written is read-only all the same. Nothing else is written:
 * no statement changes a row, and the log is left to the writers. */
static int open_sqlite(const char *path, sqlite3 **ret_db)
{
	int status = sqlite3_open_v2(path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (status == SQLITE_OK)
		status = sqlite3_db_config(*ret_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return status;
}

/* *ret_db is NULL when there is nothing to read. Also after a failure it must be closed. */
static int open_reader(const char *path, sqlite3 **ret_db, struct err *err)
{
	struct stat st;
	int version;

	if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	int status = open_sqlite(path, ret_db);
	if (status != SQLITE_OK)
		return sqlite_error(*ret_db, status, "open", path, err);
	sqlite3_busy_timeout(*ret_db, STATE_BUSY_MS);
	int rc = schema_version(*ret_db, path, &version, err);
	if (rc == 0 && version == 0) {
		sqlite3_close(*ret_db);
		*ret_db = NULL;
	}
	return rc;
}

union row {
	struct task_row task;
	struct notice_row notice;
};

struct row_query {
	enum row_kind_id kind;
	const char *where; /* with the session as ?1 */
	const char *session;
	bool (*give)(const struct row_query *q, const union row *row); /* false: enough */
	task_row_fn *task_fn;
	notice_row_fn *notice_fn;
	void *data;
};

static bool give_task(const struct row_query *q, const union row *row)
{
	return q->task_fn(q->data, &row->task);
}

static bool give_notice(const struct row_query *q, const union row *row)
{
	return q->notice_fn(q->data, &row->notice);
}

static int run_query(const char *config_dir, const struct row_query *q, struct err *err)
{
	AUTO_FREE char *path = state_db_path(config_dir);
	AUTO_BUF struct buf sql = { 0 };
	AUTO_SQLITE sqlite3 *db = NULL;
	AUTO_STMT sqlite3_stmt *stmt = NULL;
	union row row;

	int rc = open_reader(path, &db, err);
	if (rc < 0 || !db)
		return rc;
	row_select_sql(&row_kinds[q->kind], &sql);
	buf_addstr(&sql, q->where);
	int status = sqlite3_prepare_v2(db, sql.p, (int)sql.n, &stmt, NULL);
	if (status != SQLITE_OK)
		return sqlite_error(db, status, "read", path, err);
	sqlite3_bind_text(stmt, 1, q->session, -1, SQLITE_STATIC); /* NULL binds as null */
	while ((status = sqlite3_step(stmt)) == SQLITE_ROW) {
		row_read(&row_kinds[q->kind], stmt, &row);
		if (!q->give(q, &row))
			return 0;
	}
	return status == SQLITE_DONE ? 0 : sqlite_error(db, status, "read", path, err);
}

int state_each_task(const char *config_dir, const char *session, task_row_fn *fn, void *data, struct err *err)
{
	struct row_query q = { .kind = ROW_TASK, .session = session, .give = give_task, .task_fn = fn, .data = data };

	q.where = session ? " WHERE session = ?1 ORDER BY started_ms, agent" : " ORDER BY started_ms, session, agent";
	return run_query(config_dir, &q, err);
}

/* rowid is the order of insertion: notices of one millisecond keep theirs. */
int state_each_notice(const char *config_dir, const char *session, bool undelivered_only, notice_row_fn *fn, void *data,
		      struct err *err)
{
	struct row_query q = { .kind = ROW_NOTICE, .session = session, .give = give_notice, .notice_fn = fn };

	q.data = data;
	if (session && undelivered_only)
		q.where = " WHERE session = ?1 AND delivered_ms IS NULL ORDER BY created_ms, rowid";
	else if (session)
		q.where = " WHERE session = ?1 ORDER BY created_ms, rowid";
	else if (undelivered_only)
		q.where = " WHERE delivered_ms IS NULL ORDER BY created_ms, rowid";
	else
		q.where = " ORDER BY created_ms, rowid";
	return run_query(config_dir, &q, err);
}
