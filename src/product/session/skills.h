/* SPDX-License-Identifier: MIT
 * skills.h - from the options of a runtime to its skills, and prompts that begin with the name of one. */
#pragma once
#include "product/session/session_int.h"
#include "defs/skill/registry.h"

/* Where the skills of these options are; all texts are in the arena. */
int services_skill_sources(struct services *sv, struct arena *a, struct catalog_sources *ret_sources, struct err *err);
/* c->skills, made with the first session; it stays NULL if there are to be none. */
int services_open_skills(struct services *sv, struct err *err);

/* skill_command.c: "/name arguments" as a prompt.
 *
 *     the prompt -> UserPromptExpansion hooks -> the text is made ready --> EXPANDED: turn.blocks is what the model gets
 *          |               |                          |                +--> ANSWERED: a subagent did it
 *          +---------------+--------------------------+--> REJECTED, BLOCKED, HALTED, CANCELLED: nothing is asked */
bool session_expand(
	struct cadre_session *s); /* true: turn.expansion_end and turn.answer are set, then turn_work_over() comes */
void session_expand_cancel(struct cadre_session *s);  /* also when nothing is expanded */
void session_drop_expansion(struct cadre_session *s); /* it has ended, or there is none */
