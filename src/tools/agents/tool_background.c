/* SPDX-License-Identifier: MIT
 * tool_background.c - TaskOutput and TaskStop: agents and shells that work in the background. */
#include <fcntl.h>
#include "agents/subagent/report.h"
#include "lib/json/json_write.h"
#include "tools/agents/task.h"
#include "core/tool/tool_list.h"

void task_add_running(struct buf *out, const struct agent_tree *t)
{
	bool any = false;

	for (const struct agent *s = t->alive; s; s = s->next) {
		buf_addf(out, "%s%s",
			 any ? ", " : " Running agents: ", s->record->name ? s->record->name : s->record->id);
		any = true;
	}
}

/* ---- TaskOutput: what a task has to show, now or when it has ended ---------------------------------------------- */

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

static void show_agent(struct tool_call *call, struct agent_record *record)
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

static void on_agent_end(struct agent_wait *wait)
{
	struct waiting *w = CONTAINER_OF(wait, struct waiting, wait);

	timer_stop(w->call->env->loop, &w->timer);
	show_agent(w->call, w->record);
}

static void on_wait_over(struct timer *timer)
{
	struct waiting *w = CONTAINER_OF(timer, struct waiting, timer);

	agent_wait_remove(w->record, &w->wait);
	show_agent(w->call, w->record);
}

static void output_cancel(struct tool_call *call)
{
	struct waiting *w = call->state;

	if (w) {
		timer_stop(call->env->loop, &w->timer);
		agent_wait_remove(w->record, &w->wait);
	}
	tool_call_fail(call, "The call was cancelled.");
}

static void wait_start(struct tool_call *call, struct agent_record *record, uint64_t limit_ms)
{
	struct waiting *w = arena_alloc(&call->arena, sizeof *w);

	*w = (struct waiting){
		.wait = { .on_end = on_agent_end }, .timer = { .fire = on_wait_over }, .call = call, .record = record
	};
	call->state = w;
	agent_wait_add(record, &w->wait);
	timer_start(call->env->loop, &w->timer, limit_ms);
}

/* The last bytes of a file, from a whole character on. */
static void add_file_end(struct buf *out, const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[SHELL_TAIL];
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	ssize_t n = size > 0 ? pread(fd, bytes, sizeof bytes, MAX(size - SHELL_TAIL, 0)) : 0;
	ssize_t from = 0;

	while (size > SHELL_TAIL && from < n && ((unsigned char)bytes[from] & 0xc0) == 0x80)
		from++;
	if (n > 0)
		buf_add(out, bytes + from, (size_t)(n - from));
}

/* A shell's output is in its file. A notification reports its end, so there is nothing to wait for. */
static void show_shell(struct tool_call *call, const struct shell *shell)
{
	buf_addf(&call->result, "<task_id>%s</task_id>\n<task_type>local_bash</task_type>\n<status>running</status>\n",
		 shell->id);
	if (shell->output.path) {
		buf_addf(&call->result, "<output_file>%s</output_file>\n<output>\n", shell->output.path);
		add_file_end(&call->result, shell->output.path);
		buf_addstr(&call->result, "\n</output>\n");
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
		show_shell(call, shell);
	} else if (!record) {
		task_add_running(&running, a->tree);
		tool_call_reject(call, "No task found with ID: %s.%s", id, running.n ? running.p : "");
	} else if (record->live && record->live->phase != CHILD_WAITS && (!block || json_bool(block))) {
		wait_start(call, record, limit ? (uint64_t)json_double(limit) : DEFAULT_WAIT_MS);
	} else {
		show_agent(call, record);
	}
}

/* ---- TaskStop --------------------------------------------------------------------------------------------------- */

static void stop_start(struct tool_call *call);

const struct tool tool_task_stop = {
	TOOL_TASK_STOP_FACTS,
	.start = stop_start,
};

static void stop_answer(struct tool_call *call, const char *id, const char *type, const char *what)
{
	AUTO_BUF struct buf message = { 0 };
	struct json_out w = json_out(&call->result);

	buf_addf(&message, "Successfully stopped task: %s (%s)", id, what);
	json_open(&w, '{');
	json_kcstr(&w, "message", message.p);
	json_kcstr(&w, "task_id", id);
	json_kcstr(&w, "task_type", type);
	json_kcstr(&w, "command", what);
	json_close(&w);
	tool_call_end(call, false);
}

static bool is_own_ancestor(const struct agent *a, const struct agent_record *record)
{
	for (; a->parent; a = a->parent)
		if (a->record == record)
			return true;
	return false;
}

static void stop_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	const char *id = json_cstr(json_get(call->input, "task_id"), &call->arena);
	AUTO_BUF struct buf running = { 0 };

	if (!id)
		id = json_cstr(json_get(call->input, "shell_id"), &call->arena);
	if (!id) {
		tool_call_reject(call, "InputValidationError: TaskStop needs task_id.");
		return;
	}
	struct shell *shell = shell_set_find(call->env->shells, str_from(id));
	struct agent_record *record = agent_tree_record(a->tree, str_from(id));
	if (shell) {
		AUTO_FREE char *label = xstrdup(shell->label);
		shell_stop(shell, SHELL_STOPPED);
		stop_answer(call, id, "local_bash", label);
	} else if (record && record->live && is_own_ancestor(a, record)) {
		tool_call_reject(call, "An agent cannot stop itself or the agents it works for.");
	} else if (record && record->live) {
		agent_stop(record, false);
		stop_answer(call, record->id, record->member ? "in_process_teammate" : "local_agent",
			    record->description);
	} else if (record) {
		tool_call_reject(call, "Task %s is not running (it is %s).", record->id,
				 end_words(record->state)->state);
	} else {
		task_add_running(&running, a->tree);
		tool_call_reject(call, "No task found with ID: %s.%s", id, running.n ? running.p : "");
	}
}
