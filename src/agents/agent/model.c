/* SPDX-License-Identifier: MIT
 * model.c - which model answers an agent: its own, that of a skill for a turn, or one in place of one that cannot answer. */
#include "agents/agent/model.h"
#include "core/model/catalog.h"
#include "core/model/head_json.h"
#include "core/store/load.h"
#include "defs/skill/skill.h"
#include "agents/agent/context.h"
#include "agents/agent/plan.h"
#include "agents/agent/tree.h"

/* A limit in money holds only if every request has a price. */
static int check_price(const struct agent *a, const char *model, struct err *err)
{
	const struct services *sv = a->tree->services;

	if (sv->options.max_budget_usd <= 0 || sv->options.allow_unknown_price ||
	    model_has_price(&sv->endpoints.providers, model))
		return 0;
	return err_set(err, ERR_USAGE,
		       "the price of %s is unknown, so --max-budget-usd cannot hold: give it in the setting "
		       "providers, or allow it with --allow-unknown-price",
		       model);
}

struct main_model {
	const char *id, *plan_id; /* plan_id: in plan mode; NULL: the same */
	struct endpoint *endpoint;
};

/* A default model may be outside availableModels, unless that is enforced. */
static int find_main_model(struct agent *a, const char *name, struct main_model *ret, struct err *err)
{
	struct agent_tree *t = a->tree;
	struct services *sv = t->services;
	const struct settings *settings = t->policy->settings;
	const char *plans;

	*ret = (struct main_model){ 0 };
	if (!name && !sv->options.model)
		ret->plan_id = a->model_choice.plan_id;
	if (!name)
		name = sv->options.model ? sv->options.model : a->model_choice.id;
	bool checked = name || settings_bool(settings, "enforceAvailableModels");
	struct settings_origin at = { 0 };
	const char *setting = json_cstr(settings_get(settings, "model", &at), &a->arena);
	if (!name && model_default_at(&sv->endpoints.providers, setting, &name, err) < 0)
		return -(int)err->kind;
	t->allowed_models = settings_get(settings, "availableModels", NULL);
	if (model_resolve_allowed(&a->arena, checked ? t->allowed_models : NULL, &sv->endpoints.providers, name,
				  &ret->id, err) < 0)
		return setting && name == setting ? err_wrap(err, "%s:%u", at.file, at.line) : -(int)err->kind;
	if ((plans = model_in_plan_mode(&a->arena, &sv->endpoints.providers, name)) &&
	    model_resolve_allowed(&a->arena, checked ? t->allowed_models : NULL, &sv->endpoints.providers, plans,
				  &ret->plan_id, err) < 0)
		return -(int)err->kind;
	if (endpoints_find(&sv->endpoints, ret->id, &ret->endpoint, err) < 0 || check_price(a, ret->id, err) < 0) {
		if (!sv->lends_tools)
			return -(int)err->kind;
		ret->endpoint = NULL; /* a child that needs one gets the error */
		*err = (struct err){ 0 };
	}
	return 0;
}

const char *agent_find_model(struct agent *a, const char *name, struct err *err)
{
	struct main_model m;

	return find_main_model(a, name, &m, err) < 0 ? NULL : m.id;
}

int agent_set_model(struct agent *a, const char *name, struct err *err)
{
	struct main_model m;

	if (find_main_model(a, name, &m, err) < 0)
		return -(int)err->kind;
	a->model = m.id;
	a->endpoint = m.endpoint;
	a->mode_model = (struct mode_model){ .plan = m.plan_id, .other = m.plan_id ? m.id : NULL };
	a->fallback = (struct fallback){ 0 }; /* it is the usual one */
	a->turn_model.model = m.id;           /* also for a turn that has another one by now: this is the last word */
	a->turn_model.endpoint = m.endpoint;
	return 0;
}

static int add_fallback(struct agent_tree *t, struct fallback_list *list, const char *from, struct str name,
			struct err *err)
{
	struct endpoints *all = &t->services->endpoints;
	struct arena *arena = t->arena;
	struct fallback_model m;

	if (!name.n)
		return 0;
	if (model_resolve_allowed(arena, t->allowed_models, &all->providers, arena_str(arena, name).p, &m.name, err) <
		    0 ||
	    endpoints_find(all, m.name, &m.endpoint, err) < 0)
		return err_wrap(err, "%s", from);
	list->models[list->count++] = m;
	return 0;
}

int agent_tree_set_fallbacks(struct agent_tree *t, const char *names, struct err *err)
{
	struct fallback_list list = { .models = arena_calloc(t->arena, (strlen(names) + 1) * sizeof *list.models) };

	for (struct str rest = str_from(names); rest.p;)
		if (add_fallback(t, &list, "--fallback-model", str_trim(str_cut(&rest, ',')), err) < 0)
			return -(int)err->kind;
	t->fallbacks = list;
	return 0;
}

/* Models that stand in for others, for all agents: the option, or else the setting: one name, or a list. A name of the setting that
 * cannot be used is left out with a note. */
static int find_fallbacks(struct agent_tree *t, struct err *err)
{
	const char *option = t->services->options.fallback_model;
	struct settings_origin at = { 0 };
	const struct json *setting = settings_get(t->policy->settings, "fallbackModel", &at);
	struct arena *arena = t->arena;

	if (option && option[0])
		return agent_tree_set_fallbacks(t, option, err);
	if (!setting)
		return 0;
	t->fallbacks.models = arena_calloc(arena, json_raw(setting).n * sizeof *t->fallbacks.models);
	bool one = json_is(setting, JSON_STRING);
	for (const struct json *name = one ? setting : json_first(setting); name;
	     name = one ? NULL : json_next(setting, name)) {
		struct err why = { 0 };
		if (add_fallback(t, &t->fallbacks, "fallbackModel", str_trim(json_str(name, arena)), &why) < 0)
			buf_addf(&t->main.notes, "%s:%u: %s; it is left out (`cadre config explain fallbackModel`)\n",
				 at.file, at.line, why.text);
	}
	return 0;
}

static int choose_main_model(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	const struct session_load *l = a->load;
	const struct agent *from = a->origin;
	struct err why = { 0 };

	if (from) {
		a->model = arena_strdup(&a->arena, from->model);
		a->endpoint = from->endpoint;
		a->mode_model = (struct mode_model){ arena_strdup(&a->arena, from->mode_model.plan),
						     arena_strdup(&a->arena, from->mode_model.other) };
		a->model_choice.id = arena_strdup(&a->arena, from->model_choice.id);
		a->tree->allowed_models = from->tree->allowed_models;
		return find_fallbacks(a->tree, err);
	}
	if (agent_set_model(a, NULL, err) < 0)
		return -(int)err->kind;
	if (d && d->model && !a->tree->services->options.model) {
		model_choose(&a->arena,
			     &(struct model_wishes){ .providers = &a->tree->services->endpoints.providers,
						     .allowed = a->tree->allowed_models,
						     .definition = d->model,
						     .parent = a->model },
			     &a->model_choice);
		if (a->model_choice.note)
			buf_addf(&a->notes, "%s\n", a->model_choice.note);
		if (agent_set_model(a, NULL, err) < 0)
			return -(int)err->kind;
	}
	/* A resumed session keeps its model, unless an option or another definition names one, or it is the model of a mode. */
	const struct mode_model *modes = &a->mode_model;
	bool of_a_mode =
		modes->plan && l && l->model && (!strcmp(l->model, modes->plan) || !strcmp(l->model, modes->other));
	if (l && l->model && l->model[0] && !of_a_mode && !a->tree->services->options.model &&
	    !(d && d->model && (!l->agent || strcmp(l->agent, d->name) != 0)) && agent_set_model(a, l->model, &why) < 0)
		buf_addf(&a->notes, "the session used %s, which cannot be used now (%s): %s is asked instead\n",
			 l->model, why.text, a->model);
	return find_fallbacks(a->tree, err);
}

static bool follows_mode(const struct agent *a)
{
	return a->mode_model.plan && !a->turn_model.on && !a->fallback.usual.name;
}

int agent_choose_model(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	const struct agent *parent = a->parent;

	if (!parent)
		return choose_main_model(a, err);
	/* A fork sends what its parent has sent, to the same model. */
	bool by_mode = !a->origin && follows_mode(parent);
	bool workers_inherit =
		a->tree->switches.coordinator &&
		env_is_on(services_variable(a->tree->services, "CLAUDE_CODE_COORDINATOR_FORCE_WORKER_INHERIT_MODEL"));
	model_choose(&a->arena,
		     &(struct model_wishes){
			     .providers = &a->tree->services->endpoints.providers,
			     .allowed = a->tree->allowed_models,
			     .environment = services_variable(a->tree->services, "CLAUDE_CODE_SUBAGENT_MODEL"),
			     .call = workers_inherit ? NULL : a->record->request.model,
			     .definition = d ? d->model : NULL,
			     .configured = a->tree->default_model,
			     .parent = by_mode ? parent->mode_model.other : parent->model,
			     .parent_plan = by_mode ? parent->mode_model.plan : NULL,
			     .shares_context = a->origin,
		     },
		     &a->model_choice);
	a->model = a->model_choice.id;
	a->mode_model = (struct mode_model){ .plan = a->model_choice.plan_id,
					     .other = a->model_choice.plan_id ? a->model : NULL };
	a->record->model = arena_strdup(&a->record->arena, a->model);
	if (a->model_choice.note)
		buf_addf(&a->notes, "%s\n", a->model_choice.note);
	if (endpoints_find(&a->tree->services->endpoints, a->model, &a->endpoint, err) < 0)
		return -(int)err->kind;
	return check_price(a, a->model, err);
}

static const struct head *head_now(const struct agent *a)
{
	return a->query.next_head ? a->query.next_head : a->query.config.head;
}

const char *agent_effort(const struct agent *a, struct arena *arena)
{
	return head_now(a) ? head_effort(arena, head_now(a)->bytes) : NULL;
}

static void use_model(struct agent *a, struct fallback_model m)
{
	a->model = m.name;
	a->endpoint = m.endpoint;
	if (!head_now(a))
		return; /* its first one is not made yet */
	query_set_head(&a->query, context_head_like(a, head_now(a)), a->model);
	a->query.next_endpoint = a->endpoint;
}

void agent_follow_mode(struct agent *a)
{
	struct fallback_model m = { .name = plan_is_on(a) ? a->mode_model.plan : a->mode_model.other };

	if (!follows_mode(a) || !strcmp(m.name, a->model) ||
	    endpoints_find(&a->tree->services->endpoints, m.name, &m.endpoint, NULL) < 0)
		return;
	use_model(a, m);
	if (a->record)
		a->record->model = arena_strdup(&a->record->arena, a->model);
}

static void renew_head(struct agent *a, const char *effort)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct head_texts texts = head_read(&scratch, head_now(a)->bytes);

	query_set_head(&a->query, context_head(a, texts.system, effort), a->model);
	a->query.next_endpoint = a->endpoint;
}

void agent_take_turn_model(struct agent *a, const struct skill *s)
{
	struct turn_model *t = &a->turn_model;
	struct endpoints *all = &a->tree->services->endpoints;
	bool takes_model = s->model && !str_is_nocase(str_from(s->model), "inherit");
	AUTO_BUF struct buf text = { 0 };
	struct endpoint *endpoint;
	struct err err = { 0 };
	const char *id;

	const char *plans =
		takes_model && plan_is_on(a) ? model_in_plan_mode(&a->arena, &all->providers, s->model) : NULL;
	if (takes_model && (model_resolve_allowed(&a->arena, a->tree->allowed_models, &all->providers,
						  plans ? plans : s->model, &id, &err) < 0 ||
			    endpoints_find(all, id, &endpoint, &err) < 0)) {
		takes_model = false;
		buf_addf(&text, "%s: %s; the turn continues with %s", s->file, err.text, a->model);
		agent_emit(a, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
	}
	if (!takes_model && !s->effort)
		return;
	if (!a->turn_model.on) {
		AUTO_ARENA struct arena scratch = { 0 };
		const char *effort = agent_effort(a, &scratch);
		a->turn_model = (struct turn_model){ .on = true,
						     .model = a->model,
						     .endpoint = a->endpoint,
						     .own_effort = arena_strdup(&a->arena, effort) };
	}
	if (takes_model) {
		a->model = id;
		a->endpoint = endpoint;
	}
	if (s->effort)
		t->effort = arena_strdup(&a->arena, s->effort);
	renew_head(a, t->effort ? t->effort : t->own_effort);
}

const char *agent_turn_effort(struct agent *a, const char *own)
{
	struct turn_model *t = &a->turn_model;

	if (!t->on)
		return own;
	t->own_effort = arena_strdup(&a->arena, own);
	return t->effort ? t->effort : own;
}

bool agent_fall_back(struct agent *a)
{
	const struct fallback_list *list = &a->tree->fallbacks;
	struct fallback *f = &a->fallback;

	while (f->next < list->count) {
		struct fallback_model m = list->models[f->next++];
		if (!strcmp(m.name, a->model))
			continue;
		if (!f->usual.name)
			f->usual = (struct fallback_model){ a->model, a->endpoint };
		use_model(a, m);
		return true;
	}
	return false;
}

void agent_leave_turn_models(struct agent *a)
{
	struct fallback_model usual = a->fallback.usual;
	struct turn_model own = a->turn_model;

	a->fallback = (struct fallback){ 0 };
	if (usual.name)
		use_model(a, usual);
	if (!own.on)
		return;
	a->turn_model = (struct turn_model){ 0 };
	a->model = own.model;
	a->endpoint = own.endpoint;
	renew_head(a, own.own_effort);
}
