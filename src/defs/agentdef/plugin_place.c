/* SPDX-License-Identifier: MIT
 * plugin_place.c - the agents of plugins, as the caller found them, among the places. */
#include "defs/agentdef/source.h"

static void add_paths(struct agent_places *places, const struct agent_plugin *p)
{
	unsigned group = places->groups; /* a file of several of its places counts where it comes first */

	for (size_t i = 0; i < p->path_count; i++) {
		const struct agent_plugin_path *at = &p->paths[i];
		struct agent_place *place =
			agent_places_add(places, at->is_dir ? PLACE_TREE : PLACE_FILE, AGENT_PLUGIN, at->path);
		place->plugin = p;
		place->inside = p->vars.root;
		place->group = group;
	}
}

void agent_places_add_plugin(struct agent_places *places, const struct agent_plugin *p)
{
	add_paths(places, p);
	for (size_t i = 0; i < p->problem_count; i++) {
		struct agent_place *place = agent_places_add(places, PLACE_PROBLEM, AGENT_PLUGIN, p->problems[i].path);
		place->plugin = p;
		place->problem = p->problems[i].message;
		place->line = p->problems[i].line;
	}
}

static const char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static struct agent_plugin copy_plugin(struct arena *a, const struct agent_plugin *from)
{
	struct agent_plugin p = *from;
	struct agent_plugin_path *paths = arena_calloc(a, (p.path_count + 1) * sizeof *paths);
	struct agent_plugin_problem *problems = arena_calloc(a, (p.problem_count + 1) * sizeof *problems);

	for (size_t i = 0; i < p.path_count; i++)
		paths[i] = (struct agent_plugin_path){ copy(a, from->paths[i].path), from->paths[i].is_dir };
	for (size_t i = 0; i < p.problem_count; i++)
		problems[i] = (struct agent_plugin_problem){ copy(a, from->problems[i].path), from->problems[i].line,
							     copy(a, from->problems[i].message) };
	p.name = copy(a, from->name);
	p.vars = (struct plugin_vars){ copy(a, from->vars.root), copy(a, from->vars.data), copy(a, from->vars.project),
				       NULL };
	p.paths = paths;
	p.problems = problems;
	return p;
}

const struct agent_plugin *agent_plugins_copy(struct arena *a, const struct agent_plugin *from, size_t count)
{
	struct agent_plugin *list = arena_calloc(a, (count + 1) * sizeof *list);

	for (size_t i = 0; i < count; i++)
		list[i] = copy_plugin(a, &from[i]);
	return list;
}
