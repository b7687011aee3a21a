/* SPDX-License-Identifier: MIT
 * tool_set.c - the tools of one agent, in the order in which the model sees them. */
#include "core/tool/tool.h"

void tool_set_add(struct tool_set *set, const struct tool *tool)
{
	if (set->count == set->cap) {
		set->cap = set->cap ? set->cap * 2 : 8;
		set->tools = xrealloc(set->tools, set->cap * sizeof *set->tools);
	}
	set->tools[set->count++] = tool;
}

static bool has_alias(const struct tool *tool, struct str name)
{
	for (size_t i = 0; tool->aliases && tool->aliases[i]; i++)
		if (str_is_nocase(name, tool->aliases[i]))
			return true;
	return false;
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
		if (has_alias(set->tools[i], name))
			return set->tools[i];
	return NULL;
}

void tool_set_release(struct tool_set *set)
{
	free(set->tools);
	*set = (struct tool_set){ 0 };
}
