/* SPDX-License-Identifier: MIT
 * evaluate_file.c - tools that name one path: those that read, and those that write. */
#include "lib/io/file.h"
#include "guard/permission/evaluation_int.h"

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
	ev->file = resolved_path_find(&ev->arena, from, path);
	ev->is_plan = ev->p->plan_file && ev->file.target && !strcmp(ev->file.target, ev->p->plan_file);
}

const struct rule *eval_find_path_rule(struct evaluation *ev, const struct rule_set *set, enum rule_list list,
				       bool edited, const struct resolved_path *file)
{
	const char *const paths[] = { file->path,
				      file->target && strcmp(file->path, file->target) != 0 ? file->target : NULL };
	const struct rule *r = NULL;

	for (size_t i = 0; i < COUNT_OF(paths) && paths[i] && !r; i++) {
		r = rule_set_path(set, list, edited, paths[i], &ev->wide);
		for (const struct permission *p = ev->p; p && !r; p = p->parent)
			for (size_t k = 0; k < COUNT_OF(p->copy_of) && !r; k++) {
				const char *same = permission_main_path(p, &ev->arena, paths[i], k);
				if (same)
					r = rule_set_path(set, list, edited, same, &ev->wide);
			}
	}
	if (r || !file->target)
		return r;
	/* Of rules that deny or ask: names of a place to which one of them leads */
	for (int of = RULE_DENY; of <= RULE_ASK && !ev->has_aliases; of++)
		for (struct rule_walk w = { .owner = ev->p, .list = (enum rule_list)of }; rule_walk_next(&w);)
			path_aliases_add(&ev->aliases, &ev->arena, w.set, (enum rule_list)of, &ev->wide);
	ev->has_aliases = true;
	for (size_t i = 0; i < ev->aliases.count && !r; i++) {
		const char *same = path_alias_name(&ev->aliases.list[i], &ev->arena, file->target);
		if (same)
			r = rule_set_path(set, list, edited, same, &ev->wide);
	}
	return r;
}

static const struct rule *allows_path(struct evaluation *ev, bool edited, const char *path)
{
	ev->v->rule_owner = NULL;
	for (struct rule_walk w = { .owner = ev->p, .list = RULE_ALLOW }; rule_walk_next(&w);) {
		const struct rule *r = rule_set_tool(w.set, RULE_ALLOW, edited ? "edit" : "read", NULL, NULL);
		if (!r)
			r = rule_set_path(w.set, RULE_ALLOW, edited, path, &ev->narrow);
		if (!r)
			continue;
		ev->v->rule_owner = w.owner;
		return r;
	}
	return NULL;
}

const struct rule *eval_allows_path(struct evaluation *ev, bool edited, const struct resolved_path *file)
{
	if (!file->target)
		return NULL;
	const struct rule *r = allows_path(ev, edited, file->path);
	if (!r || !strcmp(file->path, file->target))
		return r;
	return allows_path(ev, edited, file->target) ? r : NULL;
}

static bool is_inside_any(struct evaluation *ev, const struct resolved_path *file, const char *const *dirs)
{
	for (size_t i = 0; dirs && dirs[i]; i++)
		if (resolved_path_is_inside(&ev->arena, file, dirs[i]))
			return true;
	return false;
}

/* A worktree was made for its agent, wherever it lies: for it and those below it, it counts as one of the directories. */
bool eval_is_working_dir(struct evaluation *ev, const struct resolved_path *file)
{
	const struct tool_env *env = ev->use.env;
	bool in_worktree = false;

	if (!env || !(is_inside_any(ev, file, env->dirs) ||
		      (env->cwd && !env->dirs && resolved_path_is_inside(&ev->arena, file, env->cwd))))
		return false;
	for (const struct permission *p = ev->p; p; p = p->parent) {
		in_worktree =
			in_worktree || (p->write_root && resolved_path_is_inside(&ev->arena, file, p->write_root));
		if (p->dirs && !in_worktree && !is_inside_any(ev, file, p->dirs))
			return false;
	}
	return true;
}

/* Where a loop of links leads is not known. */
bool eval_is_protected(struct evaluation *ev, const struct resolved_path *file)
{
	const char *const paths[] = { file->path, file->target };

	if (eval_is_memory(ev, file))
		return false;
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (!paths[i] || path_is_protected(paths[i]) || permission_is_own(ev->p, paths[i]))
			return true;
	return false;
}

/* Also what earlier calls left for this agent; the output file of an agent in the background is its transcript. */
bool eval_may_read(struct evaluation *ev, const struct resolved_path *file)
{
	const struct tool_env *env = ev->use.env;
	const char *const outputs[] = { env ? env->results_dir : NULL, env ? env->agents_dir : NULL,
					env ? env->tasks_dir : NULL };

	if (eval_is_working_dir(ev, file) || eval_is_memory(ev, file))
		return true;
	for (size_t i = 0; i < COUNT_OF(outputs); i++)
		if (outputs[i] && resolved_path_is_inside(&ev->arena, file, outputs[i]))
			return true;
	return eval_allows_path(ev, false, file) || eval_allows_path(ev, true, file);
}

/* The nearest worktree counts: a child may have one of its own, which does not lie in its parent's. */
const char *eval_outside_worktree(struct evaluation *ev, const struct resolved_path *file)
{
	const struct permission *p = ev->p;

	while (p && !p->write_root)
		p = p->parent;
	if (!p || resolved_path_is_inside(&ev->arena, file, p->write_root) || eval_is_memory(ev, file))
		return NULL;
	if (p->main_checkout && path_is_inside(file->path, p->main_checkout))
		return arena_printf(
			&ev->arena,
			"%s is in the main checkout, which this agent may not write. Its own copy is in %s: "
			"use the path below that.",
			file->path, p->write_root);
	return arena_printf(&ev->arena, "This agent writes files only in its worktree %s, and %s is not there.",
			    p->write_root, file->path);
}

static const struct rule *file_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = eval_find_path_rule(ev, set, list, ev->edits, &ev->file);

	if (r || list != RULE_DENY || !(ev->subject->flags & TOOL_SHOWS_FILE))
		return r;
	return eval_find_path_rule(ev, set, list, false, &ev->file);
}

static bool file_fits(struct evaluation *ev, const struct rule_set *set)
{
	bool path = false;
	bool target = false;

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, ev->tool) != 0)
			continue;
		if (rule_matches_input(r, ev->use.input))
			return true;
		if (r->kind != RULE_PATH || !ev->file.target)
			continue;
		path = path || path_rule_match(&r->path, ev->file.path, &ev->narrow);
		target = target || path_rule_match(&r->path, ev->file.target, &ev->narrow);
	}
	return path && target;
}

static const char *file_leaves(struct evaluation *ev)
{
	const char *const *tools = ev->p->memory_tools;

	/* A tool that the agent has for its memory alone */
	while (tools && *tools && strcmp(*tools, ev->use.tool->name) != 0)
		tools++;
	if (tools && *tools && !eval_is_memory(ev, &ev->file))
		return arena_printf(&ev->arena, "This agent has %s for its memory in %s alone, and %s is not there.",
				    ev->use.tool->name, ev->p->memory_dir, ev->file.path);
	return ev->edits ? eval_outside_worktree(ev, &ev->file) : NULL;
}

static const char *file_plans(struct evaluation *ev)
{
	return ev->edits && !ev->is_plan ? ev->file.path : NULL;
}

static const char *file_danger(struct evaluation *ev, bool *ret_critical)
{
	if (!ev->edits || ev->is_plan || !eval_is_protected(ev, &ev->file))
		return NULL;
	return arena_printf(&ev->arena, "%s is a sensitive file: it needs approval each time.", ev->file.path);
}

static bool file_passes(struct evaluation *ev)
{
	const struct rule *r = eval_find(ev, RULE_ALLOW, eval_find_bare);

	if (!r)
		r = eval_allows_path(ev, ev->edits, &ev->file);
	if (!r && !ev->edits)
		r = eval_allows_path(ev, true, &ev->file);
	if (r)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, r);
	if (!ev->edits && eval_may_read(ev, &ev->file))
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
	if (ev->is_plan ||
	    (ev->edits && (eval_is_memory(ev, &ev->file) || (ev->accepts_edits && eval_is_working_dir(ev, &ev->file)))))
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_MODE, NULL);
	if (!eval_is_working_dir(ev, &ev->file))
		buf_addf(&ev->v->reason, "%s is outside the working directories.", ev->file.path);
	return false;
}

const struct tool_checker check_file = {
	.prepare = file_prepare,
	.matches = file_matches,
	.fits = file_fits,
	.leaves = file_leaves,
	.plans = file_plans,
	.danger = file_danger,
	.passes = file_passes,
};
