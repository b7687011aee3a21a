/* SPDX-License-Identifier: MIT
 * evaluate.c - the order in which a use of a tool is decided: each step may decide, and the first that does ends it. What a step means
 * for files and for shell commands is in evaluate_file.c and evaluate_shell.c, for all other tools at the end of this file. */
#include "guard/permission/evaluation_int.h"
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

struct str eval_text(struct evaluation *ev, const char *member)
{
	return json_str(json_get(ev->use.input, member), &ev->arena);
}

bool eval_decide(struct evaluation *ev, enum permission_decision decision, enum permission_step step,
		 const struct rule *rule)
{
	ev->v->decision = decision;
	ev->v->step = step;
	ev->v->rule = rule;
	if (!rule)
		ev->v->rule_owner = NULL;
	return true;
}

const struct rule *eval_find(struct evaluation *ev, enum rule_list list, eval_find_fn *find)
{
	for (const struct permission *p = ev->p; p; p = p->parent) {
		const struct rule *r = find(ev, p->own, list);
		for (const struct permission_grant *g = p->grants; g && !r; g = g->next)
			r = find(ev, g->rules, list);
		if (!r)
			r = find(ev, p->rules, list);
		ev->v->rule_owner = r ? p : NULL;
		if (r)
			return r;
		if (list == RULE_ALLOW && p->replaces_allow)
			break;
	}
	return NULL;
}

const struct rule *eval_find_bare(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = rule_set_tool(set, list, ev->tool, ev->use.input);

	return r || !ev->leader ? r : rule_set_tool(set, list, ev->leader, ev->use.input);
}

static const struct rule *find_any(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = eval_find_bare(ev, set, list);

	return r ? r : ev->checker->matches(ev, set, list);
}

/* ---- the steps ------------------------------------------------------------------------------------------------- */

static bool by_deny_rule(struct evaluation *ev)
{
	const struct rule *r = eval_find(ev, RULE_DENY, find_any);

	if (!r)
		return false;
	if (r->kind == RULE_AGENT)
		buf_addf(&ev->v->reason, "Agent type '" STR_FMT "' has been denied by permission rule '%s' from %s.",
			 STR_ARG(eval_text(ev, "subagent_type")), r->text, r->origin->layer);
	else
		buf_addf(&ev->v->reason, "Permission to use %s was denied by the rule \"%s\" of %s.",
			 ev->use.tool->name, r->text, r->origin->file ? r->origin->file : r->origin->layer);
	return eval_decide(ev, PERMISSION_DENY, PERMISSION_STEP_DENY_RULE, r);
}

static bool by_limit(struct evaluation *ev)
{
	const char *why = ev->checker->leaves ? ev->checker->leaves(ev) : NULL;

	if (why) {
		buf_addstr(&ev->v->reason, why);
		return eval_decide(ev, PERMISSION_DENY, PERMISSION_STEP_LIMIT, NULL);
	}
	for (const struct permission *p = ev->p; p; p = p->parent) {
		if (!p->own || !p->own->limits.count || ev->checker->fits(ev, p->own))
			continue;
		buf_addf(
			&ev->v->reason,
			"Permission to use %s was denied: this call is outside the limits that the agent's tools set for it.",
			ev->use.tool->name);
		return eval_decide(ev, PERMISSION_DENY, PERMISSION_STEP_LIMIT, NULL);
	}
	return false;
}

static bool by_plan(struct evaluation *ev)
{
	if (ev->mode != PERMISSION_PLAN || ev->p->bypass_available || !ev->checker->plans)
		return false;
	const char *path = ev->checker->plans(ev);
	if (!path)
		return false;
	buf_addf(&ev->v->reason, "Cannot write to %s while in plan mode.", path);
	return eval_decide(ev, PERMISSION_DENY, PERMISSION_STEP_PLAN, NULL);
}

static const struct rule *find_with_content(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	return ev->checker->matches(ev, set, list);
}

/* A rule that asks about all commands does not mean those that a sandbox holds. */
static bool by_ask_rule(struct evaluation *ev)
{
	bool held = ev->use.where == WHERE_IN_UNASKED && ev->mode != PERMISSION_PLAN;
	const struct rule *r = eval_find(ev, RULE_ASK, held ? find_with_content : find_any);

	if (!r)
		return false;
	buf_addf(&ev->v->reason, "The rule \"%s\" of %s asks about this.", r->text,
		 r->origin->file ? r->origin->file : r->origin->layer);
	return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_ASK_RULE, r);
}

static bool by_safety(struct evaluation *ev)
{
	bool critical = false;
	const char *why = NULL;

	if (ev->subject && (ev->subject->flags & (TOOL_IS_QUESTION | TOOL_ENDS_PLAN)))
		return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_SAFETY, NULL);
	if (ev->checker->danger)
		why = ev->checker->danger(ev, &critical);
	if (!why || (!critical && ev->mode == PERMISSION_BYPASS))
		return false;
	buf_addstr(&ev->v->reason, why);
	return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_SAFETY, NULL);
}

/* Whatever rule allows the command: that was said of a command in the sandbox. */
static bool by_leave(struct evaluation *ev)
{
	bool wishes = ev->use.where == WHERE_OUT_BY_WISH || ev->use.where == WHERE_OUT_GRANTED;
	bool granted = ev->use.where == WHERE_OUT_GRANTED && ev->mode == PERMISSION_BYPASS;

	if (!wishes || granted || ev->hint == PERMISSION_HINT_ALLOW)
		return false;
	buf_addstr(&ev->v->reason, "This command would run outside the sandbox.");
	return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_LEAVE, NULL);
}

static bool by_hook(struct evaluation *ev)
{
	if (ev->hint == PERMISSION_HINT_ASK)
		return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_HOOK, NULL);
	return ev->hint == PERMISSION_HINT_ALLOW && eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_HOOK, NULL);
}

static bool by_bypass(struct evaluation *ev)
{
	return ev->mode == PERMISSION_BYPASS && eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_BYPASS, NULL);
}

static bool by_passing(struct evaluation *ev)
{
	return ev->checker->passes(ev, &ev->v->reason);
}

static bool by_question(struct evaluation *ev)
{
	ev->v->classify = ev->mode == PERMISSION_AUTO;
	return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_MODE, NULL);
}

static bool (*const steps[])(struct evaluation *ev) = { by_deny_rule, by_limit, by_plan,   by_ask_rule, by_safety,
							by_leave,     by_hook,  by_bypass, by_passing,  by_question };

/* ---- questions ------------------------------------------------------------------------------------------------- */

/* A question that cannot be answered counts as denied. */
static void settle_question(struct evaluation *ev)
{
	struct permission_verdict *v = ev->v;
	const char *tool = ev->use.tool->name;
	bool silent = ev->mode == PERMISSION_DONT_ASK;

	if (v->decision != PERMISSION_ASK || (!silent && permission_can_ask(ev->p)))
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

/* ---- tools that are judged by their name and one word of their input: a host, a type of agent, a skill ---------- */

static const struct rule *name_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
static bool name_fits(struct evaluation *ev, const struct rule_set *set);
static bool name_passes(struct evaluation *ev, struct buf *why);

static const struct tool_checker check_name = { .matches = name_matches, .fits = name_fits, .passes = name_passes };

static struct str agent_type(struct evaluation *ev)
{
	struct str type = str_trim(eval_text(ev, "subagent_type"));

	if (type.n)
		return type;
	return str_from(ev->p->default_agent ? ev->p->default_agent : "general-purpose");
}

static struct str skill_name(struct evaluation *ev)
{
	struct str name = eval_text(ev, "skill");

	if (!name.n)
		name = eval_text(ev, "command");
	return str_starts(name, STR("/")) ? (struct str){ name.p + 1, name.n - 1 } : name;
}

static bool has_arguments(struct evaluation *ev)
{
	return str_trim(eval_text(ev, "args")).n > 0;
}

static const struct rule *name_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	switch (ev->subject ? ev->subject->kind : SUBJECT_NAME) {
	case SUBJECT_HOST:
		return rule_set_host(set, list, host_of_url(&ev->arena, eval_text(ev, "url")));
	case SUBJECT_AGENT:
		return rule_set_agent(set, list, agent_type(ev));
	case SUBJECT_SKILL:
		return rule_set_skill(set, list, skill_name(ev), has_arguments(ev));
	default:
		return NULL;
	}
}

static bool limit_holds(struct evaluation *ev, const struct rule *r)
{
	switch (r->kind) {
	case RULE_BARE:
		return true;
	case RULE_HOST:
		return host_rule_match(r->host, host_of_url(&ev->arena, eval_text(ev, "url")));
	case RULE_AGENT:
		return agent_rule_match(r->names, agent_type(ev));
	case RULE_SKILL:
		return skill_rule_match(r, skill_name(ev), has_arguments(ev));
	case RULE_PARAMETER:
		return rule_parameter_match(r, ev->use.input);
	default:
		return false;
	}
}

static bool name_fits(struct evaluation *ev, const struct rule_set *set)
{
	bool limited = false;

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, ev->tool) != 0)
			continue;
		if (limit_holds(ev, r))
			return true;
		limited = true;
	}
	return !limited;
}

static const struct rule *find_allow(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = eval_find_bare(ev, set, list);

	return r ? r : name_matches(ev, set, list);
}

static bool name_passes(struct evaluation *ev, struct buf *why)
{
	const struct rule *r = eval_find(ev, RULE_ALLOW, find_allow);

	if (r)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, r);
	/* That a server says its tool only reads is not enough. */
	bool reads = (ev->use.flags & TOOL_READ_ONLY) && !str_starts(str_from(ev->tool), STR("mcp__"));
	return (reads || (ev->use.flags & TOOL_NO_ASK)) &&
	       eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
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

static const struct tool_checker *find_checker(const struct tool_facts *s)
{
	switch (s ? s->kind : SUBJECT_NAME) {
	case SUBJECT_SHELL:
		return &check_shell;
	case SUBJECT_READ:
	case SUBJECT_EDIT:
		return &check_file;
	default:
		return &check_name;
	}
}

static void set_anchors(struct evaluation *ev)
{
	const struct tool_env *env = ev->use.env;

	if (env) {
		path_anchors_add(&ev->narrow, &ev->arena, env->root ? env->root : env->cwd);
		path_anchors_add(&ev->wide, &ev->arena, env->root);
		path_anchors_add(&ev->wide, &ev->arena, env->cwd);
	}
	for (const struct permission *p = ev->p; p; p = p->parent)
		path_anchors_add(&ev->wide, &ev->arena, p->root);
}

static void set_out(struct evaluation *ev)
{
	struct str name = tool_current_name(str_from(ev->use.tool->name));

	ev->subject = tool_facts_find(name);
	ev->tool = lower_name(&ev->arena, ev->use.tool->name);
	if (ev->subject && ev->subject->kind == SUBJECT_EDIT)
		ev->leader = "edit";
	else if (ev->subject && ev->subject->kind == SUBJECT_READ)
		ev->leader = "read";
	ev->checker = find_checker(ev->subject);
	ev->mode = ev->v->mode = permission_mode_for(ev->p, ev->use.tool->name);
	set_anchors(ev);
	if (ev->checker->prepare)
		ev->checker->prepare(ev);
}

void permission_explain(const struct permission *p, struct tool_use use, enum permission_hint hint,
			struct permission_verdict *ret)
{
	struct evaluation ev = { .p = p, .use = use, .hint = hint, .v = ret };

	set_out(&ev);
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (steps[i](&ev))
			break;
	settle_question(&ev);
	if (ret->decision == PERMISSION_ALLOW)
		buf_clear(&ret->reason);
	if (ev.place.target && !(ev.subject->flags & TOOL_LISTS_NAMES)) {
		ret->file = xstrdup(ev.place.path);
		ret->file_target = xstrdup(ev.place.target);
	}
	arena_release(&ev.arena);
}

void permission_bind(struct tool_call *call, const struct permission_verdict *v)
{
	call->file = v->file ? arena_strdup(&call->arena, v->file) : NULL;
	call->file_target = v->file ? arena_strdup(&call->arena, v->file_target) : NULL;
	call->belief = BELIEF_NONE;
	if (v->decision == PERMISSION_ALLOW && v->step == PERMISSION_STEP_READING)
		call->belief = BELIEF_READS;
	if (v->decision == PERMISSION_ALLOW && v->step == PERMISSION_STEP_MODE)
		call->belief = BELIEF_EDITS;
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

bool permission_hides(const struct permission *p, const struct tool *tool)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *name = lower_name(&a, tool->name);

	for (; p; p = p->parent)
		if (forbids(p->own, name) || forbids(p->rules, name))
			return true;
	return false;
}

bool permission_forbids(const struct permission *p, const struct tool *tool)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *name = lower_name(&a, tool->name);

	if (permission_hides(p, tool))
		return true;
	for (; p; p = p->parent) {
		for (const struct permission_grant *g = p->grants; g; g = g->next)
			if (forbids(g->rules, name))
				return true;
	}
	return false;
}
