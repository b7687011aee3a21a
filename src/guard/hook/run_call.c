/* SPDX-License-Identifier: MIT
 * run_call.c - hooks that a runner of the core runs: a model, an agent, an MCP tool, a function of the SDK. */
#include "guard/hook/hook_int.h"

static struct hook_runner *runner_of(const struct hook_run *run)
{
	return run->batch->engine->options.runners[run->hook->type];
}

static void call_start(struct hook_run *run)
{
	struct hook_runner *runner = runner_of(run);
	const struct hook *hook = run->hook;
	struct hook_batch *batch = run->batch;
	struct str input = str_trim(buf_str(&batch->input));
	AUTO_BUF struct buf text = { 0 };

	if (!runner) {
		hook_run_fail(run, "%s hooks cannot be run here", hook_type_info(hook->type)->name);
		hook_run_ended(run);
		return;
	}
	if (hook->prompt)
		template_add_prompt(&text, hook->prompt, input);
	else if (hook->type == HOOK_MCP_TOOL)
		template_add_json(&text, hook->tool_input, input);
	run->call = (struct hook_call){
		.hook = hook,
		.event = batch->event,
		.input = input,
		.text = arena_str(&batch->arena, buf_str(&text)),
		.session_id = batch->context.session_id,
		.agent_id = batch->context.agent_id,
		.tool_use_id = batch->tool_use_id,
	};
	run->called = true;
	runner->start(runner, &run->call);
}

static void call_stop(struct hook_run *run)
{
	if (run->called)
		runner_of(run)->cancel(runner_of(run), &run->call);
}

void hook_call_finish(struct hook_call *call, bool failed, struct str text)
{
	struct hook_run *run = CONTAINER_OF(call, struct hook_run, call);

	run->called = false;
	if (failed)
		hook_run_fail(run, STR_FMT, STR_ARG(text));
	buf_add(&run->out, text.p, MIN(text.n, (size_t)HOOK_OUT_LIMIT));
	run->out_total = text.n;
	hook_run_ended(run);
}

const struct run_kind run_call = { call_start, call_stop };
