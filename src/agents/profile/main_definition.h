/* SPDX-License-Identifier: MIT
 * main_definition.h - which agent a session runs as: `--agent NAME`, the agent of the resumed session, the setting `agent`, or that
 * of a plugin. docs/internals/main_agent.md. */
#pragma once
#include "defs/policy/services.h"

struct agent_definition;

/* stored: of a resumed session; NULL: none. -ERR_USAGE: the option names one that does not exist; from any other place that is a
 * note. Returns a reference, or NULL if none is named. */
int main_definition_find(const struct services *sv, const struct settings *settings, struct catalog *registry,
			 const struct plugin_list *plugins, const char *stored, struct buf *notes,
			 struct agent_definition **ret_definition, struct err *err);
