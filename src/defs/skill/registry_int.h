/* SPDX-License-Identifier: MIT
 * registry_int.h - units: what one file gave, kept until the file changes. For the files of this room. */
#pragma once
#include "config/catalog/stamp.h"
#include "config/catalog/tree.h"
#include "defs/skill/registry.h"

struct skill_unit {
	char *path;
	struct stamp stamp;  /* of the file when it was read */
	struct skill *skill; /* reference; NULL: it cannot be read */
	char *error;         /* why; NULL: it can */
	enum skill_source source;
	bool is_command;
	char *below;   /* as the place says */
	char *nested;  /* the same */
	uint64_t seen; /* number of the scan that found it last */
};

struct skill_scan {
	struct arena arena; /* holds the copy of sources */
	struct skill_sources sources;
	struct map units;          /* key -> struct skill_unit, owned */
	struct skill_unit **order; /* found by this scan, in order of priority */
	size_t count, cap;
	uint64_t number;
	const struct skill_place *at; /* the place that is being scanned */
	struct map files;             /* "device:inode" of this scan: a file counts once, where it is found first */
	struct buf text;              /* of the file that is being read */
	struct arena view;            /* names of the view */
	bool changed;
};

/* registry_view.c: from units to what a registry shows. */
void skill_view_build(struct skill_registry *r);
void skill_view_release(struct skill_registry *r);
