/* SPDX-License-Identifier: MIT
 * classifier.h - auto mode asks a small model whether a call may run. It sees what the user said in this run, what a child was
 * told, where the agent works and the call; no results of tools, so that nothing in them can speak to it. */
#pragma once
#include "agents/agent/classifier.h"

struct services;
struct cadre_session;

struct classifier *classifier_new(struct services *sv); /* returns owned; borrows c */
void classifier_free(struct classifier *c);             /* waits for open questions; no session may be left */

enum { MOST_RECENT_PROMPTS = 10 };
/* What the user said, oldest first. A zeroed struct is empty. */
struct recent_prompts {
	char *texts[MOST_RECENT_PROMPTS]; /* owned */
	size_t count;
};
void recent_prompts_add(struct recent_prompts *recent,
			struct str text); /* forgets the oldest when there are too many */
void recent_prompts_release(struct recent_prompts *recent);
