/* SPDX-License-Identifier: MIT
 * main_agent_find.c - which agent a session runs as, and how it is written down. */
#include "defs/agentdef/denial.h"
#include "agents/profile/model_choice.h"
#include "defs/agentdef/registry.h"
#include "product/session/main_agent.h"
#include "defs/policy/plugins.h"

/* Who named it: what is said if there is none of that name. */
struct wish {
	const char *name;
	const char *who; /* NULL: the option, and a mistake in it is an error */
};

/* The part behind the last colon of a plugin's agent. */
static struct str short_name(const struct agent_definition *d)
{
	const char *colon = strrchr(d->name, ':');

	return str_from(colon ? colon + 1 : d->name);
}

/* An agent of a plugin may be named without the plugin, as long as only one is meant. */
static struct agent_definition *find(const struct catalog *r, struct str name)
{
	const struct catalog_entry *e = agent_registry_find(r, name);
	struct agent_definition *only = NULL;

	for (size_t i = 0; !e && i < r->active_count; i++) {
		struct agent_definition *d = r->active[i]->definition;
		if (d->source != SOURCE_PLUGIN || !agent_type_same(short_name(d), name))
			continue;
		if (only)
			return NULL;
		only = d;
	}
	return e ? e->definition : only;
}

/* The session that is resumed goes on as it was; a setting is for those that say nothing themselves. */
static struct wish wish_of(struct cadre_session *s)
{
	const struct services *sv = s->services;
	const char *setting = settings_cstr(sv->policy.settings, "agent", &s->arena, NULL);
	const char *plugin = app_plugin_main_agent(sv->plugins);

	if (sv->options.agent && sv->options.agent[0])
		return (struct wish){ sv->options.agent, NULL };
	if (s->load && s->load->agent)
		return (struct wish){ s->load->agent, "this session ran as" };
	if (setting && setting[0])
		return (struct wish){ setting, "the setting agent names" };
	return (struct wish){ plugin, "a plugin's settings name" };
}

static void add_available(struct buf *out, const struct catalog *r)
{
	for (size_t i = 0; i < r->active_count; i++)
		buf_addf(out, "%s%s", i ? ", " : " Available agents: ", r->active[i]->definition->name);
}

static int miss(struct cadre_session *s, const struct wish *w, struct err *err)
{
	AUTO_BUF struct buf available = { 0 };

	add_available(&available, s->tree.registry);
	if (!w->who)
		return err_set(err, ERR_USAGE, "--agent '%s' not found.%s", w->name, buf_str(&available).p);
	buf_addf(&s->tree.main.notes, "%s the agent '%s', which does not exist: the usual one runs.\n", w->who,
		 w->name);
	return 0;
}

static int choose_model(struct cadre_session *s, struct err *err)
{
	struct agent *m = &s->tree.main;

	if (!m->definition->model || s->services->options.model)
		return 0;
	model_choose(&s->arena,
		     &(struct model_wishes){ .provider = s->services->endpoints.usual,
					     .allowed = s->tree.allowed_models,
					     .definition = m->definition->model,
					     .parent = s->tree.main.model },
		     &m->model_choice);
	if (m->model_choice.note)
		buf_addf(&s->tree.main.notes, "%s\n", m->model_choice.note);
	return session_set_model(s, NULL, err);
}

static void become(struct cadre_session *s, struct agent_definition *d)
{
	s->tree.main.definition = agent_ref(d);
	s->tree.main.who.type = d->name;
	s->tree.pool = &s->tree.own_pool;
}

int session_find_agent(struct cadre_session *s, struct err *err)
{
	struct wish w = wish_of(s);

	if (!w.name)
		return 0;
	catalog_refresh(s->tree.registry);
	struct agent_definition *d = find(s->tree.registry, str_from(w.name));
	if (!d)
		return miss(s, &w, err);
	become(s, d);
	s->agent_recorded = s->load && !s->origin_id && s->load->agent && !strcmp(s->load->agent, d->name);
	return choose_model(s, err);
}

void session_share_agent(struct cadre_session *fork, const struct cadre_session *s)
{
	const struct agent *from = &s->tree.main;
	struct agent *a = &fork->tree.main;

	if (!from->definition)
		return;
	become(fork, from->definition);
	a->model_choice.id = from->model_choice.id ? arena_strdup(&fork->arena, from->model_choice.id) : NULL;
	buf_add(&a->system, from->system.p, from->system.n);
	fork->agent_told = true;
}

int session_record_agent(struct cadre_session *s, struct err *err)
{
	struct agent *a = &s->tree.main;

	if (!a->definition || s->agent_recorded)
		return 0;
	s->agent_recorded = true;
	return recorder_agent(&a->recorder, a->definition->name, err);
}
