/* SPDX-License-Identifier: MIT
 * question.c - questions to the user. */
#include "agents/agent/question.h"
#include "lib/base/utf8.h"
#include "agents/agent/tree.h"
#include "agents/agent/plan.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"

enum { MEMBER_MAX_BYTES = 2000 };

static struct str value_text(const struct json *v, struct arena *a)
{
	return json_is(v, JSON_STRING) ? json_str(v, a) : json_raw(v);
}

void question_describe(struct tool_call *call, struct buf *out)
{
	const char *subject = call->tool->subject;
	const struct json *about = subject ? json_get(call->input, subject) : NULL;

	if (about) {
		struct str text = value_text(about, &call->arena);
		buf_add(out, text.p, text.n);
	}
	for (struct json_member m = json_members(call->input); m.key; m = json_member_next(call->input, m)) {
		struct str name = json_str(m.key, &call->arena);
		if (subject && str_is(name, subject))
			continue;
		struct str text = value_text(m.value, &call->arena);
		struct str shown = utf8_cut(text, MEMBER_MAX_BYTES);
		buf_addf(out, "%s" STR_FMT ": " STR_FMT, out->n ? "\n  " : "  ", STR_ARG(name), STR_ARG(shown));
		if (shown.n < text.n)
			buf_addf(out, " ... (%zu more bytes)", text.n - shown.n);
	}
}

void question_put_suggestions(struct json_out *w, const char *const *rules, size_t count)
{
	json_kopen(w, "permission_suggestions", '[');
	for (size_t i = 0; i < count; i++) {
		/* "Bash(git *)" as the types of the SDKs have it */
		struct str content = str_from(rules[i]);
		struct str tool = str_cut(&content, '(');
		json_putf(w, "{type:'addRules', rules:[{toolName:'%.*s'", STR_ARG(tool));
		if (content.n)
			json_kstr(w, "ruleContent", (struct str){ content.p, content.n - 1 });
		json_putf(w, "}], behavior:'allow', destination:'localSettings'}");
	}
	json_close(w);
}

void question_refuse(const struct tool_call *call, const char *reason, struct buf *out)
{
	if (call->flags & TOOL_ENDS_PLAN)
		buf_addstr(out, "The user does not approve the plan; plan mode stays on.");
	else
		buf_addf(out, "The user does not want %s to run now.", call->name);
	if (reason && reason[0])
		buf_addf(out, " They said: %s", reason);
}

/* The setting askUserQuestionTimeout; the call's state while its question is open. */
struct question_wait {
	struct timer timer;
	struct tool_call *call;
};

static void on_time_over(struct timer *timer)
{
	struct tool_call *call = CONTAINER_OF(timer, struct question_wait, timer)->call;

	/* First the end of the call: an answer inside the event comes too late. */
	tool_call_fail(call,
		       "The user did not answer in time. Take the most likely answer, and say which one you took.");
	agent_emit(call->env->owner, &(struct event){ .kind = EVENT_QUESTION_CLOSED,
						      .id = call->id,
						      .text = STR("no answer came in time") });
}

void question_stop_wait(struct tool_call *call)
{
	struct question_wait *wait = call->state;

	if (wait)
		timer_stop(call->env->loop, &wait->timer);
	call->state = NULL;
}

bool question_ask(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct str input = json_raw(call->input);
	uint64_t limit_ms = call->env->settings ? call->env->settings->question_ms : 0;

	if (!permission_can_ask(&a->permission))
		return false;
	if (limit_ms) {
		struct question_wait *wait = arena_calloc(&call->arena, sizeof *wait);
		*wait = (struct question_wait){ .timer.fire = on_time_over, .call = call };
		call->state = wait;
		timer_start(call->env->loop, &wait->timer, limit_ms);
	}
	agent_emit(a,
		   &(struct event){ .kind = EVENT_QUESTION_ASKED, .name = call->name, .id = call->id, .text = input });
	return true;
}

void question_answer(struct tool_call *call, const struct json *answers)
{
	const struct json *questions = json_get(call->input, "questions");
	struct buf *out = &call->result;

	question_stop_wait(call);
	buf_clear(out);
	buf_addstr(out, "The user answered:\n");
	for (const struct json *q = json_first(questions); q; q = json_next(questions, q)) {
		struct str text = json_str(json_get(q, "question"), &call->arena);
		const struct json *answer = json_get_str(answers, text);
		struct str said = json_is(answer, JSON_STRING) ? json_str(answer, &call->arena) : STR("(no answer)");
		buf_addf(out, "- " STR_FMT "\n  " STR_FMT "\n", STR_ARG(text), STR_ARG(said));
	}
	json_addf(&call->result_json, "{questions:%.*s, answers:%.*s}", JSON_ARG(questions), JSON_ARG(answers));
	tool_call_end(call);
}

void question_decline(struct tool_call *call)
{
	question_stop_wait(call);
	tool_call_fail(call,
		       "The user does not want to answer. Do not ask the same again; continue with what you know, or "
		       "say what you cannot do without an answer.");
}

struct tool_call *question_find(struct agent *a, const char *call_id)
{
	for (uint32_t i = 0; i < a->query.call_count; i++) {
		struct tool_call *call = a->query.calls[i]->call;
		if (call && !strcmp(call->id, call_id) && call->running && !call->finished &&
		    (call->flags & TOOL_IS_QUESTION))
			return call;
	}
	return NULL;
}

/* Plan mode of an agent, and the file of its plan. */

enum { PLAN_MAX_BYTES = 200000 };

/* A child that only inherits plan mode does not get out of it here: plan_present() says so. */
void plan_leave(struct agent *a)
{
	if (a->plan.accept_edits)
		permission_choose_mode(&a->permission, PERMISSION_ACCEPT_EDITS);
	else if (a->parent)
		permission_inherit_mode(&a->permission);
	else
		permission_choose_mode(&a->permission, a->plan.before);
	a->plan.before = PERMISSION_DEFAULT;
	a->plan.accept_edits = false;
}

const char *plan_path(struct agent *a)
{
	if (!a->plan.path)
		a->plan.path = arena_printf(&a->arena, "%s/%s%s%s.md", a->tree->plans_dir, a->tree->session_id,
					    a->parent ? "-" : "", a->parent ? a->who.id : "");
	return a->plan.path;
}

bool plan_read(struct agent *a, struct buf *out)
{
	return file_below_read("/", plan_path(a), PLAN_MAX_BYTES, out, NULL) == 0 && str_trim(buf_str(out)).n;
}

bool plan_present(struct agent *a, struct tool_call *call)
{
	struct str plan = json_str(json_get(call->input, "plan"), &call->arena);
	AUTO_BUF struct buf kept = { 0 };
	AUTO_BUF struct buf input = { 0 };
	struct err err = { 0 };

	if (!plan_is_on(a)) {
		tool_call_fail(call,
			       "This agent is not in plan mode: there is nothing to leave. Continue with the work.");
		return false;
	}
	if (a->parent && permission_mode(&a->parent->permission) == PERMISSION_PLAN) {
		tool_call_fail(call, "The agent that started this one plans too: report the plan as your result.");
		return false;
	}
	if (str_trim(plan).n) {
		if (file_below_replace("/", plan_path(a), plan, &err) == 0)
			return true;
		tool_call_fail(call, "The plan cannot be saved: %s", err.text);
		return false;
	}
	if (!plan_read(a, &kept)) {
		tool_call_fail(call, "There is no plan yet. Write it to %s, or give it as plan.", plan_path(a));
		return false;
	}
	/* The text of the file becomes the input, so that hooks and the user see it. */
	json_addf(&input, "{plan:'%.*s'}", STR_ARG(kept));
	return tool_call_set_input(call, buf_str(&input));
}

void plan_explain(struct agent *a, struct buf *out)
{
	buf_addf(
		out,
		"Plan mode is on: read, search and think, but change nothing. Edits and commands that write are refused "
		"until the user approves a plan. Write the plan to %s (the one file that may be written), then call "
		"ExitPlanMode, which shows it to the user and asks for approval.",
		plan_path(a));
}
