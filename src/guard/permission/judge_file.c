/* SPDX-License-Identifier: MIT
 * judge_file.c - tools that name one path: those that read, and those that write. */
#include "lib/io/file.h"
#include "guard/permission/judge_int.h"

static void file_prepare(struct judge *j);
static const struct rule *file_matches(struct judge *j, const struct rule_set *set, enum rule_list list);
static bool file_fits(struct judge *j, const struct rule_set *set);
static const char *file_leaves(struct judge *j);
static const char *file_plans(struct judge *j);
static const char *file_danger(struct judge *j, bool *ret_critical);
static bool file_passes(struct judge *j, struct buf *why);

const struct inspector inspect_file = {
	.prepare = file_prepare,
	.matches = file_matches,
	.fits = file_fits,
	.leaves = file_leaves,
	.plans = file_plans,
	.danger = file_danger,
	.passes = file_passes,
};

static bool edits(const struct judge *j)
{
	return j->subject->kind == SUBJECT_EDIT;
}

static const char *cwd_of(const struct judge *j)
{
	return j->use.env && j->use.env->cwd ? j->use.env->cwd : "/";
}

/* A search by name looks where its pattern leads, which need not be below its path. */
static void file_prepare(struct judge *j)
{
	const char *from = cwd_of(j);
	struct str path = judge_text(j, j->subject->primary);

	if (j->subject->flags & TOOL_LISTS_NAMES) {
		struct str pattern = judge_text(j, "pattern");
		from = pattern.n && pattern.p[0] == '/' ? "/" : path_absolute(&j->arena, from, path);
		path = glob_static_prefix(pattern);
	}
	j->place = place_find(&j->arena, from, path);
}

/* ---- places, for commands too ---------------------------------------------------------------------------------- */

const struct rule *judge_find_place(struct judge *j, const struct rule_set *set, enum rule_list list, bool edited,
				    const struct place *place)
{
	const struct rule *r = rule_set_path(set, list, edited, place->path, &j->wide);

	if (r || !place->target || !strcmp(place->path, place->target))
		return r;
	return rule_set_path(set, list, edited, place->target, &j->wide);
}

static const struct rule *allows_in(struct judge *j, const struct rule_set *set, bool edited, const char *path)
{
	const struct rule *r = rule_set_tool(set, RULE_ALLOW, edited ? "edit" : "read", NULL);

	return r ? r : rule_set_path(set, RULE_ALLOW, edited, path, &j->narrow);
}

static const struct rule *allows_path(struct judge *j, bool edited, const char *path)
{
	for (const struct permission *p = j->p; p; p = p->parent) {
		const struct rule *r = allows_in(j, p->own, edited, path);
		for (const struct permission_grant *g = p->grants; g && !r; g = g->next)
			r = allows_in(j, g->rules, edited, path);
		if (!r)
			r = allows_in(j, p->rules, edited, path);
		j->v->rule_owner = r ? p : NULL;
		if (r || p->replaces_allow)
			return r;
	}
	return NULL;
}

const struct rule *judge_allows_place(struct judge *j, bool edited, const struct place *place)
{
	if (!place->target)
		return NULL;
	const struct rule *r = allows_path(j, edited, place->path);
	if (!r || !strcmp(place->path, place->target))
		return r;
	return allows_path(j, edited, place->target) ? r : NULL;
}

static bool is_inside_any(struct judge *j, const struct place *place, const char *const *dirs)
{
	for (size_t i = 0; dirs && dirs[i]; i++)
		if (place_is_inside(&j->arena, place, dirs[i]))
			return true;
	return false;
}

/* A worktree was made for its agent, wherever it lies: for it and those below it, it counts as one of the directories. */
bool judge_is_working_dir(struct judge *j, const struct place *place)
{
	const struct tool_env *env = j->use.env;
	bool in_worktree = false;

	if (!env || !(is_inside_any(j, place, env->dirs) ||
		      (env->cwd && !env->dirs && place_is_inside(&j->arena, place, env->cwd))))
		return false;
	for (const struct permission *p = j->p; p; p = p->parent) {
		in_worktree = in_worktree || (p->write_root && place_is_inside(&j->arena, place, p->write_root));
		if (p->dirs && !in_worktree && !is_inside_any(j, place, p->dirs))
			return false;
	}
	return true;
}

bool judge_is_memory(struct judge *j, const struct place *place)
{
	return j->p->memory_dir && place_is_inside(&j->arena, place, j->p->memory_dir);
}

/* What earlier calls left for this agent to read. */
static bool is_own_output(struct judge *j, const struct place *place)
{
	const struct tool_env *env = j->use.env;

	return env && ((env->results_dir && place_is_inside(&j->arena, place, env->results_dir)) ||
		       (env->tasks_dir && place_is_inside(&j->arena, place, env->tasks_dir)));
}

bool judge_may_read(struct judge *j, const struct place *place)
{
	return judge_is_working_dir(j, place) || is_own_output(j, place) || judge_is_memory(j, place) ||
	       judge_allows_place(j, false, place) || judge_allows_place(j, true, place);
}

bool judge_accepts_edit(struct judge *j, const struct place *place)
{
	bool accepts = j->mode == PERMISSION_ACCEPT_EDITS || j->mode == PERMISSION_AUTO;

	return accepts && judge_is_working_dir(j, place);
}

/* The nearest worktree counts: a child may have one of its own, which does not lie in its parent's. */
const char *judge_outside_worktree(struct judge *j, const struct place *place)
{
	const struct permission *p = j->p;

	while (p && !p->write_root)
		p = p->parent;
	if (!p || place_is_inside(&j->arena, place, p->write_root) || judge_is_memory(j, place))
		return NULL;
	if (p->main_checkout && path_is_inside(place->path, p->main_checkout))
		return arena_printf(
			&j->arena,
			"%s is in the main checkout, which this agent may not write. Its own copy is in %s: "
			"use the path below that.",
			place->path, p->write_root);
	return arena_printf(&j->arena, "This agent writes files only in its worktree %s, and %s is not there.",
			    p->write_root, place->path);
}

/* ---- the inspector --------------------------------------------------------------------------------------------- */

static const struct rule *file_matches(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = judge_find_place(j, set, list, edits(j), &j->place);

	if (r || list != RULE_DENY || !(j->subject->flags & TOOL_SHOWS_FILE))
		return r;
	return judge_find_place(j, set, list, false, &j->place);
}

static bool file_fits(struct judge *j, const struct rule_set *set)
{
	bool limited = false;
	bool path = false;
	bool target = false;

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, j->tool) != 0)
			continue;
		limited = true;
		if (r->kind == RULE_BARE)
			return true;
		if (r->kind == RULE_PARAMETER && rule_parameter_match(r, j->use.input))
			return true;
		if (r->kind != RULE_PATH || !j->place.target)
			continue;
		path = path || path_rule_match(&r->path, j->place.path, &j->narrow);
		target = target || path_rule_match(&r->path, j->place.target, &j->narrow);
	}
	return !limited || (path && target);
}

/* A tool that the agent has only to keep its memory. */
static const char *leaves_memory(struct judge *j)
{
	const char *const *tools = j->p->memory_tools;

	while (tools && *tools && strcmp(*tools, j->use.tool->name) != 0)
		tools++;
	if (!tools || !*tools || judge_is_memory(j, &j->place))
		return NULL;
	return arena_printf(&j->arena, "This agent has %s for its memory in %s alone, and %s is not there.",
			    j->use.tool->name, j->p->memory_dir, j->place.path);
}

static const char *file_leaves(struct judge *j)
{
	const char *why = leaves_memory(j);

	if (why)
		return why;
	return edits(j) ? judge_outside_worktree(j, &j->place) : NULL;
}

static bool is_plan(struct judge *j)
{
	return j->p->plan_file && place_is_inside(&j->arena, &j->place, j->p->plan_file);
}

static const char *file_plans(struct judge *j)
{
	return edits(j) && !is_plan(j) ? j->place.path : NULL;
}

static const char *file_danger(struct judge *j, bool *ret_critical)
{
	const char *target = j->place.target;

	if (!edits(j) || judge_is_memory(j, &j->place) || is_plan(j))
		return NULL;
	if (!path_is_protected(j->place.path) && target && !path_is_protected(target))
		return NULL;
	return arena_printf(&j->arena, "%s is a sensitive file: it needs approval each time.", j->place.path);
}

static const struct rule *find_bare(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	return judge_find_bare(j, set, list);
}

static bool file_passes(struct judge *j, struct buf *why)
{
	const struct rule *r = judge_find(j, RULE_ALLOW, find_bare);

	if (!r)
		r = judge_allows_place(j, edits(j), &j->place);
	if (!r && !edits(j))
		r = judge_allows_place(j, true, &j->place);
	if (r)
		return judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, r);
	if (!edits(j) && judge_may_read(j, &j->place))
		return judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
	if (is_plan(j) || (edits(j) && (judge_is_memory(j, &j->place) || judge_accepts_edit(j, &j->place))))
		return judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_MODE, NULL);
	if (!judge_is_working_dir(j, &j->place))
		buf_addf(why, "%s is outside the working directories.", j->place.path);
	return false;
}
