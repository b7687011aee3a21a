/* SPDX-License-Identifier: MIT
 * run_call.c - hooks that somebody else runs: a model, an agent, an MCP tool, a function of the SDK. */
#include "guard/hook/hook_int.h"
#include "guard/hook/template.h"

static struct str make_text(const struct hook_run *run)
{
	const struct hook *hook = run->hook;
	AUTO_BUF struct buf out = { 0 };

	if (hook->prompt)
		template_add_prompt(&out, hook->prompt, str_trim(buf_str(&run->firing->input)));
	else if (hook->type == HOOK_MCP_TOOL)
		template_add_json(&out, hook->tool_input, buf_str(&run->firing->input));
	return arena_str(&run->firing->arena, buf_str(&out));
}

static struct hook_runner *runner_of(const struct hook_run *run)
{
	return run->firing->engine->options.runners[run->hook->type];
}

static void call_start(struct hook_run *run)
{
	struct hook_runner *runner = runner_of(run);

	if (!runner) {
		hook_run_fail(run, "%s hooks cannot be run here", hook_type_info(run->hook->type)->name);
		hook_run_ended(run);
		return;
	}
	run->call = (struct hook_call){
		.hook = run->hook,
		.event = run->firing->event,
		.input = str_trim(buf_str(&run->firing->input)),
		.text = make_text(run),
		.session_id = run->firing->context.session_id,
		.agent_id = run->firing->context.agent_id,
		.tool_use_id = run->firing->tool_use_id,
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
