/* SPDX-License-Identifier: MIT
 * describe.h - descriptions of agents: for `cadre agents show`, `cadre agents check` and the guide. */
#pragma once
#include "defs/agentdef/registry.h"
#include "lib/json/json_write.h"

struct agent_fact {
	const char *field;
	struct str text; /* for people; "" if the field has no value */
	struct str json; /* one value */
	bool given;      /* it stands in the definition, and may have been ignored; otherwise the default holds */
	unsigned line;   /* 0: none */
};

/* Every field in a fixed order, the prompt not among them. The fact is borrowed until fn returns. */
void agent_describe(const struct agent_definition *d, void (*fn)(void *data, const struct agent_fact *fact),
		    void *data);

/* One object: file, loaded, is_agent, name, description, model, tools (null: absent, []: none), disallowedTools,
 * body_sha256, diagnostics[{level, line, message}]. */
void agent_check_json(struct json_out *w, const struct agent_definition *d);

/* The colour it is shown in: the one it asks for, else one that its type always gets. red, blue, green, yellow, purple,
 * orange, pink or cyan. */
const char *agent_color(const struct agent_definition *d);

/* Lists are NULL-terminated; NULL: none */
struct guide_facts {
	const char *const *settings_files; /* that exist */
	const char *const *mcp_servers;
	const char *const *skills;
	const char *const *plugins;
};

/* The prompt of the guide agent: its own text, then what is configured here. */
void guide_prompt(struct buf *out, const struct agent_definition *guide, const struct catalog *r,
		  const struct guide_facts *facts);
