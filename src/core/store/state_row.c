/* SPDX-License-Identifier: MIT
 * state_row.c - rows as tables of columns: the statements, their parameters and their results all come from them. */
#include <assert.h>
#include "core/store/state_int.h"

#define TASK(name, type)                                     \
	{                                                    \
#name, type, offsetof(struct task_row, name) \
	}
static const struct column task_columns[] = {
	TASK(session, COLUMN_TEXT),
	TASK(agent, COLUMN_TEXT),
	TASK(parent, COLUMN_TEXT),
	TASK(tool_use_id, COLUMN_TEXT),
	TASK(type, COLUMN_TEXT),
	TASK(name, COLUMN_TEXT),
	TASK(description, COLUMN_TEXT),
	TASK(model, COLUMN_TEXT),
	TASK(depth, COLUMN_INT),
	TASK(background, COLUMN_INT),
	TASK(state, COLUMN_TEXT),
	TASK(started_ms, COLUMN_TIME),
	TASK(ended_ms, COLUMN_TIME),
	TASK(updated_ms, COLUMN_TIME),
	TASK(turns, COLUMN_INT),
	TASK(tool_uses, COLUMN_INT),
	TASK(input_tokens, COLUMN_INT),
	TASK(output_tokens, COLUMN_INT),
	TASK(cache_read_tokens, COLUMN_INT),
	TASK(cache_write_tokens, COLUMN_INT),
	TASK(cost_usd, COLUMN_REAL),
	TASK(last_tool, COLUMN_TEXT),
	TASK(worktree, COLUMN_TEXT),
	TASK(branch, COLUMN_TEXT),
	TASK(transcript, COLUMN_TEXT),
	TASK(output, COLUMN_TEXT),
	TASK(verdict, COLUMN_TEXT),
	TASK(pid, COLUMN_INT),
	TASK(pid_start, COLUMN_INT),
};

#define NOTICE(name, type)                                     \
	{                                                      \
#name, type, offsetof(struct notice_row, name) \
	}
static const struct column notice_columns[] = {
	NOTICE(id, COLUMN_TEXT),           NOTICE(session, COLUMN_TEXT), NOTICE(recipient, COLUMN_TEXT),
	NOTICE(task, COLUMN_TEXT),         NOTICE(text, COLUMN_TEXT),    NOTICE(created_ms, COLUMN_TIME),
	NOTICE(delivered_ms, COLUMN_TIME),
};
static const struct column delivered_columns[] = {
	NOTICE(id, COLUMN_TEXT),
	NOTICE(delivered_ms, COLUMN_TIME),
};

static_assert(COUNT_OF(task_columns) <= ROW_COLUMNS_MAX, "a copy keeps the lengths of all texts");

const struct row_kind row_kinds[ROW_KIND_COUNT] = {
	[ROW_TASK] = { .table = "task",
		       .insert = "INSERT OR REPLACE",
		       .columns = task_columns,
		       .column_count = COUNT_OF(task_columns),
		       .key_count = 2,
		       .row_size = sizeof(struct task_row) },
	[ROW_NOTICE] = { .table = "notice",
			 .insert = "INSERT OR IGNORE",
			 .columns = notice_columns,
			 .column_count = COUNT_OF(notice_columns),
			 .key_count = 1,
			 .row_size = sizeof(struct notice_row) },
	[ROW_DELIVERED] = { .table = "notice",
			    .sql = "UPDATE notice SET delivered_ms = coalesce(delivered_ms, ?2) WHERE id = ?1",
			    .columns = delivered_columns,
			    .column_count = COUNT_OF(delivered_columns),
			    .key_count = 1,
			    .row_size = sizeof(struct notice_row) },
};

static void add_names(const struct row_kind *kind, struct buf *out)
{
	for (size_t i = 0; i < kind->column_count; i++)
		buf_addf(out, "%s%s", i ? "," : "", kind->columns[i].name);
}

void row_write_sql(const struct row_kind *kind, struct buf *out)
{
	if (kind->sql) {
		buf_addstr(out, kind->sql);
		return;
	}
	buf_addf(out, "%s INTO %s (", kind->insert, kind->table);
	add_names(kind, out);
	buf_addstr(out, ") VALUES (");
	for (size_t i = 0; i < kind->column_count; i++)
		buf_addstr(out, i ? ",?" : "?");
	buf_addch(out, ')');
}

void row_select_sql(const struct row_kind *kind, struct buf *out)
{
	buf_addstr(out, "SELECT ");
	add_names(kind, out);
	buf_addf(out, " FROM %s", kind->table);
}

static void bind_column(sqlite3_stmt *stmt, int at, enum column_type type, const void *member)
{
	switch (type) {
	case COLUMN_TEXT: {
		const char *text = *(const char *const *)member;
		sqlite3_bind_text(stmt, at, text ? text : "", -1, SQLITE_STATIC);
		break;
	}
	case COLUMN_TIME:
		if (*(const int64_t *)member)
			sqlite3_bind_int64(stmt, at, *(const int64_t *)member);
		else
			sqlite3_bind_null(stmt, at);
		break;
	case COLUMN_INT:
		sqlite3_bind_int64(stmt, at, *(const int64_t *)member);
		break;
	case COLUMN_REAL:
		sqlite3_bind_double(stmt, at, *(const double *)member);
		break;
	}
}

void row_bind(const struct row_kind *kind, sqlite3_stmt *stmt, const void *row)
{
	for (size_t i = 0; i < kind->column_count; i++)
		bind_column(stmt, (int)i + 1, kind->columns[i].type, (const char *)row + kind->columns[i].offset);
}

void row_read(const struct row_kind *kind, sqlite3_stmt *stmt, void *ret_row)
{
	for (size_t i = 0; i < kind->column_count; i++) {
		void *member = (char *)ret_row + kind->columns[i].offset;
		switch (kind->columns[i].type) {
		case COLUMN_TEXT: {
			const char *text = (const char *)sqlite3_column_text(stmt, (int)i);
			*(const char **)member = text ? text : "";
			break;
		}
		case COLUMN_TIME:
		case COLUMN_INT:
			*(int64_t *)member = sqlite3_column_int64(stmt, (int)i);
			break;
		case COLUMN_REAL:
			*(double *)member = sqlite3_column_double(stmt, (int)i);
			break;
		}
	}
}
