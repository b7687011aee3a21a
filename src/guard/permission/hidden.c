/* SPDX-License-Identifier: MIT
 * hidden.c - files that a search must not show, and those that a command must not change. Rules of the settings do not change, so a
 * reference will do; those that an agent has collected itself grow on the loop and are copied. */
#include <limits.h>
#include "guard/permission/permission.h"
#include "guard/permission/resolved_path.h"

struct hidden_files {
	struct arena arena;
	struct path_anchors anchors;
	struct path_aliases aliases;
	struct rule_set **sets; /* references */
	size_t set_count;
	size_t root_len;
	const char *target;           /* where the root leads; NULL: it is not a link */
	struct permission *worktrees; /* of the line: only their directories are set */
	size_t worktree_count;
	bool edits;
};

static bool pattern_hides(const struct rule *r, bool edits)
{
	return r->list == RULE_DENY && r->kind == RULE_PATH &&
	       r->subject->kind == (edits ? SUBJECT_EDIT : SUBJECT_READ);
}

static bool has_any(const struct rule_set *set, bool edits)
{
	for (size_t i = 0; i < set->all.count; i++)
		if (pattern_hides(set->all.list[i], edits))
			return true;
	return false;
}

struct hidden_files *denied_files_find(const struct tool_env *env, const char *root, const char *target, bool edits)
{
	const struct rule_walk all = { .owner = env->permission, .list = RULE_DENY };
	size_t count = 0;

	for (struct rule_walk w = all; rule_walk_next(&w);)
		count += has_any(w.set, edits);
	if (!count)
		return NULL;
	struct hidden_files *h = xnew(struct hidden_files, .edits = edits);
	h->sets = arena_calloc(&h->arena, count * sizeof *h->sets);
	for (struct rule_walk w = all; rule_walk_next(&w);) {
		if (!has_any(w.set, edits))
			continue;
		bool shared = w.set == w.owner->rules;
		struct rule_set *set = shared ? rule_set_ref(w.owner->rules) : rule_set_new();
		for (size_t i = 0; !shared && i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			if (pattern_hides(r, edits)) /* it was understood once */
				(void)rule_set_add(set, RULE_DENY, str_from(r->text), r->origin, NULL, NULL, NULL);
		}
		h->sets[h->set_count++] = set;
	}
	path_anchors_add(&h->anchors, &h->arena, env->root);
	path_anchors_add(&h->anchors, &h->arena, env->cwd);
	for (const struct permission *p = env->permission; p; p = p->parent)
		path_anchors_add(&h->anchors, &h->arena, p->root);
	for (size_t i = 0; i < h->anchors.count; i++) /* the agent may end before the search */
		h->anchors.list[i] = arena_strdup(&h->arena, h->anchors.list[i]);
	for (size_t i = 0; i < h->set_count; i++)
		path_aliases_add(&h->aliases, &h->arena, h->sets[i], RULE_DENY, &h->anchors);
	for (const struct permission *p = env->permission; p; p = p->parent)
		h->worktree_count += p->copy_root != NULL;
	h->worktrees = arena_calloc(&h->arena, (h->worktree_count + 1) * sizeof *h->worktrees);
	size_t n = 0;
	for (const struct permission *p = env->permission; p; p = p->parent)
		if (p->copy_root)
			h->worktrees[n++] =
				(struct permission){ .copy_root = arena_strdup(&h->arena, p->copy_root),
						     .copy_of = { arena_strdup(&h->arena, p->copy_of[0]),
								  arena_strdup(&h->arena, p->copy_of[1]) } };
	target = target ? arena_strdup(&h->arena, target) : resolved_path_find(&h->arena, "/", str_from(root)).target;
	h->target = target && strcmp(target, root) != 0 ? target : NULL;
	if (h->target && !h->target[1])
		h->target = ""; /* the root of the file system, which is its own slash */
	h->root_len = strlen(root);
	return h;
}

void hidden_files_describe(const struct hidden_files *h, struct buf *out)
{
	for (size_t i = 0; h && i < h->anchors.count; i++)
		buf_addf(out, "%s\n", h->anchors.list[i]);
	for (size_t i = 0; h && i < h->aliases.count; i++)
		buf_addf(out, "%s\t%s\n", h->aliases.list[i].named, h->aliases.list[i].real);
	for (size_t i = 0; h && i < h->worktree_count; i++)
		for (size_t k = 0; k < COUNT_OF(h->worktrees[i].copy_of); k++)
			buf_addf(out, "%s\t%s\n", h->worktrees[i].copy_root,
				 h->worktrees[i].copy_of[k] ? h->worktrees[i].copy_of[k] : "");
}

void hidden_files_free(struct hidden_files *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->set_count; i++)
		rule_set_unref(h->sets[i]);
	arena_release(&h->arena);
	free(h);
}

static bool is_denied(const struct hidden_files *h, const char *path)
{
	AUTO_ARENA struct arena a = { 0 };

	for (size_t i = 0; i < h->set_count; i++) {
		if (rule_set_path(h->sets[i], RULE_DENY, h->edits, path, &h->anchors))
			return true;
		for (size_t k = 0; k < h->aliases.count; k++) {
			const char *same = path_alias_name(&h->aliases.list[k], &a, path);
			if (same && rule_set_path(h->sets[i], RULE_DENY, h->edits, same, &h->anchors))
				return true;
		}
		for (size_t k = 0; k < 2 * h->worktree_count; k++) {
			const char *same = permission_main_path(&h->worktrees[k / 2], &a, path, k % 2);
			if (same && rule_set_path(h->sets[i], RULE_DENY, h->edits, same, &h->anchors))
				return true;
		}
	}
	return false;
}

/* No link below the root is followed, so the root is the only one that can lead elsewhere. */
bool hidden_files_has(const struct hidden_files *h, const char *path)
{
	char real[PATH_MAX];

	if (!h)
		return false;
	if (is_denied(h, path))
		return true;
	if (!h->target)
		return false;
	int n = snprintf(real, sizeof real, "%s%s", h->target, path + h->root_len);
	return n >= (int)sizeof real || is_denied(h, real);
}

bool file_is_hidden(const struct tool_env *env, const char *path)
{
	struct hidden_files *h = hidden_files_find(env, path);
	bool hidden = hidden_files_has(h, path);

	hidden_files_free(h);
	return hidden;
}
