/* SPDX-License-Identifier: MIT
 * gate.c - permission checks and hooks before and after each tool call. */
#include "agents/agent/gate.h"
#include <sys/stat.h>
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"
#include "guard/sandbox/sandbox.h"
#include "agents/agent/classifier.h"
#include "agents/agent/hooks.h"
#include "agents/agent/plan.h"
#include "agents/agent/question.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/tree.h"

enum { MOST_NOTES = 4000 }; /* bytes of notes of hooks for the classifier */

/* A call that waits for hooks or the classifier. Owned by itself: it outlives a call that was cancelled meanwhile. */
struct gate_wait {
	struct agent *agent;
	struct tool_call *call;        /* NULL: it was given up */
	struct hook_batch *hook_batch; /* one of these two is set */
	struct classifier_question *question;
	struct str reason; /* of the question or the denial that hooks see; in the call's arena */
	/* PreToolUse hooks see an input that was changed: */
	bool amended, answered;      /* answered: by who was asked, who changed it */
	enum hook_permission before; /* what hooks had said by then */
};

static void gate_amend(struct agent *a, struct tool_call *call, struct str input, const struct gate_wait *so_far,
		       const struct hook *by);

static struct gate_wait *gate_wait_new(struct agent *a, struct tool_call *call)
{
	struct gate_wait *p = xnew(struct gate_wait, .agent = a, .call = call);

	call->pass = p;
	return p;
}

/* Returns the call, if it is still wanted. */
static struct tool_call *gate_wait_end(struct gate_wait *p)
{
	struct tool_call *call = p->call;

	if (call)
		call->pass = NULL;
	free(p);
	return call;
}

/* A search shows what is below its directory, and whether it shows a file that the rule is about is known only afterwards. */
static bool may_show_hidden(const struct tool_call *call, const struct permission *alone,
			    const struct permission_verdict *v)
{
	struct tool_env env = *call->env;
	struct stat st;

	env.permission = alone;
	if (!v->file_target || stat(v->file_target, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	struct hidden_files *hidden = hidden_files_find_at(&env, v->file, v->file_target);
	hidden_files_free(hidden);
	return hidden;
}

/* A rule fits a call if it would forbid it. One that cannot be understood lets the hook run. */
static bool matches_rule(void *data, struct str rule)
{
	static const struct rule_origin origin = { .layer = "hook" };
	const struct tool_call *call = data;
	const struct permission *p = call->env->permission;
	struct permission alone = { .root = p->root, .dirs = p->dirs };
	struct permission_verdict v = { 0 };
	bool fits = true;

	for (const struct permission *up = p; up && !alone.copy_root; up = up->parent) { /* a copy is the same file */
		alone.copy_root = up->copy_root;
		memcpy(alone.copy_of, up->copy_of, sizeof alone.copy_of);
	}
	if (permission_add_rule(&alone, RULE_DENY, rule, &origin, NULL, NULL, NULL) == 0) {
		permission_explain(&alone, tool_call_use(call), PERMISSION_HINT_NONE, &v);
		/* By the ask step: it is not certain that the rule is not meant. */
		fits = v.step == PERMISSION_STEP_DENY_RULE || v.step == PERMISSION_STEP_ASK_RULE ||
		       may_show_hidden(call, &alone, &v);
		permission_verdict_release(&v);
	}
	permission_release(&alone);
	return fits;
}

/* Fills spec, but for except, for gate_run_hooks(). */
static bool gate_has_hooks(const struct agent *a, struct tool_call *call, enum hook_event event,
			   struct hook_event_spec *ret_spec)
{
	*ret_spec = (struct hook_event_spec){ .event = event,
					      .except = ret_spec->except,
					      .subject = str_from(call->tool->name),
					      .tool_use_id = call->id,
					      .matches_rule = matches_rule,
					      .rule_data = call,
					      .by_hook = call->policy.by_hook };
	return agent_has_hooks(a, ret_spec);
}

/* Closes fields. */
static struct gate_wait *gate_run_hooks(struct agent *a, struct tool_call *call, struct hook_event_spec *spec,
					struct json_out *fields, hook_done_fn *done)
{
	struct gate_wait *p = gate_wait_new(a, call);

	json_close(fields);
	spec->fields = buf_str(fields->buf);
	p->hook_batch = agent_run_hooks(a, spec, done, p);
	return p;
}

static void gate_apply_outcome(struct agent *a, const struct tool_call *call, const struct hook_outcome *outcome)
{
	if (call->policy.apart)
		emit_hook_messages(a->tree, &a->who, outcome);
	else
		agent_apply_hook_outcome(a, outcome);
}

static void gate_deny(struct agent *a, struct tool_call *call, struct str reason)
{
	if (!call->policy.apart) {
		struct agent_tree *t = a->tree;
		const char *rule = permission_suggest(&call->arena, &a->permission, tool_call_use(call));
		struct arena *texts = &t->denial_arena;

		*arena_push(texts, t->denials, t->denial_count) =
			(struct denial){ .tool = arena_strdup(texts, call->name),
					 .id = arena_strdup(texts, call->id),
					 .agent = arena_strdup(texts, a->who.id),
					 .input = arena_str(texts, json_raw(call->input)) };
		agent_emit(a, &(struct event){ .kind = EVENT_PERMISSION_DENIED,
					       .name = call->name,
					       .id = call->id,
					       .text = reason,
					       .rules = &rule,
					       .rule_count = rule != NULL });
	}
	tool_call_decided(call, TOOL_DENY, reason);
}

static void gate_ask_host(struct agent *a, struct tool_call *call, struct str why)
{
	AUTO_BUF struct buf text = { 0 }, hunks = { 0 }, patch = { 0 };

	if (call->flags & TOOL_IS_QUESTION) {
		tool_call_decided(call, TOOL_ALLOW, STR(""));
		return;
	}
	if ((call->flags & TOOL_ENDS_PLAN) && !plan_present(a, call))
		return;
	/* The user may be elsewhere: hooks can ring. */
	agent_notify_hooksf(a, HOOK_NOTIFICATION, "permission_prompt",
			    "{message:'%s', title:'Permission needed', notification_type:'permission_prompt'}",
			    arena_printf(&call->arena, "Permission is needed to use %s", call->tool->name));
	question_describe(call, &text);
	if (call->tool->preview && call->file_target)
		call->tool->preview(call, &hunks);
	if (hunks.n) {
		struct json_out w = json_out(&patch);
		json_putf(&w, "{filePath:'%s', structuredPatch:",
			  call->env->main_thread ? tool_env_shown_path(call->env, call->file) : call->file);
		json_put_raw(&w, buf_str(&hunks));
		json_close(&w);
	}
	const char *rule = permission_suggest(&call->arena, &a->permission, tool_call_use(call));
	agent_emit(a, &(struct event){ .kind = EVENT_PERMISSION_ASKED,
				       .name = call->name,
				       .id = call->id,
				       .text = buf_str(&text),
				       .patch = buf_str(&patch),
				       .why = why,
				       .rules = &rule,
				       .rule_count = rule != NULL,
				       .offers_edits = call->flags & TOOL_ENDS_PLAN });
}

/* A hook or the user allows the call, perhaps with another input. Deny rules still apply, as they are now and to the file that the path
 * names now. asked_about: the path led to this when the question was asked; it must still do. NULL: no file was shown. */
static void gate_allow_unless_denied(struct agent *a, struct tool_call *call, const char *asked_about)
{
	struct permission_verdict v = { 0 };

	permission_explain(&a->permission, tool_call_use(call), PERMISSION_HINT_ALLOW, &v);
	permission_bind(call, &v);
	if (v.decision == PERMISSION_DENY && !v.unanswerable)
		gate_deny(a, call, buf_str(&v.reason));
	else if (asked_about && (!call->file_target || strcmp(call->file_target, asked_about) != 0))
		gate_deny(a, call, STR("The path leads to another file than when permission was asked for."));
	else
		tool_call_decided(call, TOOL_ALLOW, STR(""));
	permission_verdict_release(&v);
}

bool agent_decide(struct agent *a, struct tool_call *call, const struct json *root)
{
	const struct json *input = json_get(root, "updatedInput");

	if (json_str_is(json_get(root, "behavior"), "deny")) {
		struct str message = json_str(json_get(root, "message"), &call->arena);
		if (json_bool(json_get(root, "interrupt")))
			query_halt(&a->query, message);
		gate_deny(a, call, message.n ? message : STR("The permission was refused."));
		return true;
	}
	if (!json_str_is(json_get(root, "behavior"), "allow"))
		return false;
	if (!input)
		gate_allow_unless_denied(a, call, call->file_target);
	else
		gate_amend(a, call, json_raw(input), &(struct gate_wait){ .answered = true }, NULL);
	if (a->tree->on_permissions && json_get(root, "updatedPermissions"))
		a->tree->on_permissions(a->tree, json_get(root, "updatedPermissions"));
	return true;
}

static void on_denied_hooks(void *data, const struct hook_outcome *outcome)
{
	struct gate_wait *p = data;
	struct agent *a = p->agent;
	struct str why = p->reason;
	struct tool_call *call = gate_wait_end(p);
	AUTO_BUF struct buf reason = { 0 };

	if (!call)
		return;
	gate_apply_outcome(a, call, outcome);
	buf_add(&reason, why.p, why.n);
	if (str_is(outcome->fields[HOOK_RETRY], "true"))
		buf_addstr(&reason, " You may try this call again.");
	gate_deny(a, call, buf_str(&reason));
}

/* Denies the call. In auto mode no user was asked, so hooks see the denial, and one may let the model try again. */
static void gate_refuse(struct agent *a, struct tool_call *call, const struct permission_verdict *v)
{
	struct hook_event_spec spec = { 0 };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (v->mode != PERMISSION_AUTO || !gate_has_hooks(a, call, HOOK_PERMISSION_DENIED, &spec)) {
		gate_deny(a, call, buf_str(&v->reason));
		return;
	}
	tool_event_open(&w, a, call);
	json_putf(&w, "tool_use_id:'%s', reason:'%.*s'", call->id, STR_ARG(v->reason));
	gate_run_hooks(a, call, &spec, &w, on_denied_hooks)->reason = arena_str(&call->arena, buf_str(&v->reason));
}

static void on_request_hooks(void *data, const struct hook_outcome *outcome)
{
	struct gate_wait *p = data;
	struct agent *a = p->agent;
	struct str why = p->reason;
	struct tool_call *call = gate_wait_end(p);
	struct str json = outcome->fields[HOOK_DECISION];
	AUTO_JSON struct json_reader reader = { 0 };

	if (!call)
		return;
	gate_apply_outcome(a, call, outcome);
	if (agent_decide(a, call, json_read(&reader, json)))
		return;
	if (permission_can_ask(&a->permission))
		gate_ask_host(a, call, why);
	else
		gate_deny(a, call, STR("Permission is needed, and no user can be asked."));
}

static void gate_conclude(struct agent *a, struct tool_call *call, const struct permission_verdict *v)
{
	struct hook_event_spec spec = { 0 };
	bool open = v->decision == PERMISSION_ASK || v->unanswerable;
	/* The plan of a member goes to the lead as a message: no question comes before it. */
	bool of_member = a->parent ? a->record->member && a->record->member->plan_required
				   : a->tree->lead && a->tree->lead->plan_required;
	bool lead_approves = (call->flags & TOOL_ENDS_PLAN) && of_member && !a->tree->switches.user_plans &&
			     v->step == PERMISSION_STEP_SAFETY;

	if (v->decision == PERMISSION_ALLOW || (open && lead_approves)) {
		tool_call_decided(call, TOOL_ALLOW, STR(""));
	} else if (open &&
		   gate_has_hooks(a, call, HOOK_PERMISSION_REQUEST, &spec)) { /* a hook may answer for the user */
		AUTO_BUF struct buf fields = { 0 };
		struct json_out w = json_out(&fields);
		tool_event_open(&w, a, call);
		const char *rule = permission_suggest(&call->arena, &a->permission, tool_call_use(call));
		if (rule)
			question_put_suggestions(&w, &rule, 1);
		gate_run_hooks(a, call, &spec, &w, on_request_hooks)->reason =
			arena_str(&call->arena, buf_str(&v->reason));
	} else if (v->decision == PERMISSION_ASK) {
		gate_ask_host(a, call, buf_str(&v->reason));
	} else {
		gate_refuse(a, call, v);
	}
}

/* Rules may have been added since it was asked: its word counts only where it would be asked again. */
static void on_classified(void *data, enum classifier_answer word, struct str reason)
{
	struct gate_wait *p = data;
	struct agent *a = p->agent;
	struct tool_call *call = gate_wait_end(p);
	struct permission_verdict v = { 0 };

	if (!call)
		return;
	agent_note_classifier_answer(a, word);
	permission_explain(&a->permission, tool_call_use(call), PERMISSION_HINT_NONE, &v);
	permission_bind(call, &v);
	if (!v.classify || word == CLASSIFIER_UNSURE) {
		gate_conclude(a, call, &v);
	} else if (word == CLASSIFIER_ALLOWS) {
		tool_call_decided(call, TOOL_ALLOW, STR(""));
	} else {
		buf_clear(&v.reason);
		buf_addf(&v.reason, "Blocked by classifier: " STR_FMT, STR_ARG(reason));
		gate_refuse(a, call, &v);
	}
	permission_verdict_release(&v);
}

static void gate_decide(struct agent *a, struct tool_call *call, enum permission_hint hint)
{
	struct permission_verdict v = { 0 };

	if (call->policy.chosen) { /* by the user */
		gate_allow_unless_denied(a, call, NULL);
		return;
	}
	if (plan_is_on(a) && a->tree->plans_dir)
		a->permission.plan_file = plan_path(a);
	call->where = sandbox_where(a->env.sandbox, call->tool, call->input);
	if (call->tool && (call->tool->flags & TOOL_CONFINED))
		a->tree->main.permission.unenforced =
			sandbox_unenforced(a->env.sandbox, permission_mode(&a->permission));
	permission_explain(&a->permission, tool_call_use(call), hint, &v);
	permission_bind(call, &v);
	/* A hook has answered a question, or approved a plan: no user is needed. Its allow alone is not enough. */
	bool answered = (call->flags & TOOL_IS_QUESTION) && json_get(call->input, "answers");
	if ((answered || (call->flags & TOOL_ENDS_PLAN)) && call->amended && hint == PERMISSION_HINT_ALLOW &&
	    v.step == PERMISSION_STEP_SAFETY && v.mode != PERMISSION_DONT_ASK) {
		tool_call_decided(call, TOOL_ALLOW, STR(""));
	} else if (call->policy.no_question && (v.decision == PERMISSION_ASK || v.unanswerable)) {
		gate_deny(a, call, STR("permission would have to be asked for"));
	} else if (v.classify) {
		struct gate_wait *p = gate_wait_new(a, call);
		p->question = agent_classify(a, call, on_classified, p);
		if (!p->question) {
			(void)gate_wait_end(p);
			gate_conclude(a, call, &v);
		}
	} else {
		gate_conclude(a, call, &v);
	}
	permission_verdict_release(&v);
}

static void gate_pre_over(struct agent *a, struct tool_call *call, bool answered, enum hook_permission said)
{
	static const enum permission_hint hints[] = { [HOOK_PERMISSION_ALLOW] = PERMISSION_HINT_ALLOW,
						      [HOOK_PERMISSION_ASK] = PERMISSION_HINT_ASK,
						      [HOOK_PERMISSION_DEFER] = PERMISSION_HINT_ASK,
						      [HOOK_PERMISSION_DENY] = PERMISSION_HINT_NONE };

	if (answered)
		gate_allow_unless_denied(a, call, NULL);
	else
		gate_decide(a, call, hints[said]);
}

static void on_pre_hooks(void *data, const struct hook_outcome *outcome)
{
	struct gate_wait *p = data;
	struct agent *a = p->agent;
	struct gate_wait before = *p;
	struct tool_call *call = gate_wait_end(p);
	AUTO_BUF struct buf text = { 0 };
	struct str reason = STR("the turn ends");

	if (!call)
		return;
	if (outcome->cancelled && call->policy.apart) { /* perhaps by the end of the agent, which is gone now */
		tool_call_decided(call, TOOL_DENY, STR("it was interrupted"));
		return;
	}
	gate_apply_outcome(a, call, outcome);
	if (outcome->cancelled) {
		reason = STR("it was interrupted");
	} else if (outcome->permission == HOOK_PERMISSION_DENY) {
		reason = outcome->permission_reason;
	} else if (outcome->blocked) {
		reason = outcome->block_reason;
	} else if (!outcome->stop) {
		bool amends = outcome->updated_input.n && !before.amended;
		/* What a hook allowed was another input, unless it is the one that changed it. */
		enum hook_permission said = amends && outcome->permission == HOOK_PERMISSION_ALLOW
						    ? outcome->updated_permission
						    : outcome->permission;
		before.before = MAX(before.before, said);
		if (amends)
			gate_amend(a, call, outcome->updated_input, &before, outcome->updated_by);
		else
			gate_pre_over(a, call, before.answered, before.before);
		return;
	}
	buf_addf(&text, "A PreToolUse hook refused this call%s" STR_FMT, reason.n ? ": " : ".", STR_ARG(reason));
	gate_deny(a, call, buf_str(&text));
}

/* Runs the hooks on the input as it is now, without that hook. */
static void gate_run_pre(struct agent *a, struct tool_call *call, const struct gate_wait *so_far,
			 const struct hook *without)
{
	struct hook_event_spec spec = { .except = without };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!gate_has_hooks(a, call, HOOK_PRE_TOOL_USE, &spec)) {
		gate_pre_over(a, call, so_far->answered, so_far->before);
		return;
	}
	tool_event_open(&w, a, call);
	json_kcstr(&w, "tool_use_id", call->id);
	struct gate_wait *p = gate_run_hooks(a, call, &spec, &w, on_pre_hooks);
	p->amended = so_far->amended;
	p->answered = so_far->answered;
	p->before = so_far->before;
}

/* The input is changed by a hook, or by who was asked. Guards have judged another one, so the hooks run once more; a second change of
 * theirs has no effect. */
static void gate_amend(struct agent *a, struct tool_call *call, struct str input, const struct gate_wait *so_far,
		       const struct hook *by)
{
	struct gate_wait next = { .amended = true, .answered = so_far->answered, .before = so_far->before };
	AUTO_BUF struct buf old = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };

	buf_append(&old, json_raw(call->input));
	if (!tool_event_amend(call, input))
		return;
	const struct json *root = json_read(&reader, buf_str(&old));
	if (root && json_same(root, call->input))
		gate_pre_over(a, call, next.answered, next.before);
	else
		gate_run_pre(a, call, &next, by);
}

void gate_check(struct agent *a, struct tool_call *call)
{
	gate_run_pre(a, call, &(struct gate_wait){ 0 }, NULL);
}

static void gate_ask(struct tool_gate *gate, struct tool_call *call)
{
	gate_check(CONTAINER_OF(gate, struct agent, gate), call);
}

/* A hook's value in place of a result: a text, a list of text blocks as servers send them, or any JSON. */
static void gate_replace_result(struct tool_call *call, const struct json *value)
{
	bool blocks = json_is(value, JSON_ARRAY) && json_items(value);

	for (const struct json *v = json_items(value); v; v = json_next(value, v))
		blocks = blocks && json_is(json_get(v, "text"), JSON_STRING);
	buf_clear(&call->result);
	buf_clear(&call->result_blocks);
	for (const struct json *v = blocks ? json_items(value) : NULL; v; v = json_next(value, v))
		buf_addf(&call->result, "%s" STR_FMT, call->result.n ? "\n" : "",
			 STR_ARG(json_str(json_get(v, "text"), &call->arena)));
	if (!blocks) {
		struct str text = json_is(value, JSON_STRING) ? json_str(value, &call->arena) : json_raw(value);
		buf_add(&call->result, text.p, text.n);
	}
}

static void on_post_hooks(void *data, const struct hook_outcome *outcome)
{
	struct gate_wait *p = data;
	struct agent *a = p->agent;
	struct tool_call *call = gate_wait_end(p);
	struct str output = outcome->fields[HOOK_UPDATED_OUTPUT], note = outcome->fields[HOOK_CLASSIFIER_CONTEXT];
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf text = { 0 };

	if (!call)
		return;
	gate_apply_outcome(a, call, outcome);
	if (!output.n && call->tool && call->tool->server)
		output = outcome->fields[HOOK_UPDATED_MCP_OUTPUT];
	const struct json *root = json_read(&reader, output);
	if (root)
		gate_replace_result(call, root);
	/* The classifier does not see results: a hook may tell it something about this one. */
	if ((root = json_read(&reader, note))) {
		struct buf *notes = &a->tree->hook_notes;
		note = utf8_cut(json_str(root, &call->arena), MOST_NOTES);
		if (notes->n + note.n + 1 > MOST_NOTES)
			buf_clear(notes);
		buf_addf(notes, "%s" STR_FMT, notes->n ? "\n" : "", STR_ARG(note));
	}
	if (outcome->blocked) {
		buf_addf(&text, "\n\nA PostToolUse hook says: " STR_FMT, STR_ARG(outcome->block_reason));
		tool_call_add_text(call, buf_str(&text));
	}
	tool_call_settle(call);
}

static void gate_after(struct tool_gate *gate, struct tool_call *call)
{
	struct hook_event_spec spec = { 0 };
	struct agent *a = CONTAINER_OF(gate, struct agent, gate);
	enum hook_event event = call->is_error ? HOOK_POST_TOOL_USE_FAILURE : HOOK_POST_TOOL_USE;
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!call->policy.apart)
		agent_touch(a, call);
	if (call->cancelled || !gate_has_hooks(a, call, event, &spec)) {
		tool_call_settle(call);
		return;
	}
	tool_event_open(&w, a, call);
	json_kcstr(&w, "tool_use_id", call->id);
	if (call->is_error)
		json_kstr(&w, "error", buf_str(&call->result));
	else if (call->result_json.n)
		json_kraw(&w, "tool_response", buf_str(&call->result_json));
	else
		json_kstr(&w, "tool_response", buf_str(&call->result));
	json_ki64(&w, "duration_ms", (int64_t)(loop_now_ms(a->tree->services->loop) - call->started_ms));
	gate_run_hooks(a, call, &spec, &w, on_post_hooks);
}

/* A call that has not run yet ends at once; one that has waits for its hooks, which end soon. */
void gate_cancel(struct tool_gate *gate, struct tool_call *call)
{
	struct gate_wait *p = call->pass;

	if (!p)
		return;
	if (p->hook_batch)
		hook_cancel(p->hook_batch);
	else
		p->agent->tree->services->classifier->cancel(p->question);
	if (call->running)
		return;
	p->call = NULL;
	call->pass = NULL;
}

void gate_init(struct tool_gate *gate)
{
	*gate = (struct tool_gate){ .ask = gate_ask, .after = gate_after, .cancel = gate_cancel };
}

/* Questions are not stored: a call that was started, does not run, waits for no hook and has not ended is one. */
struct tool_call *agent_question(struct agent *a, const char *call_id)
{
	for (uint32_t i = 0; i < a->query.call_count; i++) {
		struct tool_call *call = a->query.calls[i]->call;
		if (call && !strcmp(call->id, call_id) && call->started && !call->running && !call->finished &&
		    !call->pass)
			return call;
	}
	for (const struct host_question *q = a == &a->tree->main ? a->tree->host_questions : NULL; q; q = q->next)
		if (!strcmp(q->call->id, call_id) && !q->call->running && !q->call->finished && !q->call->pass)
			return q->call;
	return skill_use_question(a, call_id);
}

void agent_answer_question(struct agent *a, struct tool_call *call, bool allow, struct str reason)
{
	if (allow) {
		agent_note_classifier_answer(a, CLASSIFIER_ALLOWS);
		gate_allow_unless_denied(a, call, call->file_target);
	} else {
		gate_deny(a, call, reason);
	}
}
