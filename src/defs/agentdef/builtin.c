/* SPDX-License-Identifier: MIT
 * builtin.c - the table of built-in agents and what switches them off. */
#include "defs/agentdef/registry.h"
#include "config/settings/settings.h"

static const struct row {
	const char *name;
	const char *text;
	unsigned switches; /* that concern it */
} table[] = {
	{ "Bash", builtin_bash, 0 },
	{ "Explore", builtin_explore, BUILTIN_NO_EXPLORE_PLAN },
	{ "Plan", builtin_plan, BUILTIN_NO_EXPLORE_PLAN },
	{ "cadre-guide", builtin_cadre_guide, BUILTIN_NO_GUIDE },
	{ "general-purpose", builtin_general_purpose, 0 },
	{ "statusline-setup", builtin_statusline_setup, 0 },
	{ "verification", builtin_verification, 0 },
	{ "worker", builtin_worker, BUILTIN_COORDINATOR },
};

unsigned builtin_switches_find(const char *entrypoint)
{
	bool is_sdk = entrypoint && str_starts(str_from(entrypoint), STR("sdk-"));
	unsigned switches = is_sdk ? BUILTIN_NO_GUIDE : 0;

	if (is_sdk && env_is_on("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS"))
		switches |= BUILTIN_NONE;
	if (env_is_on("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS"))
		switches |= BUILTIN_NO_EXPLORE_PLAN;
	if (env_is_on("CLAUDE_CODE_COORDINATOR_MODE"))
		switches |= BUILTIN_COORDINATOR;
	return switches;
}

/* USER_TYPE=ant: searches are to be as good as the session's own model. */
void builtin_each(unsigned switches, void (*fn)(void *data, struct agent_definition *d), void *data)
{
	const char *user = getenv("USER_TYPE");
	bool inherits = user && !strcmp(user, "ant");

	for (size_t i = 0; i < COUNT_OF(table) && !(switches & BUILTIN_NONE); i++) {
		const struct row *row = &table[i];
		bool coordinator = row->switches & BUILTIN_COORDINATOR;
		if (coordinator != !!(switches & BUILTIN_COORDINATOR) || (!coordinator && (row->switches & switches)))
			continue;
		struct agent_definition *d =
			agent_from_markdown(SOURCE_BUILT_IN, "built-in", row->name, str_from(row->text));
		if (inherits && !strcmp(row->name, "Explore"))
			d->model = "inherit";
		fn(data, d);
	}
}

const char *builtin_alias(struct str name)
{
	return str_is_nocase(name, "claude-code-guide") ? "cadre-guide" : NULL;
}

bool builtin_is_guide(const struct agent_definition *d)
{
	return d->source == SOURCE_BUILT_IN && !strcmp(d->name, "cadre-guide");
}
