/* SPDX-License-Identifier: MIT
 * component.c - what a plugin's directory has: the usual places, and those that its manifest names; and a closer look
 * at them (`cadre plugin validate`). */
#include "defs/plugin/plugin_int.h"
#include <dirent.h>
#include "config/catalog/tree.h"
#include "defs/agentdef/definition.h"
#include "defs/skill/skill.h"
#include "guard/hook/set.h"
#include "lib/io/file.h"

enum { LARGEST_FILE = 1 << 20 };

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
	const char *file = named ? m->file->path : path;
	unsigned line = named ? settings_line(m->file, named) : 0;

	if (real && path_is_inside(real, p->root))
		return path;
	if (real)
		plugin_complain(p, PLUGIN_BAD_PATH, key, file, line, "%.120s%sis a link that leads out of the plugin",
				named ? below : "", named ? " " : "");
	else if (named)
		plugin_complain(p, PLUGIN_BAD_PATH, key, file, line, "%.120s does not exist", below);
	return NULL;
}

struct kind {
	const char *key;   /* of the manifest */
	const char *place; /* the usual directory */
	struct plugin_paths *to;
	bool skills;
	bool only_named; /* the usual directory does not count */
};

static void add_path(struct manifest *m, const struct kind *kind, const char *path, bool is_dir)
{
	*arena_push(&m->plugin->arena, kind->to->list, kind->to->count) = (struct plugin_path){ path, is_dir };
}

static void add_found(struct manifest *m, const struct kind *kind, const char *path, const struct json *named)
{
	struct plugin *p = m->plugin;

	if (file_is_dir(path)) {
		/* A directory with a SKILL.md is one skill, not a directory of skills. */
		const char *skill = path_join(&p->arena, path, "SKILL.md");
		if (!kind->skills || !file_is_regular(skill))
			add_path(m, kind, path, true);
		else if (component_locate(m, skill + strlen(p->root) + 1, NULL, kind->key))
			add_path(m, kind, skill, false);
	} else if (file_is_regular(path) && str_ends(str_from(path), STR(".md"))) {
		add_path(m, kind, path, false);
	} else if (named) {
		plugin_complain(p, PLUGIN_BAD_COMPONENT, kind->key, m->file->path, settings_line(m->file, named),
				"%.120s is neither a directory nor an .md file", json_cstr(named, &p->arena));
	} else {
		plugin_complain(p, PLUGIN_BAD_COMPONENT, kind->key, path, 0, "is not a directory");
	}
}

/* What the manifest names replaces the usual directory; skills are added to it. */
static void find_kind(struct manifest *m, const struct kind *kind)
{
	const struct json *named = json_get(m->root, kind->key);
	bool is_list = json_is(named, JSON_ARRAY);
	bool looks = !kind->only_named && (!named || kind->skills);
	const char *usual = looks ? component_locate(m, kind->place, NULL, kind->key) : NULL;

	if (usual && file_is_dir(usual))
		add_path(m, kind, usual, true);
	else if (usual)
		add_found(m, kind, usual, NULL);
	for (const struct json *v = is_list ? json_first(named) : named; v; v = is_list ? json_next(named, v) : NULL) {
		const char *path = component_locate(m, json_cstr(v, &m->plugin->arena), v, kind->key);
		if (path)
			add_found(m, kind, path, v);
	}
}

/* Hooks and MCP servers, in files of their own or in the manifest. */

struct part_kind {
	const char *key;   /* of the manifest, and of the object in a file */
	const char *usual; /* file that is read without being named */
	enum plugin_fault fault;
	struct plugin_parts *to;
	bool bare_allowed; /* a file may be the object itself */
};

/* An object {"KEY": {...}}, with a description perhaps, or what should be in it alone. */
static void add_part_object(struct manifest *m, const struct part_kind *kind, const struct settings_file *file,
			    const struct json *object)
{
	const struct json *inner = json_get(object, kind->key);
	bool bare = kind->bare_allowed || file == m->file;

	if (inner ? json_is(inner, JSON_OBJECT) : bare) {
		*arena_push(&m->plugin->arena, kind->to->list, kind->to->count) =
			(struct plugin_part){ file->path, file, inner ? inner : object };
		return;
	}
	plugin_complain(m->plugin, kind->fault, NULL, file->path, settings_line(file, inner ? inner : object),
			inner ? "%s: expected an object" : "expected an object with \"%s\"", kind->key);
}

static void add_part_file(struct manifest *m, const struct part_kind *kind, const char *path)
{
	struct plugin *p = m->plugin;
	struct settings_file file = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < kind->to->count; i++)
		if (!strcmp(kind->to->list[i].file, path))
			return; /* the manifest names the usual one */
	for (size_t i = 0; i < p->error_count; i++)
		if (p->errors[i].file && !strcmp(p->errors[i].file, path))
			return; /* the same, and it could not be read */
	if (settings_file_read(&file, path, &err) < 0) {
		plugin_complain_err(p, kind->fault, path, &err);
		return;
	}
	if (!file.root) {
		settings_file_release(&file);
		return;
	}
	const struct settings_file *kept = plugin_keep_file(p, &file);
	add_part_object(m, kind, kept, kept->root);
}

static void find_parts(struct manifest *m, const struct part_kind *kind)
{
	const struct json *named = json_get(m->root, kind->key);
	bool is_list = json_is(named, JSON_ARRAY);
	const char *usual = component_locate(m, kind->usual, NULL, kind->key);

	if (usual)
		add_part_file(m, kind, usual);
	for (const struct json *v = is_list ? json_first(named) : named; v; v = is_list ? json_next(named, v) : NULL) {
		bool is_object = json_is(v, JSON_OBJECT);
		const char *path =
			is_object ? NULL : component_locate(m, json_cstr(v, &m->plugin->arena), v, kind->key);
		if (is_object)
			add_part_object(m, kind, m->file, v);
		else if (path)
			add_part_file(m, kind, path);
	}
}

static void find_settings(struct manifest *m)
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
	for (struct json_member f = json_members(file.root); f.key; f = json_member_next(file.root, f)) {
		struct str key = json_str(f.key, &p->arena);
		if (str_is(key, "agent")) {
			p->agent = json_cstr(f.value, &p->arena);
			if (!p->agent)
				plugin_complain(p, PLUGIN_BAD_COMPONENT, NULL, file.path, settings_line(&file, f.value),
						"agent: expected the name of an agent");
		} else if (!str_is(key, "subagentStatusLine")) {
			manifest_note(m, NULL, "settings.json: %.*s: a plugin cannot set it", (int)MIN(key.n, 80),
				      key.p);
		}
	}
}

void component_find_all(struct manifest *m)
{
	struct plugin *p = m->plugin;
	const struct kind skills = { "skills", "skills", &p->skills, true, m->offer };
	struct manifest offered = { .plugin = p, .file = m->market_file, .root = m->offer };

	find_kind(m, &(struct kind){ "agents", "agents", &p->agents, false, false });
	find_kind(m, &(struct kind){ "commands", "commands", &p->commands, false, false });
	find_kind(m, &(struct kind){ "outputStyles", "output-styles", &p->styles, false, false });
	find_kind(m->offer ? &offered : m, &skills);
	if (!p->skills.count && !m->offer && !json_get(m->root, "skills") &&
	    file_is_regular(path_join(&p->arena, p->root, "SKILL.md")))
		add_found(m, &skills, p->root, NULL);
	find_parts(m, &(struct part_kind){ "hooks", "hooks/hooks.json", PLUGIN_BAD_HOOKS, &p->hooks, false });
	find_parts(m, &(struct part_kind){ "mcpServers", ".mcp.json", PLUGIN_BAD_MCP, &p->mcp, true });
	find_settings(m);
	const char *bin = component_locate(m, "bin", NULL, "bin");
	if (bin && file_is_dir(bin))
		p->bin = bin;
	/* What a plugin may have and a runtime without a window does not use. */
	static const char *const keys[] = { "channels", "lspServers", "workflows" };
	static const char *const places[] = { ".lsp.json", "monitors", "themes", "workflows" };
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (json_get(m->root, keys[i]))
			manifest_note(m, json_get(m->root, keys[i]), "%s: not used", keys[i]);
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (file_exists(path_join(&p->arena, p->root, places[i])))
			manifest_note(m, NULL, "%s: not used", places[i]);
	if (file_exists(path_join(&p->arena, p->root, "CLAUDE.md")))
		manifest_note(m, NULL, "CLAUDE.md: that of a plugin is not read");
}

/* Checking: hooks and servers. */

static void check_hooks(struct plugin *p, const struct plugin_part *part)
{
	AUTO_ARENA struct arena a = { 0 };
	struct diagnostics found = { .arena = &a };
	struct hook_source source = { .layer = HOOK_FROM_PLUGIN,
				      .file = part->file,
				      .hooks = part->value,
				      .lines = part->lines,
				      .trusted = true };
	hook_set_unref(hook_set_new(&source, 1, NULL, &found));
	for (size_t i = 0; i < found.count; i++) {
		const char *text = strstr(found.list[i].message + strlen(part->file), ": "); /* behind FILE:LINE */
		if (found.list[i].level != DIAGNOSTIC_NOTE)
			plugin_complain(p, PLUGIN_BAD_HOOKS, NULL, part->file, found.list[i].line, "%s", text + 2);
	}
}

/* Checking: files with a head. */

/* A file of a kind: agents, commands or skills. What loads all the same is a note, what is refused an error. */
struct file_check {
	struct plugin *plugin;
	bool is_agent, is_command;
};

static const char *path_inside(const struct plugin *p, const char *path)
{
	return path_is_inside(path, p->root) && path[strlen(p->root)] ? path + strlen(p->root) + 1 : path;
}

static void check_file(const struct file_check *check, const char *path)
{
	struct plugin *p = check->plugin;
	AUTO_BUF struct buf text = { 0 };
	struct skill_origin origin = {
		.source = SOURCE_PLUGIN, .is_command = check->is_command, .file = path, .name = "x", .plugin = p->name
	};
	struct err err = { 0 };
	unsigned line = 0;

	if (file_read(path, LARGEST_FILE, &text, &err) < 0) {
		plugin_complain(p, PLUGIN_BAD_COMPONENT, NULL, path, 0, "%s", err.text);
		return;
	}
	struct definition *d = check->is_agent ? &agent_from_markdown(SOURCE_PLUGIN, path, "x", buf_str(&text))->common
					       : &skill_from_markdown(&origin, buf_str(&text))->common;
	const char *error = definition_first_error(d, &line);
	if (error && d->refused)
		plugin_complain(p, PLUGIN_BAD_COMPONENT, NULL, path, line, "%s", error);
	for (size_t i = 0; i < d->diagnostic_count && !d->refused; i++) {
		if (!d->diagnostics[i].line)
			continue; /* about the whole: a description that is made up, and the like */
		diagnostics_add(&p->notes, DIAGNOSTIC_NOTE, 0, "%s:%u: %s", path_inside(p, path),
				d->diagnostics[i].line, d->diagnostics[i].message);
		break; /* what follows is what the first one led to */
	}
	definition_unref(d);
}

static void on_checked_file(void *data, const struct tree_file *file)
{
	check_file(data, file->path);
}

static void on_checked_problem(void *data, const char *path, const char *message)
{
	plugin_complain(((const struct file_check *)data)->plugin, PLUGIN_BAD_PATH, NULL, path, 0, "%s", message);
}

static void check_paths(struct file_check check, const struct plugin_paths *paths)
{
	const struct tree_walk walk = { .on_file = on_checked_file,
					.on_problem = on_checked_problem,
					.data = &check,
					.inside = check.plugin->root };

	for (size_t i = 0; i < paths->count; i++)
		if (paths->list[i].is_dir)
			tree_walk(&walk, paths->list[i].path);
		else
			check_file(&check, paths->list[i].path);
}

/* Checking: skills. */

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.' && e->d_type != DT_REG;
}

static void check_skills_in(struct plugin *p, const char *dir)
{
	struct dirent **names;
	int count = scandir(dir, &names, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		const char *folder = path_join(&p->arena, dir, names[i]->d_name);
		const char *file = path_join(&p->arena, folder, "SKILL.md");
		AUTO_FREE char *real = realpath(file, NULL);
		free(names[i]);
		if (!real)
			diagnostics_add(&p->notes, DIAGNOSTIC_NOTE, 0, "%s: has no SKILL.md and is skipped",
					path_inside(p, folder));
		else if (!path_is_inside(real, p->root))
			plugin_complain(p, PLUGIN_BAD_PATH, NULL, file, 0, "is a link that leads out of the plugin");
		else
			check_file(&(struct file_check){ .plugin = p }, file);
	}
	if (count >= 0)
		free(names);
}

void plugin_validate(struct plugin *p)
{
	if (p->state == PLUGIN_FAILED)
		return;
	for (size_t i = 0; i < p->hooks.count; i++)
		check_hooks(p, &p->hooks.list[i]);
	for (size_t i = 0; i < p->mcp.count; i++) {
		const struct plugin_part *part = &p->mcp.list[i];
		for (struct json_member m = json_members(part->value); m.key; m = json_member_next(part->value, m))
			if (!json_is(json_get(m.value, "command"), JSON_STRING) &&
			    !json_is(json_get(m.value, "url"), JSON_STRING))
				plugin_complain(p, PLUGIN_BAD_MCP, NULL, part->file, settings_line(part->lines, m.key),
						"mcpServers." STR_FMT ": expected an object with a command or a url",
						STR_ARG(json_str(m.key, &p->arena)));
	}
	check_paths((struct file_check){ .plugin = p, .is_agent = true }, &p->agents);
	check_paths((struct file_check){ .plugin = p, .is_command = true }, &p->commands);
	for (size_t i = 0; i < p->skills.count; i++)
		if (p->skills.list[i].is_dir)
			check_skills_in(p, p->skills.list[i].path);
		else
			check_file(&(struct file_check){ .plugin = p }, p->skills.list[i].path);
}
