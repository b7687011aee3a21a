/* SPDX-License-Identifier: MIT
 * registry_int.h - units: what one file gave, kept until the file changes. For the files of this room. */
#pragma once
#include "defs/agentdef/registry.h"
#include "lib/base/map.h"
#include "config/settings/settings_file.h"
#include "config/catalog/stamp.h"
#include "config/catalog/tree.h"

struct unit {
	enum place_kind kind; /* of the place that it was first found in */
	enum agent_source source;
	char *key, *path;
	struct stamp stamp;                    /* of the file when it was read */
	struct agent_definition **definitions; /* references */
	size_t count;
	struct settings_file settings; /* of a settings file that is there */
	char *error;                   /* why it cannot be read; NULL: it can */
	unsigned error_line;
	uint64_t seen;  /* number of the scan that found it last */
	unsigned place; /* group of its place in that scan */
};

struct registry_scan {
	struct arena arena; /* holds the copy of sources */
	struct agent_sources sources;
	struct map units;    /* key -> struct unit, owned */
	struct unit **order; /* found by this scan, in order of priority */
	size_t count, cap;
	uint64_t number;
	const struct agent_place *at; /* the place that is being scanned */
	struct buf text;              /* of the file that is being read */
	struct map plugin_files;      /* "plugin:device:inode": a file counts once in a plugin */
	bool changed;
};

/* The stamp is taken already. text is scratch. */
void unit_read_markdown(struct unit *u, const struct agent_place *place, const struct tree_file *file, int fd,
			struct buf *text);
void unit_read_settings(struct unit *u);
void unit_read_flag(struct unit *u, const struct agent_sources *sources);
void unit_fail(struct unit *u, unsigned line, const char *message);
void unit_add(struct unit *u, struct agent_definition *d); /* takes d */
void unit_clear(struct unit *u);
void unit_free(struct unit *u);

/* view.c: from units to what a registry shows. */
void registry_build(struct agent_registry *r);
void registry_release_view(struct agent_registry *r);
