/* SPDX-License-Identifier: MIT
 * tool_facts.c - looks names of tools up in the table that the build makes. */
#include "core/tool/tool_facts.h"

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
