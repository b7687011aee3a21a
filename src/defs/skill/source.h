/* SPDX-License-Identifier: MIT
 * source.h - where skills are looked for: a list of places, lowest priority first.
 *
 * plugins < project (.claude/skills and .claude/commands of each --add-dir, then of the repository's root down to cwd) < user
 * (CONFIG/skills, CONFIG/commands) < managed (MANAGED/.claude/skills, .../commands). Nested directories, which agents came upon
 * below cwd, are the last of the project.
 *
 * The list is made anew for each look: it costs a few stats, and directories that appear later are seen. */
#pragma once
#include "defs/skill/skill.h"

/* What a plugin brings: a directory of skills, a directory or file of commands, or one directory with a SKILL.md */
struct skill_plugin {
	const char *name, *root, *data_dir; /* of the plugin; data_dir may be NULL */
	const char *path;
	bool is_command;
	bool trusted; /* hooks of its skills run */
};

/* All paths absolute */
struct skill_sources {
	const char *cwd, *config_dir;
	const char *managed_dir; /* NULL: none */
	const char *const *add_dirs;
	size_t add_dir_count;
	const char *const *nested; /* have .claude/skills, in the order in which they were found */
	size_t nested_count;
	const struct skill_plugin *plugins;
	size_t plugin_count;
	unsigned setting_sources; /* enum setting_sources: which of user and project count */
	bool bare;                /* nothing of the user and the project */
	bool plugins_only;        /* managed settings allow none of the user and the project */
};

enum skill_place_kind {
	SKILL_PLACE_SKILLS,   /* PATH/NAME/SKILL.md */
	SKILL_PLACE_COMMANDS, /* PATH/NAME.md, PATH/DIR/NAME.md is DIR:NAME */
	SKILL_PLACE_FILE,     /* one file */
};

struct skill_place {
	enum skill_place_kind kind;
	enum skill_source source;
	bool is_command;
	const char *path;
	const char *below;  /* of the project: from its root to the directory that has .claude; "" at the root */
	const char *nested; /* that directory, of a nested one; NULL: it is none */
	const struct skill_plugin *plugin; /* NULL: not of one */
	const char *inside;                /* real path that links may not leave; NULL: anywhere */
};

/* A zeroed struct is empty; all texts are in the arena */
struct skill_places {
	struct skill_place *list;
	size_t count, cap;
	struct arena arena;
};

void skill_places_find(struct skill_places *places, const struct skill_sources *sources); /* borrows the plugins */
void skill_places_release(struct skill_places *places);
