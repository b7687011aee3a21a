/* SPDX-License-Identifier: MIT
 * hook_model.c - hooks of type prompt and agent: a question to a model, and its answer to the hook engine. */
#include "product/session/hook_model.h"
#include "agents/agent/one_shot.h"

static const char rules[] =
	"You check one event in the run of another agent. The message says what to check and shows the "
	"event as JSON. Answer with one JSON object and nothing else: {\"ok\": true} if all is as it "
	"should be, otherwise {\"ok\": false, \"reason\": \"...\"} with a reason that the other agent can "
	"act on. If what is wanted cannot be done at all, add \"impossible\": true.";

struct runner {
	struct hook_runner hooks;
	struct services *services;
};

static void on_answer(void *data, bool failed, struct str answer)
{
	struct hook_call *call = data;

	call->state = NULL;
	hook_call_finish(call, failed, answer);
}

static void start(struct hook_runner *runner, struct hook_call *call)
{
	const struct runner *r = CONTAINER_OF(runner, struct runner, hooks);
	struct one_shot_spec spec = { .services = r->services,
				      .session_id = call->session_id,
				      .agent_id = call->agent_id,
				      .label = "hook",
				      .instructions = rules,
				      .model = call->hook->model,
				      .text = call->text,
				      .reads = call->hook->type == HOOK_AGENT };
	struct err err = { 0 };

	call->state = one_shot_start(&spec, on_answer, call, &err);
	if (!call->state)
		hook_call_finish(call, true, str_from(err.text));
}

static void cancel(struct hook_runner *runner, struct hook_call *call)
{
	(void)runner;
	if (call->state)
		one_shot_cancel(call->state);
}

struct hook_runner *hook_model_new(struct services *sv)
{
	struct runner *r = xcalloc(1, sizeof *r);

	*r = (struct runner){ .hooks = { start, cancel }, .services = sv };
	return &r->hooks;
}

void hook_model_free(struct hook_runner *runner)
{
	free(runner ? CONTAINER_OF(runner, struct runner, hooks) : NULL);
}
