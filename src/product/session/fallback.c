/* SPDX-License-Identifier: MIT
 * fallback.c - see fallback.h. */
#include "product/session/fallback.h"
#include "product/session/session_int.h"
#include "core/model/allowed.h"

static int add_model(struct cadre_session *s, const char *from, struct str name, struct err *err)
{
	struct fallback_list *list = &s->tree.fallbacks;
	struct endpoints *all = &s->services->endpoints;
	struct fallback_model m;

	if (!name.n)
		return 0;
	if (model_resolve_allowed(&s->arena, s->tree.allowed_models, all->usual, arena_str(&s->arena, name).p, &m.name,
				  err) < 0 ||
	    endpoints_find(all, m.name, &m.endpoint, err) < 0)
		return err_wrap(err, "%s", from);
	list->models[list->count++] = m;
	return 0;
}

static int take_option(struct cadre_session *s, const char *names, struct err *err)
{
	s->tree.fallbacks.models = arena_calloc(&s->arena, strlen(names) * sizeof(struct fallback_model));
	for (struct str rest = str_from(names); rest.p;)
		if (add_model(s, "--fallback-model", str_trim(str_cut(&rest, ',')), err) < 0)
			return -(int)err->kind;
	return 0;
}

/* One name, or a list of them. */
static int take_setting(struct cadre_session *s, const struct json *names, struct err *err)
{
	const char *from = "the setting fallbackModel";

	s->tree.fallbacks.models = arena_calloc(&s->arena, json_raw(names).n * sizeof(struct fallback_model));
	if (json_is(names, JSON_STRING))
		return add_model(s, from, json_str(names, &s->arena), err);
	for (const struct json *name = json_first(names); name; name = json_next(names, name))
		if (add_model(s, from, str_trim(json_str(name, &s->arena)), err) < 0)
			return -(int)err->kind;
	return 0;
}

int session_open_fallback(struct cadre_session *s, struct err *err)
{
	const struct services *sv = s->services;
	const char *option = sv->options.fallback_model;

	if (option && option[0])
		return take_option(s, option, err);
	const struct json *setting = settings_get(sv->policy.settings, "fallbackModel", NULL);
	return setting ? take_setting(s, setting, err) : 0;
}
