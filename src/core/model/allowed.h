/* SPDX-License-Identifier: MIT
 * allowed.h - the models that may be chosen: the setting availableModels. */
#pragma once
#include "lib/json/json.h"

struct provider;

/* As model_resolve_at(), and the model is allowed; a family ("sonnet") whose newest model is not becomes the newest one that
 * the list names. -ERR_USAGE: none of it is allowed.
 * list: NULL or no array allows every model. An entry allows the model that it names and those whose id has it in it: "sonnet"
 * all of that family, "claude-sonnet-5" all of that generation. */
int model_resolve_allowed(struct arena *a, const struct json *list, const struct provider *p, const char *name,
			  const char **ret_id, struct err *err);
