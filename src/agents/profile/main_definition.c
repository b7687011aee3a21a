/* SPDX-License-Identifier: MIT
 * main_definition.c - which agent a session runs as. */
#include "agents/profile/main_definition.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/plugins.h"

/* An agent of a plugin may be named without the plugin, as long as only one is meant. */
static struct agent_definition *find_named(const struct catalog *r, struct str name)
{
	const struct catalog_entry *e = agent_registry_find(r, name);
	struct agent_definition *only = NULL;

	for (size_t i = 0; !e && i < r->active_count; i++) {
		struct agent_definition *d = r->active[i]->definition;
		const char *colon = strrchr(d->name, ':');
		if (d->source != SOURCE_PLUGIN || !agent_type_same(str_from(colon ? colon + 1 : d->name), name))
			continue;
		if (only)
			return NULL;
		only = d;
	}
	return e ? e->definition : only;
}

int main_definition_find(const struct services *sv, const struct settings *settings, struct catalog *r,
			 const struct plugin_list *plugins, const char *stored, struct buf *notes,
			 struct agent_definition **ret_definition, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	/* A resumed session continues as it was; the setting is for new ones. */
	const struct {
		const char *name, *who;
	} wishes[] = {
		{ sv->options.agent, "--agent" },
		{ stored, "this session ran as" },
		{ settings_cstr(settings, "agent", &arena), "the setting agent names" },
		{ plugin_list_main_agent(plugins), "a plugin's settings name" },
	};
	AUTO_BUF struct buf available = { 0 };
	size_t i = 0;

	*ret_definition = NULL;
	while (i < COUNT_OF(wishes) && (!wishes[i].name || !wishes[i].name[0]))
		i++;
	if (i == COUNT_OF(wishes))
		return 0;
	const char *name = wishes[i].name;
	catalog_refresh(r);
	struct agent_definition *d = find_named(r, str_from(name));
	if (d) {
		*ret_definition = agent_ref(d);
		return 0;
	}
	if (i > 0) {
		buf_addf(notes, "%s the agent '%s', which does not exist: the usual one runs.\n", wishes[i].who, name);
		return 0;
	}
	for (size_t k = 0; k < r->active_count; k++)
		buf_addf(&available, "%s%s", k ? ", " : " Available agents: ", r->active[k]->definition->name);
	return err_set(err, ERR_USAGE, "--agent '%s' not found.%s", name, buf_str(&available).p);
}
