/* SPDX-License-Identifier: MIT
 * host_question.c - may commands inside reach a host that no list names? The question is a call of a tool that does nothing, so
 * that it takes the way of every question: rules, hooks, modes, the terminal, the callback of an SDK. The sandbox asks once for a
 * host and a port in a session; an answer holds until its end. */
#include "agents/agent/tree.h"
#include "agents/life/life.h"
#include "guard/sandbox/sandbox.h"
#include "lib/base/list.h"
#include "lib/json/json_write.h"

static void access_start(struct tool_call *call)
{
	tool_call_finish(call, STR("The host may be reached."));
}

static const struct tool network_access = {
	.name = "SandboxNetworkAccess",
	.definition =
		"{\"name\":\"SandboxNetworkAccess\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"host\":{\"type\":"
		"\"string\"},\"port\":{\"type\":\"integer\"}}}}",
	.start = access_start,
};

static void host_question_free(struct host_question *q)
{
	list_remove(q);
	tool_call_free(q->call);
	free(q->host);
	free(q);
}

static void on_answered(struct tool_call *call)
{
	struct host_question *q = call->owner;

	sandbox_answer_host(q->tree->sandbox, q->host, q->port, !call->denied && !call->is_error);
	host_question_free(q);
}

static void ask_host(void *data, const char *host, unsigned port)
{
	struct agent_tree *t = data;
	struct host_question *q = xnew(struct host_question, .tree = t, .host = xstrdup(host), .port = port);
	AUTO_BUF struct buf input = { 0 };
	char id[40];

	json_addf(&input, "{host:'%s', port:%u}", host, port);
	snprintf(id, sizeof id, "host_%u", ++t->host_question_count);
	list_push(&t->host_questions, q);
	q->call = tool_call_new(&t->main.env, &t->main.gate, &network_access, str_from(id),
				str_from(network_access.name), buf_str(&input));
	q->call->owner = q;
	q->call->done = on_answered;
	q->call->policy.apart = true;
	tool_call_start(q->call);
}

void host_questions_open(struct agent_tree *t)
{
	sandbox_set_asker(t->sandbox, ask_host, t);
}

void host_questions_close(struct agent_tree *t)
{
	while (t->host_questions) {
		struct host_question *q = t->host_questions;
		tool_call_cancel(q->call);
		host_question_free(q);
	}
}
