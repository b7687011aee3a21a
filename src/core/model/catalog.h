/* SPDX-License-Identifier: MIT
 * catalog.h - model aliases, what they resolve to, and prices. */
#pragma once
#include "lib/json/json.h"
#include "core/message/message.h"

struct providers;

/* USD per million tokens */
struct model_price {
	double input, write_5m, write_1h, read, output;
};

enum { MOST_TIERS = 2 };

struct model_info {
	const char *id; /* prefix of the model ids that it describes; "" for an unknown model */
	struct model_price price;
	int64_t context, max_output;
	struct {
		int64_t above; /* tokens of prompt; 0: there is no such tier */
		struct model_price price;
	} tiers[MOST_TIERS];  /* the last one whose bound is passed applies to the whole request */
	const char *provider; /* of a row that describes one provider only; NULL: any */
	const char *
		price_source; /* "built in", "catalog", "settings", "local"; NULL: the price is unknown and counts as 0 */
	const char *window_source;      /* also "asked", "learned", "variable"; NULL: the window is assumed */
	signed char images, pdf, tools; /* whether it takes them: 1 yes, -1 no, 0 not known */
	const char *reasoning_field;    /* that its reasoning goes back in; NULL: not known */
};

/* An alias ("sonnet", any case, with ANTHROPIC_DEFAULT_*_MODEL and "[1m]" honoured) becomes an id; ids pass through,
 * also with a provider prefix ("anthropic/sonnet"). A word that is neither (no dash, dot, slash, colon or digit) is
 * -ERR_USAGE with the list of aliases. */
int model_resolve(struct arena *a, const char *name, const char **ret_id, struct err *err);
/* The same at providers of a runtime (NULL: the built-in ones). A provider without aliases accepts any name except an alias that neither it
 * nor a variable defines. */
int model_resolve_at(struct arena *a, const struct providers *at, const char *name, const char **ret_id,
		     struct err *err);
/* The same for the models that the setting availableModels allows; a family ("sonnet") whose newest model is not allowed becomes its
 * newest allowed one. -ERR_USAGE: not allowed. list: NULL or not an array allows every model. An entry allows every
 * model whose id contains it: "sonnet" all of that family, "claude-sonnet-5" all of that generation. */
int model_resolve_allowed(struct arena *a, const struct json *list, const struct providers *at, const char *name,
			  const char **ret_id, struct err *err);
/* The name of the model that answers in plan mode in place of this one: "opus" for "opusplan". NULL: the same one. */
const char *model_in_plan_mode(struct arena *a, const struct providers *at, const char *name);
const char *model_default(const struct providers *at); /* the default model: ANTHROPIC_MODEL, or the alias "default" */
/* The same for the usual provider; its variable has priority over configured, which may be NULL. -ERR_USAGE: it has no
 * default. */
int model_default_at(const struct providers *at, const char *configured, const char **ret_name, struct err *err);
/* What is known of a model: of the settings, asked of the server or learned, of the catalog, built in. Finds also the names that clouds
 * and gateways give: us.anthropic.NAME-v1:0, NAME@DATE, anthropic/NAME:free. at: NULL for the built-in facts. */
struct model_info model_find(const struct providers *at, const char *id);
double model_cost_usd(const struct providers *at, const char *id, const struct usage *u); /* of one request */
/* The default thinking of a model: "adaptive", a number of tokens, or NULL for none and for unknown models. */
const char *model_thinking(const struct providers *at, const char *id);
/* The version of a model of Anthropic by any of its names: 405 for claude-sonnet-4-5; 0: not known */
unsigned model_version(const struct providers *at, const char *id);
bool model_plans_alone(const char *id); /* works as well without a list of what is to be done */
/* False: the settings of its provider, or the variable of its capabilities, leave this effort out. */
bool model_takes_effort(const struct providers *at, const char *id, const char *effort);
bool model_has_price(const struct providers *at, const char *id); /* false: the price is unknown and counts as 0 */
/* The provider whose API has a model of this name */
static inline const char *model_home(const char *id)
{
	return !strncmp(id, "claude-", 7) ? "anthropic" : !strncmp(id, "gemini-", 7) ? "gemini" : "openai";
}
const struct model_info *model_rows(size_t *ret_count); /* the built-in ones */

/* The catalog that was installed (catalog_file.c): facts of models in a file that its maker has signed. */
enum { LARGEST_CATALOG = 8 << 20 };
/* Checks the signature and the bounds of every row. keys: base64 of the Ed25519 keys that are trusted, NULL-terminated; may be NULL. Rows
 * in the arena. -ERR_DENIED: none of the keys has signed these bytes. */
int catalog_read(struct arena *a, struct str bytes, const char *const *keys, const struct model_info **ret_rows,
		 size_t *ret_count, struct err *err);
