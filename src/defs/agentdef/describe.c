/* SPDX-License-Identifier: MIT
 * describe.c - describes definitions: field by field, checked, in colour, and in the prompt of the guide. */
#include "defs/agentdef/describe.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"

enum fact_kind { TEXT, NAMES, SWITCH, NUMBER, WORD, JSON_TEXT };

#define AT(member) offsetof(struct agent_definition, member)

static const char *const isolations[] = { NULL, "worktree", "remote" };
static const char *const memories[] = { NULL, "user", "project", "local" };

static const struct fact_row {
	const char *field;
	enum fact_kind kind;
	size_t offset;
	const char *const *words; /* of a WORD, by its number */
} rows[] = {
	{ "name", TEXT, AT(name), NULL },
	{ "description", TEXT, AT(description), NULL },
	{ "tools", NAMES, AT(tools), NULL },
	{ "disallowedTools", NAMES, AT(disallowed_tools), NULL },
	{ "model", TEXT, AT(model), NULL },
	{ "effort", TEXT, AT(effort), NULL },
	{ "maxTurns", NUMBER, AT(max_turns), NULL },
	{ "autoCompactWindow", NUMBER, AT(compact_window), NULL },
	{ "permissionMode", TEXT, AT(permission_mode), NULL },
	{ "background", SWITCH, AT(background), NULL },
	{ "isolation", WORD, AT(isolation), isolations },
	{ "memory", WORD, AT(memory), memories },
	{ "skills", NAMES, AT(skills), NULL },
	{ "mcpServers", JSON_TEXT, AT(mcp_servers), NULL },
	{ "requiredMcpServers", NAMES, AT(required_mcp_servers), NULL },
	{ "hooks", JSON_TEXT, AT(hooks), NULL },
	{ "initialPrompt", TEXT, AT(initial_prompt), NULL },
	{ "color", TEXT, AT(color), NULL },
	{ "forkContext", SWITCH, AT(fork_context), NULL },
	{ "omitClaudeMd", SWITCH, AT(omit_claude_md), NULL },
	{ "criticalSystemReminder_EXPERIMENTAL", TEXT, AT(reminder), NULL },
};

static void put_names(struct json_out *w, const struct name_list *list)
{
	if (!list->present) {
		json_put_null(w);
		return;
	}
	json_open(w, '[');
	for (size_t i = 0; i < list->count; i++)
		json_put_cstr(w, list->names[i]);
	json_close(w);
}

static void add_value(struct buf *text, struct buf *json, const struct agent_definition *d, const struct fact_row *row)
{
	const void *at = (const char *)d + row->offset;
	const struct name_list *list = at;
	struct json_out w = json_out(json);
	const char *word;

	switch (row->kind) {
	case TEXT:
	case WORD:
		word = row->kind == WORD ? row->words[*(const unsigned *)at] : *(const char *const *)at;
		json_put_cstr(&w, word);
		buf_addstr(text, word ? word : "");
		break;
	case NAMES:
		put_names(&w, list);
		for (size_t i = 0; i < list->count; i++)
			buf_addf(text, "%s%s", i ? ", " : "", list->names[i]);
		if (list->present && !list->count)
			buf_addstr(text, list->all ? "*" : "none");
		break;
	case SWITCH:
		json_put_bool(&w, *(const bool *)at);
		buf_addstr(text, *(const bool *)at ? "true" : "");
		break;
	case NUMBER:
		if (*(const int64_t *)at)
			buf_addf(text, "%jd", (intmax_t) * (const int64_t *)at);
		buf_addstr(json, text->n ? text->p : "null");
		break;
	case JSON_TEXT:
		buf_addstr(text, *(const char *const *)at ? *(const char *const *)at : "");
		buf_addstr(json, text->n ? text->p : "null");
		break;
	}
}

void agent_describe(const struct agent_definition *d, void (*fn)(void *data, const struct agent_fact *fact), void *data)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf text = { 0 }, json = { 0 };
		struct agent_fact fact = { .field = rows[i].field };
		add_value(&text, &json, d, &rows[i]);
		fact.text = buf_str(&text);
		fact.json = buf_str(&json);
		for (size_t k = 0; k < d->field_count; k++)
			if (!strcmp(d->fields[k].field, fact.field)) {
				fact.given = true;
				fact.line = d->fields[k].line;
			}
		fn(data, &fact);
	}
}

void agent_check_json(struct json_out *w, const struct agent_definition *d)
{
	char hex[SHA256_DIGITS + 1];

	sha256_hex((struct str){ d->prompt, d->prompt_len }, hex);
	json_putf(w, "{file:'%s', loaded:!!%d, is_agent:!!%d, name:'%s', description:'%s', model:'%s', tools:", d->file,
		  !!(!d->ignored && !d->refused), !d->ignored, d->name, d->description, d->model);
	put_names(w, &d->tools);
	json_key(w, "disallowedTools");
	put_names(w, &d->disallowed_tools);
	json_kcstr(w, "body_sha256", hex);
	diagnostics_put(w, d->diagnostics, d->diagnostic_count);
	json_close(w);
}

/* FNV-1a: the colour of a type must be the same in every run and every version, which str_hash() does not promise. */
const char *agent_color(const struct agent_definition *d)
{
	static const char *const colors[] = { "red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan" };
	uint32_t hash = 2166136261U;

	for (const char *p = d->name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619U;
	hash ^= hash >> 16;
	return d->color ? d->color : colors[hash % COUNT_OF(colors)];
}

enum { MOST_NAMES = 50, LONGEST_DESCRIPTION = 120 };

static void add_list(struct buf *out, const char *title, const char *const *names)
{
	size_t i = 0;

	for (; names && names[i] && i < MOST_NAMES; i++)
		buf_addf(out, "%s%s", i ? ", " : title, names[i]);
	if (i && names[i])
		buf_addstr(out, " and more");
	if (i)
		buf_addch(out, '\n');
}

void guide_prompt(struct buf *out, const struct agent_definition *guide, const struct catalog *r,
		  const struct guide_facts *facts)
{
	AUTO_BUF struct buf here = { 0 };
	size_t shown = 0, count = 0;

	buf_addstr(out, guide->prompt ? guide->prompt : "");
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		if (d->source == SOURCE_BUILT_IN || count++ >= MOST_NAMES)
			continue;
		struct str text = str_from(d->description);
		struct str line = utf8_cut(str_cut(&text, '\n'), LONGEST_DESCRIPTION);
		buf_addf(&here, "%s- %s (%s): " STR_FMT "\n", shown++ ? "" : "Agents:\n", d->name,
			 definition_source_name(d->source), STR_ARG(line));
	}
	if (count > shown)
		buf_addf(&here, "- and %zu more; `cadre agents` lists them\n", count - shown);
	if (r->failed_count)
		buf_addf(&here, "Agent files that could not be loaded: %zu; `cadre agents check` shows why.\n",
			 r->failed_count);
	add_list(&here, "Settings files: ", facts->settings_files);
	add_list(&here, "MCP servers: ", facts->mcp_servers);
	add_list(&here, "Skills: ", facts->skills);
	add_list(&here, "Plugins: ", facts->plugins);
	buf_addf(out, "\n\n# Configured here\n\n%s", here.n ? here.p : "Nothing beyond the defaults.\n");
}
