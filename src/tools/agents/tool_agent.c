/* SPDX-License-Identifier: MIT
 * tool_agent.c - Agent starts a subagent, SendMessage sends it a message, TaskOutput and TaskStop show and stop what runs in the
 * background, subagents and shells. The life of a subagent is in agents/subagent. */
#include <fcntl.h>
#include "agents/subagent/subagent.h"
#include "agents/member/lead.h"
#include "agents/team/peer.h"
#include "lib/json/json_write.h"
#include "tools/shell/shell_set.h"
#include "core/tool/tool_list.h"

static const char *input_text(struct tool_call *call, const char *key)
{
	return json_cstr(json_get(call->input, key), &call->arena);
}

static unsigned agent_flags(const struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *type = json_cstr(json_get(call->input, "subagent_type"), &a);

	return tool_agent.flags | (agent_needs_history(call->env->owner, type) ? TOOL_AFTER_ANSWER : 0);
}

static void agent_resume_by_call(struct tool_call *call, struct str prompt, int64_t max_turns)
{
	struct agent *a = call->env->owner;
	const char *id = input_text(call, "resume");
	struct agent_record *record = agent_tree_record(a->tree, str_from(id));
	bool background = json_bool(json_get(call->input, "run_in_background")) && !a->tree->switches.background_off;
	struct err err = { 0 };

	if (!record)
		tool_call_fail(call, "No agent '%s' in this session to resume.", id);
	else if (!strcmp(record->tool_use_id, call->id))
		agent_resume(record, a, call); /* this very call had resumed it before a crash */
	else if (agent_may_continue(a, record, &err) < 0 ||
		 agent_continue(record, prompt, call, background, max_turns, &err) < 0)
		tool_call_fail(call, "%s", err.text);
}

/* A named call of the lead makes a member. True: the call was answered, or has started one. */
static bool agent_join_team(struct tool_call *call, struct spawn_request *request)
{
	struct agent *a = call->env->owner;
	struct agent_tree *t = a->tree;
	struct agent_member member;
	AUTO_BUF struct buf note = { 0 }, why = { 0 };
	struct err err = { 0 };
	bool fork = request->type && str_is_nocase(str_trim(str_from(request->type)), "fork");

	if (t->lead && !a->parent) {
		tool_call_reject(call, "Members start no members: leave the name out to start a subagent.");
		return true;
	}
	if (!t->switches.teams || fork || (!t->team && !t->switches.implicit_team))
		return false;
	if (a->parent) {
		if (t->team && a->record->member)
			tool_call_reject(call, "Members start no members: leave the name out to start a subagent.");
		return t->team && a->record->member;
	}
	if (!t->team && team_create(t, arena_printf(&call->arena, "session-%.8s", t->session_id), NULL, NULL, true,
				    &note, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return true;
	}
	if (agent_started_by_call(a, call)) { /* before a crash: the name is its own */
		agent_spawn(a, request, call);
		return true;
	}
	if (!team_admit(a, request, input_text(call, "team_name"), input_text(call, "mode"), &member, &call->arena,
			&note, &why)) {
		tool_call_reject(call, "%s", why.p);
		return true;
	}
	request->member = &member;
	request->note = note.n ? note.p : NULL;
	agent_spawn(a, request, call);
	team_files_changed(t->team->files);
	return true;
}

static void agent_start(struct tool_call *call)
{
	const struct json *background = json_get(call->input, "run_in_background");
	struct spawn_request request = {
		.description = json_str(json_get(call->input, "description"), &call->arena),
		.prompt = json_str(json_get(call->input, "prompt"), &call->arena),
		.type = input_text(call, "subagent_type"),
		.model = input_text(call, "model"),
		.effort = input_text(call, "effort"),
		.isolation = input_text(call, "isolation"),
		.name = input_text(call, "name"),
		.background_given = background != NULL,
		.background = json_bool(background),
	};

	(void)json_i64(json_get(call->input, "max_turns"), &request.max_turns);
	if (json_get(call->input, "resume"))
		agent_resume_by_call(call, request.prompt, request.max_turns);
	else if (!request.name || !agent_join_team(call, &request))
		agent_spawn(call->env->owner, &request, call);
}

static void agent_cancel(struct tool_call *call)
{
	struct agent *a = call->env->owner;

	agent_stop_waited(a->tree, call);
}

const struct tool tool_agent = {
	TOOL_AGENT_FACTS,
	.start = agent_start,
	.cancel = agent_cancel,
	.flags_for = agent_flags,
};

/* {type, recipient, content, ...}: the answer to a request has its fields beside them */
static bool send_rewrite(const struct json *input, struct arena *a, struct buf *out)
{
	const struct json *type = json_get(input, "type"), *request = json_get(input, "request_id");
	struct str content = json_str(json_get(input, "content"), a), to = json_str(json_get(input, "recipient"), a);
	bool plain = json_str_is(type, "message"), all = json_str_is(type, "broadcast");
	struct json_out w = json_out(out);

	if (!json_is(type, JSON_STRING) || json_get(input, "to") || json_get(input, "message"))
		return false;
	json_open(&w, '{');
	json_kstr(&w, "to", all ? STR("*") : json_str_is(type, "shutdown_response") ? STR(TEAM_LEAD) : to);
	json_putf(&w, "summary?:%.*s", JSON_ARG(json_get(input, "summary")));
	if (plain || all) {
		json_kstr(&w, "message", content);
	} else {
		bool plan = json_str_is(type, "plan_approval_response");
		json_putf(&w, "message:{type:%.*s, request_id?:%.*s, approve?:%.*s", JSON_ARG(type), JSON_ARG(request),
			  JSON_ARG(json_get(input, "approve")));
		if (content.n)
			json_kstr(&w, plan ? "feedback" : "reason", content);
		json_close(&w);
	}
	json_close(&w);
	return true;
}

/* "Running agents: bob, a0123...". Nothing if there are none. */
static void add_running_agents(struct buf *out, const struct agent_tree *t)
{
	bool any = false;

	for (const struct agent *s = t->alive; s; s = s->next) {
		buf_addf(out, "%s%s",
			 any ? ", " : " Running agents: ", s->record->name ? s->record->name : s->record->id);
		any = true;
	}
}

/* record: the recipient; NULL: there is none. */
static void send_answer(struct tool_call *call, struct str message, const struct agent_record *record, bool resumed)
{
	struct json_out w = json_out(&call->result);

	json_putf(&w, "{success:!!%d, message:'%.*s', resumedAgentId?:'%s'", record != NULL, STR_ARG(message),
		  resumed ? record->id : NULL);
	if (record)
		json_putf(&w, "pin:{id:'%s', name?:'%s'}", record->id, record->name);
	json_close(&w);
	tool_call_end(call);
}

static const char *sender_name(const struct agent *a)
{
	return a->who.name ? a->who.name : a->who.id[0] ? a->who.id : "main";
}

/* Of a call that began before a crash. record NULL: the main agent */
static bool was_sent(const struct tool_call *call, const struct agent_record *record, const char *id)
{
	const struct agent *from = call->env->owner;
	struct map ids = { 0 };

	if (call->again && record)
		mail_learn_record(record, &ids);
	bool found = map_get(record ? &ids : &from->tree->old_notices, str_from(id));
	map_release(&ids);
	return found;
}

/* An agent that has ended is resumed with the message. */
static void send_to_agent(struct tool_call *call, struct agent *from, struct agent_record *record, struct str text)
{
	const char *name = record->name ? record->name : record->id;
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };
	bool runs = record->live;

	if (from->parent && record->live == from) {
		send_answer(call, STR("An agent cannot send messages to itself."), NULL, false);
		return;
	}
	char id[UUID_LEN + 1];
	const char *told = record->told;
	int status = 0;
	mail_id(from->tree, call->id, record->id, id);
	if (was_sent(call, record, id)) {
		runs = false; /* the run that it began may have been cut off, and continues */
	} else if (runs) {
		status = agent_message(record->live, sender_name(from), id, text, &err);
	} else if ((status = agent_may_continue(from, record, &err)) == 0) {
		agent_record_told(record, id);
		status = agent_continue(record, text, NULL, true, 0, &err);
	}
	if (status < 0) {
		record->told = told;
		send_answer(call, str_from(err.text), NULL, false);
		return;
	}
	if (runs)
		buf_addf(
			&b,
			"Message queued for delivery to %s at its next step. If it fails before, the message waits until "
			"it is resumed.",
			name);
	else
		buf_addf(&b, "Resuming agent %s", name);
	send_answer(call, buf_str(&b), record, !runs);
}

static void send_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct str to = str_trim(json_str(json_get(call->input, "to"), &call->arena));
	struct str text = json_str(json_get(call->input, "message"), &call->arena);
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };

	if (peer_send(call) || lead_send(call) || team_send(call))
		return;
	struct agent_record *record = agent_tree_record(a->tree, to);
	if (!str_trim(text).n) {
		send_answer(call, STR("The message is empty."), NULL, false);
	} else if (!record && a->parent && str_is_nocase(to, "main")) {
		char id[UUID_LEN + 1];
		mail_id(a->tree, call->id, "main", id);
		if (!was_sent(call, NULL, id) && agent_message_main(a->tree, sender_name(a), id, text, &err) < 0)
			send_answer(call, str_from(err.text), NULL, false);
		else
			tool_call_finish(
				call, STR("{\"success\":true,\"message\":\"Message queued for delivery to main.\"}"));
	} else if (!record) {
		buf_addf(&b, "No agent named '" STR_FMT "' is reachable.", STR_ARG(to));
		add_running_agents(&b, a->tree);
		send_answer(call, buf_str(&b), NULL, false);
	} else {
		send_to_agent(call, a, record, text);
	}
}

const struct tool tool_send_message = {
	TOOL_SEND_MESSAGE_FACTS,
	.rewrite = send_rewrite,
	.start = send_start,
	.cancel = lead_forget_call,
};

/* TaskOutput: what a task has to show, now or when it has ended. */

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
	const struct end_state_info *words = &end_states[record->state];
	const struct agent_member *m = record->member;
	bool waits = m && m->state != MEMBER_STARTS && m->state != MEMBER_WORKS && m->state != MEMBER_GONE;

	agent_record_refresh(record);
	buf_addf(out, "<task_id>%s</task_id>\n<task_type>%s</task_type>\n<status>%s</status>\n", record->id,
		 m ? "in_process_teammate" : "local_agent", waits ? member_state_name(m->state) : words->status);
	if (m && m->in_pane) /* its session is another one: nothing of it is read here */
		buf_append(&report, buf_str(&record->report));
	if (record->state == AGENT_RUNNING)
		buf_addf(out, "<progress>%u turns, %u tool calls%s%s</progress>\n", record->turns, record->tool_uses,
			 record->last_tool[0] ? ", the last one " : "", record->last_tool);
	else if (report.n || (!(m && m->in_pane) && report_read(&report, record)))
		buf_addf(out, "<output>\n%s\n</output>\n", report.p);
	if (record->failure && record->state != AGENT_COMPLETED)
		buf_addf(out, "<error>%s</error>\n", record->failure);
	tool_call_end(call);
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

/* A member in a pane has no agent in this process. */
static bool agent_works(const struct agent_record *r)
{
	const struct agent_member *m = r->member;

	if (m && m->in_pane)
		return m->state == MEMBER_STARTS || m->state == MEMBER_WORKS || m->unread;
	return r->live && r->live->phase != CHILD_WAITS;
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
		/* A shell's output is in its file. A notification reports its end, so there is nothing to wait for. */
		buf_addf(&call->result,
			 "<task_id>%s</task_id>\n<task_type>local_bash</task_type>\n<status>running</status>\n",
			 shell->id);
		if (shell->output.path) {
			uint64_t size;
			buf_addf(&call->result, "<output_file>%s</output_file>\n<output>\n", shell->output.path);
			(void)file_read_tail_fd(shell->output.fd, shell->output.path, SHELL_TAIL, &call->result, &size,
						NULL);
			buf_addstr(&call->result, "\n</output>\n");
		}
		tool_call_end(call);
	} else if (!record) {
		add_running_agents(&running, a->tree);
		tool_call_reject(call, "No task found with ID: %s.%s", id, running.n ? running.p : "");
	} else if (agent_works(record) && (!block || json_bool(block))) {
		struct waiting *w = arena_new(&call->arena, struct waiting, .wait = { .on_end = on_agent_end },
					      .timer = { .fire = on_wait_over }, .call = call, .record = record);
		call->state = w;
		agent_wait_add(record, &w->wait);
		timer_start(call->env->loop, &w->timer, limit ? (uint64_t)json_double(limit) : DEFAULT_WAIT_MS);
	} else {
		show_agent(call, record);
	}
}

const struct tool tool_task_output = { TOOL_TASK_OUTPUT_FACTS, .start = output_start, .cancel = output_cancel };

static void stop_answer(struct tool_call *call, const char *id, const char *type, const char *what)
{
	AUTO_BUF struct buf message = { 0 };

	buf_addf(&message, "Successfully stopped task: %s (%s)", id, what);
	json_addf(&call->result, "{message:'%s', task_id:'%s', task_type:'%s', command:'%s'}", message.p, id, type,
		  what);
	tool_call_end(call);
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
	bool is_ancestor = false; /* or the agent itself */
	for (const struct agent *up = a; up->parent; up = up->parent)
		is_ancestor = is_ancestor || up->record == record;
	if (shell) {
		AUTO_FREE char *label = xstrdup(shell->label);
		shell_stop(shell, SHELL_STOPPED);
		stop_answer(call, id, "local_bash", label);
	} else if (record && record->live && is_ancestor) {
		tool_call_reject(call, "An agent cannot stop itself or the agents it works for.");
	} else if (record && (record->live || (record->member && record->member->state != MEMBER_GONE))) {
		if (record->member)
			team_stop(record, false);
		else
			agent_stop(record, false);
		stop_answer(call, record->id, record->member ? "in_process_teammate" : "local_agent",
			    record->description);
	} else if (record) {
		tool_call_reject(call, "Task %s is not running (it is %s).", record->id,
				 end_states[record->state].state);
	} else {
		add_running_agents(&running, a->tree);
		tool_call_reject(call, "No task found with ID: %s.%s", id, running.n ? running.p : "");
	}
}

const struct tool tool_task_stop = { TOOL_TASK_STOP_FACTS, .start = stop_start };
