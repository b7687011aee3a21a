/* SPDX-License-Identifier: MIT
 * definition.c - the fields of an agent: their names, what they limit, how they are read. A list that limits what an agent
 * may do is read with certainty or not at all: what is cut off, unbalanced or of an unknown shape refuses the agent. */
#include "defs/agentdef/definition.h"
#include "core/tool/tool_facts.h"
#include "guard/hook/event.h"
#include "lib/json/json_write.h"

enum { LONGEST_NAME = 200, LONGEST_TIMEOUT_S = 600 };

static void read_name(struct definition_reader *r, const struct json *value, void *at)
{
	const char *text = definition_text(r, value);
	struct str rest = str_from(text), first = str_trim(text ? str_cut(&rest, '\n') : STR(""));

	if (!first.n || first.n > LONGEST_NAME) {
		definition_note(r, DIAGNOSTIC_WARNING, "name: %s; the agent is called by its file",
				first.n ? "longer than 200 bytes" : "not a text");
		return;
	}
	if (rest.p && str_trim(rest).n)
		definition_note(r, DIAGNOSTIC_WARNING, "name: only the first line counts");
	if (first.p[0] == '-' || memchr(first.p, ':', first.n) || memchr(first.p, '/', first.n))
		definition_note(r, DIAGNOSTIC_WARNING,
				"name: letters, digits and hyphens are safer than '-' in front, ':' or '/'");
	*(const char **)at = arena_dup(&r->d->arena, first.p, first.n);
	((struct agent_definition *)r->d)->name_given = true;
}

/* A list becomes one text, and `\n` a line end: people who were asked for one line write it. */
static const char *prose_of(struct definition_reader *r, const struct json *value)
{
	AUTO_BUF struct buf out = { 0 };
	bool is_list = json_is(value, JSON_ARRAY);
	size_t n = 0;

	if (is_list)
		definition_note(r, DIAGNOSTIC_NOTE, "%s: a list was joined to one text", r->key);
	for (const struct json *v = is_list ? json_first(value) : value; v; v = is_list ? json_next(value, v) : NULL) {
		const char *line = definition_text(r, v);
		if (line)
			buf_addf(&out, "%s%s", out.n ? "\n" : "", line);
	}
	for (size_t i = 0; i < out.n; i++) {
		bool coded = out.p[i] == '\\' && i + 1 < out.n && out.p[i + 1] == 'n';
		out.p[n++] = coded ? '\n' : out.p[i];
		i += coded;
	}
	struct str text = str_trim((struct str){ out.p, n });
	return text.n ? arena_dup(&r->d->arena, text.p, text.n) : NULL;
}

static void read_description(struct definition_reader *r, const struct json *value, void *at)
{
	*(const char **)at = prose_of(r, value);
	if (json_is(value, JSON_OBJECT))
		definition_ignore(r, "a text");
}

/* For plugins only, and only if nothing better is there. */
static void read_when_to_use(struct definition_reader *r, const struct json *value, void *at)
{
	if (r->d->source != SOURCE_PLUGIN)
		definition_note(r, DIAGNOSTIC_WARNING, "when-to-use: has a meaning in plugins only; use description");
	else if (!*(const char **)at)
		*(const char **)at = prose_of(r, value);
}

static void read_text(struct definition_reader *r, const struct json *value, void *at)
{
	*(const char **)at = definition_text(r, value);
	if (!*(const char **)at)
		definition_ignore(r, "a text");
}

static void read_model(struct definition_reader *r, const struct json *value, void *at)
{
	if (json_is(value, JSON_ARRAY)) {
		definition_note(r, DIAGNOSTIC_NOTE, "model: of a list the first is taken");
		value = json_first(value);
	}
	*(const char **)at = definition_text(r, value);
	if (!*(const char **)at && value && !json_is(value, JSON_NULL))
		definition_ignore(r, "the name of a model");
}

static void read_effort(struct definition_reader *r, const struct json *value, void *at)
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
			*(const char **)at = levels[i];
			return;
		}
	}
	if (text.n && str_to_i64(text, &number) && number > 0)
		*(const char **)at = text.p;
	else
		definition_ignore(r, "low, medium, high, xhigh, max or a number");
}

static void read_count(struct definition_reader *r, const struct json *value, void *at)
{
	struct str text = str_from(definition_text(r, value));
	int64_t n = 0;

	if ((json_is(value, JSON_NUMBER) ? json_i64(value, &n) : text.n && str_to_i64(text, &n)) && n > 0)
		*(int64_t *)at = n;
	else
		definition_note(r, DIAGNOSTIC_LOST, "%s: expected a number above 0; the field is ignored", r->key);
}

static void read_bool(struct definition_reader *r, const struct json *value, void *at)
{
	struct str text = str_from(definition_text(r, value));

	if (text.n && (str_is_nocase(text, "true") || str_is_nocase(text, "false")))
		*(bool *)at = str_is_nocase(text, "true");
	else
		definition_ignore(r, "true or false");
}

/* A mode that is wider than the default must be spelled exactly; one that is narrower is honoured in any case. */
static void read_permission_mode(struct definition_reader *r, const struct json *value, void *at)
{
	static const struct {
		const char *name;
		bool wider;
	} modes[] = {
		{ "default", false }, { "manual", false },     { "plan", false }, { "dontAsk", false },
		{ "bubble", false },  { "acceptEdits", true }, { "auto", true },  { "bypassPermissions", true },
	};
	struct str text = str_from(definition_text(r, value));
	const char *mode = NULL;

	for (size_t i = 0; text.n && !mode && i < COUNT_OF(modes); i++)
		if (str_is(text, modes[i].name) || (!modes[i].wider && str_is_nocase(text, modes[i].name)))
			mode = modes[i].name;
	*(const char **)at = NULL;
	((struct agent_definition *)r->d)->permission_mode_invalid = !mode;
	if (!mode)
		definition_note(r, DIAGNOSTIC_WARNING,
				"permissionMode: not a mode; the stricter of the parent's and default applies");
	else if (r->d->source == SOURCE_PLUGIN)
		definition_note(r, DIAGNOSTIC_WARNING,
				"permissionMode: %s does not apply, because a plugin cannot set it", mode);
	else
		*(const char **)at = mode;
}

static void read_isolation(struct definition_reader *r, const struct json *value, void *at)
{
	static const char *const words[] = { "worktree", "remote", NULL };
	int i = definition_word(r, value, words);

	if (i < 0)
		definition_refuse(r, "isolation: must be worktree or remote, so the agent is refused");
	else
		*(enum agent_isolation *)at = i == 0 ? ISOLATION_WORKTREE : ISOLATION_REMOTE;
}

static void read_memory(struct definition_reader *r, const struct json *value, void *at)
{
	static const char *const words[] = { "user", "project", "local", NULL };
	int i = definition_word(r, value, words);

	if (i < 0)
		definition_ignore(r, "user, project or local");
	else
		*(enum agent_memory *)at = (enum agent_memory)(MEMORY_USER + i);
}

static void read_color(struct definition_reader *r, const struct json *value, void *at)
{
	static const char *const words[] = {
		"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan", NULL
	};
	int i = definition_word(r, value, words);

	if (i >= 0)
		*(const char **)at = words[i];
	else
		definition_note(r, DIAGNOSTIC_NOTE, "color: unknown; another one is chosen");
}

bool agent_tool_is_known(struct str name)
{
	struct str rest = name, base = str_trim(str_cut(&rest, '('));

	return str_starts(base, STR("mcp__")) || tool_facts_find(base);
}

static void warn_unknown_tools(struct definition_reader *r, const struct name_list *list, enum diagnostic_level level,
			       const char *effect)
{
	AUTO_BUF struct buf unknown = { 0 };

	for (size_t i = 0; i < list->count; i++)
		if (!str_is(str_from(list->names[i]), "*") && !agent_tool_is_known(str_from(list->names[i])))
			buf_addf(&unknown, "%s%s", unknown.n ? ", " : "", list->names[i]);
	if (unknown.n)
		definition_note(r, level, "%s: not the name of a tool, %s: %s", r->key, effect, unknown.p);
}

static void read_tools(struct definition_reader *r, const struct json *value, void *at)
{
	const struct name_list *list = at;

	(void)definition_names(r, value, at, NAMES_REFUSE);
	warn_unknown_tools(r, list, DIAGNOSTIC_WARNING, "grants nothing");
	if (!list->count)
		definition_note(r, DIAGNOSTIC_NOTE, "tools: the list is empty: the agent has no tools");
}

static void read_disallowed_tools(struct definition_reader *r, const struct json *value, void *at)
{
	const struct name_list *list = at;

	(void)definition_names(r, value, at, NAMES_REFUSE);
	for (size_t i = 0; i < list->count; i++)
		if (char_in(list->names[i][0], "*&") && list->names[i][1])
			definition_refuse(r, "disallowedTools: the YAML alias %s is not followed", list->names[i]);
	warn_unknown_tools(r, list, DIAGNOSTIC_LOST, "takes nothing away");
}

static void read_names(struct definition_reader *r, const struct json *value, void *at)
{
	(void)definition_names(r, value, at, NAMES_WARN);
}

static void warn_allowed_tools(struct definition_reader *r, const struct json *value, void *at)
{
	definition_note(r, DIAGNOSTIC_WARNING, "%s: belongs to skills and commands and limits nothing here; use tools",
			r->key);
}

/* Hooks and MCP servers, brought to the form that settings files have
 *
 *     hooks:       {Event: [{"matcher": m, "hooks": [{"type": "command", "command": c, "timeout": seconds}]}]}
 *     mcpServers:  ["name", {"name": {config}}] */

/* A handler as it stands, but for its type and for a timeout that can only be milliseconds. */
static void put_handler(struct definition_reader *r, struct json_out *w, const struct json *handler)
{
	int64_t timeout;

	json_putf(w, "{type?:'%s'", json_get(handler, "type") ? NULL : "command");
	for (struct json_member m = json_members(handler); m.key; m = json_member_next(handler, m)) {
		if (json_str_is(m.key, "matcher") || json_str_is(m.key, "hooks"))
			continue;
		json_key_str(w, json_str(m.key, &r->scratch));
		if (json_str_is(m.key, "timeout") && json_i64(m.value, &timeout) && timeout > LONGEST_TIMEOUT_S) {
			definition_note(r, DIAGNOSTIC_NOTE, "hooks: a timeout of %lld was read as milliseconds",
					(long long)timeout);
			json_put_double(w, (double)timeout / 1000);
		} else {
			json_put_raw(w, json_raw(m.value));
		}
	}
	json_close(w);
}

static bool is_handler(const struct json *v)
{
	static const char *const members[] = { "command", "url", "prompt", "server", "tool" };
	bool has[COUNT_OF(members)];

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct json *text = json_get(v, members[i]);
		has[i] = json_is(text, JSON_STRING) && text->len > 0;
	}
	return has[0] || has[1] || has[2] || (has[3] && has[4]);
}

static bool put_entry(struct definition_reader *r, struct json_out *w, const struct json *entry)
{
	const struct json *matcher = json_get(entry, "matcher");
	const struct json *hooks = json_get(entry, "hooks");

	if (!json_is(entry, JSON_OBJECT) || (matcher && !json_is(matcher, JSON_STRING)))
		return false;
	json_putf(w, "{matcher?:%.*s, hooks:[", JSON_ARG(matcher));
	if (!hooks && is_handler(entry)) {
		definition_note(r, DIAGNOSTIC_NOTE, "hooks: an entry without a list of hooks was read as one hook");
		put_handler(r, w, entry);
	} else if (!json_is(hooks, JSON_ARRAY)) {
		return false;
	}
	for (const struct json *h = hooks ? json_first(hooks) : NULL; h; h = json_next(hooks, h)) {
		if (!is_handler(h))
			return false;
		put_handler(r, w, h);
	}
	json_putf(w, "]}");
	return true;
}

/* One entry, or a list of them */
static bool put_event(struct definition_reader *r, struct json_out *w, const struct json *entries)
{
	bool is_list = json_is(entries, JSON_ARRAY);

	json_open(w, '[');
	if (!is_list && !json_is(entries, JSON_NULL) && !put_entry(r, w, entries))
		return false;
	for (const struct json *e = is_list ? json_first(entries) : NULL; e; e = json_next(entries, e))
		if (!put_entry(r, w, e))
			return false;
	json_close(w);
	return true;
}

/* Whether a field that cannot be read may have been a limit. Hooks limit an agent only by the events that they wait for; names
 * of several words count in any case. */
static bool may_limit(const char *field, struct str text)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *whole = arena_str(&a, text).p;

	if (strcmp(field, "hooks") != 0)
		return true;
	for (size_t i = 0; i < HOOK_EVENT_COUNT; i++) {
		const char *name = hook_events[i].name;
		bool has_humps = name[1 + strspn(name + 1, "abcdefghijklmnopqrstuvwxyz")];
		if (has_humps ? strcasestr(whole, name) : strstr(whole, name))
			return true;
	}
	return false;
}

static void read_hooks(struct definition_reader *r, const struct json *value, void *at)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	if (json_is(value, JSON_NULL) || (json_is(value, JSON_OBJECT) && !value->count)) {
		definition_note(r, DIAGNOSTIC_NOTE, "hooks: none are defined");
		return;
	}
	if (!may_limit("hooks", json_raw(value))) {
		definition_note(r, DIAGNOSTIC_WARNING, "hooks: names no event; it is ignored");
		return;
	}
	if (!json_is(value, JSON_OBJECT)) {
		definition_refuse(r, "hooks: must be a map of events, so the agent is refused");
		return;
	}
	json_open(&w, '{');
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
		struct str event = json_str(m.key, &r->scratch);
		json_key_str(&w, event);
		if (!put_event(r, &w, m.value)) {
			definition_refuse(r, "hooks: " STR_FMT " is not a list of hooks, so the agent is refused",
					  STR_ARG(event));
			return;
		}
	}
	json_close(&w);
	*(const char **)at = arena_dup(&r->d->arena, out.p, out.n);
}

/* A name, {name: {config}}, or {"name": n, "transport": t, ...}, which becomes {n: {"type": t, ...}}. */
static void put_servers(struct definition_reader *r, struct json_out *w, const struct json *value)
{
	const struct json *name = json_get(value, "name"), *transport = json_get(value, "transport");
	bool is_named = json_is(value, JSON_OBJECT) && json_is(name, JSON_STRING) && name->len > 0;
	struct name_list names = { 0 };

	if (json_is(value, JSON_STRING))
		(void)definition_names(r, value, &names, NAMES_WARN);
	else if (!json_is(value, JSON_OBJECT))
		definition_note(r, DIAGNOSTIC_WARNING,
				"mcpServers: an entry is neither a name nor a map and is ignored");
	for (size_t i = 0; i < names.count; i++)
		json_put_cstr(w, names.names[i]);
	if (is_named) {
		json_open(w, '{');
		json_key_str(w, json_str(name, &r->scratch));
		json_open(w, '{');
		if (transport && !json_get(value, "type"))
			json_kraw(w, "type", json_raw(transport));
	}
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
		struct str key = json_str(m.key, &r->scratch);
		if (is_named && !str_is(key, "name") && !str_is(key, "transport")) {
			json_key_str(w, key);
			json_put_raw(w, json_raw(m.value));
		} else if (!is_named && json_is(m.value, JSON_NULL)) {
			json_put_str(w, key);
		} else if (!is_named && json_is(m.value, JSON_OBJECT)) {
			json_open(w, '{');
			json_key_str(w, key);
			json_putf(w, "%.*s}", JSON_ARG(m.value));
		} else if (!is_named) {
			definition_note(r, DIAGNOSTIC_WARNING, "mcpServers: " STR_FMT " has no settings and is ignored",
					STR_ARG(key));
		}
	}
	if (is_named)
		json_putf(w, "}}");
}

static void read_mcp_servers(struct definition_reader *r, const struct json *value, void *at)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	bool is_list = json_is(value, JSON_ARRAY);

	if (json_is(value, JSON_NULL))
		return;
	json_open(&w, '[');
	for (const struct json *v = is_list ? json_first(value) : value; v; v = is_list ? json_next(value, v) : NULL)
		put_servers(r, &w, v);
	json_close(&w);
	if (out.n > 2)
		*(const char **)at = arena_dup(&r->d->arena, out.p, out.n);
}

enum { KNOWN = FRONTMATTER_KNOWN, TEXT = KNOWN | FRONTMATTER_TEXT, LIMIT = KNOWN | FRONTMATTER_RESTRICTION };
#define AT(member) offsetof(struct agent_definition, member)

static const struct definition_field fields[] = {
	{ "name", { 0 }, TEXT, read_name, AT(name) },
	{ "description", { 0 }, TEXT, read_description, AT(description) },
	{ "when-to-use", { "whenToUse" }, TEXT, read_when_to_use, AT(description) },
	{ "tools", { 0 }, LIMIT, read_tools, AT(tools) },
	{ "disallowedTools",
	  { "disallowed-tools", "disallowed_tools" },
	  LIMIT,
	  read_disallowed_tools,
	  AT(disallowed_tools) },
	{ "model", { 0 }, KNOWN, read_model, AT(model) },
	{ "effort", { 0 }, KNOWN, read_effort, AT(effort) },
	{ "maxTurns", { "max-turns", "max_turns" }, KNOWN, read_count, AT(max_turns) },
	{ "permissionMode", { 0 }, LIMIT, read_permission_mode, AT(permission_mode) },
	{ "background", { 0 }, KNOWN, read_bool, AT(background) },
	{ "initialPrompt", { 0 }, TEXT, read_text, AT(initial_prompt) },
	{ "isolation", { 0 }, LIMIT, read_isolation, AT(isolation) },
	{ "memory", { 0 }, KNOWN, read_memory, AT(memory) },
	{ "mcpServers", { 0 }, KNOWN, read_mcp_servers, AT(mcp_servers) },
	{ "requiredMcpServers", { 0 }, KNOWN, read_names, AT(required_mcp_servers) },
	{ "hooks", { 0 }, LIMIT, read_hooks, AT(hooks) },
	{ "skills", { 0 }, KNOWN, read_names, AT(skills) },
	{ "color", { 0 }, KNOWN, read_color, AT(color) },
	{ "forkContext", { 0 }, KNOWN, read_bool, AT(fork_context) },
	{ "omitClaudeMd", { 0 }, KNOWN, read_bool, AT(omit_claude_md) },
	{ "criticalSystemReminder_EXPERIMENTAL", { 0 }, TEXT, read_text, AT(reminder) },
	{ "allowed-tools", { "allowedTools", "allowed_tools" }, KNOWN, warn_allowed_tools, 0 },
	{ "autoCompactWindow", { 0 }, KNOWN, read_count, AT(compact_window) },
	{ "observer", { 0 }, KNOWN, NULL, 0 },
	{ "observerMessage", { 0 }, KNOWN, NULL, 0 },
	{ 0 },
};

const struct definition_format agent_format = { .noun = "agent", .fields = fields, .limits = may_limit };

struct agent_definition *agent_from_markdown(enum definition_source source, const char *file, const char *fallback_name,
					     struct str text)
{
	struct agent_definition *d = definition_new(sizeof *d, source, file, fallback_name);
	struct definition_reader r;
	struct frontmatter fm;

	definition_read_begin(&r, &d->common, &agent_format);
	definition_read_markdown(&r, text, &fm);
	d->prompt = arena_dup(&d->arena, fm.body.p, fm.body.n);
	d->prompt_len = fm.body.n;
	d->ignored = !d->description;
	d->refused = d->refused && !d->ignored;
	if (!fm.found)
		definition_note(&r, DIAGNOSTIC_NOTE, "no frontmatter: not an agent");
	else if (d->ignored)
		definition_note(&r, DIAGNOSTIC_WARNING, "no description: not an agent");
	else if (!d->name_given)
		definition_note(&r, DIAGNOSTIC_NOTE, "no name: the agent is called %s, as its file", d->name);
	definition_read_end(&r);
	return d;
}

/* What a program wrote is not guessed at: both texts must be there. */
struct agent_definition *agent_from_json(enum definition_source source, const char *file, const char *name,
					 const struct json *value)
{
	struct agent_definition *d = definition_new(sizeof *d, source, file, name);
	struct definition_reader r;

	definition_read_begin(&r, &d->common, &agent_format);
	d->name_given = true;
	if (!json_is(value, JSON_OBJECT))
		definition_refuse(&r, "must be an object with description and prompt");
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
		struct str key = json_str(m.key, &r.scratch);
		const struct definition_field *f = definition_field_find(fields, key);
		if (str_is(key, "prompt")) {
			struct str text = str_trim(json_str(m.value, &r.scratch));
			d->prompt = text.n ? arena_dup(&d->arena, text.p, text.n) : NULL;
			d->prompt_len = text.n;
		} else if (!f || str_is(key, "name")) {
			definition_note(&r, DIAGNOSTIC_NOTE, STR_FMT ": unknown key", STR_ARG(key));
		} else {
			definition_read_member(&r, f, m.value, value->count);
		}
	}
	if (json_is(value, JSON_OBJECT) && !d->description)
		definition_refuse(&r, "description: missing or not a text");
	if (json_is(value, JSON_OBJECT) && !d->prompt)
		definition_refuse(&r, "prompt: missing or not a text");
	if (!name[0])
		definition_refuse(&r, "the name is empty");
	if (!d->prompt)
		d->prompt = "";
	definition_read_end(&r);
	return d;
}
