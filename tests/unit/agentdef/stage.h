/* SPDX-License-Identifier: MIT
 * stage.h - a user, a project and a machine in a temporary directory, for tests of where agents come from. */
#pragma once
#include "unit.h"
#include "defs/agentdef/registry.h"

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct catalog_sources sources; /* cwd: top/project, config: config, managed: managed; top is a repository */
	struct catalog *registry;
};

void stage_init(struct stage *s);
void stage_release(struct stage *s);
char *stage_path(struct stage *s, const char *name);
void stage_put(struct stage *s, const char *name, const char *text);
/* An agent file with a description that is its own path. */
void stage_agent(struct stage *s, const char *name, const char *type);
void stage_load(struct stage *s); /* for the first time, or again from nothing */
const struct agent_definition *stage_find(struct stage *s, const char *type); /* NULL: not active */
/* Names of the active agents that are not built in, with commas between. In the arena. */
const char *stage_active(struct stage *s);
