/* SPDX-License-Identifier: MIT
 * model_choice.c - the model of an agent. */
#include "agents/profile/model_choice.h"
#include "core/model/catalog.h"

static bool says(const char *name)
{
	return name && str_trim(str_from(name)).n > 0;
}

static bool is_inherit(const char *name)
{
	return str_is_nocase(str_trim(str_from(name)), "inherit");
}

/* A name that nobody knows means inherit: an agent made for another provider still runs. */
static void follow(struct arena *a, const struct model_wishes *w, const char *name, const char *origin,
		   struct model_choice *choice)
{
	struct err err = { 0 };
	const char *id;

	if (is_inherit(name)) {
		choice->origin = origin;
		return;
	}
	if (model_resolve_allowed(a, w->allowed, w->provider, name, &id, &err) < 0) {
		choice->note = arena_printf(a, "%s: inherits its parent's model", err.text);
		return;
	}
	choice->id = id;
	choice->origin = origin;
}

void model_choose(struct arena *a, const struct model_wishes *w, struct model_choice *ret_choice)
{
	const struct {
		const char *name, *origin;
	} order[] = {
		{ says(w->environment) && !is_inherit(w->environment) ? w->environment : NULL, "environment" },
		{ w->call, "call" },
		{ w->definition, "definition" },
		{ w->configured, "configured default" },
	};
	struct model_choice choice = { .id = w->parent, .origin = "parent" };
	size_t i = 0;

	while (i < COUNT_OF(order) && !says(order[i].name))
		i++;
	if (i < COUNT_OF(order) && w->shares_context && !is_inherit(order[i].name))
		choice.note = arena_printf(a,
					   "model %s of the %s is not used: an agent that sees its parent's "
					   "conversation runs on its model",
					   order[i].name, order[i].origin);
	else if (i < COUNT_OF(order))
		follow(a, w, order[i].name, order[i].origin, &choice);
	*ret_choice = choice;
}
