/* SPDX-License-Identifier: MIT
 * stage.h - a user with plugins in a temporary directory. */
#pragma once
#include "unit.h"
#include "defs/plugin/list.h"

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct plugin_given given[8];
	struct plugin_skills_dir skills_dir;
	struct settings *settings;
	bool trusted; /* the project */
	struct trust trust;
	struct plugin_spec spec; /* plugins: home/plugins, settings: home/settings.json, project: work */
	struct plugin_list *list;
};

void stage_init(struct stage *s);
void stage_release(struct stage *s);
char *stage_path(struct stage *s, const char *name);
void stage_put(struct stage *s, const char *name, const char *text);
void stage_plugin(struct stage *s, const char *dir, const char *manifest); /* with one agent */
void stage_give(struct stage *s, const char *dir);                         /* --plugin-dir */
void stage_install(struct stage *s, const char *dir, const char *market);
void stage_load(struct stage *s); /* settings and plugins, for the first time or again */
/* "id=enabled id=failed:type ..." in the order of the list. In the arena. */
const char *stage_states(struct stage *s);
