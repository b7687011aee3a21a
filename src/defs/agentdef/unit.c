/* SPDX-License-Identifier: MIT
 * unit.c - reads what one file says about agents. */
#include "defs/agentdef/registry_int.h"
#include "lib/io/file.h"

enum { LARGEST_FILE = 1 << 20 };

void unit_clear(struct unit *u)
{
	for (size_t i = 0; i < u->count; i++)
		agent_unref(u->definitions[i]);
	free(u->definitions);
	u->definitions = NULL;
	u->count = 0;
	settings_file_release(&u->settings);
	free(TAKE(u->error));
	u->error_line = 0;
}

void unit_free(struct unit *u)
{
	unit_clear(u);
	free(u->key);
	free(u->path);
	free(u);
}

void unit_add(struct unit *u, struct agent_definition *d)
{
	u->definitions = xrealloc(u->definitions, (u->count + 1) * sizeof(struct agent_definition *));
	u->definitions[u->count++] = d;
}

void unit_fail(struct unit *u, unsigned line, const char *message)
{
	free(u->error);
	u->error = xstrdup(message);
	u->error_line = line;
}

static void add_note(struct agent_definition *d, const char *message)
{
	struct diagnostics all = {
		.arena = &d->arena, .list = d->diagnostics, .count = d->diagnostic_count, .cap = d->diagnostic_count
	};

	diagnostics_add(&all, DIAGNOSTIC_NOTE, 0, "%s", message);
	d->diagnostics = all.list;
	d->diagnostic_count = all.count;
}

static const char *first_error(const struct agent_definition *d)
{
	for (size_t i = 0; i < d->diagnostic_count; i++)
		if (d->diagnostics[i].level == DIAGNOSTIC_ERROR)
			return d->diagnostics[i].message;
	return NULL;
}

/* A plugin's file needs no frontmatter. But one whose frontmatter lost a restriction is no file without frontmatter. */
static void describe_plugin_agent(struct agent_definition *d, const char *plugin)
{
	d->is_agent = true;
	d->refused = first_error(d) != NULL;
	d->description = arena_printf(&d->arena, "Agent from %s plugin", plugin);
	add_note(d, "no description: the name of its plugin stands in for it");
}

static void fill_prompt(struct agent_definition *d, const struct plugin_vars *vars)
{
	AUTO_BUF struct buf filled = { 0 };

	if (!d->prompt || !memmem(d->prompt, d->prompt_len, "${", 2))
		return;
	plugin_vars_expand(&filled, (struct str){ d->prompt, d->prompt_len }, vars, false);
	d->prompt = arena_dup(&d->arena, filled.p, filled.n);
	d->prompt_len = filled.n;
}

/* A plugin's agent has its plugin and its directories in its type. d is ours alone still. */
static void finish_plugin_agent(struct agent_definition *d, const struct agent_plugin *plugin, const char *below)
{
	d->plugin = arena_strdup(&d->arena, plugin->name);
	d->name = arena_printf(&d->arena, "%s:%s%s%s", plugin->name, below, below[0] ? ":" : "", d->name);
	fill_prompt(d, &plugin->vars);
	if (!d->is_agent)
		describe_plugin_agent(d, plugin->name);
}

static char *stem_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t n = strlen(name);

	return arena_dup(a, name, str_ends(str_from(name), STR(".md")) ? n - 3 : n);
}

void unit_read_markdown(struct unit *u, const struct agent_place *place, const struct tree_file *file, int fd,
			struct buf *text)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct err err = { 0 };

	unit_clear(u);
	buf_clear(text);
	if (file_read_known(fd, &u->stamp.st, LARGEST_FILE, text, &err) < 0) {
		unit_fail(u, 0, err.text);
		return;
	}
	struct agent_definition *d = agent_from_markdown(u->source, u->path, stem_of(&scratch, u->path), buf_str(text));
	if (place->plugin)
		finish_plugin_agent(d, place->plugin, file->below);
	unit_add(u, d);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_members(struct unit *u, const struct json *agents, const char *path, const char *member)
{
	AUTO_ARENA struct arena scratch = { 0 };

	for (struct json_member m = json_members(agents); m.key; m = json_member_next(agents, m)) {
		const char *name = json_cstr(m.key, &scratch);
		if (!name)
			name = "";
		unit_add(u, agent_from_json(u->source, arena_printf(&scratch, "%s#%s%s", path, member, name), name,
					    m.value));
	}
}

/* What it said before stays in force when it cannot be read any more: a half-saved file must not drop agents in the
 * middle of a run. */
void unit_read_settings(struct unit *u)
{
	struct settings_file file;
	struct err err = { 0 };

	bool is_file = u->path[0] != '{';
	const char *name = is_file ? u->path : "--settings";
	int status = is_file ? settings_file_read(&file, name, &err)
			     : settings_file_parse(&file, name, str_from(u->path), &err);

	if (status < 0) {
		unit_fail(u, 0, err.text);
		return;
	}
	unit_clear(u);
	u->settings = file;
	const struct json *agents = json_get(file.root, "agents");
	if (!agents)
		return;
	if (json_is(agents, JSON_OBJECT))
		add_members(u, agents, name, "agents.");
	else
		unit_fail(u, settings_line(&file, agents), "agents: expected an object");
}

/* All or nothing: who starts us with agents relies on each of them. */
static void check_members(struct unit *u)
{
	for (size_t i = 0; i < u->count; i++) {
		char text[400];
		const char *why = first_error(u->definitions[i]);
		if (!why)
			continue;
		snprintf(text, sizeof text, "Invalid --agents configuration: %s: %s", u->definitions[i]->name, why);
		unit_clear(u);
		unit_fail(u, 0, text);
	}
}

void unit_read_flag(struct unit *u, const struct agent_sources *sources)
{
	struct settings_file file;
	struct err err = { 0 };
	char text[300];
	bool inline_json = str_starts(str_trim(str_from(sources->flag)), STR("{"));
	int status = inline_json ? settings_file_parse(&file, "--agents", str_from(sources->flag), &err)
				 : settings_file_read(&file, u->path, &err);

	if (status == 0 && !file.root) {
		settings_file_release(&file);
		status = err_set(&err, ERR_USAGE, "there is no file %s", u->path);
	}
	if (status < 0) {
		snprintf(text, sizeof text, "Invalid --agents configuration: %s", err.text);
		unit_fail(u, 0, text);
		return;
	}
	unit_clear(u);
	add_members(u, file.root, inline_json ? "--agents" : u->path, "");
	settings_file_release(&file);
	check_members(u);
}
