/* SPDX-License-Identifier: MIT
 * mcp_serve_offer.c - which tools `cadre mcp serve` offers. Those that speak with a user, or only make sense inside a
 * conversation, are left out; a subagent is started by a smaller tool than the model's own. */
#include "agents/profile/roster.h"
#include "product/serve/mcp_serve.h"

static const char agent_name[] = "agent";
static const char agent_schema[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"description\":{\"type\":\"string\",\"description\":\"The task in three to five words\"},"
	"\"prompt\":{\"type\":\"string\",\"description\":\"The task. The agent knows nothing but this text\"},"
	"\"subagent_type\":{\"type\":\"string\",\"description\":\"Which agent; without it a general one\"}},"
	"\"required\":[\"description\",\"prompt\"]}";

static const struct tool *agent_tool(const struct serve *s)
{
	return tool_set_find(&s->session->tree.main.tools, str_from(tool_agent.name));
}

const struct tool *serve_find_tool(const struct serve *s, struct str name, bool *ret_delegates)
{
	AUTO_FREE char *copy = xstrndup(name.p, name.n);
	const struct tool *tool;

	*ret_delegates = !strcmp(copy, agent_name);
	if (*ret_delegates)
		return agent_tool(s);
	tool = tool_set_find(&s->session->tree.main.tools, name);
	return tool && (tool->flags & TOOL_SERVED) && !strcmp(tool->name, copy) ? tool : NULL;
}

static void put_hints(struct json_out *w, bool read_only)
{
	json_key(w, "annotations");
	json_open(w, '{');
	json_kbool(w, "readOnlyHint", read_only);
	json_close(w);
}

static void put_tool(struct json_out *w, const struct tool *tool)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, tool->definition, strlen(tool->definition), &root, NULL) < 0)
		return; /* they are compiled in, and a test parses them */
	json_open(w, '{');
	json_kcstr(w, "name", tool->name);
	json_kraw(w, "description", json_raw(json_get(root, "description")));
	json_kraw(w, "inputSchema", json_raw(json_get(root, "input_schema")));
	put_hints(w, tool->flags & TOOL_READ_ONLY);
	json_close(w);
}

static void put_agent(struct json_out *w, const struct serve *s)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text,
		   "Gives a task to a subagent, which works on it alone, with tools of its own, and reports when it "
		   "is done. Agents:\n\n");
	roster_write(&text, s->session->tree.registry,
		     &(struct roster_spec){ .background_off = true, .one_at_a_time = true });
	json_open(w, '{');
	json_kcstr(w, "name", agent_name);
	json_kstr(w, "description", buf_str(&text));
	json_kraw(w, "inputSchema", str_from(agent_schema));
	put_hints(w, false);
	json_close(w);
}

void serve_list_tools(struct serve *s, struct json_out *w)
{
	const struct tool_set *tools = &s->session->tree.main.tools;

	json_key(w, "tools");
	json_open(w, '[');
	for (size_t i = 0; i < tools->count; i++)
		if (tools->tools[i]->flags & TOOL_SERVED)
			put_tool(w, tools->tools[i]);
	if (agent_tool(s))
		put_agent(w, s);
	json_close(w);
}
