/* SPDX-License-Identifier: MIT
 * model_choice.h - which model an agent runs on. The first that says something: the environment, the call, the definition,
 * the configured default for subagents, the parent. */
#pragma once
#include "lib/json/json.h"

struct providers;

/* NULL: says nothing */
struct model_wishes {
	const char *environment; /* CLAUDE_CODE_SUBAGENT_MODEL; "inherit" is nothing */
	const char *call;
	const char *definition;
	const char *configured;
	const char *parent;                /* the parent's model id; required */
	const char *parent_plan;           /* the parent's model in plan mode; NULL: the same */
	bool shares_context;               /* a fork, or forkContext: it must run on its parent's model */
	const struct providers *providers; /* NULL: the built-in ones */
	const struct json *allowed;        /* the setting availableModels; NULL: all */
};

struct model_choice {
	const char *id;
	const char *plan_id; /* the model in plan mode; NULL: the same */
	const char *origin;  /* "environment", "call", "definition", "configured default", "parent" */
	const char *note;    /* what was not followed, and why; NULL: all was. In the arena */
};

void model_choose(struct arena *a, const struct model_wishes *wishes, struct model_choice *ret_choice);
