/* SPDX-License-Identifier: MIT
 * skills.c - which skills a runtime has, and what its settings say about them. */
#include "product/session/skills.h"
#include "defs/policy/plugins.h"
#include "lib/io/file.h"
#include "config/settings/env_switch.h"
#include "config/settings/settings_place.h"

static const char managed_dir[] = "/etc/claude-code";

int app_skill_sources(struct services *sv, struct arena *a, struct skill_sources *ret_sources, struct err *err)
{
	const struct options *o = &sv->options;
	struct skill_sources s = { 0 };

	if (options_directories(o, a, &s.cwd, &s.config_dir, err) < 0 || policy_load(sv, err) < 0)
		return -(int)err->kind;
	const char **dirs = arena_alloc(a, (o->add_dir_count + 1) * sizeof *dirs);
	for (size_t i = 0; i < o->add_dir_count; i++)
		dirs[i] = path_absolute(a, s.cwd, str_from(o->add_dirs[i]));
	if (o->config_root)
		s.cwd = path_absolute(a, s.cwd, str_from(o->config_root));
	s.add_dirs = dirs;
	s.add_dir_count = o->add_dir_count;
	s.managed_dir = o->managed_dir ? o->managed_dir : managed_dir;
	s.setting_sources = o->some_sources ? o->setting_sources : SETTINGS_ALL;
	s.bare = env_is_on("CLAUDE_CODE_SIMPLE");
	s.plugins = app_plugin_skills(sv->plugins, a, &s.plugin_count);
	s.plugins_only = app_plugins_only(sv->policy.settings, "skills");
	*ret_sources = s;
	return 0;
}

int app_open_skills(struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct skill_sources sources;

	if (sv->skills || sv->options.no_slash_commands)
		return 0;
	if (app_skill_sources(sv, &a, &sources, err) < 0)
		return -(int)err->kind;
	sv->skills = skill_registry_new(&sources);
	return 0;
}
