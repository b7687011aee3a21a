/* SPDX-License-Identifier: MIT
 * describe.c - the fields of a definition. */
#include "defs/agentdef/describe.h"
#include "lib/json/json_write.h"

enum kind { TEXT, NAMES, SWITCH, NUMBER, WORD, JSON_TEXT };

static const char *const isolations[] = { NULL, "worktree", "remote" };
static const char *const memories[] = { NULL, "user", "project", "local" };

static const struct row {
	const char *field;
	enum kind kind;
	size_t offset;
	const char *const *words; /* of a WORD, by its number */
} rows[] = {
	{ "name", TEXT, offsetof(struct agent_definition, name), NULL },
	{ "description", TEXT, offsetof(struct agent_definition, description), NULL },
	{ "tools", NAMES, offsetof(struct agent_definition, tools), NULL },
	{ "disallowedTools", NAMES, offsetof(struct agent_definition, disallowed_tools), NULL },
	{ "model", TEXT, offsetof(struct agent_definition, model), NULL },
	{ "effort", TEXT, offsetof(struct agent_definition, effort), NULL },
	{ "maxTurns", NUMBER, offsetof(struct agent_definition, max_turns), NULL },
	{ "autoCompactWindow", NUMBER, offsetof(struct agent_definition, compact_window), NULL },
	{ "permissionMode", TEXT, offsetof(struct agent_definition, permission_mode), NULL },
	{ "background", SWITCH, offsetof(struct agent_definition, background), NULL },
	{ "isolation", WORD, offsetof(struct agent_definition, isolation), isolations },
	{ "memory", WORD, offsetof(struct agent_definition, memory), memories },
	{ "skills", NAMES, offsetof(struct agent_definition, skills), NULL },
	{ "mcpServers", JSON_TEXT, offsetof(struct agent_definition, mcp_servers), NULL },
	{ "requiredMcpServers", NAMES, offsetof(struct agent_definition, required_mcp_servers), NULL },
	{ "hooks", JSON_TEXT, offsetof(struct agent_definition, hooks), NULL },
	{ "initialPrompt", TEXT, offsetof(struct agent_definition, initial_prompt), NULL },
	{ "color", TEXT, offsetof(struct agent_definition, color), NULL },
	{ "forkContext", SWITCH, offsetof(struct agent_definition, fork_context), NULL },
	{ "omitClaudeMd", SWITCH, offsetof(struct agent_definition, omit_claude_md), NULL },
	{ "criticalSystemReminder_EXPERIMENTAL", TEXT, offsetof(struct agent_definition, reminder), NULL },
};

static void add_names(struct buf *text, struct buf *json, const struct name_list *list)
{
	struct json_out w = json_out(json);

	if (!list->present) {
		buf_addstr(json, "null");
		return;
	}
	json_open(&w, '[');
	for (size_t i = 0; i < list->count; i++) {
		json_put_cstr(&w, list->names[i]);
		buf_addf(text, "%s%s", i ? ", " : "", list->names[i]);
	}
	json_close(&w);
	if (!list->count)
		buf_addstr(text, list->all ? "*" : "none");
}

static void add_text(struct buf *text, struct buf *json, const char *value)
{
	struct json_out w = json_out(json);

	json_put_cstr(&w, value);
	buf_addstr(text, value ? value : "");
}

static void add_value(struct buf *text, struct buf *json, const struct agent_definition *d, const struct row *row)
{
	const void *at = (const char *)d + row->offset;

	switch (row->kind) {
	case TEXT:
		return add_text(text, json, *(const char *const *)at);
	case NAMES:
		return add_names(text, json, at);
	case WORD:
		return add_text(text, json, row->words[*(const unsigned *)at]);
	case SWITCH:
		buf_addstr(json, *(const bool *)at ? "true" : "false");
		return buf_addstr(text, *(const bool *)at ? "true" : "");
	case NUMBER:
		if (!*(const int64_t *)at)
			return buf_addstr(json, "null");
		buf_addf(text, "%jd", (intmax_t) * (const int64_t *)at);
		return buf_addstr(json, text->p);
	case JSON_TEXT:
		buf_addstr(text, *(const char *const *)at ? *(const char *const *)at : "");
		return buf_addstr(json, text->n ? text->p : "null");
	}
}

static void find_field(const struct agent_definition *d, struct agent_fact *fact)
{
	for (size_t i = 0; i < d->field_count; i++)
		if (!strcmp(d->fields[i].field, fact->field)) {
			fact->given = true;
			fact->line = d->fields[i].line;
		}
}

void agent_describe(const struct agent_definition *d, void (*fn)(void *data, const struct agent_fact *fact), void *data)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_BUF struct buf json = { 0 };
		struct agent_fact fact = { .field = rows[i].field };
		add_value(&text, &json, d, &rows[i]);
		fact.text = buf_str(&text);
		fact.json = buf_str(&json);
		find_field(d, &fact);
		fn(data, &fact);
	}
}
