/* SPDX-License-Identifier: MIT
 * fake_tools.c - tools that take time. */
#include "fake_tools.h"

struct job {
	struct timer timer;
	struct tool_call *call;
};

static void end(struct tool_call *call)
{
	struct job *job = call->state;
	struct str said = json_str(json_get(call->input, "say"), &call->arena);

	timer_stop(call->env->loop, &job->timer);
	buf_addf(call->env->owner, "-%s ", call->id);
	tool_call_finish(call, said.n ? said : STR("ok"));
}

static void on_timer(struct timer *timer)
{
	end(CONTAINER_OF(timer, struct job, timer)->call);
}

static void start(struct tool_call *call)
{
	struct job *job = arena_calloc(&call->arena, sizeof *job);
	int64_t ms = 0;

	job->call = call;
	job->timer.fire = on_timer;
	call->state = job;
	buf_addf(call->env->owner, "+%s ", call->id);
	(void)json_i64(json_get(call->input, "ms"), &ms);
	if (ms > 0)
		timer_start(call->env->loop, &job->timer, (uint64_t)ms);
	else if (ms == 0)
		end(call);
}

static void cancel(struct tool_call *call)
{
	struct job *job = call->state;

	timer_stop(call->env->loop, &job->timer);
	buf_addf(call->env->owner, "!%s ", call->id);
	tool_call_fail(call, "cancelled");
}

#define DEFINITION(name)                                                                                               \
	"{\"name\":\"" name "\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"integer\"}}}" \
	"}"

const struct tool fake_read = {
	.name = "Read", .definition = DEFINITION("Read"), .flags = TOOL_READ_ONLY, .start = start, .cancel = cancel
};
const struct tool fake_write = { .name = "Write", .definition = DEFINITION("Write"), .start = start, .cancel = cancel };
const struct tool fake_beside = {
	.name = "Beside", .definition = DEFINITION("Beside"), .flags = TOOL_CONCURRENT, .start = start, .cancel = cancel
};
