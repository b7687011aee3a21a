/* SPDX-License-Identifier: MIT
 * source.c - the list of places. */
#include "defs/agentdef/source.h"
#include "lib/io/file.h"
#include "lib/git/git_head.h"

const char *agent_source_name(enum agent_source source)
{
	static const char *const names[AGENT_SOURCE_COUNT] = {
		[AGENT_BUILT_IN] = "built-in",       [AGENT_PLUGIN] = "plugin",     [AGENT_USER] = "userSettings",
		[AGENT_PROJECT] = "projectSettings", [AGENT_FLAG] = "flagSettings", [AGENT_POLICY] = "policySettings",
	};

	return names[source];
}

struct agent_place *agent_places_add(struct agent_places *places, enum place_kind kind, enum agent_source source,
				     const char *path)
{
	if (places->count == places->cap) {
		places->cap = places->cap ? places->cap * 2 : 16;
		places->list = xrealloc(places->list, places->cap * sizeof *places->list);
	}
	struct agent_place *place = &places->list[places->count++];
	*place = (struct agent_place){ .kind = kind, .source = source, .group = places->groups++ };
	place->path = arena_strdup(&places->arena, path);
	return place;
}

void agent_places_release(struct agent_places *places)
{
	free(places->list);
	arena_release(&places->arena);
	*places = (struct agent_places){ 0 };
}

static void add_below(struct agent_places *p, enum place_kind kind, enum agent_source source, const char *dir,
		      const char *name)
{
	agent_places_add(p, kind, source, path_join(&p->arena, dir, name));
}

static void drop_place(struct agent_places *p, enum place_kind kind, const char *path)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].kind == kind && !strcmp(p->list[i].path, path)) {
			memmove(&p->list[i], &p->list[i + 1], (p->count - i - 1) * sizeof *p->list);
			p->count--;
			return;
		}
}

/* The user's own directory is no project, also when the home directory is a repository. A directory that is named twice
 * counts where it is nearest. */
static void add_project_tree(struct agent_places *p, const struct agent_sources *s, const char *dir)
{
	const char *path = path_join(&p->arena, dir, ".claude/agents");

	if (!strcmp(path_join(&p->arena, dir, ".claude"), s->config_dir))
		return;
	drop_place(p, PLACE_TREE, path);
	agent_places_add(p, PLACE_TREE, AGENT_PROJECT, path);
}

/* From the root of the repository down to cwd, so that the nearest wins. Without a repository: cwd alone. */
static void add_project_trees(struct agent_places *p, const struct agent_sources *s)
{
	const char *root = git_root(&p->arena, s->cwd);
	const char *main_root = root ? git_main_checkout(&p->arena, root) : NULL;

	if (main_root && strcmp(main_root, root))
		add_project_tree(p, s, main_root);
	for (size_t i = 0; i < s->add_dir_count; i++)
		add_project_tree(p, s, s->add_dirs[i]);
	if (root && strcmp(root, s->cwd)) {
		add_project_tree(p, s, root);
		for (const char *at = strchr(s->cwd + strlen(root) + (root[1] != '\0'), '/'); at;
		     at = strchr(at + 1, '/'))
			add_project_tree(p, s, arena_dup(&p->arena, s->cwd, (size_t)(at - s->cwd)));
	}
	add_project_tree(p, s, s->cwd);
}

static void add_settings(struct agent_places *p, const struct settings_places *settings, enum settings_layer first,
			 enum settings_layer last, enum agent_source source)
{
	for (size_t i = 0; i < settings->count; i++)
		if (settings->list[i].layer >= first && settings->list[i].layer <= last)
			agent_places_add(p, PLACE_SETTINGS, source, settings->list[i].path);
}

/* A directory that cannot be listed is told among the registry's failures. */
static struct settings_places find_settings(struct agent_places *p, const struct agent_sources *s)
{
	struct settings_places found = { .arena = &p->arena };
	struct err err = { 0 };
	struct settings_spec spec = {
		.cwd = s->cwd,
		.config_dir = s->config_dir,
		.managed_dir = s->managed_dir,
		.flag = s->settings,
		.sources = s->setting_sources,
		.bare = s->bare,
		.sdk = s->sdk,
	};

	if (settings_places_find(&found, &spec, &err) < 0)
		agent_places_add(p, PLACE_PROBLEM, AGENT_POLICY, s->managed_dir)->problem =
			arena_strdup(&p->arena, err.text);
	return found;
}

void agent_places_find(struct agent_places *p, const struct agent_sources *s)
{
	unsigned chosen = s->bare ? 0 : s->setting_sources;
	struct settings_places settings = find_settings(p, s);

	agent_places_add(p, PLACE_BUILT_IN, AGENT_BUILT_IN, "built-in");
	for (size_t i = 0; i < s->plugin_count; i++)
		agent_places_add_plugin(p, &s->plugins[i]);
	add_settings(p, &settings, LAYER_USER, LAYER_USER, AGENT_USER);
	if (chosen & SETTINGS_USER)
		add_below(p, PLACE_TREE, AGENT_USER, s->config_dir, "agents");
	add_settings(p, &settings, LAYER_PROJECT, LAYER_LOCAL, AGENT_PROJECT);
	if (chosen & SETTINGS_PROJECT)
		add_project_trees(p, s);
	add_settings(p, &settings, LAYER_FLAG, LAYER_FLAG, AGENT_FLAG);
	if (s->flag)
		agent_places_add(p, PLACE_FLAG, AGENT_FLAG, s->flag);
	add_settings(p, &settings, LAYER_MANAGED, LAYER_MANAGED, AGENT_POLICY);
	if (s->managed_dir)
		add_below(p, PLACE_TREE, AGENT_POLICY, s->managed_dir, ".claude/agents");
}
