/* SPDX-License-Identifier: MIT
 * task_json.c - an agent's life as JSON, by one table. */
#include "product/observe/control.h"
#include "lib/base/id.h"

enum kind { TEXT, NUMBER, SWITCH, MONEY };

static const struct field {
	const char *key;
	enum kind kind;
	size_t offset;
} fields[] = {
	{ "sessionId", TEXT, offsetof(struct task_row, session) },
	{ "agentId", TEXT, offsetof(struct task_row, agent) },
	{ "parentAgentId", TEXT, offsetof(struct task_row, parent) },
	{ "toolUseId", TEXT, offsetof(struct task_row, tool_use_id) },
	{ "type", TEXT, offsetof(struct task_row, type) },
	{ "name", TEXT, offsetof(struct task_row, name) },
	{ "description", TEXT, offsetof(struct task_row, description) },
	{ "model", TEXT, offsetof(struct task_row, model) },
	{ "depth", NUMBER, offsetof(struct task_row, depth) },
	{ "background", SWITCH, offsetof(struct task_row, background) },
	{ "state", TEXT, offsetof(struct task_row, state) },
	{ "startedAt", NUMBER, offsetof(struct task_row, started_ms) },
	{ "endedAt", NUMBER, offsetof(struct task_row, ended_ms) },
	{ "turns", NUMBER, offsetof(struct task_row, turns) },
	{ "toolUses", NUMBER, offsetof(struct task_row, tool_uses) },
	{ "inputTokens", NUMBER, offsetof(struct task_row, input_tokens) },
	{ "outputTokens", NUMBER, offsetof(struct task_row, output_tokens) },
	{ "cacheReadTokens", NUMBER, offsetof(struct task_row, cache_read_tokens) },
	{ "cacheWriteTokens", NUMBER, offsetof(struct task_row, cache_write_tokens) },
	{ "costUSD", MONEY, offsetof(struct task_row, cost_usd) },
	{ "lastTool", TEXT, offsetof(struct task_row, last_tool) },
	{ "worktreePath", TEXT, offsetof(struct task_row, worktree) },
	{ "worktreeBranch", TEXT, offsetof(struct task_row, branch) },
	{ "transcript", TEXT, offsetof(struct task_row, transcript) },
	{ "verdict", TEXT, offsetof(struct task_row, verdict) },
	{ "team", TEXT, offsetof(struct task_row, team) },
	{ "unread", NUMBER, offsetof(struct task_row, unread) },
	{ "ownedTasks", TEXT, offsetof(struct task_row, tasks) },
};

int64_t task_row_duration_ms(const struct task_row *row)
{
	bool runs = row->state && !strcmp(row->state, "running");
	int64_t end_ms = row->ended_ms ? row->ended_ms : runs ? id_wall_ms() : row->updated_ms;

	return row->started_ms ? MAX(end_ms - row->started_ms, (int64_t)0) : 0;
}

void task_json_write(struct json_out *w, const struct task_row *row)
{
	json_open(w, '{');
	for (const struct field *f = fields; f < fields + COUNT_OF(fields); f++) {
		const void *at = (const char *)row + f->offset;
		const char *text = f->kind == TEXT ? *(const char *const *)at : NULL;
		json_key(w, f->key);
		if (f->kind == TEXT)
			json_put_cstr(w, text ? text : "");
		else if (f->kind == NUMBER)
			json_put_i64(w, *(const int64_t *)at);
		else if (f->kind == SWITCH)
			json_put_bool(w, *(const int64_t *)at != 0);
		else
			json_put_double(w, *(const double *)at);
	}
	json_putf(w, "totalTokens:%lld, durationMs:%lld}", (long long)task_row_tokens(row),
		  (long long)task_row_duration_ms(row));
}

void task_json_read(const struct json *object, struct arena *a, struct task_row *ret_row)
{
	*ret_row = (struct task_row){ 0 };
	for (const struct field *f = fields; f < fields + COUNT_OF(fields); f++) {
		const struct json *value = json_get(object, f->key);
		const char *text = f->kind == TEXT ? json_cstr(value, a) : NULL;
		void *at = (char *)ret_row + f->offset;
		if (f->kind == TEXT)
			*(const char **)at = text ? text : "";
		else if (f->kind == NUMBER)
			(void)json_i64(value, at);
		else if (f->kind == SWITCH)
			*(int64_t *)at = json_bool(value);
		else
			*(double *)at = json_double(value);
	}
}
