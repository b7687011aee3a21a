/* SPDX-License-Identifier: MIT
 * source.c - the list of places. */
#include "defs/skill/source.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/git/git_head.h"
#include "config/settings/settings_place.h"

static struct skill_place *add(struct skill_places *p, enum skill_place_kind kind, enum skill_source source,
			       const char *path)
{
	if (p->count == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->list = xrealloc(p->list, p->cap * sizeof *p->list);
	}
	struct skill_place *place = &p->list[p->count++];
	*place = (struct skill_place){
		.kind = kind, .source = source, .is_command = kind == SKILL_PLACE_COMMANDS, .path = path, .below = ""
	};
	return place;
}

void skill_places_release(struct skill_places *places)
{
	free(places->list);
	arena_release(&places->arena);
	*places = (struct skill_places){ 0 };
}

static void add_both(struct skill_places *p, enum skill_source source, const char *dir, const char *below)
{
	add(p, SKILL_PLACE_COMMANDS, source, path_join(&p->arena, dir, "commands"))->below = below;
	add(p, SKILL_PLACE_SKILLS, source, path_join(&p->arena, dir, "skills"))->below = below;
}

/* The user's own directory is no project, also when the home directory is a repository. */
static void add_project(struct skill_places *p, const struct skill_sources *s, const char *dir, const char *below)
{
	const char *claude = path_join(&p->arena, dir, ".claude");

	if (strcmp(claude, s->config_dir) != 0)
		add_both(p, SKILL_PROJECT, claude, below);
}

/* From the root of the repository down to cwd. Without a repository: cwd alone. */
static void add_projects(struct skill_places *p, const struct skill_sources *s)
{
	const char *root = git_root(&p->arena, s->cwd);

	for (size_t i = 0; i < s->add_dir_count; i++)
		add_project(p, s, s->add_dirs[i], "");
	if (!root || !strcmp(root, s->cwd)) {
		add_project(p, s, s->cwd, "");
		return;
	}
	size_t from = strlen(root) + (root[1] != '\0');
	add_project(p, s, root, "");
	for (const char *at = strchr(s->cwd + from, '/'); at; at = strchr(at + 1, '/')) {
		const char *dir = arena_dup(&p->arena, s->cwd, (size_t)(at - s->cwd));
		add_project(p, s, dir, dir + from);
	}
	add_project(p, s, s->cwd, arena_strdup(&p->arena, s->cwd + from));
}

/* Called by their way from the root of the repository, or from cwd. */
static void add_nested(struct skill_places *p, const struct skill_sources *s)
{
	const char *root = s->nested_count ? git_root(&p->arena, s->cwd) : NULL;
	size_t from = strlen(root ? root : s->cwd) + 1;

	for (size_t i = 0; i < s->nested_count; i++) {
		const char *dir = s->nested[i];
		struct skill_place *place =
			add(p, SKILL_PLACE_SKILLS, SKILL_PROJECT, path_join(&p->arena, dir, ".claude/skills"));
		place->below = dir + from;
		place->nested = dir;
	}
}

static enum skill_place_kind kind_of(const struct skill_plugin *plugin, const char *skill_file)
{
	struct stat st;

	if (stat(plugin->path, &st) == 0 && S_ISREG(st.st_mode))
		return SKILL_PLACE_FILE;
	if (plugin->is_command)
		return SKILL_PLACE_COMMANDS;
	return file_exists(skill_file) ? SKILL_PLACE_FILE : SKILL_PLACE_SKILLS;
}

static void add_plugin(struct skill_places *p, const struct skill_plugin *plugin)
{
	AUTO_FREE char *real = realpath(plugin->root, NULL);
	const char *skill_file = path_join(&p->arena, plugin->path, "SKILL.md");
	enum skill_place_kind kind = kind_of(plugin, skill_file);
	bool is_dir = kind == SKILL_PLACE_FILE && file_exists(skill_file);
	struct skill_place *place =
		add(p, kind, SKILL_PLUGIN, is_dir ? skill_file : arena_strdup(&p->arena, plugin->path));

	place->plugin = plugin;
	place->is_command = plugin->is_command;
	place->inside = arena_strdup(&p->arena, real ? real : plugin->root);
}

void skill_places_find(struct skill_places *p, const struct skill_sources *s)
{
	unsigned chosen = s->bare || s->plugins_only ? 0 : s->setting_sources;

	for (size_t i = 0; i < s->plugin_count; i++)
		add_plugin(p, &s->plugins[i]);
	if (chosen & SETTINGS_PROJECT) {
		add_projects(p, s);
		add_nested(p, s);
	}
	if (chosen & SETTINGS_USER)
		add_both(p, SKILL_USER, s->config_dir, "");
	if (s->managed_dir)
		add_both(p, SKILL_MANAGED, path_join(&p->arena, s->managed_dir, ".claude"), "");
}
