/* SPDX-License-Identifier: MIT
 * registry.h - the catalog of skills and commands, and their list for a model.
 *
 * plugins < project (.claude/skills and .claude/commands of each --add-dir, then of the repository's root down to cwd; then
 * nested directories, which agents found below cwd) < user (CONFIG/skills, CONFIG/commands) < managed
 * (MANAGED/.claude/skills, .../commands).
 *
 * Of two with one name a skill wins over a command, otherwise the later location wins. Of the project the directory nearest to
 * the root keeps the name, and one below it is called with its directory: "apps/web:deploy". */
#pragma once
#include "config/catalog/catalog.h"
#include "defs/skill/skill.h"

struct catalog *skill_registry_new(const struct catalog_sources *sources); /* copies; returns owned */
/* A directory below cwd (absolute) has .claude/skills: it is looked at from the next refresh on. False: it was known already,
 * or there are SKILL_MOST_NESTED of them. */
enum { SKILL_MOST_NESTED = 256 };
bool skill_registry_add_nested(struct catalog *r, const char *dir);

/* An active one: by its exact name, else ignoring case. A slash in front does not count. NULL: there is none. */
const struct catalog_entry *skill_registry_find(const struct catalog *r, struct str name);
/* Appends names that look like this one, with commas between; nothing if none does. */
void skill_registry_add_near(struct buf *out, const struct catalog *r, struct str name);

enum { SKILL_LISTING_BUDGET = 8000, SKILL_LISTING_CHARS = 1536 };

enum skill_view {
	SKILL_FOR_MODEL = 1 << 0, /* it may call it */
	SKILL_FOR_USER = 1 << 1,  /* it can be typed behind a slash */
	SKILL_DESCRIBED = 1 << 2, /* in the listing: with its description */
};

/* overrides: the setting skillOverrides, {name: "on", "name-only", "user-invocable-only" or "off"}; NULL: none. What the
 * file forbids stays forbidden; any other word hides the skill. chosen: the only ones for the model, a comma list of whole names or
 * what follows the name of the plugin; NULL: all. */
unsigned skill_views(const struct catalog_entry *e, const struct json *overrides, const char *chosen);

struct skill_listing_spec {
	const char *title; /* NULL: the usual one */
	/* Only those for which it is true; NULL: all */
	bool (*shows)(void *data, const struct catalog_entry *e);
	void *data;
	const struct json *overrides;
	const char *chosen;  /* as in skill_views() */
	size_t budget_bytes; /* of the whole text; 0: SKILL_LISTING_BUDGET */
	size_t most_chars;   /* of a description; 0: SKILL_LISTING_CHARS */
};

/* One line a skill: "- NAME: description - when to use it". If all lines together exceed the budget, descriptions are
 * shortened, as little as possible; if that does not help, skills are listed by name, and in the end only as many as fit.
 * Nothing to call: nothing is appended. */
void skill_listing_write(struct buf *out, const struct catalog *r, const struct skill_listing_spec *spec);
