/* SPDX-License-Identifier: MIT
 * model_choice.c - the model of an agent. */
#include "agents/profile/model_choice.h"
#include "core/model/catalog.h"

static bool choice_says(const char *name)
{
	return name && str_trim(str_from(name)).n > 0;
}

static bool is_inherit(const char *name)
{
	return str_is_nocase(str_trim(str_from(name)), "inherit");
}

void model_choose(struct arena *a, const struct model_wishes *w, struct model_choice *ret_choice)
{
	const struct {
		const char *name, *origin;
	} order[] = {
		{ choice_says(w->environment) && !is_inherit(w->environment) ? w->environment : NULL, "environment" },
		{ w->call, "call" },
		{ w->definition, "definition" },
		{ w->configured, "configured default" },
	};
	struct err err = { 0 };
	const char *id, *plans, *plan_id = NULL;
	size_t i = 0;

	*ret_choice = (struct model_choice){ .id = w->parent, .plan_id = w->parent_plan, .origin = "parent" };
	while (i < COUNT_OF(order) && !choice_says(order[i].name))
		i++;
	if (i == COUNT_OF(order))
		return;
	if (is_inherit(order[i].name)) {
		ret_choice->origin = order[i].origin;
	} else if (w->shares_context) {
		ret_choice->note = arena_printf(a,
						"model %s of the %s is not used: an agent that sees its parent's "
						"conversation runs on its model",
						order[i].name, order[i].origin);
	} else if (model_resolve_allowed(a, w->allowed, w->providers, order[i].name, &id, &err) < 0 ||
		   ((plans = model_in_plan_mode(a, w->providers, order[i].name)) &&
		    model_resolve_allowed(a, w->allowed, w->providers, plans, &plan_id, &err) < 0)) {
		/* An unknown name means inherit: an agent made for another provider still runs. */
		ret_choice->note = arena_printf(a, "%s: inherits its parent's model", err.text);
	} else {
		ret_choice->id = id;
		ret_choice->plan_id = plan_id;
		ret_choice->origin = order[i].origin;
	}
}
