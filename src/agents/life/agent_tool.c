/* SPDX-License-Identifier: MIT
 * agent_tool.c - the Agent tool as the model sees it. */
#include "agents/life/life.h"
#include <assert.h>
#include "agents/profile/roster.h"
#include "defs/agentdef/registry.h"
#include "lib/json/json_write.h"
#include "agents/agent/context.h"
#include "agents/agent/servers.h"

static bool is_offered(const struct agent_tree *t, struct str parameter)
{
	bool no_background = t->switches.background_off || t->switches.fork_mode || t->switches.coordinator;

	return !(no_background && str_is(parameter, "run_in_background"));
}

/* Where a fork may be made: what it is, when it is worth it, and an example. */
static void write_fork_usage(struct buf *out, const struct agent_tree *t, const char *only)
{
	if (only || agent_denied(t->services->registry, STR(FORK_TYPE)))
		return;
	if (t->switches.fork_mode)
		buf_addstr(out, "Without subagent_type the agent is a fork of you: it has this whole conversation, and "
				"a short prompt is enough. It always works in the background.");
	else
		buf_addstr(
			out,
			"With subagent_type \"fork\" the agent is a fork of you: it has this whole conversation, and "
			"a short prompt is enough.");
	buf_addf(out,
		 " Fork when the task needs what was said or read here, and its steps would only fill this "
		 "conversation.\nExample: the user asks for a survey before a merge. One call {\"description\": "
		 "\"Survey the branch\", %s\"prompt\": \"List what is left before this branch can be merged: open "
		 "changes, missing tests, failing checks. At most 150 words.\"} says what to do, not what is known "
		 "already.\n\n",
		 t->switches.fork_mode ? "" : "\"subagent_type\": \"fork\", ");
}

static void write_definition(struct buf *out, const struct agent_tree *t, const char *base, const char *only)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const struct json *root;
	struct json_out w = json_out(out);

	int status = json_parse(&reader, base, strlen(base), &root, NULL);
	assert(status == 0); /* compiled in */
	(void)status;
	struct str description = json_str(json_get(root, "description"), &a);
	buf_addf(&text, STR_FMT "\n\n", STR_ARG(description));
	write_fork_usage(&text, t, only);
	roster_write(&text, t->services->registry,
		     &(struct roster_spec){ .only = only ? str_from(only) : (struct str){ 0 },
					    .mcp_servers = servers_ready(t, &a),
					    .background_off = !is_offered(t, STR("run_in_background")) });
	json_open(&w, '{');
	json_kcstr(&w, "name", "Agent");
	json_kstr(&w, "description", str_trim(buf_str(&text)));
	json_key(&w, "input_schema");
	const struct json *schema = json_get(root, "input_schema");
	json_open(&w, '{');
	for (struct json_member m = json_members(schema); m.key; m = json_member_next(schema, m)) {
		struct str key = json_str(m.key, &a);
		json_key_str(&w, key);
		if (!str_is(key, "properties")) {
			json_put_raw(&w, json_raw(m.value));
			continue;
		}
		json_open(&w, '{');
		for (struct json_member p = json_members(m.value); p.key; p = json_member_next(m.value, p)) {
			if (!is_offered(t, json_str(p.key, &a)))
				continue;
			json_key_str(&w, json_str(p.key, &a));
			json_put_raw(&w, json_raw(p.value));
		}
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
}

void agent_tool_renew(struct agent_tree *t)
{
	struct buf definition = { 0 };

	if (!t->agent_base)
		return;
	write_definition(&definition, t, t->agent_base, NULL);
	free(t->agent_definition);
	t->agent_definition = definition.p;
	t->agent_tool.definition = t->agent_definition;
}

const struct tool *agent_tool_make(struct agent_tree *t, const struct tool *base)
{
	t->agent_base = base->definition;
	t->agent_tool = *base;
	t->agent_tool.accepts = base->definition; /* a parameter that is not offered here may be given all the same */
	agent_tool_renew(t);
	return &t->agent_tool;
}

void agent_tool_limit(struct agent *a)
{
	AUTO_BUF struct buf definition = { 0 };

	for (size_t i = 0; a->agent_types && i < a->tools.count; i++) {
		if (a->tools.tools[i] != &a->tree->agent_tool)
			continue;
		struct tool *own = arena_alloc(&a->arena, sizeof *own);
		write_definition(&definition, a->tree, a->tree->agent_base, a->agent_types);
		*own = a->tree->agent_tool;
		own->definition = arena_strdup(&a->arena, definition.p);
		a->tools.tools[i] = own;
	}
}
