/* SPDX-License-Identifier: MIT
 * skills.h - from the options of a runtime to its skills, and prompts that begin with the name of one. */
#pragma once
#include "product/session/session_int.h"
#include "defs/skill/registry.h"

/* Where the skills of these options are; all texts are in the arena. */
int app_skill_sources(struct services *sv, struct arena *a, struct skill_sources *ret_sources, struct err *err);
/* c->skills, made with the first session; it stays NULL if there are to be none. */
int app_open_skills(struct services *sv, struct err *err);
void session_use_skills(struct cadre_session *s); /* what the settings say about them now */

/* skill_command.c: "/name arguments" as a prompt.
 *
 *     the prompt -> UserPromptExpansion hooks -> the text is made ready --> EXPANDED: turn.blocks is what the model gets
 *          |               |                          |                +--> ANSWERED: an agent of its own did it
 *          +---------------+--------------------------+--> REJECTED, BLOCKED, HALTED, CANCELLED: nothing is asked */
enum expansion_end {
	EXPANSION_EXPANDED,
	EXPANSION_ANSWERED,
	EXPANSION_REJECTED, /* there is no such skill, or it cannot be used */
	EXPANSION_BLOCKED,  /* by a hook */
	EXPANSION_HALTED,   /* a hook ends the turn */
	EXPANSION_CANCELLED,
};
typedef void expansion_fn(struct cadre_session *s, enum expansion_end end, struct str text); /* borrowed until return */

/* The prompt of this turn begins with a slash and the name of something, not of a path. */
bool session_has_command(struct cadre_session *s);
/* then comes once, from the loop. False: it is no command. */
bool session_expand(struct cadre_session *s, expansion_fn *then);
void session_expand_cancel(struct cadre_session *s); /* also when nothing is expanded */
