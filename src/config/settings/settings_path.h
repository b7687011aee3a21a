/* SPDX-License-Identifier: MIT
 * settings_path.h - search paths of settings files, lowest priority first.
 *
 *     user < project < local < flag < managed
 *
 *     user      CONFIG/settings.json
 *     project   CWD/.claude/settings.json; nothing above CWD
 *     local     CWD/.claude/settings.local.json, then that of the repository's root (of a linked worktree: of the main
 *               checkout), which is the higher one
 *     flag      --settings: a JSON object, or a file
 *     managed   MANAGED/managed-settings.json, then MANAGED/managed-settings.d/NAME.json in the order of the names
 *
 * The list is rebuilt for each check, so that new files are found. */
#pragma once
#include "lib/base/arena.h"

enum settings_layer { LAYER_USER, LAYER_PROJECT, LAYER_LOCAL, LAYER_FLAG, LAYER_MANAGED, LAYER_COUNT };

const char *settings_layer_name(enum settings_layer layer); /* "user", "project", "local", "flag", "managed" */

enum setting_sources { SETTINGS_USER = 1 << 0, SETTINGS_PROJECT = 1 << 1, SETTINGS_LOCAL = 1 << 2, SETTINGS_ALL = 7 };

/* "user,project,local" in any order; "" is none. -ERR_USAGE names what is expected. */
int setting_sources_parse(struct str list, unsigned *ret_sources, struct err *err);

/* All paths absolute */
struct settings_spec {
	const char *cwd, *config_dir;
	const char *managed_dir; /* NULL: none */
	const char *managed;     /* a JSON object used if there are no managed files; NULL: none */
	const char *flag;        /* a JSON object, or the path of a file; NULL: none */
	unsigned sources;        /* enum setting_sources: which of user, project and local count */
	bool bare;               /* none of them */
	bool sdk;                /* started by an SDK or a script: only the local file in cwd applies */
	bool trusted;            /* the user trusts the folder: its files may widen permissions */
};

struct settings_path {
	enum settings_layer layer;
	const char *path; /* a path; for flag and managed also the JSON text, which begins with '{' */
};

/* { .arena = a } is empty; lives and dies with the arena */
struct settings_paths {
	struct arena *arena;
	struct settings_path *list;
	size_t count, cap;
};

/* The files need not exist. A managed directory that cannot be listed is an error: its restrictions are unknown. */
int settings_paths_find(struct settings_paths *places, const struct settings_spec *spec, struct err *err);
/* The file that stores local settings: the last local entry of the list. In the arena. */
char *settings_local_path(struct arena *a, const struct settings_spec *spec);
