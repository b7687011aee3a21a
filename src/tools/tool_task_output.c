/* SPDX-License-Identifier: MIT
 * tool_task_output.c - TaskOutput: what a background task has to show, now or when it has ended. */
#include "lib/io/file.h"
#include "agents/subagent/report.h"
#include "tools/task.h"
#include "tools/tool_list.h"

static void output_start(struct tool_call *call);
static void output_cancel(struct tool_call *call);

const struct tool tool_task_output = {
	TOOL_TASK_OUTPUT_FACTS,
	.start = output_start,
	.cancel = output_cancel,
};

enum { DEFAULT_WAIT_MS = 30000, SHELL_TAIL = 30000 };

struct waiting {
	struct agent_wait wait;
	struct timer timer;
	struct tool_call *call;
	struct agent_record *record;
};

static void tell(struct tool_call *call, struct agent_record *record)
{
	AUTO_BUF struct buf report = { 0 };
	struct buf *out = &call->result;
	const struct end_words *words = end_words(record->state);

	agent_record_refresh(record);
	buf_addf(out, "<task_id>%s</task_id>\n<task_type>local_agent</task_type>\n<status>%s</status>\n", record->id,
		 words->status);
	if (record->state == AGENT_RUNNING)
		buf_addf(out, "<progress>%u turns, %u tool calls%s%s</progress>\n", record->turns, record->tool_uses,
			 record->last_tool[0] ? ", the last one " : "", record->last_tool);
	else if (report_read(&report, record))
		buf_addf(out, "<output>\n%s\n</output>\n", report.p);
	if (record->failure && record->state != AGENT_COMPLETED)
		buf_addf(out, "<error>%s</error>\n", record->failure);
	tool_call_end(call, false);
}

static void stop_waiting(struct waiting *w)
{
	timer_stop(w->call->env->loop, &w->timer);
	agent_wait_remove(w->record, &w->wait);
}

static void on_end(struct agent_wait *wait)
{
	struct waiting *w = CONTAINER_OF(wait, struct waiting, wait);

	timer_stop(w->call->env->loop, &w->timer);
	tell(w->call, w->record);
}

static void on_time(struct timer *timer)
{
	struct waiting *w = CONTAINER_OF(timer, struct waiting, timer);

	agent_wait_remove(w->record, &w->wait);
	tell(w->call, w->record);
}

static void output_cancel(struct tool_call *call)
{
	if (call->state)
		stop_waiting(call->state);
	tool_call_fail(call, "The call was cancelled.");
}

static void wait_for(struct tool_call *call, struct agent_record *record, uint64_t limit_ms)
{
	struct waiting *w = arena_alloc(&call->arena, sizeof *w);

	*w = (struct waiting){
		.wait = { .on_end = on_end }, .timer = { .fire = on_time }, .call = call, .record = record
	};
	call->state = w;
	agent_wait_add(record, &w->wait);
	timer_start(call->env->loop, &w->timer, limit_ms);
}

/* A shell's output is in its file; its end is told by a notification, so there is nothing to wait for. */
static void tell_shell(struct tool_call *call, const struct shell *shell)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	buf_addf(&call->result, "<task_id>%s</task_id>\n<task_type>local_bash</task_type>\n<status>running</status>\n",
		 shell->id);
	if (shell->output.path && file_read(shell->output.path, (size_t)64 << 20, &text, &err) == 0) {
		struct str all = buf_str(&text);
		size_t skip = all.n > SHELL_TAIL ? all.n - SHELL_TAIL : 0;
		buf_addf(&call->result, "<output_file>%s</output_file>\n<output>\n" STR_FMT "\n</output>\n",
			 shell->output.path, STR_ARG(((struct str){ all.p + skip, all.n - skip })));
	}
	tool_call_end(call, false);
}

static void output_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	const char *id = json_cstr(json_get(call->input, "task_id"), &call->arena);
	const struct json *block = json_get(call->input, "block");
	const struct json *limit = json_get(call->input, "timeout");
	AUTO_BUF struct buf running = { 0 };

	struct agent_record *record = agent_tree_record(a->tree, str_from(id));
	struct shell *shell = shell_set_find(call->env->shells, str_from(id));
	if (shell) {
		tell_shell(call, shell);
	} else if (!record) {
		task_add_running(&running, a->tree);
		tool_call_reject(call, "No task found with ID: %s.%s", id, running.n ? running.p : "");
	} else if (record->live && (!block || json_bool(block))) {
		wait_for(call, record, limit ? (uint64_t)json_double(limit) : DEFAULT_WAIT_MS);
	} else {
		tell(call, record);
	}
}
