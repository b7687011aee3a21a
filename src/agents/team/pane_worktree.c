/* SPDX-License-Identifier: MIT
 * pane_worktree.c - the worktree of a member in a pane: taken before its process is started, held by the lead while that lives, and
 * released when it is gone. The process gets to know it with its environment, and holds itself to it as a child here is held. */
#include "agents/team/pane.h"
#include "agents/agent/hooks.h"
#include "agents/agent/record.h"

static bool wants_worktree(const struct agent_record *r)
{
	return r->base || (r->request.isolation && !strcmp(r->request.isolation, "worktree"));
}

const char *pane_isolation(struct agent_record *r)
{
	const struct hook_event_spec create = { .event = HOOK_WORKTREE_CREATE };
	AUTO_BUF struct buf ignored = { 0 };

	if (!r->request.isolation) {
		struct agent_definition *d = agent_find_definition(&r->tree->main, r->type, &ignored);
		if (d && d->isolation != ISOLATION_NONE)
			r->request.isolation = d->isolation == ISOLATION_WORKTREE ? "worktree" : "remote";
		if (d)
			agent_unref(d);
	}
	if (!r->request.isolation)
		return NULL;
	return !wants_worktree(r)                         ? "this kind of isolation is not available"
	       : tmux_foreign_program()                   ? "another program cannot be held to a worktree"
	       : agent_has_hooks(&r->tree->main, &create) ? "a WorktreeCreate hook makes its worktree"
							  : NULL;
}

/* Of a pane that was freed meanwhile: nothing but its memory is left. */
static bool pane_is_freed(struct pane *p)
{
	if (p->all)
		return false;
	free(p);
	return true;
}

static void on_pane_released(const struct worktree_end *end, void *data)
{
	struct pane *p = data;
	struct err ignored = { 0 };

	p->job = NULL;
	if (pane_is_freed(p))
		return;
	struct agent_record *r = p->record;
	r->worktree = end->kept ? arena_strdup(&r->arena, end->path) : NULL;
	(void)meta_write(r, &ignored);
	if (end->kept && r->member->state == MEMBER_GONE && r->tree->team && !r->tree->team->closing_told)
		team_tell_end(r, arena_printf(&r->arena, "%s.%u.kept", r->id, r->run),
			      arena_printf(&r->arena, "The work of %s is in its worktree: %s, branch %s.", r->name,
					   end->path, end->branch));
	if (p->state == PANE_STARTS)
		pane_take_worktree(p);
	pane_announce_end(p);
	agent_tree_kick(p->all->tree);
}

void pane_release_worktree(struct pane *p)
{
	if (p->worktree && p->state == PANE_OVER && !p->job)
		p->job = worktree_release(p->all->tree->services->worktrees, TAKE(p->worktree), on_pane_released, p);
}

static void on_pane_worktree(struct worktree *w, const struct err *err, void *data)
{
	struct pane *p = data;
	struct err failed = { 0 };

	p->job = NULL;
	if (!p->all)
		worktree_free(w);
	if (pane_is_freed(p))
		return;
	p->worktree = w;
	struct agent_record *r = p->record;
	if (w && p->state == PANE_STARTS) {
		r->worktree = arena_strdup(&r->arena, w->path);
		r->branch = arena_strdup(&r->arena, w->branch);
		r->base = arena_strdup(&r->arena, w->base);
		(void)meta_write(r, &failed);
	}
	if (p->state != PANE_STARTS)
		pane_release_worktree(p);
	else if (!w || failed.kind)
		pane_start_failed(p, w ? failed.text : err->text);
	else
		pane_start_next(p->all);
	agent_tree_kick(p->all->tree);
}

void pane_take_worktree(struct pane *p)
{
	if (!p->job && !p->worktree && wants_worktree(p->record))
		p->job = agent_record_take_worktree(p->record, p->all->tree->main.env.cwd, on_pane_worktree, p);
}
