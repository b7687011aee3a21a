/* SPDX-License-Identifier: MIT
 * tool_set.c - finding things about tools: in the set of an agent, in the table of facts, in the environment of calls. */
#include "core/tool/tool.h"
#include "lib/io/file.h"

/* ---- the tools of one agent, in the order in which the model sees them ------------------------------------------ */

void tool_set_add(struct tool_set *set, const struct tool *tool)
{
	set->tools = xgrow(set->tools, set->count, &set->cap, sizeof *set->tools);
	set->tools[set->count++] = tool;
}

const struct tool *tool_set_find(const struct tool_set *set, struct str name)
{
	for (size_t i = 0; i < set->count; i++)
		if (str_is(name, set->tools[i]->name))
			return set->tools[i];
	for (size_t i = 0; i < set->count; i++)
		if (str_is_nocase(name, set->tools[i]->name))
			return set->tools[i];
	for (size_t i = 0; i < set->count; i++)
		for (const char *const *alias = set->tools[i]->aliases; alias && *alias; alias++)
			if (str_is_nocase(name, *alias))
				return set->tools[i];
	return NULL;
}

void tool_set_release(struct tool_set *set)
{
	free(set->tools);
	*set = (struct tool_set){ 0 };
}

/* ---- facts, from the table that the build makes ----------------------------------------------------------------- */

const struct tool_facts *tool_facts_find(struct str name)
{
	for (size_t i = 0; i < tool_facts_count; i++)
		if (str_is_nocase(name, tool_facts_table[i].name))
			return &tool_facts_table[i];
	return NULL;
}

struct str tool_current_name(struct str name)
{
	const struct tool_facts *facts = tool_facts_find(name);

	return facts && facts->now ? str_from(facts->now) : name;
}

bool tool_has_parameter(const struct tool_facts *facts, struct str member)
{
	for (size_t i = 0; facts && facts->parameters && facts->parameters[i]; i++)
		if (str_is(member, facts->parameters[i]))
			return true;
	return false;
}

/* ---- environment ------------------------------------------------------------------------------------------------ */

const char *tool_env_get(const struct tool_env *env, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *e = env->envp; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

const char *tool_env_shown_path(const struct tool_env *env, const char *path)
{
	size_t n = strlen(env->cwd);

	if (!path_is_inside(path, env->cwd) || !path[n])
		return path;
	return path + n + (path[n] == '/');
}
