/* SPDX-License-Identifier: MIT
 * settings_place.h - where settings are looked for: a list of places, lowest priority first.
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
 * The list is made anew for each look, so that files which appear later are seen. */
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
	const char *managed;     /* a JSON object in place of managed files, where there are none; NULL: none */
	const char *flag;        /* a JSON object, or the path of a file; NULL: none */
	unsigned sources;        /* enum setting_sources: which of user, project and local count */
	bool bare;               /* none of them counts */
	bool sdk;                /* started by an SDK or a script: of the local files only that in cwd counts */
	bool trusted;            /* the user trusts the folder: what its files say may widen */
};

struct settings_place {
	enum settings_layer layer;
	const char *path; /* of the flag, and of what is managed: what was given, which begins with '{' if it is JSON */
};

/* { .arena = a } is empty; lives and dies with the arena */
struct settings_places {
	struct arena *arena;
	struct settings_place *list;
	size_t count, cap;
};

/* The files need not be there. A managed directory that cannot be listed is a failure: what it forbids is not known. */
int settings_places_find(struct settings_places *places, const struct settings_spec *spec, struct err *err);
/* Where a local setting is stored: the last local place of the list. In the arena. */
char *settings_local_path(struct arena *a, const struct settings_spec *spec);
