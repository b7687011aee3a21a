/* SPDX-License-Identifier: MIT
 * stage.c - files for tests. */
#include "stage.h"
#include "lib/io/file.h"
#include "defs/plugin/fetch.h"
#include "defs/plugin/install.h"

void stage_init(struct stage *s)
{

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	stage_put(s, "work/file", "");
	s->spec = (struct plugin_spec){ .plugins_dir = stage_path(s, "home/plugins"),
					.project_dir = stage_path(s, "work"),
					.given = s->given,
					.skills_dirs = &s->skills_dir,
					.trust = &s->trust };
}

void stage_release(struct stage *s)
{
	plugin_list_unref(s->list);
	settings_unref(s->settings);
	trust_release(&s->trust);
	folder_remove(s->dir);
	arena_release(&s->arena);
}

char *stage_path(struct stage *s, const char *name)
{
	return path_join(&s->arena, s->dir, name);
}

void stage_put(struct stage *s, const char *name, const char *text)
{
	file_put(stage_path(s, name), str_from(text));
}

void stage_plugin(struct stage *s, const char *dir, const char *manifest)
{
	stage_put(s, arena_printf(&s->arena, "%s/.claude-plugin/plugin.json", dir), manifest);
	stage_put(s, arena_printf(&s->arena, "%s/agents/a.md", dir), "---\nname: a\ndescription: d\n---\nx\n");
}

void stage_give(struct stage *s, const char *dir)
{
	s->given[s->spec.given_count++].path = stage_path(s, dir);
}

void stage_install(struct stage *s, const char *dir, const char *market)
{
	struct installed_plugin installed;
	struct err err = { 0 };
	struct install what = { s->spec.plugins_dir, stage_path(s, dir), market, NULL, "user" };

	CHECK_INT(plugin_install(&s->arena, &what, &installed, &err), 0);
}

void stage_load(struct stage *s)
{
	struct err err = { 0 };
	struct settings_spec spec = { .cwd = stage_path(s, "work"),
				      .config_dir = stage_path(s, "home"),
				      .managed_dir = stage_path(s, "managed"),
				      .sources = SETTINGS_ALL,
				      .trusted = s->trusted };

	plugin_list_unref(s->list);
	settings_unref(s->settings);
	CHECK_INT(settings_load(&spec, &s->settings, &err), 0);
	s->spec.settings = s->settings;
	s->list = plugin_list_load(&s->spec);
}

const char *stage_states(struct stage *s)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < s->list->count; i++) {
		const struct plugin *p = s->list->all[i];
		buf_addf(&out, "%s%s=", i ? " " : "", p->id);
		if (p->state == PLUGIN_FAILED)
			buf_addf(&out, "failed:%s", plugin_fault_name(p->errors[0].fault));
		else
			buf_addstr(&out, p->state == PLUGIN_ENABLED ? "enabled" : "disabled");
	}
	return out.n ? arena_strdup(&s->arena, out.p) : "";
}
