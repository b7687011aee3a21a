/* SPDX-License-Identifier: MIT
 * turn_model.c - another model for a while: that of a skill, or one that answers in place of the usual one. */
#include "agents/agent/turn_model.h"
#include "core/model/allowed.h"
#include "core/model/head_json.h"
#include "defs/skill/skill.h"
#include "agents/agent/context.h"
#include "agents/agent/tree.h"

/* ---- of a skill --------------------------------------------------------------------------------------------------- */

static const struct head *head_now(const struct agent *a)
{
	return a->query.next_head ? a->query.next_head : a->query.config.head;
}

static void renew(struct agent *a, const char *effort)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct head_texts texts = head_read(&scratch, head_now(a)->bytes);

	query_set_head(&a->query, context_head(a, texts.system, effort), a->model);
	query_set_endpoint(&a->query, a->endpoint);
}

static void begin(struct agent *a)
{
	struct turn_model *t = &a->turn_model;
	AUTO_ARENA struct arena scratch = { 0 };

	if (t->on)
		return;
	const char *effort = head_read(&scratch, head_now(a)->bytes).effort;
	*t = (struct turn_model){ .on = true,
				  .model = a->model,
				  .endpoint = a->endpoint,
				  .own_effort = effort ? arena_strdup(&a->arena, effort) : NULL };
}

static void complain(struct agent *a, const struct skill *s, const char *why)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s: %s; the turn goes on with %s", s->file, why, a->model);
	agent_emit(a, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

/* False: the agent keeps the model that it has. */
static bool take_model(struct agent *a, const struct skill *s)
{
	struct endpoints *all = &a->tree->services->endpoints;
	struct endpoint *endpoint;
	struct err err = { 0 };
	const char *id;

	if (!s->model || str_is_nocase(str_from(s->model), "inherit"))
		return false;
	if (model_resolve_allowed(&a->arena, a->tree->allowed_models, all->usual, s->model, &id, &err) < 0 ||
	    endpoints_find(all, id, &endpoint, &err) < 0) {
		complain(a, s, err.text);
		return false;
	}
	begin(a);
	a->model = id;
	a->endpoint = endpoint;
	return true;
}

void agent_take_turn_model(struct agent *a, const struct skill *s)
{
	bool changed = take_model(a, s) || s->effort;

	if (!changed)
		return;
	begin(a);
	struct turn_model *t = &a->turn_model;
	if (s->effort)
		t->effort = arena_strdup(&a->arena, s->effort);
	renew(a, t->effort ? t->effort : t->own_effort);
}

void agent_leave_turn_model(struct agent *a)
{
	struct turn_model own = a->turn_model;

	if (!own.on)
		return;
	a->turn_model = (struct turn_model){ 0 };
	a->model = own.model;
	a->endpoint = own.endpoint;
	renew(a, own.own_effort);
}

const char *agent_turn_effort(struct agent *a, const char *own)
{
	struct turn_model *t = &a->turn_model;

	if (!t->on)
		return own;
	t->own_effort = own ? arena_strdup(&a->arena, own) : NULL;
	return t->effort ? t->effort : own;
}

/* ---- in place of one that cannot answer --------------------------------------------------------------------------- */

static void use_fallback(struct agent *a, struct fallback_model m)
{
	const struct query *q = &a->query;
	const struct head *head = q->next_head ? q->next_head : q->config.head;

	a->model = m.name;
	a->endpoint = m.endpoint;
	query_set_head(&a->query, context_head_like(a, head), a->model);
	query_set_endpoint(&a->query, a->endpoint);
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
		use_fallback(a, m);
		return true;
	}
	return false;
}

void agent_leave_fallback(struct agent *a)
{
	struct fallback_model usual = a->fallback.usual;

	a->fallback = (struct fallback){ 0 };
	if (usual.name)
		use_fallback(a, usual);
}
