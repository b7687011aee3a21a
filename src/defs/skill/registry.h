/* SPDX-License-Identifier: MIT
 * registry.h - all skills and commands of a run: what was found, which one counts for each name, what could not be read.
 *
 * Of two with one name a skill wins over a command, otherwise the later place wins (source.h has the order). Of the project
 * the directory nearest to the root keeps the name, and one below it is called with its directory: "apps/web:deploy". Nothing is
 * watched: skill_registry_refresh() looks at every file's stamp and reads what is new. */
#pragma once
#include "lib/base/map.h"
#include "defs/skill/source.h"

struct skill_entry {
	struct skill *skill; /* owned by the registry; take a reference to keep it */
	const char *name;    /* how it is called */
	const char *
		nested; /* the directory below cwd that it was found in: it is for agents that work there; NULL: none */
	const struct skill_entry *hidden_by; /* the active one of its name; NULL: this one is active */
};

struct skill_failure {
	enum skill_source source;
	const char *path;
	unsigned line; /* 0: none */
	const char *message;
};

/* Read only for everybody else; good until the next refresh */
struct skill_registry {
	struct skill_entry *all; /* in the order of priority, lowest first; refused ones are not among them */
	size_t all_count;
	const struct skill_entry **active; /* in alphabetical order, case ignored */
	size_t active_count;
	struct skill_failure *failed; /* skills that may not be used, files that could not be read */
	size_t failed_count;
	struct skill **looked_at; /* every file: also refused ones */
	size_t looked_at_count;
	uint64_t generation;     /* changes when anything above does */
	struct skill_scan *scan; /* registry.c's own */
};

struct skill_registry *skill_registry_new(const struct skill_sources *sources); /* copies; returns owned */
void skill_registry_free(struct skill_registry *r);
void skill_registry_refresh(struct skill_registry *r);
/* A directory below cwd (absolute) has .claude/skills: it is looked at from the next refresh on. False: it was known already,
 * or there are SKILL_MOST_NESTED of them. */
enum { SKILL_MOST_NESTED = 256 };
bool skill_registry_add_nested(struct skill_registry *r, const char *dir);

/* An active one: by its exact name, else ignoring case. A slash in front does not count. NULL: there is none. */
const struct skill_entry *skill_registry_find(const struct skill_registry *r, struct str name);
/* Appends names that look like this one, with commas between; nothing if none does. */
void skill_registry_add_near(struct buf *out, const struct skill_registry *r, struct str name);
