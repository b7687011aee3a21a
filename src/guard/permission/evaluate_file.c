/* SPDX-License-Identifier: MIT
 * evaluate_file.c - tools that name one path: those that read, and those that write. */
#include "lib/io/file.h"
#include "guard/permission/evaluation_int.h"

static void file_prepare(struct evaluation *ev);
static const struct rule *file_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
static bool file_fits(struct evaluation *ev, const struct rule_set *set);
static const char *file_leaves(struct evaluation *ev);
static const char *file_plans(struct evaluation *ev);
static const char *file_danger(struct evaluation *ev, bool *ret_critical);
static bool file_passes(struct evaluation *ev, struct buf *why);

const struct tool_checker check_file = {
	.prepare = file_prepare,
	.matches = file_matches,
	.fits = file_fits,
	.leaves = file_leaves,
	.plans = file_plans,
	.danger = file_danger,
	.passes = file_passes,
};

static bool edits(const struct evaluation *ev)
{
	return ev->subject->kind == SUBJECT_EDIT;
}

/* A search by name looks where its pattern leads, which need not be below its path. */
static void file_prepare(struct evaluation *ev)
{
	const char *from = ev->use.env && ev->use.env->cwd ? ev->use.env->cwd : "/";
	struct str path = eval_text(ev, ev->subject->primary);

	if (ev->subject->flags & TOOL_LISTS_NAMES) {
		struct str pattern = eval_text(ev, "pattern");
		from = pattern.n && pattern.p[0] == '/' ? "/" : path_absolute(&ev->arena, from, path);
		path = glob_static_prefix(pattern);
	}
	ev->place = place_find(&ev->arena, from, path);
}

/* ---- places, for commands too ---------------------------------------------------------------------------------- */

const struct rule *eval_find_place(struct evaluation *ev, const struct rule_set *set, enum rule_list list, bool edited,
				   const struct place *place)
{
	const struct rule *r = rule_set_path(set, list, edited, place->path, &ev->wide);

	if (r || !place->target || !strcmp(place->path, place->target))
		return r;
	return rule_set_path(set, list, edited, place->target, &ev->wide);
}

static const struct rule *allows_in(struct evaluation *ev, const struct rule_set *set, bool edited, const char *path)
{
	const struct rule *r = rule_set_tool(set, RULE_ALLOW, edited ? "edit" : "read", NULL);

	return r ? r : rule_set_path(set, RULE_ALLOW, edited, path, &ev->narrow);
}

static const struct rule *allows_path(struct evaluation *ev, bool edited, const char *path)
{
	for (const struct permission *p = ev->p; p; p = p->parent) {
		const struct rule *r = allows_in(ev, p->own, edited, path);
		for (const struct permission_grant *g = p->grants; g && !r; g = g->next)
			r = allows_in(ev, g->rules, edited, path);
		if (!r)
			r = allows_in(ev, p->rules, edited, path);
		ev->v->rule_owner = r ? p : NULL;
		if (r || p->replaces_allow)
			return r;
	}
	return NULL;
}

const struct rule *eval_allows_place(struct evaluation *ev, bool edited, const struct place *place)
{
	if (!place->target)
		return NULL;
	const struct rule *r = allows_path(ev, edited, place->path);
	if (!r || !strcmp(place->path, place->target))
		return r;
	return allows_path(ev, edited, place->target) ? r : NULL;
}

static bool is_inside_any(struct evaluation *ev, const struct place *place, const char *const *dirs)
{
	for (size_t i = 0; dirs && dirs[i]; i++)
		if (place_is_inside(&ev->arena, place, dirs[i]))
			return true;
	return false;
}

/* A worktree was made for its agent, wherever it lies: for it and those below it, it counts as one of the directories. */
bool eval_is_working_dir(struct evaluation *ev, const struct place *place)
{
	const struct tool_env *env = ev->use.env;
	bool in_worktree = false;

	if (!env || !(is_inside_any(ev, place, env->dirs) ||
		      (env->cwd && !env->dirs && place_is_inside(&ev->arena, place, env->cwd))))
		return false;
	for (const struct permission *p = ev->p; p; p = p->parent) {
		in_worktree = in_worktree || (p->write_root && place_is_inside(&ev->arena, place, p->write_root));
		if (p->dirs && !in_worktree && !is_inside_any(ev, place, p->dirs))
			return false;
	}
	return true;
}

bool eval_is_memory(struct evaluation *ev, const struct place *place)
{
	return ev->p->memory_dir && place_is_inside(&ev->arena, place, ev->p->memory_dir);
}

/* What earlier calls left for this agent to read; the output file of an agent in the background is its transcript. */
static bool is_own_output(struct evaluation *ev, const struct place *place)
{
	const struct tool_env *env = ev->use.env;

	return env && ((env->results_dir && place_is_inside(&ev->arena, place, env->results_dir)) ||
		       (env->agents_dir && place_is_inside(&ev->arena, place, env->agents_dir)) ||
		       (env->tasks_dir && place_is_inside(&ev->arena, place, env->tasks_dir)));
}

bool eval_may_read(struct evaluation *ev, const struct place *place)
{
	return eval_is_working_dir(ev, place) || is_own_output(ev, place) || eval_is_memory(ev, place) ||
	       eval_allows_place(ev, false, place) || eval_allows_place(ev, true, place);
}

bool eval_accepts_edit(struct evaluation *ev, const struct place *place)
{
	bool accepts = ev->mode == PERMISSION_ACCEPT_EDITS || ev->mode == PERMISSION_AUTO;

	return accepts && eval_is_working_dir(ev, place);
}

/* The nearest worktree counts: a child may have one of its own, which does not lie in its parent's. */
const char *eval_outside_worktree(struct evaluation *ev, const struct place *place)
{
	const struct permission *p = ev->p;

	while (p && !p->write_root)
		p = p->parent;
	if (!p || place_is_inside(&ev->arena, place, p->write_root) || eval_is_memory(ev, place))
		return NULL;
	if (p->main_checkout && path_is_inside(place->path, p->main_checkout))
		return arena_printf(
			&ev->arena,
			"%s is in the main checkout, which this agent may not write. Its own copy is in %s: "
			"use the path below that.",
			place->path, p->write_root);
	return arena_printf(&ev->arena, "This agent writes files only in its worktree %s, and %s is not there.",
			    p->write_root, place->path);
}

/* ---- the checker --------------------------------------------------------------------------------------------- */

static const struct rule *file_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = eval_find_place(ev, set, list, edits(ev), &ev->place);

	if (r || list != RULE_DENY || !(ev->subject->flags & TOOL_SHOWS_FILE))
		return r;
	return eval_find_place(ev, set, list, false, &ev->place);
}

static bool file_fits(struct evaluation *ev, const struct rule_set *set)
{
	bool limited = false;
	bool path = false;
	bool target = false;

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, ev->tool) != 0)
			continue;
		limited = true;
		if (r->kind == RULE_BARE)
			return true;
		if (r->kind == RULE_PARAMETER && rule_parameter_match(r, ev->use.input))
			return true;
		if (r->kind != RULE_PATH || !ev->place.target)
			continue;
		path = path || path_rule_match(&r->path, ev->place.path, &ev->narrow);
		target = target || path_rule_match(&r->path, ev->place.target, &ev->narrow);
	}
	return !limited || (path && target);
}

/* A tool that the agent has only to keep its memory. */
static const char *leaves_memory(struct evaluation *ev)
{
	const char *const *tools = ev->p->memory_tools;

	while (tools && *tools && strcmp(*tools, ev->use.tool->name) != 0)
		tools++;
	if (!tools || !*tools || eval_is_memory(ev, &ev->place))
		return NULL;
	return arena_printf(&ev->arena, "This agent has %s for its memory in %s alone, and %s is not there.",
			    ev->use.tool->name, ev->p->memory_dir, ev->place.path);
}

static const char *file_leaves(struct evaluation *ev)
{
	const char *why = leaves_memory(ev);

	if (why)
		return why;
	return edits(ev) ? eval_outside_worktree(ev, &ev->place) : NULL;
}

static bool is_plan(struct evaluation *ev)
{
	return ev->p->plan_file && place_is_inside(&ev->arena, &ev->place, ev->p->plan_file);
}

static const char *file_plans(struct evaluation *ev)
{
	return edits(ev) && !is_plan(ev) ? ev->place.path : NULL;
}

static const char *file_danger(struct evaluation *ev, bool *ret_critical)
{
	const char *target = ev->place.target;

	if (!edits(ev) || eval_is_memory(ev, &ev->place) || is_plan(ev))
		return NULL;
	if (!path_is_protected(ev->place.path) && target && !path_is_protected(target))
		return NULL;
	return arena_printf(&ev->arena, "%s is a sensitive file: it needs approval each time.", ev->place.path);
}

static const struct rule *find_bare(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	return eval_find_bare(ev, set, list);
}

static bool file_passes(struct evaluation *ev, struct buf *why)
{
	const struct rule *r = eval_find(ev, RULE_ALLOW, find_bare);

	if (!r)
		r = eval_allows_place(ev, edits(ev), &ev->place);
	if (!r && !edits(ev))
		r = eval_allows_place(ev, true, &ev->place);
	if (r)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, r);
	if (!edits(ev) && eval_may_read(ev, &ev->place))
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
	if (is_plan(ev) || (edits(ev) && (eval_is_memory(ev, &ev->place) || eval_accepts_edit(ev, &ev->place))))
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_MODE, NULL);
	if (!eval_is_working_dir(ev, &ev->place))
		buf_addf(why, "%s is outside the working directories.", ev->place.path);
	return false;
}
