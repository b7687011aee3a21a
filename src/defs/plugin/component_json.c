/* SPDX-License-Identifier: MIT
 * component_json.c - hooks and MCP servers of a plugin, in files of their own or in the manifest, and its settings. */
#include "defs/plugin/plugin_int.h"
#include "lib/io/file.h"

struct kind {
	const char *key;   /* of the manifest, and of the object in a file */
	const char *usual; /* file that is read without being named */
	enum plugin_fault fault;
	struct plugin_parts *to;
	bool bare_allowed; /* a file may be the object itself */
};

static void add_part(struct plugin_parts *to, const struct plugin_part *part)
{
	if (to->count == to->cap) {
		to->cap = to->cap ? to->cap * 2 : 2;
		to->list = xrealloc(to->list, to->cap * sizeof *to->list);
	}
	to->list[to->count++] = *part;
}

/* An object {"KEY": {...}}, with a description perhaps, or what should be in it alone. */
static void add_object(struct manifest *m, const struct kind *kind, const struct settings_file *file,
		       const struct json *object)
{
	const struct json *inner = json_get(object, kind->key);
	bool bare = kind->bare_allowed || file == m->file;

	if (inner ? json_is(inner, JSON_OBJECT) : bare) {
		add_part(kind->to, &(struct plugin_part){ file->path, file, inner ? inner : object });
		return;
	}
	plugin_complain(m->plugin, kind->fault, file->path, settings_line(file, inner ? inner : object),
			inner ? "%s: expected an object" : "expected an object with \"%s\"", kind->key);
}

static bool has_file(const struct plugin_parts *parts, const char *path)
{
	for (size_t i = 0; i < parts->count; i++)
		if (!strcmp(parts->list[i].file, path))
			return true;
	return false;
}

static void add_file(struct manifest *m, const struct kind *kind, const char *path)
{
	struct plugin *p = m->plugin;
	struct settings_file file = { 0 };
	struct err err = { 0 };

	if (has_file(kind->to, path))
		return; /* the manifest names the usual one */
	if (settings_file_read(&file, path, &err) < 0) {
		plugin_complain_err(p, kind->fault, path, &err);
		return;
	}
	if (!file.root) {
		settings_file_release(&file);
		return;
	}
	const struct settings_file *kept = plugin_keep_file(p, &file);
	add_object(m, kind, kept, kept->root);
}

static void add_value(struct manifest *m, const struct kind *kind, const struct json *value)
{
	if (json_is(value, JSON_OBJECT)) {
		add_object(m, kind, m->file, value);
		return;
	}
	const char *path = component_locate(m, json_cstr(value, &m->plugin->arena), value, kind->key);
	if (path)
		add_file(m, kind, path);
}

static void find_kind(struct manifest *m, const struct kind *kind)
{
	const struct json *named = json_get(m->root, kind->key);
	const char *usual = component_locate(m, kind->usual, NULL, kind->key);

	if (usual)
		add_file(m, kind, usual);
	if (named && !json_is(named, JSON_ARRAY))
		add_value(m, kind, named);
	for (const struct json *v = json_is(named, JSON_ARRAY) ? json_first(named) : NULL; v; v = json_next(named, v))
		add_value(m, kind, v);
}

void component_find_hooks(struct manifest *m)
{
	find_kind(m, &(struct kind){ "hooks", "hooks/hooks.json", PLUGIN_BAD_HOOKS, &m->plugin->hooks, false });
}

void component_find_servers(struct manifest *m)
{
	find_kind(m, &(struct kind){ "mcpServers", ".mcp.json", PLUGIN_BAD_MCP, &m->plugin->mcp, true });
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static void read_setting(struct manifest *m, const struct settings_file *file, const struct json_member *member)
{
	struct plugin *p = m->plugin;
	struct str key = json_str(member->key, &p->arena);

	if (str_is(key, "subagentStatusLine"))
		return;
	if (!str_is(key, "agent")) {
		manifest_note(m, NULL, "settings.json: %.*s: a plugin cannot set it", (int)MIN(key.n, 80), key.p);
		return;
	}
	p->agent = json_cstr(member->value, &p->arena);
	if (!p->agent)
		plugin_complain(p, PLUGIN_BAD_COMPONENT, file->path, settings_line(file, member->value),
				"agent: expected the name of an agent");
}

void component_find_settings(struct manifest *m)
{
	struct plugin *p = m->plugin;
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };
	const char *path = component_locate(m, "settings.json", NULL, "settings");
	struct err err = { 0 };

	if (!path)
		return;
	if (settings_file_read(&file, path, &err) < 0) {
		plugin_complain_err(p, PLUGIN_BAD_COMPONENT, path, &err);
		return;
	}
	for (struct json_member f = json_members(file.root); f.key; f = json_member_next(file.root, f))
		read_setting(m, &file, &f);
}
