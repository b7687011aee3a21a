/* SPDX-License-Identifier: MIT
 * evaluate.c - the order in which a use of a tool is decided: each step may decide, and the first that does ends it. What a step means
 * for files and for shell commands is in evaluate_file.c and evaluate_shell.c, for all other tools at the end of this file. */
#include <strings.h>
#include "guard/permission/evaluation_int.h"

const char *permission_step_name(enum permission_step step)
{
	static const char *const names[] = {
#define X(s, text) [PERMISSION_STEP_##s] = text,
		PERMISSION_STEPS(X)
#undef X
	};

	return names[step];
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

bool rule_walk_next(struct rule_walk *w)
{
	while (w->owner) {
		w->set = NULL;
		w->in_grant = w->stage == WALK_GRANTS && w->grant;
		if (w->stage == WALK_OWN) {
			w->set = w->owner->own;
			w->grant = w->owner->grants;
			w->stage = WALK_GRANTS;
		} else if (w->grant) {
			w->set = w->grant->rules;
			w->grant = w->grant->next;
		} else if (w->stage == WALK_GRANTS) {
			w->set = w->owner->rules;
			w->stage = WALK_RULES;
		} else {
			w->owner = w->list == RULE_ALLOW && w->owner->replaces_allow ? NULL : w->owner->parent;
			w->stage = WALK_OWN;
		}
		/* What widens must be managed if the managed settings say so: rules of the command line, of answers, skills and
		 * agents are none. */
		bool barred = w->set && w->list == RULE_ALLOW && w->set != w->owner->rules &&
			      permission_main(w->owner)->managed_only;
		if (w->set && !barred)
			return true;
	}
	return false;
}

const struct rule *eval_find(struct evaluation *ev, enum rule_list list, eval_find_fn *find)
{
	for (struct rule_walk w = { .owner = ev->p, .list = list }; rule_walk_next(&w);) {
		const struct rule *r = find(ev, w.set, list);
		if (!r)
			continue;
		ev->v->rule_owner = w.owner;
		return r;
	}
	ev->v->rule_owner = NULL;
	return NULL;
}

const struct rule *eval_find_bare(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = rule_set_tool(set, list, ev->tool, ev->use.tool->server, ev->use.input);

	return r || !ev->leader ? r : rule_set_tool(set, list, ev->leader, ev->leader, ev->use.input);
}

static const struct rule *find_any(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = eval_find_bare(ev, set, list);

	return r ? r : ev->checker->matches(ev, set, list);
}

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

	for (const struct permission *p = ev->p; p && !why; p = p->parent) {
		bool limited = false;
		for (size_t i = 0; p->own && i < p->own->limits.count; i++)
			limited = limited || !strcmp(p->own->limits.list[i]->tool, ev->tool);
		if (limited && !ev->checker->fits(ev, p->own))
			why = arena_printf(&ev->arena,
					   "Permission to use %s was denied: this call is outside the limits that the "
					   "agent's tools set for it.",
					   ev->use.tool->name);
	}
	if (!why)
		return false;
	buf_addstr(&ev->v->reason, why);
	return eval_decide(ev, PERMISSION_DENY, PERMISSION_STEP_LIMIT, NULL);
}

static bool by_plan(struct evaluation *ev)
{
	const char *path = ev->mode == PERMISSION_PLAN && ev->checker->plans ? ev->checker->plans(ev) : NULL;

	if (!path)
		return false;
	buf_addf(&ev->v->reason, "Cannot write to %s while in plan mode.", path);
	return eval_decide(ev, PERMISSION_DENY, PERMISSION_STEP_PLAN, NULL);
}

/* A rule that asks about all commands does not mean those that a sandbox holds. */
static bool by_ask_rule(struct evaluation *ev)
{
	bool held = ev->use.where == WHERE_IN_UNASKED && ev->mode != PERMISSION_PLAN;
	const struct rule *r = eval_find(ev, RULE_ASK, held ? ev->checker->matches : find_any);

	for (enum rule_list list = RULE_DENY; !r && ev->checker->suspects && list <= RULE_ASK; list++) {
		r = eval_find(ev, list, ev->checker->suspects);
		if (r)
			buf_addf(&ev->v->reason, "The rule \"%s\" of %s may be about this (%s).", r->text,
				 r->origin->file ? r->origin->file : r->origin->layer, ev->doubt);
	}
	if (!r)
		return false;
	if (!ev->v->reason.n)
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

/* Also if a rule allows the command: the rule means the command in the sandbox. */
static bool by_leave(struct evaluation *ev)
{
	bool wishes = ev->use.where == WHERE_OUT_BY_WISH || ev->use.where == WHERE_OUT_GRANTED;
	bool granted = ev->use.where == WHERE_OUT_GRANTED && ev->mode == PERMISSION_BYPASS;

	if (!wishes || granted || ev->hint == PERMISSION_HINT_ALLOW)
		return false;
	buf_addstr(&ev->v->reason, "This command would run outside the sandbox.");
	return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_LEAVE, NULL);
}

/* The hook, the mode, what the tool does; else a question */
static bool by_all_else(struct evaluation *ev)
{
	if (ev->hint == PERMISSION_HINT_ASK)
		return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_HOOK, NULL);
	if (ev->hint == PERMISSION_HINT_ALLOW)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_HOOK, NULL);
	if (ev->mode == PERMISSION_BYPASS)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_BYPASS, NULL);
	if (ev->checker->passes(ev))
		return true;
	ev->v->classify = ev->mode == PERMISSION_AUTO;
	return eval_decide(ev, PERMISSION_ASK, PERMISSION_STEP_MODE, NULL);
}

static bool (*const steps[])(struct evaluation *ev) = {
	by_deny_rule, by_limit, by_plan, by_ask_rule, by_safety, by_leave, by_all_else,
};

/* A question that cannot be answered counts as denied. */
static void deny_unanswerable(struct evaluation *ev)
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
			 "Permission to use %s was denied: no user is present to ask, and it is not among the allowed "
			 "tools (--allowedTools %s would allow it).",
			 tool, tool);
	else
		buf_addf(&v->reason, "Permission to use %s was denied: no user is present to ask.", tool);
}

/* Tools that are judged by their name and one word of their input: a host, a type of agent, a skill. */

static bool name_rule_match(struct evaluation *ev, const struct rule *r)
{
	struct str name;

	switch (r->kind) {
	case RULE_HOST:
		return host_rule_match(r->host, host_of_url(&ev->arena, eval_text(ev, "url")));
	case RULE_AGENT:
		name = str_trim(eval_text(ev, "subagent_type"));
		if (!name.n)
			name = str_from(ev->p->default_agent ? ev->p->default_agent : "general-purpose");
		return agent_rule_match(r->names, name);
	case RULE_SKILL:
		name = str_trim(eval_text(ev, "skill"));
		if (!name.n)
			name = str_trim(eval_text(ev, "command"));
		if (str_starts(name, STR("/")))
			name = str_trim((struct str){ name.p + 1, name.n - 1 });
		return r->skill.name.n == name.n && !strncasecmp(r->skill.name.p, name.p, name.n) &&
		       (r->skill.any_arguments || !str_trim(eval_text(ev, "args")).n);
	default:
		return rule_matches_input(r, ev->use.input);
	}
}

static const struct rule *name_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	static const enum rule_kind kinds[] = {
		[SUBJECT_HOST] = RULE_HOST, [SUBJECT_AGENT] = RULE_AGENT, [SUBJECT_SKILL] = RULE_SKILL
	};
	enum rule_kind kind = ev->subject ? kinds[ev->subject->kind] : RULE_BARE;

	if (kind == RULE_BARE)
		return NULL;
	const struct rule_row *row = &set->lists[list].words[kind];
	for (size_t i = 0; i < row->count; i++)
		if (name_rule_match(ev, row->list[i]))
			return row->list[i];
	return NULL;
}

static bool name_fits(struct evaluation *ev, const struct rule_set *set)
{
	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (!strcmp(r->tool, ev->tool) && name_rule_match(ev, r))
			return true;
	}
	return false;
}

static bool name_passes(struct evaluation *ev)
{
	const struct rule *r = eval_find(ev, RULE_ALLOW, find_any);

	if (r)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, r);
	/* The claim of a server that its tool only reads is not enough. */
	bool reads = (ev->use.flags & TOOL_READ_ONLY) && !str_starts(str_from(ev->tool), STR("mcp__"));
	return (reads || (ev->use.flags & TOOL_NO_ASK)) &&
	       eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
}

static const struct tool_checker check_name = { .matches = name_matches, .fits = name_fits, .passes = name_passes };

/* As the names of its tools begin: a rule that means this means all of the server. */
static const char *server_rule_name(struct arena *a, struct str server)
{
	AUTO_BUF struct buf name = { 0 };

	mcp_name_add(&name, server, STR(""));
	buf_addstr(&name, "__");
	return rule_tool_name(a, buf_str(&name));
}

static void eval_prepare(struct evaluation *ev)
{
	static const struct {
		const struct tool_checker *checker;
		const char *leader;
	} kinds[] = {
		[SUBJECT_NAME] = { &check_name, NULL },   [SUBJECT_SHELL] = { &check_shell, NULL },
		[SUBJECT_READ] = { &check_file, "read" }, [SUBJECT_EDIT] = { &check_file, "edit" },
		[SUBJECT_HOST] = { &check_name, NULL },   [SUBJECT_AGENT] = { &check_name, NULL },
		[SUBJECT_SKILL] = { &check_name, NULL },
	};
	const struct tool_env *env = ev->use.env;
	enum subject_kind kind = SUBJECT_NAME;

	ev->subject = tool_facts_find(tool_current_name(str_from(ev->use.tool->name)));
	if (ev->subject)
		kind = ev->subject->kind;
	ev->edits = kind == SUBJECT_EDIT;
	ev->checker = kinds[kind].checker;
	ev->leader = kinds[kind].leader;
	ev->tool = rule_tool_name(&ev->arena, str_from(ev->use.tool->name));
	struct str server = eval_text(ev, "server");
	if (ev->subject && (ev->subject->flags & TOOL_NEEDS_SERVERS) && server.n)
		ev->leader = server_rule_name(&ev->arena, server);
	ev->mode = ev->v->mode = permission_mode_for(ev->p, ev->use.tool->name);
	ev->accepts_edits = ev->mode == PERMISSION_ACCEPT_EDITS || ev->mode == PERMISSION_AUTO;
	ev->unenforced = permission_main(ev->p)->unenforced;
	if (env) {
		path_anchors_add(&ev->narrow, &ev->arena, env->root ? env->root : env->cwd);
		path_anchors_add(&ev->wide, &ev->arena, env->root);
		path_anchors_add(&ev->wide, &ev->arena, env->cwd);
	}
	for (const struct permission *p = ev->p; p; p = p->parent)
		path_anchors_add(&ev->wide, &ev->arena, p->root);
	if (ev->checker->prepare)
		ev->checker->prepare(ev);
}

void permission_explain(const struct permission *p, struct tool_use use, enum permission_hint hint,
			struct permission_verdict *ret)
{
	struct evaluation ev = { .p = p, .use = use, .hint = hint, .v = ret };

	eval_prepare(&ev);
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (steps[i](&ev))
			break;
	deny_unanswerable(&ev);
	if (ret->decision == PERMISSION_ALLOW)
		buf_clear(&ret->reason);
	if (ev.file.target) {
		ret->file = xstrdup(ev.file.path);
		ret->file_target = xstrdup(ev.file.target);
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

static bool denies_name(const struct permission *p, const char *name, bool with_grants)
{
	for (struct rule_walk w = { .owner = p, .list = RULE_DENY }; rule_walk_next(&w);)
		if ((with_grants || !w.in_grant) && rule_set_tool(w.set, RULE_DENY, name, NULL, NULL))
			return true;
	return false;
}

bool permission_hides(const struct permission *p, const struct tool *tool)
{
	AUTO_ARENA struct arena a = { 0 };

	return denies_name(p, rule_tool_name(&a, str_from(tool->name)), false);
}

bool permission_forbids(const struct permission *p, const struct tool *tool)
{
	AUTO_ARENA struct arena a = { 0 };

	return denies_name(p, rule_tool_name(&a, str_from(tool->name)), true);
}

bool permission_forbids_server(const struct permission *p, const char *server)
{
	AUTO_ARENA struct arena a = { 0 };

	return denies_name(p, server_rule_name(&a, str_from(server)), true);
}
