/* SPDX-License-Identifier: MIT
 * main_definition.c - which agent a session runs as. */
#include "agents/profile/main_definition.h"
#include "defs/agentdef/denial.h"
#include "defs/agentdef/registry.h"
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
static struct agent_definition *find_named(const struct catalog *r, struct str name)
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

/* The session that is resumed continues as it was; a setting is for those that say nothing themselves. */
static struct wish find_wish(const struct services *sv, const char *stored, struct arena *arena)
{
	const char *setting = settings_cstr(sv->policy.settings, "agent", arena, NULL);

	if (sv->options.agent && sv->options.agent[0])
		return (struct wish){ sv->options.agent, NULL };
	if (stored)
		return (struct wish){ stored, "this session ran as" };
	if (setting && setting[0])
		return (struct wish){ setting, "the setting agent names" };
	return (struct wish){ app_plugin_main_agent(sv->plugins), "a plugin's settings name" };
}

int main_definition_find(const struct services *sv, const char *stored, struct buf *notes,
			 struct agent_definition **ret_definition, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct wish w = find_wish(sv, stored, &arena);
	struct catalog *r = sv->registry;
	AUTO_BUF struct buf available = { 0 };

	*ret_definition = NULL;
	if (!w.name)
		return 0;
	catalog_refresh(r);
	struct agent_definition *d = find_named(r, str_from(w.name));
	if (d) {
		*ret_definition = agent_ref(d);
		return 0;
	}
	for (size_t i = 0; i < r->active_count; i++)
		buf_addf(&available, "%s%s", i ? ", " : " Available agents: ", r->active[i]->definition->name);
	if (!w.who)
		return err_set(err, ERR_USAGE, "--agent '%s' not found.%s", w.name, buf_str(&available).p);
	buf_addf(notes, "%s the agent '%s', which does not exist: the usual one runs.\n", w.who, w.name);
	return 0;
}
