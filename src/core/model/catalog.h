/* SPDX-License-Identifier: MIT
 * catalog.h - model aliases, what they resolve to, and prices. */
#pragma once
#include "lib/json/json.h"
#include "core/message/message.h"

struct provider;

struct model_info {
	const char *id;                                 /* prefix of the model ids it describes */
	double input, write_5m, write_1h, read, output; /* USD per million tokens */
	int64_t context, max_output;
};

/* An alias ("sonnet", any case, with ANTHROPIC_DEFAULT_*_MODEL and "[1m]" honoured) becomes an id; ids pass through,
 * also with a provider prefix ("anthropic/sonnet"). A word that is neither (no dash, dot, slash, colon or digit) is
 * -ERR_USAGE with the list of aliases. */
int model_resolve(struct arena *a, const char *name, const char **ret_id, struct err *err);
/* The same with provider p as the default (NULL: one with aliases). A provider without aliases accepts any name except
 * an alias that no variable defines. */
int model_resolve_at(struct arena *a, const struct provider *p, const char *name, const char **ret_id, struct err *err);
/* The same for the models that the setting availableModels allows; a family ("sonnet") whose newest model is not allowed becomes its
 * newest allowed one. -ERR_USAGE: not allowed. list: NULL or not an array allows every model. An entry allows every
 * model whose id contains it: "sonnet" all of that family, "claude-sonnet-5" all of that generation. */
int model_resolve_allowed(struct arena *a, const struct json *list, const struct provider *p, const char *name,
			  const char **ret_id, struct err *err);
/* The name of the model that answers in plan mode in place of this one: "opus" for "opusplan". NULL: the same one. */
const char *model_in_plan_mode(struct arena *a, const char *name);
const char *model_default(void); /* the default model: ANTHROPIC_MODEL, or the alias "default" */
/* The same for provider p; its variable has priority over configured, which may be NULL. -ERR_USAGE: it has no
 * default. */
int model_default_at(const struct provider *p, const char *configured, const char **ret_name, struct err *err);
/* Never NULL: zero for unknown models. Finds also the names that clouds and gateways give: us.anthropic.NAME-v1:0, NAME@DATE,
 * anthropic/NAME:free. */
const struct model_info *model_find(const char *id);
double model_cost_usd(const char *id, const struct usage *u);
/* The default thinking of a model: "adaptive", a number of tokens, or NULL for none and for unknown models. */
const char *model_thinking(const char *id);
bool model_has_price(const char *id); /* false: the price is unknown and counts as 0 */
