/* SPDX-License-Identifier: MIT
 * allowed.h - the setting availableModels: models that may be used. */
#pragma once
#include "lib/json/json.h"

struct provider;

/* As model_resolve_at(), for allowed models only; a family ("sonnet") whose newest model is not allowed becomes its
 * newest allowed one. -ERR_USAGE: not allowed. list: NULL or not an array allows every model. An entry allows every
 * model whose id contains it: "sonnet" all of that family, "claude-sonnet-5" all of that generation. */
int model_resolve_allowed(struct arena *a, const struct json *list, const struct provider *p, const char *name,
			  const char **ret_id, struct err *err);
