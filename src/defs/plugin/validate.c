/* SPDX-License-Identifier: MIT
 * validate.c - reads hooks, servers and the heads of agents, skills and commands. */
#include "defs/plugin/validate.h"
#include <dirent.h>
#include "guard/hook/set.h"
#include "lib/io/file.h"
#include "config/catalog/frontmatter.h"
#include "config/catalog/tree.h"

enum { LARGEST_FILE = 1 << 20 };

/* ---- hooks and servers ------------------------------------------------------------------------------------------- */

static void check_hooks(struct plugin *p, const struct plugin_part *part)
{
	AUTO_ARENA struct arena a = { 0 };
	struct diagnostics found = { .arena = &a };
	struct hook_source source = { .layer = HOOK_FROM_PLUGIN,
				      .file = part->file,
				      .hooks = part->value,
				      .lines = part->lines,
				      .trusted = true };
	size_t prefix = strlen(part->file) + 2; /* "FILE: " */

	hook_set_unref(hook_set_new(&source, 1, NULL, &found));
	for (size_t i = 0; i < found.count; i++)
		if (found.list[i].level != DIAGNOSTIC_NOTE)
			plugin_complain(p, PLUGIN_BAD_HOOKS, part->file, found.list[i].line, "%s",
					found.list[i].message + prefix);
}

static void check_servers(struct plugin *p, const struct plugin_part *part)
{
	for (struct json_member m = json_members(part->value); m.key; m = json_member_next(part->value, m)) {
		bool has_command = json_is(json_get(m.value, "command"), JSON_STRING);
		bool has_url = json_is(json_get(m.value, "url"), JSON_STRING);
		if (!has_command && !has_url)
			plugin_complain(p, PLUGIN_BAD_MCP, part->file, settings_line(part->lines, m.key),
					"mcpServers." STR_FMT ": expected an object with a command or a url",
					STR_ARG(json_str(m.key, &p->arena)));
	}
}

/* ---- files with a head ------------------------------------------------------------------------------------------- */

static unsigned any_key(struct str key)
{
	(void)key;
	return FRONTMATTER_KNOWN;
}

static void check_file(struct plugin *p, const char *path)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct diagnostics found = { .arena = &a };
	struct frontmatter head;
	struct err err = { 0 };

	if (file_read(path, LARGEST_FILE, &text, &err) < 0) {
		plugin_complain(p, PLUGIN_BAD_COMPONENT, path, 0, "%s", err.text);
		return;
	}
	frontmatter_read(&head, &a, buf_str(&text), any_key, &found);
	for (size_t i = 0; i < found.count; i++) {
		if (found.list[i].level != DIAGNOSTIC_ERROR && !head.recovered)
			continue;
		plugin_complain(p, PLUGIN_BAD_COMPONENT, path, found.list[i].line, "%s", found.list[i].message);
		return; /* what follows is what the first one led to */
	}
}

static void on_file(void *data, const struct tree_file *file)
{
	check_file(data, file->path);
}

static void on_problem(void *data, const char *path, const char *message)
{
	plugin_complain(data, PLUGIN_BAD_PATH, path, 0, "%s", message);
}

static void check_paths(struct plugin *p, const struct plugin_paths *paths)
{
	const struct tree_walk walk = { .on_file = on_file, .on_problem = on_problem, .data = p, .inside = p->root };

	for (size_t i = 0; i < paths->count; i++)
		if (paths->list[i].is_dir)
			tree_walk(&walk, paths->list[i].path);
		else
			check_file(p, paths->list[i].path);
}

/* ---- skills ------------------------------------------------------------------------------------------------------ */

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.' && e->d_type != DT_REG;
}

static void check_skill(struct plugin *p, const char *dir)
{
	const char *file = path_join(&p->arena, dir, "SKILL.md");
	AUTO_FREE char *real = realpath(file, NULL);

	if (!real)
		plugin_complain(p, PLUGIN_BAD_COMPONENT, dir, 0, "a skill needs a SKILL.md");
	else if (!path_is_inside(real, p->root))
		plugin_complain(p, PLUGIN_BAD_PATH, file, 0, "is a link that leads out of the plugin");
	else
		check_file(p, file);
}

static void check_skills_in(struct plugin *p, const char *dir)
{
	struct dirent **names;
	int count = scandir(dir, &names, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		check_skill(p, path_join(&p->arena, dir, names[i]->d_name));
		free(names[i]);
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
	for (size_t i = 0; i < p->mcp.count; i++)
		check_servers(p, &p->mcp.list[i]);
	check_paths(p, &p->agents);
	check_paths(p, &p->commands);
	for (size_t i = 0; i < p->skills.count; i++)
		if (p->skills.list[i].is_dir)
			check_skills_in(p, p->skills.list[i].path);
		else
			check_file(p, p->skills.list[i].path);
}
