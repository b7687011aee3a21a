/* SPDX-License-Identifier: MIT
 * skills.c - which skills a runtime has, and what its settings say about them. */
#include "product/session/skills.h"
#include "defs/policy/plugins.h"
#include "defs/policy/sources.h"

int app_skill_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err)
{
	if (app_agent_sources(sv, a, ret_sources, err) < 0 || policy_load(sv, err) < 0)
		return -(int)err->kind;
	ret_sources->plugins = app_plugin_skills(sv->plugins, a, &ret_sources->plugin_count);
	ret_sources->plugins_only = app_plugins_only(sv->policy.settings, "skills");
	return 0;
}

int app_open_skills(struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct catalog_sources sources;

	if (sv->skills || sv->options.no_slash_commands)
		return 0;
	if (app_skill_sources(sv, &a, &sources, err) < 0)
		return -(int)err->kind;
	sv->skills = skill_registry_new(&sources);
	return 0;
}

void session_use_skills(struct cadre_session *s)
{
	const struct settings *settings = s->services->policy.settings;
	struct agent_tree *t = &s->tree;

	t->skills.registry = s->services->skills;
	t->skills.overrides = settings_get(settings, "skillOverrides", NULL);
	t->skills.no_commands = settings_bool(settings, "disableSkillShellExecution", false);
	t->skills.fork_in_background = s->services->options.interactive;
	t->skills.listing_part = settings_double(settings, "skillListingBudgetFraction", 0.01);
	t->skills.listing_chars = settings_i64(settings, "skillListingMaxDescChars", 0);
}
