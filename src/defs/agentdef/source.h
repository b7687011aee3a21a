/* SPDX-License-Identifier: MIT
 * source.h - where agent definitions are looked for: a list of places, lowest priority first.
 *
 * built-in < plugins < user (settings.json, agents/) < project (settings.json, settings.local.json of cwd and of the
 * repository's root, .claude/agents of the main checkout of a linked worktree, of each --add-dir, then of the repository's
 * root down to cwd) < --settings < --agents < managed (managed-settings.json, managed-settings.d, .claude/agents).
 *
 * The list is made anew for each look: it costs a few stats, and directories that appear later are seen. */
#pragma once
#include "defs/agentdef/builtin.h"
#include "defs/agentdef/definition.h"
#include "config/catalog/plugin_vars.h"
#include "config/settings/settings_place.h"

struct agent_plugin_path {
	const char *path;
	bool is_dir; /* of .md files; otherwise one of them */
};

struct agent_plugin_problem {
	const char *path;
	unsigned line; /* 0: none */
	const char *message;
};

/* A plugin whose agents count; who finds plugins has checked that its paths are inside it. */
struct agent_plugin {
	const char *name;
	struct plugin_vars vars; /* that bodies may name; root is the real path that links may not leave */
	const struct agent_plugin_path *paths;
	size_t path_count;
	const struct agent_plugin_problem *problems; /* told among the files that could not be read */
	size_t problem_count;
};

/* All paths absolute */
struct agent_sources {
	const char *cwd, *config_dir;
	const char *managed_dir; /* NULL: none */
	const char *const *add_dirs;
	size_t add_dir_count;
	const struct agent_plugin *plugins;
	size_t plugin_count;
	const char *settings;     /* of --settings: a JSON object, or the path of a file; NULL: none */
	const char *flag;         /* value of --agents: a JSON object, or the path of a file with one; NULL: none */
	const char *denied;       /* deny rules of the command line, with commas between; NULL: none */
	unsigned setting_sources; /* enum setting_sources: which of user, project and local count */
	bool bare;                /* nothing of the user and the project */
	bool sdk;                 /* of the local settings only those in cwd count */
	struct builtin_switches builtin;
};

enum place_kind {
	PLACE_BUILT_IN, /* compiled in */
	PLACE_TREE,     /* a directory of .md files */
	PLACE_FILE,     /* one .md file, named by a plugin's manifest */
	PLACE_SETTINGS, /* the `agents` member of a settings file */
	PLACE_FLAG,     /* --agents */
	PLACE_PROBLEM,  /* nothing can be read there, and `problem` says why */
};

struct agent_place {
	enum place_kind kind;
	enum agent_source source;
	unsigned group; /* of two agents of one type in one group the first counts */
	const char *path;
	const struct agent_plugin *plugin; /* borrowed from the sources; NULL: not of one */
	const char *inside;                /* real path that links may not leave; NULL: anywhere */
	const char *problem;
	unsigned line; /* of the problem */
};

/* A zeroed struct is empty; all texts are in the arena */
struct agent_places {
	struct agent_place *list;
	size_t count, cap;
	unsigned groups;
	struct arena arena;
};

void agent_places_find(struct agent_places *places, const struct agent_sources *sources);
struct agent_place *agent_places_add(struct agent_places *places, enum place_kind kind, enum agent_source source,
				     const char *path);
void agent_places_release(struct agent_places *places);

/* plugin_place.c. The plugin must outlive the places. */
void agent_places_add_plugin(struct agent_places *places, const struct agent_plugin *plugin);
/* Without the user's options, which no body may name. */
const struct agent_plugin *agent_plugins_copy(struct arena *a, const struct agent_plugin *from, size_t count);

const char *agent_source_name(enum agent_source source); /* "built-in", "plugin", "userSettings", ... */
