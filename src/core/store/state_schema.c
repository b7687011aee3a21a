/* SPDX-License-Identifier: MIT
 * state_schema.c - the tables of the state database, by version.
 *
 * To change the schema: append a migration, never edit one (files that have seen it exist), and change the columns in
 * state_row.c with it. user_version is the number of migrations that a file has seen. */
#include "core/store/state_int.h"

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
	" PRIMARY KEY (session, agent)) WITHOUT ROWID;"

	"CREATE TABLE notice ("
	" id TEXT NOT NULL PRIMARY KEY, session TEXT NOT NULL, recipient TEXT NOT NULL, task TEXT NOT NULL,"
	" text TEXT NOT NULL, created_ms INTEGER, delivered_ms INTEGER);"
	"CREATE INDEX notice_of_session ON notice (session, delivered_ms);"

	"CREATE TABLE mail ("
	" id TEXT NOT NULL PRIMARY KEY, session TEXT NOT NULL, team TEXT NOT NULL, sender TEXT NOT NULL,"
	" recipient TEXT NOT NULL, body TEXT NOT NULL, created_ms INTEGER, read_ms INTEGER);"
	"CREATE INDEX mail_of_recipient ON mail (team, recipient, read_ms);",
};

enum { OUR_VERSION = COUNT_OF(migrations) };

int sqlite_error(sqlite3 *db, int status, const char *verb, const char *path, struct err *err)
{
	const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(status);
	int primary = status & 0xff;

	if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT)
		return err_set(err, ERR_PARSE, "cannot %s %s: %s; it is an index only and can be removed", verb, path,
			       why);
	return err_set(err, ERR_IO, "cannot %s %s: %s", verb, path, why);
}

int schema_version(sqlite3 *db, const char *path, int *ret_version, struct err *err)
{
	AUTO_STMT sqlite3_stmt *stmt = NULL;

	int status = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_step(stmt);
	if (status != SQLITE_ROW)
		return sqlite_error(db, status, "read", path, err);
	int version = sqlite3_column_int(stmt, 0);
	if (version > OUR_VERSION)
		return err_set(err, ERR_DENIED, "%s was made by a newer cadre (version %d, known up to %d)", path,
			       version, OUR_VERSION);
	*ret_version = MAX(version, 0);
	return 0;
}

int schema_ensure(sqlite3 *db, const char *path, struct err *err)
{
	char set_version[64];
	int version;

	int rc = schema_version(db, path, &version, err);
	if (rc < 0 || version == OUR_VERSION)
		return rc;
	for (int i = version; i < OUR_VERSION; i++) {
		int status = sqlite3_exec(db, migrations[i], NULL, NULL, NULL);
		if (status != SQLITE_OK)
			return sqlite_error(db, status, "make the tables of", path, err);
	}
	snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", OUR_VERSION);
	int status = sqlite3_exec(db, set_version, NULL, NULL, NULL);
	return status == SQLITE_OK ? 0 : sqlite_error(db, status, "write", path, err);
}
