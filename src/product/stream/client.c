/* SPDX-License-Identifier: MIT
 * client.c - decisions of the client: permissions, questions of agents, elicitation, and callback hooks. */
#include "guard/permission/permission.h"
#include "agents/agent/gate.h"
#include "agents/agent/question.h"
#include "agents/team/pane.h"
#include "product/stream/wire_int.h"

/* A pending request stores only session and call id: the call, its agent or the session may be gone when the answer
 * comes. */

struct question {
	struct cadre_wire *wire;
	char *agent_id, *call_id;
};

static void question_free(struct question *q)
{
	free(q->agent_id);
	free(q->call_id);
	free(q);
}

static struct agent *question_agent(const struct question *q)
{
	return q->wire->session ? agent_tree_find(&q->wire->session->tree, q->agent_id) : NULL;
}

static void ask_client(struct cadre_wire *w, const struct event *e, const char *tool, struct str input,
		       wire_answer_fn *done)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);
	struct question *q = xnew(struct question, .wire = w, .agent_id = xstrdup(e->agent ? e->agent->id : ""),
				  .call_id = xstrdup(e->id));

	json_putf(&out, "{subtype:'can_use_tool', tool_name:'%s', input:%.*s, tool_use_id:'%s'", tool, STR_ARG(input),
		  e->id);
	question_put_suggestions(&out, e->rules, e->rule_count);
	json_putf(&out, "decision_reason?:'%.*s', description?:'%.*s', agent_id?:'%s'", STR_ARG(e->why),
		  STR_ARG(e->kind == EVENT_PERMISSION_ASKED ? e->text : STR("")), q->agent_id[0] ? q->agent_id : NULL);
	json_putf(&out, "requires_user_interaction?:!!%d}", e->kind == EVENT_QUESTION_ASKED);
	wire_send_state(w, "requires_action");
	(void)wire_ask(w, WIRE_ASK_PERMISSION, buf_str(&line), done, q);
}

static void refuse_call(struct agent *a, struct tool_call *call, struct str why)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "No decision about this call: " STR_FMT, STR_ARG(why));
	agent_answer_question(a, call, false, buf_str(&text));
}

/* A question of a member in a pane: the member takes the answer as it is. */
static void decide_for_pane(const struct question *q, const struct json *payload, struct str why)
{
	if (!q->wire->session || !pane_question(&q->wire->session->tree, q->call_id))
		return;
	if (payload)
		(void)pane_decide(&q->wire->session->tree, q->call_id, json_raw(payload));
	else
		pane_refuse(&q->wire->session->tree, q->call_id, why);
}

static void on_permission(void *data, const struct json *payload, struct str why)
{
	struct question *q = data;
	struct agent *a = question_agent(q);
	struct tool_call *call = a ? agent_question(a, q->call_id) : NULL;

	if (q->wire->working)
		wire_send_state(q->wire, "running");
	if (call && !payload)
		refuse_call(a, call, why);
	else if (call && !agent_decide(a, call, payload))
		refuse_call(a, call, STR("the client's answer has no behavior \"allow\" or \"deny\""));
	decide_for_pane(q, payload, why);
	if (call && json_str_is(json_get(payload, "behavior"), "deny") && json_bool(json_get(payload, "interrupt")))
		cadre_interrupt(q->wire->session);
	question_free(q);
}

static void on_answers(void *data, const struct json *payload, struct str why)
{
	struct question *q = data;
	struct agent *a = question_agent(q);
	struct tool_call *call = a ? question_find(a, q->call_id) : NULL;
	const struct json *answers = json_get(json_get(payload, "updatedInput"), "answers");

	if (call && json_str_is(json_get(payload, "behavior"), "allow") && json_is(answers, JSON_OBJECT))
		question_answer(call, answers);
	else if (call)
		question_decline(call);
	decide_for_pane(q, payload, why);
	question_free(q);
}

void wire_ask_call(struct cadre_wire *w, const struct event *e)
{
	struct agent *a = agent_tree_find(&w->session->tree, e->agent ? e->agent->id : "");
	bool is_permission = e->kind == EVENT_PERMISSION_ASKED;
	struct tool_call *call = !a ? NULL : is_permission ? agent_question(a, e->id) : question_find(a, e->id);

	const struct pane_ask *ask = call ? NULL : pane_question(&w->session->tree, e->id);
	if (call)
		ask_client(w, e, call->tool->name, json_raw(call->input), is_permission ? on_permission : on_answers);
	else if (ask)
		ask_client(w, e, ask->tool, ask->input, is_permission ? on_permission : on_answers);
}

/* Takes back what no longer waits for an answer. */
void wire_sweep_questions(struct cadre_wire *w)
{
	for (struct wire_ask *ask = w->asks, *next; ask; ask = next) {
		struct question *q = ask->data;
		next = ask->next;
		struct agent *a = ask->kind == WIRE_ASK_PERMISSION ? question_agent(q) : NULL;
		if (ask->kind != WIRE_ASK_PERMISSION ||
		    (a && (agent_question(a, q->call_id) || question_find(a, q->call_id))) ||
		    (w->session && pane_question(&w->session->tree, q->call_id)))
			continue;
		wire_ask_take_back(ask);
		question_free(q);
	}
}

static void on_elicited(void *data, const struct json *payload, struct str why)
{
	struct question *q = data;
	AUTO_ARENA struct arena a = { 0 };
	const char *action = json_cstr(json_get(payload, "action"), &a);
	const struct json *content = json_get(payload, "content");

	if (q->wire->session &&
	    cadre_answer_elicitation(q->wire->session, q->call_id, action ? action : "cancel",
				     content ? arena_str(&a, json_raw(content)).p : NULL) == CADRE_USAGE)
		(void)cadre_answer_elicitation(q->wire->session, q->call_id, "cancel", NULL);
	question_free(q);
}

/* {"mcp_server_name":..} becomes {"subtype":"elicitation","mcp_server_name":..}. */
void wire_ask_elicitation(struct cadre_wire *w, const struct event *e)
{
	AUTO_BUF struct buf line = { 0 };
	struct question *q = xnew(struct question, .wire = w, .agent_id = xstrdup(""), .call_id = xstrdup(e->id));

	buf_addf(&line, "{\"subtype\":\"elicitation\"," STR_FMT, (int)e->raw.n - 1, e->raw.p + 1);
	(void)wire_ask(w, WIRE_ASK_ELICITATION, buf_str(&line), on_elicited, q);
}

static void on_answer(void *data, const struct json *payload, struct str why)
{
	struct hook_call *call = data;

	call->state = NULL;
	if (payload)
		hook_call_finish(call, false, json_raw(payload));
	else
		hook_call_finish(call, true, why);
}

/* The client has closed the input but still reads: it is notified of the end, without waiting for an answer. */
static void on_nothing(void *data, const struct json *payload, struct str why) {}

static void client_hook_start(void *data, struct hook_call *call)
{
	const struct services *sv = data;
	struct cadre_wire *w = sv->wires;
	AUTO_BUF struct buf line = { 0 };

	while (w && strcmp(w->session_id, call->session_id) != 0 && strcmp(w->cleared_id, call->session_id) != 0)
		w = w->next;
	bool at_end = w && w->input_over && call->event == HOOK_SESSION_END;
	if (!w || (w->input_over && !at_end)) {
		hook_call_finish(call, true, STR("the client of this hook has disconnected"));
		return;
	}
	json_addf(&line, "{subtype:'hook_callback', callback_id:'%s', input:%.*s, tool_use_id?:'%s'}",
		  call->hook->callback, STR_ARG(call->input), call->tool_use_id);
	if (at_end) {
		(void)wire_ask(w, WIRE_ASK_OTHER, buf_str(&line), on_nothing, NULL);
		hook_call_finish(call, false, STR("{}"));
		return;
	}
	call->state = wire_ask(w, WIRE_ASK_OTHER, buf_str(&line), on_answer, call);
}

static void client_hook_cancel(void *data, struct hook_call *call)
{
	struct wire_ask *ask = call->state;

	if (!ask)
		return;
	call->state = NULL;
	wire_ask_take_back(ask);
	hook_call_finish(call, true, STR("it was cancelled"));
}

const struct hook_runner wire_hook_runner = { client_hook_start, client_hook_cancel };
