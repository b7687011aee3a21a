/* SPDX-License-Identifier: MIT
 * listing.h - who may use which skill, and the text that tells a model what there is.
 *
 * One line a skill: "- NAME: description - when to use it". If all lines together exceed the budget, descriptions are shortened, as
 * little as possible; if that does not help, skills are listed by name, and in the end only as many as fit. */
#pragma once
#include "lib/json/json.h"
#include "defs/skill/registry.h"

enum { SKILL_LISTING_BUDGET = 8000, SKILL_LISTING_CHARS = 1536 };

enum skill_view {
	SKILL_FOR_MODEL = 1 << 0, /* it may call it */
	SKILL_FOR_USER = 1 << 1,  /* it can be typed behind a slash */
	SKILL_DESCRIBED = 1 << 2, /* in the listing: with its description */
};

/* overrides: the setting skillOverrides, {name: "on", "name-only", "user-invocable-only" or "off"}; NULL: none. What the
 * file forbids stays forbidden; a word that is none of these hides the skill. */
unsigned skill_views(const struct skill_entry *e, const struct json *overrides);

struct skill_listing_spec {
	const char *title; /* NULL: the usual one */
	/* Only those for which it is true; NULL: all */
	bool (*shows)(void *data, const struct skill_entry *e);
	void *data;
	const struct json *overrides;
	size_t budget_bytes; /* of the whole text; 0: SKILL_LISTING_BUDGET */
	size_t most_chars;   /* of a description; 0: SKILL_LISTING_CHARS */
};

/* Nothing to call: nothing is appended. */
void skill_listing_write(struct buf *out, const struct skill_registry *r, const struct skill_listing_spec *spec);
