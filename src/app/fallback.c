/* SPDX-License-Identifier: MIT
 * fallback.c - see fallback.h. Only the main agent has other models: a child that cannot go on tells its parent. */
#include "app/fallback.h"
#include "app/app_int.h"
#include "model/catalog.h"

static void use(struct cadre_session *s, const struct fallback_model *m)
{
	s->tree.main.model = m->name;
	s->tree.main.endpoint = m->endpoint;
	session_renew_head(s);
}

static bool on_unavailable(struct actor *a)
{
	struct cadre_session *s = CONTAINER_OF(a, struct cadre_session, tree.main);
	struct fallback *f = &s->fallback;

	while (f->next < f->count) {
		const struct fallback_model *m = &f->models[f->next++];
		if (!strcmp(m->name, a->model))
			continue;
		if (!f->usual.name)
			f->usual = (struct fallback_model){ a->model, a->endpoint };
		use(s, m);
		return true;
	}
	return false;
}

void session_leave_fallback(struct cadre_session *s)
{
	struct fallback_model usual = s->fallback.usual;

	s->fallback.next = 0;
	s->fallback.usual = (struct fallback_model){ 0 };
	if (usual.name)
		use(s, &usual);
}

static int add_model(struct cadre_session *s, const char *name, struct err *err)
{
	struct fallback *f = &s->fallback;
	struct endpoints *all = &s->cadre->endpoints;
	struct fallback_model m;

	if (model_resolve_at(&s->arena, all->usual, name, &m.name, err) < 0 ||
	    endpoints_find(all, m.name, &m.endpoint, err) < 0)
		return err_wrap(err, "--fallback-model");
	f->models[f->count++] = m;
	return 0;
}

int session_open_fallback(struct cadre_session *s, struct err *err)
{
	struct str rest = str_from(s->cadre->options.fallback_model);

	if (!rest.n)
		return 0;
	s->fallback.models = arena_calloc(&s->arena, rest.n * sizeof *s->fallback.models);
	while (rest.p) {
		struct str name = str_trim(str_cut(&rest, ','));
		if (name.n && add_model(s, arena_str(&s->arena, name).p, err) < 0)
			return -(int)err->kind;
	}
	s->tree.main.on_unavailable = on_unavailable;
	return 0;
}
