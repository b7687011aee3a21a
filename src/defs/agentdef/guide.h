/* SPDX-License-Identifier: MIT
 * guide.h - the prompt of the guide agent: its own text, then what is configured here. */
#pragma once
#include "defs/agentdef/registry.h"

/* Lists are NULL-terminated; NULL: none */
struct guide_facts {
	const char *const *settings_files; /* that exist */
	const char *const *mcp_servers;
	const char *const *skills;
	const char *const *plugins;
};

void guide_prompt(struct buf *out, const struct agent_definition *guide, const struct agent_registry *r,
		  const struct guide_facts *facts);
