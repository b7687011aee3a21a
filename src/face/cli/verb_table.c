/* SPDX-License-Identifier: MIT
 * verb_table.c - every verb of the program. */
#include "face/cli/verb.h"

const struct verb *const verb_table[] = {
	&verb_agents, &verb_completion,  &verb_config, &verb_logs,   &verb_manual,
	&verb_mcp,    &verb_permissions, &verb_plugin, &verb_rewind, &verb_sessions,
	&verb_skills, &verb_stop,        &verb_tasks,  &verb_trust,  NULL,
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; verb_table[i]; i++)
		if (!strcmp(verb_table[i]->name, name))
			return verb_table[i];
	return NULL;
}
