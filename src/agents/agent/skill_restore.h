/* SPDX-License-Identifier: MIT
 * skill_restore.h - restores the texts of skills after a compaction. The conversation itself is the record: a text of a skill is
 * found in it by its form, so a resumed or forked session knows as much as the one that used the skill.
 *
 *     Skill NAME:\n\nTEXT                              the result of a Skill call
 *     <skill name="NAME">\nTEXT\n</skill>, several     typed by the user, preloaded, or attached again */
#pragma once
#include "core/message/transcript.h"
#include "agents/agent/agent.h"

/* A text in that form, for a block of its own. */
void skill_text_add(struct buf *out, const char *name, struct str text);
/* The agent's conversation gets this text. False: it has this very text already. */
bool agent_note_skill(struct agent *a, const char *name, struct str text);

enum { SKILL_KEPT_BYTES = 20000, SKILL_KEPT_TOTAL = 100000 }; /* 5,000 tokens of a text, 25,000 of all */
/* For a conversation that starts again: the last text of each skill that t has, the latest use first. The model no longer
 * knows a text that is left out or cut. */
void agent_recall_skills(struct agent *a, const struct transcript *t, struct buf *out);
