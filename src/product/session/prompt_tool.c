/* SPDX-License-Identifier: MIT
 * prompt_tool.c - a tool of an MCP server answers permission questions: it gets {"tool_name","input","tool_use_id"} and says
 * {"behavior":"allow","updatedInput":..} or {"behavior":"deny","message":..}. Anything else is a refusal. */
#include "product/session/server_call.h"
#include "product/session/session_int.h"
#include "lib/json/json_write.h"
#include "agents/agent/gate.h"

struct inquiry {
	struct services *services;
	char *session_id, *agent_id, *call_id;
};

static void inquiry_free(struct inquiry *q)
{
	free(q->session_id);
	free(q->agent_id);
	free(q->call_id);
	free(q);
}

bool prompt_tool_is_given(const struct cadre_session *s)
{
	const char *name = s->services->options.permission_prompt_tool;

	return name && str_starts(str_from(name), STR("mcp__"));
}

static bool decide(struct agent *a, struct tool_call *call, struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	return json_parse(&reader, text.p, text.n, &root, NULL) == 0 && agent_decide(a, call, root);
}

static void on_answer(void *data, const struct server_reply *reply)
{
	struct inquiry *q = data;
	struct cadre_session *s = session_by_id(q->services, q->session_id);
	struct agent *a = s ? agent_tree_find(&s->tree, q->agent_id) : NULL;
	struct tool_call *call = a ? agent_question(a, q->call_id) : NULL;
	AUTO_BUF struct buf why = { 0 };

	if (call && (reply->failed || !decide(a, call, reply->text))) {
		buf_addf(&why, "The permission tool %s: " STR_FMT, reply->failed ? "failed" : "gave no decision",
			 STR_ARG(reply->text));
		agent_answer_question(a, call, false, buf_str(&why));
	}
	inquiry_free(q);
}

static void put_question(struct buf *out, const struct tool_call *call)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "tool_name", call->tool->name);
	json_kraw(&w, "input", json_raw(call->input));
	json_kcstr(&w, "tool_use_id", call->id);
	json_close(&w);
}

/* mcp__SERVER__TOOL; a server's name has no "__" of its own here, as nowhere where tools are named by it. */
static void cut_name(const char *name, struct str *ret_server, struct str *ret_tool)
{
	const char *server = name + strlen("mcp__");
	const char *end = strstr(server, "__");

	*ret_server = end ? (struct str){ server, (size_t)(end - server) } : str_from(server);
	*ret_tool = end ? str_from(end + 2) : STR("");
}

void prompt_tool_ask(struct cadre_session *s, const struct event *e)
{
	struct agent *a = agent_tree_find(&s->tree, e->agent ? e->agent->id : "");
	struct tool_call *call = a ? agent_question(a, e->id) : NULL;
	AUTO_BUF struct buf question = { 0 };
	struct err err = { 0 };
	struct str server, tool;

	if (!call)
		return;
	struct inquiry *q = xcalloc(1, sizeof *q);
	*q = (struct inquiry){ .services = s->services,
			       .session_id = xstrdup(s->id),
			       .agent_id = xstrdup(a->who.id),
			       .call_id = xstrdup(call->id) };
	put_question(&question, call);
	cut_name(s->services->options.permission_prompt_tool, &server, &tool);
	struct server_call_spec spec = { .server = server,
					 .tool = tool,
					 .arguments = buf_str(&question),
					 .policy = { .apart = true, .chosen = true } };
	if (!server_call_start(s, &spec, on_answer, q, &err))
		on_answer(q, &(struct server_reply){ .failed = true, .text = str_from(err.text) });
}
