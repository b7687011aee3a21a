/* SPDX-License-Identifier: MIT
 * skill_text.h - texts of skills in a conversation.
 *
 * The conversation itself is the record: a text of a skill is found in it by its form, so a resumed or forked session knows
 * as much as the one that used the skill.
 *
 *     Skill NAME:\n\nTEXT                              the result of a Skill call
 *     <skill name="NAME">\nTEXT\n</skill>, several     typed by the user, preloaded, or attached again */
#pragma once
#include "lib/base/map.h"
#include "core/message/transcript.h"

/* A text in that form, for a block of its own. */
void skill_text_add(struct buf *out, const char *name, struct str text);
/* A conversation gets this text; known: name -> which text it has. False: it has this very text already. */
bool skill_text_note(struct map *known, const char *name, struct str text);

enum { SKILL_KEPT_BYTES = 20000, SKILL_KEPT_TOTAL = 100000 }; /* 5,000 tokens of a text, 25,000 of all */
/* For a conversation that starts again: the last text of each skill that t has, the latest use first. The model no longer
 * knows a text that is left out or cut. */
void skill_texts_restore(struct map *known, const struct transcript *t, struct buf *out);
