/* SPDX-License-Identifier: MIT
 * judge.c - the order in which a call is decided. Each step may decide; the first that does ends it. */
#include "guard/permission/judge_int.h"
#include <ctype.h>

const char *permission_step_name(enum permission_step step)
{
	static const char *const names[] = {
#define X(s, text) [PERMISSION_STEP_##s] = text,
		PERMISSION_STEPS(X)
#undef X
	};

	return names[step];
}

struct str judge_text(struct judge *j, const char *member)
{
	return json_str(json_get(j->use.input, member), &j->arena);
}

bool judge_decide(struct judge *j, enum permission_decision decision, enum permission_step step,
		  const struct rule *rule)
{
	j->v->decision = decision;
	j->v->step = step;
	j->v->rule = rule;
	if (!rule)
		j->v->rule_owner = NULL;
	return true;
}

const struct rule *judge_find(struct judge *j, enum rule_list list, judge_find_fn *find)
{
	for (const struct permission *p = j->p; p; p = p->parent) {
		const struct rule *r = find(j, p->own, list);
		for (const struct permission_grant *g = p->grants; g && !r; g = g->next)
			r = find(j, g->rules, list);
		if (!r)
			r = find(j, p->rules, list);
		j->v->rule_owner = r ? p : NULL;
		if (r)
			return r;
		if (list == RULE_ALLOW && p->replaces_allow)
			break;
	}
	return NULL;
}

const struct rule *judge_find_bare(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = rule_set_tool(set, list, j->tool, j->use.input);

	return r || !j->leader ? r : rule_set_tool(set, list, j->leader, j->use.input);
}

static const struct rule *find_any(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = judge_find_bare(j, set, list);

	return r ? r : j->inspector->matches(j, set, list);
}

/* ---- the steps ------------------------------------------------------------------------------------------------- */

static bool by_deny_rule(struct judge *j)
{
	const struct rule *r = judge_find(j, RULE_DENY, find_any);

	if (!r)
		return false;
	if (r->kind == RULE_AGENT)
		buf_addf(&j->v->reason, "Agent type '" STR_FMT "' has been denied by permission rule '%s' from %s.",
			 STR_ARG(judge_text(j, "subagent_type")), r->text, r->origin->layer);
	else
		buf_addf(&j->v->reason, "Permission to use %s was denied by the rule \"%s\" of %s.", j->use.tool->name,
			 r->text, r->origin->file ? r->origin->file : r->origin->layer);
	return judge_decide(j, PERMISSION_DENY, PERMISSION_STEP_DENY_RULE, r);
}

static bool by_limit(struct judge *j)
{
	const char *why = j->inspector->leaves ? j->inspector->leaves(j) : NULL;

	if (why) {
		buf_addstr(&j->v->reason, why);
		return judge_decide(j, PERMISSION_DENY, PERMISSION_STEP_LIMIT, NULL);
	}
	for (const struct permission *p = j->p; p; p = p->parent) {
		if (!p->own || !p->own->limits.count || j->inspector->fits(j, p->own))
			continue;
		buf_addf(
			&j->v->reason,
			"Permission to use %s was denied: this call is outside the limits that the agent's tools set for it.",
			j->use.tool->name);
		return judge_decide(j, PERMISSION_DENY, PERMISSION_STEP_LIMIT, NULL);
	}
	return false;
}

static bool by_plan(struct judge *j)
{
	if (j->mode != PERMISSION_PLAN || j->p->bypass_available || !j->inspector->plans)
		return false;
	const char *path = j->inspector->plans(j);
	if (!path)
		return false;
	buf_addf(&j->v->reason, "Cannot write to %s while in plan mode.", path);
	return judge_decide(j, PERMISSION_DENY, PERMISSION_STEP_PLAN, NULL);
}

static bool by_ask_rule(struct judge *j)
{
	const struct rule *r = judge_find(j, RULE_ASK, find_any);

	if (!r)
		return false;
	buf_addf(&j->v->reason, "The rule \"%s\" of %s asks about this.", r->text,
		 r->origin->file ? r->origin->file : r->origin->layer);
	return judge_decide(j, PERMISSION_ASK, PERMISSION_STEP_ASK_RULE, r);
}

static bool by_safety(struct judge *j)
{
	bool critical = false;
	const char *why = NULL;

	if (j->subject && (j->subject->flags & (TOOL_IS_QUESTION | TOOL_ENDS_PLAN)))
		return judge_decide(j, PERMISSION_ASK, PERMISSION_STEP_SAFETY, NULL);
	if (j->inspector->danger)
		why = j->inspector->danger(j, &critical);
	if (!why || (!critical && j->mode == PERMISSION_BYPASS))
		return false;
	buf_addstr(&j->v->reason, why);
	return judge_decide(j, PERMISSION_ASK, PERMISSION_STEP_SAFETY, NULL);
}

static bool by_hook(struct judge *j)
{
	if (j->hint == PERMISSION_HINT_ASK)
		return judge_decide(j, PERMISSION_ASK, PERMISSION_STEP_HOOK, NULL);
	return j->hint == PERMISSION_HINT_ALLOW && judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_HOOK, NULL);
}

static bool by_bypass(struct judge *j)
{
	return j->mode == PERMISSION_BYPASS && judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_BYPASS, NULL);
}

static bool by_passing(struct judge *j)
{
	return j->inspector->passes(j, &j->v->reason);
}

static bool by_question(struct judge *j)
{
	j->v->classify = j->mode == PERMISSION_AUTO;
	return judge_decide(j, PERMISSION_ASK, PERMISSION_STEP_MODE, NULL);
}

static bool (*const steps[])(struct judge *j) = { by_deny_rule, by_limit,  by_plan,    by_ask_rule, by_safety,
						  by_hook,      by_bypass, by_passing, by_question };

/* ---- questions ------------------------------------------------------------------------------------------------- */

/* A question that nobody may or can answer is a no. */
static void settle_question(struct judge *j)
{
	struct permission_verdict *v = j->v;
	const char *tool = j->use.tool->name;
	bool silent = j->mode == PERMISSION_DONT_ASK;

	if (v->decision != PERMISSION_ASK || (!silent && permission_can_ask(j->p)))
		return;
	v->decision = PERMISSION_DENY;
	v->unanswerable = true;
	if (v->reason.n)
		buf_addch(&v->reason, ' ');
	if (silent)
		buf_addf(&v->reason,
			 "Permission to use %s was denied because nothing is asked in don't ask mode (dontAsk).", tool);
	else if (v->step == PERMISSION_STEP_MODE)
		buf_addf(&v->reason,
			 "Permission to use %s was denied: nobody is there to ask, and it is not among the allowed "
			 "tools (--allowedTools %s would allow it).",
			 tool, tool);
	else
		buf_addf(&v->reason, "Permission to use %s was denied: nobody is there to ask.", tool);
}

/* ---- setting out ----------------------------------------------------------------------------------------------- */

static const char *lower_name(struct arena *a, const char *tool)
{
	struct str now = tool_current_name(str_from(tool));
	char *name = arena_dup(a, now.p, now.n);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return name;
}

static const struct inspector *find_inspector(const struct tool_facts *s)
{
	switch (s ? s->kind : SUBJECT_NAME) {
	case SUBJECT_SHELL:
		return &inspect_shell;
	case SUBJECT_READ:
	case SUBJECT_EDIT:
		return &inspect_file;
	default:
		return &inspect_name;
	}
}

static void set_anchors(struct judge *j)
{
	const struct tool_env *env = j->use.env;

	if (env) {
		path_anchors_add(&j->narrow, &j->arena, env->root ? env->root : env->cwd);
		path_anchors_add(&j->wide, &j->arena, env->root);
		path_anchors_add(&j->wide, &j->arena, env->cwd);
	}
	for (const struct permission *p = j->p; p; p = p->parent)
		path_anchors_add(&j->wide, &j->arena, p->root);
}

static void set_out(struct judge *j)
{
	struct str name = tool_current_name(str_from(j->use.tool->name));

	j->subject = tool_facts_find(name);
	j->tool = lower_name(&j->arena, j->use.tool->name);
	if (j->subject && j->subject->kind == SUBJECT_EDIT)
		j->leader = "edit";
	else if (j->subject && j->subject->kind == SUBJECT_READ)
		j->leader = "read";
	j->inspector = find_inspector(j->subject);
	j->mode = j->v->mode = permission_mode_for(j->p, j->use.tool->name);
	set_anchors(j);
	if (j->inspector->prepare)
		j->inspector->prepare(j);
}

void permission_explain(const struct permission *p, struct tool_use use, enum permission_hint hint,
			struct permission_verdict *ret)
{
	struct judge j = { .p = p, .use = use, .hint = hint, .v = ret };

	set_out(&j);
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (steps[i](&j))
			break;
	settle_question(&j);
	if (ret->decision == PERMISSION_ALLOW)
		buf_clear(&ret->reason);
	if (j.place.target && !(j.subject->flags & TOOL_LISTS_NAMES)) {
		ret->file = xstrdup(j.place.path);
		ret->file_target = xstrdup(j.place.target);
	}
	arena_release(&j.arena);
}

void permission_bind(struct tool_call *call, const struct permission_verdict *v)
{
	call->file = v->file ? arena_strdup(&call->arena, v->file) : NULL;
	call->file_target = v->file ? arena_strdup(&call->arena, v->file_target) : NULL;
}

void permission_verdict_release(struct permission_verdict *v)
{
	buf_release(&v->reason);
	free(TAKE(v->file));
	free(TAKE(v->file_target));
}

static bool forbids(const struct rule_set *set, const char *name)
{
	return rule_set_tool(set, RULE_DENY, name, NULL);
}

bool permission_forbids(const struct permission *p, const struct tool *tool)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *name = lower_name(&a, tool->name);

	for (; p; p = p->parent) {
		if (forbids(p->own, name) || forbids(p->rules, name))
			return true;
		for (const struct permission_grant *g = p->grants; g; g = g->next)
			if (forbids(g->rules, name))
				return true;
	}
	return false;
}
