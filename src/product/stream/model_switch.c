/* SPDX-License-Identifier: MIT
 * model_switch.c - set_model, with the hooks around it: PreModelSwitch may refuse, PostModelSwitch is told. */
#include "core/model/catalog.h"
#include "agents/agent/hooks.h"
#include "product/stream/wire_int.h"

struct model_switch {
	struct services *services;
	char *session_id, *request_id;
	char *wish, *from; /* wish: NULL for the model of the start */
};

static void write_fields(struct buf *out, const char *from, const char *to, const char *wish)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "from_model", from);
	json_kcstr(&w, "to_model", to);
	json_kcstr(&w, "requested_model", wish ? wish : "default");
	json_kcstr(&w, "source", "sdk");
	json_close(&w);
}

static void change(struct cadre_wire *w, struct str id, const char *from, const char *wish)
{
	char why[240] = "";

	if (cadre_session_set(w->session, "model", wish, why, sizeof why) < 0) {
		wire_reply_error(w, id, NULL, "%s", why);
		return;
	}
	wire_reply(w, id, STR(""));
	struct cadre_session *s = w->session;
	struct hook_fire_spec spec = { .event = HOOK_POST_MODEL_SWITCH };
	AUTO_BUF struct buf fields = { 0 };
	if (!agent_has_hooks(&s->tree.main, &spec))
		return;
	write_fields(&fields, from, s->tree.main.model, wish);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&s->tree.main, &spec);
}

static struct cadre_wire *wire_of(const struct model_switch *m)
{
	struct cadre_wire *w = m->services->wires;

	while (w && (!w->session || strcmp(w->session->id, m->session_id) != 0))
		w = w->next;
	return w;
}

static void on_looked_at(void *data, const struct hook_outcome *outcome)
{
	struct model_switch *m = data;
	struct cadre_wire *w = wire_of(m);
	struct str id = str_from(m->request_id);

	if (w && outcome->cancelled)
		wire_reply_error(w, id, NULL, "the session ends");
	else if (w && outcome->permission == HOOK_PERMISSION_DENY)
		wire_reply_error(w, id, NULL, "a PreModelSwitch hook refused it: " STR_FMT,
				 STR_ARG(outcome->permission_reason));
	else if (w)
		change(w, id, m->from, m->wish);
	free(m->session_id);
	free(m->request_id);
	free(m->wish);
	free(m->from);
	free(m);
}

/* The id that an alias stands for; what cannot be resolved is refused when it is set. */
static const char *target(const struct wire_request *r, const char *wish)
{
	const struct options *o = &r->wire->services->options;
	const char *id = NULL;
	const char *name = wish && strcmp(wish, "default") != 0 ? wish : o->model ? o->model : model_default();

	return model_resolve(r->arena, name, &id, NULL) == 0 ? id : name;
}

void wire_set_model(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	const char *wish = json_cstr(json_get(r->body, "model"), r->arena);
	struct hook_fire_spec spec = { .event = HOOK_PRE_MODEL_SWITCH };
	AUTO_BUF struct buf fields = { 0 };

	if (!agent_has_hooks(a, &spec)) {
		change(r->wire, r->id, arena_strdup(r->arena, a->model), wish);
		return;
	}
	struct model_switch *m = xcalloc(1, sizeof *m);
	*m = (struct model_switch){ .services = r->wire->services,
				    .session_id = xstrdup(r->wire->session->id),
				    .request_id = xstrndup(r->id.p, r->id.n),
				    .wish = wish ? xstrdup(wish) : NULL,
				    .from = xstrdup(a->model) };
	write_fields(&fields, a->model, target(r, wish), wish);
	spec.fields = buf_str(&fields);
	(void)agent_run_hooks(a, &spec, on_looked_at, m);
}
