/* SPDX-License-Identifier: MIT
 * component.c - what a plugin's directory has: the usual places, and those that its manifest names. */
#include "defs/plugin/plugin_int.h"
#include <sys/stat.h>
#include "lib/io/file.h"

bool component_path_is_good(struct str path, bool root_allowed)
{
	if (root_allowed && str_is(path, "."))
		return true;
	if (!str_starts(path, STR("./")))
		return false;
	while (path.p)
		if (str_is(str_cut(&path, '/'), ".."))
			return false;
	return true;
}

const char *component_locate(struct manifest *m, const char *below, const struct json *named, const char *key)
{
	struct plugin *p = m->plugin;
	const char *path = path_absolute(&p->arena, p->root, str_from(below));
	AUTO_FREE char *real = realpath(path, NULL);
	const char *file = named ? p->manifest : path;
	unsigned line = named ? settings_line(m->file, named) : 0;

	if (real && path_is_inside(real, p->root))
		return path;
	if (real)
		plugin_complain_component(p, PLUGIN_BAD_PATH, key, file, line,
					  "%.120s%sis a link that leads out of the plugin", named ? below : "",
					  named ? " " : "");
	else if (named)
		plugin_complain_component(p, PLUGIN_BAD_PATH, key, file, line, "%.120s is not there", below);
	return NULL;
}

static void add_path(struct plugin_paths *to, const char *path, bool is_dir)
{
	if (to->count == to->cap) {
		to->cap = to->cap ? to->cap * 2 : 4;
		to->list = xrealloc(to->list, to->cap * sizeof *to->list);
	}
	to->list[to->count++] = (struct plugin_path){ path, is_dir };
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- agents, commands, skills ------------------------------------------------------------------------------------ */

struct kind {
	const char *key;   /* of the manifest */
	const char *place; /* the usual directory */
	struct plugin_paths *to;
	bool skills;
};

/* A directory with a SKILL.md is one skill, not a directory of skills. */
static void add_skill(struct manifest *m, const struct kind *kind, const char *path)
{
	struct arena *a = &m->plugin->arena;
	const char *file = path_join(a, path, "SKILL.md");

	if (!is_file(file))
		add_path(kind->to, path, true);
	else if (component_locate(m, file + strlen(m->plugin->root) + 1, NULL, kind->key))
		add_path(kind->to, file, false);
}

static void add_found(struct manifest *m, const struct kind *kind, const char *path, const struct json *named)
{
	struct plugin *p = m->plugin;

	if (is_directory(path) && kind->skills)
		add_skill(m, kind, path);
	else if (is_directory(path))
		add_path(kind->to, path, true);
	else if (is_file(path) && str_ends(str_from(path), STR(".md")))
		add_path(kind->to, path, false);
	else if (named)
		plugin_complain_component(p, PLUGIN_BAD_COMPONENT, kind->key, p->manifest,
					  settings_line(m->file, named),
					  "%.120s is neither a directory nor an .md file", json_cstr(named, &p->arena));
	else
		plugin_complain_component(p, PLUGIN_BAD_COMPONENT, kind->key, path, 0, "is not a directory");
}

static void add_named(struct manifest *m, const struct kind *kind, const struct json *value)
{
	const char *path = component_locate(m, json_cstr(value, &m->plugin->arena), value, kind->key);

	if (path)
		add_found(m, kind, path, value);
}

static void add_usual(struct manifest *m, const struct kind *kind)
{
	const char *path = component_locate(m, kind->place, NULL, kind->key);

	if (path && is_directory(path))
		add_path(kind->to, path, true);
	else if (path)
		add_found(m, kind, path, NULL);
}

/* What the manifest names stands in place of the usual directory; skills are added to it. */
static void find_kind(struct manifest *m, const struct kind *kind)
{
	const struct json *named = json_get(m->root, kind->key);

	if (!named || kind->skills)
		add_usual(m, kind);
	if (json_is(named, JSON_STRING))
		add_named(m, kind, named);
	for (const struct json *v = json_is(named, JSON_ARRAY) ? json_first(named) : NULL; v; v = json_next(named, v))
		add_named(m, kind, v);
}

static void find_skills(struct manifest *m)
{
	struct plugin *p = m->plugin;
	const struct kind kind = { "skills", "skills", &p->skills, true };

	find_kind(m, &kind);
	if (!p->skills.count && !json_get(m->root, "skills") && is_file(path_join(&p->arena, p->root, "SKILL.md")))
		add_found(m, &kind, p->root, NULL);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void find_bin(struct manifest *m)
{
	const char *path = component_locate(m, "bin", NULL, "bin");

	if (path && is_directory(path))
		m->plugin->bin = path;
}

/* What a plugin may have and a runtime without a window does not use. */
static void note_unused(struct manifest *m)
{
	static const char *const keys[] = { "channels", "lspServers", "workflows" };
	static const char *const places[] = { ".lsp.json", "monitors", "themes", "workflows" };
	struct plugin *p = m->plugin;

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (json_get(m->root, keys[i]))
			manifest_note(m, json_get(m->root, keys[i]), "%s: not used", keys[i]);
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (file_exists(path_join(&p->arena, p->root, places[i])))
			manifest_note(m, NULL, "%s: not used", places[i]);
	if (file_exists(path_join(&p->arena, p->root, "CLAUDE.md")))
		manifest_note(m, NULL, "CLAUDE.md: that of a plugin is not read");
}

void component_find_all(struct manifest *m)
{
	struct plugin *p = m->plugin;

	find_kind(m, &(struct kind){ "agents", "agents", &p->agents, false });
	find_kind(m, &(struct kind){ "commands", "commands", &p->commands, false });
	find_kind(m, &(struct kind){ "outputStyles", "output-styles", &p->styles, false });
	find_skills(m);
	component_find_hooks(m);
	component_find_servers(m);
	component_find_settings(m);
	find_bin(m);
	note_unused(m);
}
