/* SPDX-License-Identifier: MIT
 * stage.h - a user, a project and a machine in a temporary directory, for tests of where skills come from. */
#pragma once
#include "unit.h"
#include "defs/skill/registry.h"

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct catalog_sources sources; /* cwd: top/apps/web, config: config, managed: managed; top is a repository */
	struct catalog *registry;
};

void stage_init(struct stage *s);
void stage_release(struct stage *s);
char *stage_path(struct stage *s, const char *name);
void stage_put(struct stage *s, const char *name, const char *text);
/* A file whose description is its own path. */
void stage_skill(struct stage *s, const char *name);
void stage_load(struct stage *s);
/* "name=path below the stage" of the active ones, with commas between. In the arena. */
const char *stage_active(struct stage *s);
