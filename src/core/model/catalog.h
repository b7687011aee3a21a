/* SPDX-License-Identifier: MIT
 * catalog.h - model names people use, what they stand for, and what a model costs. */
#pragma once
#include "lib/base/arena.h"
#include "core/message/usage.h"

struct provider;

struct model_info {
	const char *id;                                 /* prefix of the model ids it describes */
	double input, write_5m, write_1h, read, output; /* USD per million tokens */
	int64_t context, max_output;
};

/* An alias ("sonnet", any case, with ANTHROPIC_DEFAULT_*_MODEL and "[1m]" honoured) becomes an id; ids pass through, and so
 * does the name of a provider in front ("anthropic/sonnet"). A word that is neither (no dash, dot, slash, colon or digit in
 * it) is -ERR_USAGE with the list of aliases. */
int model_resolve(struct arena *a, const char *name, const char **ret_id, struct err *err);
/* The same where plain names are those of provider p (NULL: one that knows all aliases). One without aliases takes any name but an alias that no variable gives
 * a meaning to. */
int model_resolve_at(struct arena *a, const struct provider *p, const char *name, const char **ret_id, struct err *err);
const char *model_default(void); /* what is asked when nobody said: ANTHROPIC_MODEL, or the alias "default" */
/* The same for provider p; configured, which may be NULL, comes behind its variable. -ERR_USAGE: it has none. */
int model_default_at(const struct provider *p, const char *configured, const char **ret_name, struct err *err);
const struct model_info *model_find(const char *id); /* never NULL: unknown models get figures of zero */
double model_cost_usd(const char *id, const struct usage *u);
bool model_has_price(const char *id); /* false: its cost counts as 0, because nobody knows it */
