/* SPDX-License-Identifier: MIT
 * definition_fields.c - every field of an agent definition: its names, what it limits, how it is read. */
#include "defs/agentdef/definition_int.h"

/* A value that has no meaning for its field. It is as if the field were absent, and that is said. */
static void ignore(struct definition_reader *r, const char *expected)
{
	definition_note(r, DIAGNOSTIC_WARNING, "%s: expected %s; the field is ignored", r->key, expected);
}

enum { LIMIT_NAME = 200 };

static void read_name(struct definition_reader *r, const struct json *value)
{
	const char *text = definition_text(r, value);
	struct str rest = str_from(text), first = str_trim(text ? str_cut(&rest, '\n') : STR(""));

	if (!first.n || first.n > LIMIT_NAME) {
		definition_note(r, DIAGNOSTIC_WARNING, "name: %s; the agent is called by its file",
				first.n ? "longer than 200 bytes" : "not a text");
		return;
	}
	if (rest.p && str_trim(rest).n)
		definition_note(r, DIAGNOSTIC_WARNING, "name: only the first line counts");
	if (first.p[0] == '-' || memchr(first.p, ':', first.n) || memchr(first.p, '/', first.n))
		definition_note(r, DIAGNOSTIC_WARNING,
				"name: letters, digits and hyphens are safer than '-' in front, ':' or '/'");
	r->d->name = arena_dup(&r->d->arena, first.p, first.n);
	r->d->name_given = true;
}

static void add_prose(struct definition_reader *r, struct buf *out, const struct json *value)
{
	const char *text = definition_text(r, value);

	if (!text)
		return;
	if (out->n)
		buf_addch(out, '\n');
	buf_addstr(out, text);
}

/* People who were told to write one line write `\n` in it. */
static void decode_line_ends(struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->n; i++) {
		bool coded = text->p[i] == '\\' && i + 1 < text->n && text->p[i + 1] == 'n';
		text->p[n++] = coded ? '\n' : text->p[i];
		i += coded;
	}
	text->n = n;
}

static const char *prose_of(struct definition_reader *r, const struct json *value)
{
	AUTO_BUF struct buf out = { 0 };

	if (json_is(value, JSON_ARRAY)) {
		for (const struct json *v = json_first(value); v; v = json_next(value, v))
			add_prose(r, &out, v);
		definition_note(r, DIAGNOSTIC_NOTE, "%s: a list was joined to one text", r->key);
	} else {
		add_prose(r, &out, value);
	}
	decode_line_ends(&out);
	struct str text = str_trim(buf_str(&out));
	return text.n ? arena_dup(&r->d->arena, text.p, text.n) : NULL;
}

static void read_description(struct definition_reader *r, const struct json *value)
{
	r->d->description = prose_of(r, value);
	if (json_is(value, JSON_OBJECT))
		ignore(r, "a text");
}

/* For plugins only, and only if nothing better is there. */
static void read_when_to_use(struct definition_reader *r, const struct json *value)
{
	if (r->d->source != AGENT_PLUGIN)
		definition_note(r, DIAGNOSTIC_WARNING, "when-to-use: has a meaning in plugins only; use description");
	else if (!r->d->description)
		r->d->description = prose_of(r, value);
}

static void read_model(struct definition_reader *r, const struct json *value)
{
	if (json_is(value, JSON_ARRAY)) {
		definition_note(r, DIAGNOSTIC_NOTE, "model: of a list the first is taken");
		value = json_first(value);
	}
	r->d->model = definition_text(r, value);
	if (!r->d->model && value && !json_is(value, JSON_NULL))
		ignore(r, "the name of a model");
}

static void read_effort(struct definition_reader *r, const struct json *value)
{
	static const char *const levels[] = { "low", "medium", "high", "xhigh", "max" };
	struct str text = str_from(definition_text(r, value));
	int64_t number;

	if (text.n && str_is_nocase(text, "normal")) {
		definition_note(r, DIAGNOSTIC_NOTE, "effort: normal was read as medium");
		text = STR("medium");
	}
	for (size_t i = 0; text.n && i < COUNT_OF(levels); i++) {
		if (str_is_nocase(text, levels[i])) {
			r->d->effort = levels[i];
			return;
		}
	}
	if (text.n && str_to_i64(text, &number) && number > 0)
		r->d->effort = text.p;
	else
		ignore(r, "low, medium, high, xhigh, max or a number");
}

static void read_count(struct definition_reader *r, const struct json *value, int64_t *ret)
{
	struct str text = str_from(definition_text(r, value));
	int64_t n = 0;

	if ((json_is(value, JSON_NUMBER) ? json_i64(value, &n) : text.n && str_to_i64(text, &n)) && n > 0)
		*ret = n;
	else
		ignore(r, "a number above 0");
}

static void read_max_turns(struct definition_reader *r, const struct json *value)
{
	read_count(r, value, &r->d->max_turns);
}

static void read_compact_window(struct definition_reader *r, const struct json *value)
{
	read_count(r, value, &r->d->compact_window);
}

/* A mode that is wider than the default must be spelled exactly; one that is narrower is honoured in any case. */
static const struct mode {
	const char *name;
	bool wider;
} modes[] = {
	{ "default", false }, { "manual", false },     { "plan", false }, { "dontAsk", false },
	{ "bubble", false },  { "acceptEdits", true }, { "auto", true },  { "bypassPermissions", true },
};

static const char *find_mode(struct str text)
{
	for (size_t i = 0; text.n && i < COUNT_OF(modes); i++)
		if (str_is(text, modes[i].name) || (!modes[i].wider && str_is_nocase(text, modes[i].name)))
			return modes[i].name;
	return NULL;
}

static void read_permission_mode(struct definition_reader *r, const struct json *value)
{
	const char *mode = find_mode(str_from(definition_text(r, value)));

	r->d->permission_mode = NULL;
	r->d->permission_mode_invalid = !mode;
	if (!mode)
		definition_note(r, DIAGNOSTIC_WARNING,
				"permissionMode: not a mode; the stricter of the parent's and default applies");
	else if (r->d->source == AGENT_PLUGIN)
		definition_note(r, DIAGNOSTIC_WARNING,
				"permissionMode: %s does not apply, because a plugin cannot set it", mode);
	else
		r->d->permission_mode = mode;
}

static void read_bool(struct definition_reader *r, const struct json *value, bool *ret)
{
	struct str text = str_from(definition_text(r, value));

	if (text.n && str_is_nocase(text, "true"))
		*ret = true;
	else if (text.n && str_is_nocase(text, "false"))
		*ret = false;
	else
		ignore(r, "true or false");
}

static void read_background(struct definition_reader *r, const struct json *value)
{
	read_bool(r, value, &r->d->background);
}

static void read_fork_context(struct definition_reader *r, const struct json *value)
{
	read_bool(r, value, &r->d->fork_context);
}

static void read_omit_claude_md(struct definition_reader *r, const struct json *value)
{
	read_bool(r, value, &r->d->omit_claude_md);
}

/* The index of text in a list of names that ends with NULL, any case; -1 if it is none of them. */
static int word_index(struct definition_reader *r, const struct json *value, const char *const *words)
{
	struct str text = str_from(definition_text(r, value));

	for (int i = 0; text.n && words[i]; i++) {
		if (!str_is_nocase(text, words[i]))
			continue;
		if (!str_is(text, words[i]))
			definition_note(r, DIAGNOSTIC_NOTE, "%s: " STR_FMT " was read as %s", r->key, STR_ARG(text),
					words[i]);
		return i;
	}
	return -1;
}

static void read_isolation(struct definition_reader *r, const struct json *value)
{
	static const char *const words[] = { "worktree", "remote", NULL };
	int i = word_index(r, value, words);

	if (i < 0)
		definition_refuse(r, "isolation: must be worktree or remote, so the agent is refused");
	else
		r->d->isolation = i == 0 ? ISOLATION_WORKTREE : ISOLATION_REMOTE;
}

static void read_memory(struct definition_reader *r, const struct json *value)
{
	static const char *const words[] = { "user", "project", "local", NULL };
	int i = word_index(r, value, words);

	if (i < 0)
		ignore(r, "user, project or local");
	else
		r->d->memory = (enum agent_memory)(MEMORY_USER + i);
}

static void read_color(struct definition_reader *r, const struct json *value)
{
	static const char *const words[] = {
		"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan", NULL
	};
	int i = word_index(r, value, words);

	if (i >= 0)
		r->d->color = words[i];
	else
		definition_note(r, DIAGNOSTIC_NOTE, "color: none of ours; one is chosen");
}

static void read_initial_prompt(struct definition_reader *r, const struct json *value)
{
	r->d->initial_prompt = definition_text(r, value);
	if (!r->d->initial_prompt)
		ignore(r, "a text");
}

static void read_reminder(struct definition_reader *r, const struct json *value)
{
	r->d->reminder = definition_text(r, value);
	if (!r->d->reminder)
		ignore(r, "a text");
}

static void read_skills(struct definition_reader *r, const struct json *value)
{
	definition_names(r, value, &r->d->skills, false);
}

static void read_required_mcp_servers(struct definition_reader *r, const struct json *value)
{
	definition_names(r, value, &r->d->required_mcp_servers, false);
}

static void warn_allowed_tools(struct definition_reader *r, const struct json *value)
{
	(void)value;
	definition_note(r, DIAGNOSTIC_WARNING, "%s: belongs to skills and commands and limits nothing here; use tools",
			r->key);
}

enum { KNOWN = FRONTMATTER_KNOWN, TEXT = KNOWN | FRONTMATTER_TEXT, LIMIT = KNOWN | FRONTMATTER_RESTRICTION };

const struct agent_field agent_fields[] = {
	{ "name", { 0 }, TEXT, read_name },
	{ "description", { 0 }, TEXT, read_description },
	{ "when-to-use", { "whenToUse" }, TEXT, read_when_to_use },
	{ "tools", { 0 }, LIMIT, definition_read_tools },
	{ "disallowedTools", { "disallowed-tools", "disallowed_tools" }, LIMIT, definition_read_disallowed_tools },
	{ "model", { 0 }, KNOWN, read_model },
	{ "effort", { 0 }, KNOWN, read_effort },
	{ "maxTurns", { "max-turns", "max_turns" }, KNOWN, read_max_turns },
	{ "permissionMode", { 0 }, LIMIT, read_permission_mode },
	{ "background", { 0 }, KNOWN, read_background },
	{ "initialPrompt", { 0 }, TEXT, read_initial_prompt },
	{ "isolation", { 0 }, LIMIT, read_isolation },
	{ "memory", { 0 }, KNOWN, read_memory },
	{ "mcpServers", { 0 }, KNOWN, definition_read_mcp_servers },
	{ "requiredMcpServers", { 0 }, KNOWN, read_required_mcp_servers },
	{ "hooks", { 0 }, LIMIT, definition_read_hooks },
	{ "skills", { 0 }, KNOWN, read_skills },
	{ "color", { 0 }, KNOWN, read_color },
	{ "forkContext", { 0 }, KNOWN, read_fork_context },
	{ "omitClaudeMd", { 0 }, KNOWN, read_omit_claude_md },
	{ "criticalSystemReminder_EXPERIMENTAL", { 0 }, TEXT, read_reminder },
	{ "allowed-tools", { "allowedTools", "allowed_tools" }, KNOWN, warn_allowed_tools },
	{ "autoCompactWindow", { 0 }, KNOWN, read_compact_window },
	{ "observer", { 0 }, KNOWN, NULL },
	{ "observerMessage", { 0 }, KNOWN, NULL },
	{ 0 },
};

const struct agent_field *agent_field_find(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(agent_fields) - 1; i++)
		if (frontmatter_key_is(key, agent_fields[i].name, agent_fields[i].aliases))
			return &agent_fields[i];
	return NULL;
}

unsigned agent_field_flags(struct str key)
{
	const struct agent_field *f = agent_field_find(key);

	return f ? f->flags : 0;
}
