/* SPDX-License-Identifier: MIT
 * builtin.c - the table of built-in agents and what switches them off. */
#include "defs/agentdef/builtin.h"
#include "defs/agentdef/builtin_text.h"
#include "config/settings/env_switch.h"

enum row_flags { EXPLORE_PLAN = 1 << 0, GUIDE = 1 << 1, COORDINATOR = 1 << 2 };

static const struct row {
	const char *name;
	const char *text;
	unsigned flags;
} table[] = {
	{ "Bash", builtin_bash, 0 },
	{ "Explore", builtin_explore, EXPLORE_PLAN },
	{ "Plan", builtin_plan, EXPLORE_PLAN },
	{ "cadre-guide", builtin_cadre_guide, GUIDE },
	{ "general-purpose", builtin_general_purpose, 0 },
	{ "statusline-setup", builtin_statusline_setup, 0 },
	{ "verification", builtin_verification, 0 },
	{ "worker", builtin_worker, COORDINATOR },
};

static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "claude-code-guide", "cadre-guide" },
};

static bool is_sdk(const char *entrypoint)
{
	return entrypoint && str_starts(str_from(entrypoint), STR("sdk-"));
}

struct builtin_switches builtin_switches_find(const char *entrypoint)
{
	return (struct builtin_switches){
		.none = is_sdk(entrypoint) && env_is_on("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS"),
		.no_explore_plan = env_is_on("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS"),
		.no_guide = is_sdk(entrypoint),
		.coordinator = env_is_on("CLAUDE_CODE_COORDINATOR_MODE"),
	};
}

static bool is_wanted(const struct row *row, const struct builtin_switches *s)
{
	if (s->none)
		return false;
	if (s->coordinator || (row->flags & COORDINATOR))
		return s->coordinator && (row->flags & COORDINATOR);
	return !(s->no_explore_plan && (row->flags & EXPLORE_PLAN)) && !(s->no_guide && (row->flags & GUIDE));
}

void builtin_each(const struct builtin_switches *switches, void (*fn)(void *data, struct agent_definition *d),
		  void *data)
{
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (is_wanted(&table[i], switches))
			fn(data,
			   agent_from_markdown(AGENT_BUILT_IN, "built-in", table[i].name, str_from(table[i].text)));
}

const char *builtin_alias(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(aliases); i++)
		if (str_is_nocase(name, aliases[i].alias))
			return aliases[i].name;
	return NULL;
}
