/* SPDX-License-Identifier: MIT
 * worktree_hook.c - WorktreeCreate and WorktreeRemove. */
#include "agents/life/life.h"
#include <sys/stat.h>
#include <sys/xattr.h>
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "lib/git/git_head.h"
#include "agents/agent/hooks.h"

/* May an agent work in this directory? root: the checkout that it must stay out of. *ret_path: links resolved. */
static int worktree_hook_check(struct arena *a, const char *path, const char *root, const char **ret_path,
			       struct err *err)
{
	struct stat st;
	bool plain = path[0] == '/';

	for (struct str rest = str_from(path); rest.p && plain;) {
		struct str part = str_cut(&rest, '/');
		plain = !str_is(part, ".") && !str_is(part, "..");
	}
	if (!plain)
		return err_set(err, ERR_DENIED, "a WorktreeCreate hook named %s: it must be absolute, without . and ..",
			       path);
	/* The project decides where a link inside the checkout leads. */
	for (size_t n = path_is_inside(path, root) ? strlen(root) : strlen(path); path[n];) {
		n += 1 + strcspn(path + n + 1, "/");
		if (lstat(arena_dup(a, path, n), &st) == 0 && S_ISLNK(st.st_mode))
			return err_set(err, ERR_DENIED, "a WorktreeCreate hook named %s, which leads through a link",
				       path);
	}
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *real_root = realpath(root, NULL);
	if (!real || !file_is_dir(real))
		return err_set(err, ERR_NOT_FOUND, "a WorktreeCreate hook named %s, which is not a directory", path);
	bool enters = path_is_inside(real, root) && !path_is_inside(path, root);
	if (enters || path_is_inside(real_root ? real_root : root, real))
		return err_set(err, ERR_DENIED, "a WorktreeCreate hook named %s, which is the checkout itself", path);
	*ret_path = arena_strdup(a, real);
	return 0;
}

static int adopt_directory(struct agent *a, const char *path, struct err *err)
{
	struct worktree *w = xcalloc(1, sizeof *w);
	const char *root = git_root(&a->arena, a->parent->env.cwd);

	w->root = arena_strdup(&w->memory, root ? root : a->parent->env.cwd);
	if (worktree_hook_check(&w->memory, path, w->root, &w->path, err) < 0) {
		worktree_free(w);
		return -(int)err->kind;
	}
	w->by_hook = true;
	w->agent_id = arena_strdup(&w->memory, a->record->id);
	w->branch = w->base = "";
	w->origin = w->root;
	a->worktree = w;
	return 0;
}

/* The record of an agent could name any directory. That this one is the agent's, it says itself. */
static const char owner_mark[] = "user.cadre.agent";

static void on_created(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;
	struct str path = outcome->fields[HOOK_WORKTREE_PATH];
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena scratch = { 0 };
	const struct json *root;
	struct err err = { 0 };

	a->hook_batch = NULL;
	emit_hook_messages(a->tree, &a->who, outcome);
	if (outcome->cancelled)
		err_set(&err, ERR_CANCELLED, "it was stopped before it had a worktree");
	else if (outcome->blocked)
		err_set(&err, ERR_DENIED, "the WorktreeCreate hook failed: " STR_FMT, STR_ARG(outcome->block_reason));
	else if (json_parse(&reader, path.p, path.n, &root, &err) == 0 &&
		 adopt_directory(a, json_cstr(root, &scratch), &err) == 0) {
		a->record->hook_made = true;
		(void)setxattr(a->worktree->path, owner_mark, a->record->id, strlen(a->record->id), 0);
	}
	agent_step_done(a, err.kind ? &err : NULL);
}

int worktree_hook_take(struct agent *a, struct err *err)
{
	const struct agent_record *t = a->record;

	if (t->base && !t->base[0] && t->worktree && file_exists(t->worktree)) {
		char owner[64];
		ssize_t n = t->hook_made ? 0 : getxattr(t->worktree, owner_mark, owner, sizeof owner);
		if (!t->hook_made && (n != (ssize_t)strlen(t->id) || memcmp(owner, t->id, (size_t)n) != 0))
			return err_set(err, ERR_DENIED, "its record names %s, which is not marked as its worktree",
				       t->worktree);
		return adopt_directory(a, t->worktree, err);
	}
	a->hook_batch = agent_run_hooksf(a->parent, HOOK_WORKTREE_CREATE, NULL, on_created, a, "{name:'%s'}",
					 arena_printf(&a->record->arena, "agent-%s", a->record->id));
	return a->hook_batch ? STEP_TAKES_TIME
			     : err_set(err, ERR_NOT_FOUND,
				       "its worktree no longer exists, nor does the WorktreeCreate hook that made it");
}

static void leave_directory(struct agent *a)
{
	struct agent_record *t = a->record;

	t->worktree = file_exists(a->worktree->path) ? arena_strdup(&t->arena, a->worktree->path) : NULL;
	worktree_free(TAKE(a->worktree));
}

static void on_removed(void *data, const struct hook_outcome *outcome)
{
	struct agent *a = data;

	a->hook_batch = NULL;
	emit_hook_messages(a->tree, &a->who, outcome);
	leave_directory(a);
	agent_step_done(a, NULL);
}

int worktree_hook_release(struct agent *a, struct err *err)
{
	if (a->end != AGENT_SUSPENDED)
		a->hook_batch = agent_run_hooksf(a, HOOK_WORKTREE_REMOVE, NULL, on_removed, a, "{worktree_path:'%s'}",
						 a->worktree->path);
	if (a->hook_batch)
		return STEP_TAKES_TIME;
	leave_directory(a);
	return 0;
}
