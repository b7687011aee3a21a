/* SPDX-License-Identifier: MIT
 * life.c - how an agent comes to life: one table of steps, each with a way up and, where something is to be undone, a way
 * down. They run in this order; a failure takes the steps that are up down again, last first. */
#include "agents/life/life.h"
#include <assert.h>
#include "defs/policy/permissions.h"
#include "lib/base/crash.h"
#include "lib/git/git_objects.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/confine/landlock.h"
#include "guard/sandbox/sandbox.h"
#include "agents/agent/context.h"
#include "agents/agent/hooks.h"
#include "agents/agent/record.h"
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"

/* The record of a child is on disk before the child does anything. The file of the main agent is its session's; when that is
 * resumed, the records of its children are read. Its first turn reads them again and reports files that cannot be read. */
static int step_record(struct agent *a, struct err *err)
{
	AUTO_BUF struct buf notes = { 0 };

	if (!a->parent) {
		if (a->load && !a->from.session_id)
			meta_read_all(a->tree, true, &notes);
		return 0;
	}
	if (!a->load) {
		meta_set_paths(a->record);
		if (meta_write(a->record, err) < 0)
			return -(int)err->kind;
	}
	crash_point(agent_recorded);
	if (a->record->transcript)
		a->journal = journal_new(&a->tree->services->store, a->record->transcript);
	return 0;
}

static void on_slot_taken(struct agent_slot *slot)
{
	struct agent *a = CONTAINER_OF(slot, struct agent, query.agent_slot);

	agent_step_done(a, NULL);
}

/* Until the query is open the slot is ours to wait for. */
static int step_take_slot(struct agent *a, struct err *err)
{
	struct slot_pool *slots = &a->tree->slots;
	struct agent_slot *slot = &a->query.agent_slot;

	if (!a->parent)
		return 0; /* only children are counted */
	slot->on_taken = on_slot_taken;
	slot_wait(slots, slot, SLOT_NEW);
	return STEP_TAKES_TIME;
}

static int step_leave_slot(struct agent *a, struct err *err)
{
	if (a->parent)
		slot_leave(&a->tree->slots, &a->query.agent_slot);
	return 0;
}

static void on_worktree(struct worktree *w, const struct err *err, void *data)
{
	struct agent *a = data;

	a->job = NULL;
	a->worktree = w;
	agent_step_done(a, w ? NULL : err);
}

static int step_take_worktree(struct agent *a, struct err *err)
{
	const struct agent_tree *t = a->tree;

	if (!a->parent) {
		a->worktree = t->lead ? TAKE(t->lead->worktree) : NULL; /* a member in a pane: its lead took it */
		if (!a->worktree && a->definition && a->definition->isolation != ISOLATION_NONE)
			buf_addf(&a->notes, "isolation of %s has no effect: the main agent works where it is\n",
				 a->definition->name);
		return 0;
	}
	if (a->worktree)
		return 0; /* taken for it before it was to live here */
	const char *request = a->record->request.isolation;
	enum agent_isolation isolation = a->definition ? a->definition->isolation : ISOLATION_NONE;
	if (request ? !strcmp(request, "remote") : isolation == ISOLATION_REMOTE)
		return err_set(err, ERR_USAGE, "isolation \"remote\" is not available here: use \"worktree\"");
	bool wants_one = a->record->base || /* it had one before */
			 (request ? !strcmp(request, "worktree") : isolation == ISOLATION_WORKTREE);
	if (!wants_one)
		return 0;
	const struct hook_event_spec create = { .event = HOOK_WORKTREE_CREATE };
	if (a->record->base ? !a->record->base[0] : agent_has_hooks(a->parent, &create))
		return worktree_hook_take(a, err);
	a->job = agent_record_take_worktree(a->record, a->parent->env.cwd, on_worktree, a);
	return STEP_TAKES_TIME;
}

static void on_released(const struct worktree_end *end, void *data)
{
	struct agent *a = data;
	struct agent_record *t = a->record;

	a->job = NULL;
	t->worktree = end->kept ? arena_strdup(&t->arena, end->path) : NULL;
	t->branch = end->kept ? arena_strdup(&t->arena, end->branch) : t->branch;
	if (end->kept && end->why && end->why[0])
		buf_addf(&a->notes, "the worktree was kept: %s\n", end->why);
	agent_step_done(a, NULL);
}

int agent_release_worktree(struct agent *a, struct err *err)
{
	if (!a->worktree || !a->parent)
		return 0;
	if (a->worktree->by_hook)
		return worktree_hook_release(a, err);
	a->job = worktree_release(a->tree->services->worktrees, TAKE(a->worktree), on_released, a);
	return STEP_TAKES_TIME;
}

/* Its processes write only in the worktree; where that cannot be enforced, the agent does not start. Their
 * temporary directory is in the worktree's part of the git directory, and is removed with it. */
static int confine_processes(struct agent *a, struct err *err)
{
	struct tool_env *env = &a->env;
	const struct worktree *w = a->worktree;

	env->temp_dir = w->by_hook ? arena_printf(&a->arena, "%s/%s-tmp", a->tree->tasks_dir, a->record->id)
				   : arena_printf(&a->arena, "%s/tmp", w->admin);
	int rc =
		w->by_hook ? file_make_dirs(env->temp_dir, 0700, err) : file_below_make_dir(w->admin, "tmp", 0700, err);
	if (rc < 0)
		return rc;
	/* With a view of its own, it gets an object store of its own too. */
	if (!w->by_hook && a->tree->sandbox && sandbox_strength(a->tree->sandbox, NULL) == SANDBOX_FULL) {
		struct git_objects *own = arena_calloc(&a->arena, sizeof *own);
		rc = git_objects_prepare(own, w->admin, w->common, &a->arena, err);
		if (rc < 0)
			return rc;
		env->objects = own;
	}
	const struct landlock_rules rules = { .dirs = (const char *[]){ w->path, env->temp_dir, NULL },
					      .files = (const char *const[]){ "/dev/null", "/dev/tty", NULL } };
	int fd = w->by_hook ? landlock_new(&rules, err) : worktree_landlock(w, env->objects != NULL, NULL, err);
	if (fd <= 0)
		return fd < 0 ? err_wrap(err, "the agent cannot be held to its worktree") : 0;
	const char **dirs = arena_calloc(&a->arena, 6 * sizeof *dirs);
	size_t n = 0;
	env->landlock_fd = fd;
	env->write_dirs = dirs;
	dirs[n++] = w->path;
	dirs[n++] = env->temp_dir;
	if (w->by_hook)
		return 0;
	dirs[n++] = w->admin;
	if (!env->objects)
		dirs[n++] = arena_printf(&a->arena, "%s/objects", w->common);
	dirs[n++] = arena_printf(&a->arena, "%s/lfs", w->common);
	return 0;
}

/* Its directories, its branch, and where its own processes may write. */
static int step_cwd(struct agent *a, struct err *err)
{
	struct agent_record *t = a->record;

	if (!a->parent) {
		const struct policy *policy = a->tree->policy;
		const struct options *o = &a->tree->services->options;
		if (a->origin) /* a fork of a session has copies: it may outlive the session */
			a->env.dirs = arena_strdup_list(&a->arena, a->origin->env.dirs, 0);
		else if (policy_directories(o, policy->settings, &a->arena, a->cwd, &a->env.dirs, err) < 0)
			return -(int)err->kind;
		if (!a->worktree)
			return 0;
		/* A member in a pane: its session is of the lead's project, and it works in the worktree, in place of the checkout. */
		((const char **)a->env.dirs)[0] = a->cwd = a->worktree->path;
		a->branch = a->worktree->branch;
		return confine_processes(a, err);
	}
	const char *const *parent_dirs = a->parent->env.dirs;
	if (a->tree->switches.coordinator && a->tree->session_dir) { /* workers share a scratchpad */
		const char *pad = arena_printf(&a->arena, "%s/scratchpad", a->tree->session_dir);
		const char **dirs = arena_strdup_list(&a->arena, parent_dirs, 1);
		size_t n = 0;
		if (file_make_dirs(pad, 0700, err) < 0)
			return -(int)err->kind;
		while (dirs[n] && strcmp(dirs[n], pad) != 0)
			n++;
		dirs[n] = pad;
		parent_dirs = dirs;
	}
	a->cwd = arena_strdup(&a->arena, a->worktree ? a->worktree->path : a->root ? a->root : a->parent->env.cwd);
	a->branch = a->parent->branch;
	a->env.dirs = parent_dirs;
	if (!a->worktree) { /* its parent may be held to one */
		a->env.landlock_fd = a->parent->env.landlock_fd;
		a->env.write_dirs = a->parent->env.write_dirs;
		a->env.objects = a->parent->env.objects;
		a->env.temp_dir = a->parent->env.temp_dir;
		return 0;
	}
	const char **dirs = arena_strdup_list(&a->arena, parent_dirs, 1);
	dirs[0] = a->cwd; /* in place of the checkout that it must not touch */
	a->env.dirs = dirs;
	a->branch = arena_strdup(&a->arena, a->worktree->branch);
	t->worktree = arena_strdup(&t->arena, a->worktree->path);
	t->branch = arena_strdup(&t->arena, a->worktree->branch);
	t->base = arena_strdup(&t->arena, a->worktree->base);
	return confine_processes(a, err) < 0 ? -(int)err->kind : meta_write(t, err);
}

static int step_leave_cwd(struct agent *a, struct err *err)
{
	int fd = a->env.landlock_fd;

	if (fd > 0 && (!a->parent || fd != a->parent->env.landlock_fd))
		close(fd);
	a->env.landlock_fd = 0;
	a->env.write_dirs = NULL;
	a->env.objects = NULL;
	return 0;
}

static unsigned turn_limit(const struct agent *a)
{
	int64_t n = a->parent ? a->record->request.max_turns : a->tree->services->options.max_turns;

	if (!n && a->definition)
		n = a->definition->max_turns;
	return (unsigned)MIN(n, (int64_t)1 << 30);
}

static int step_query(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	const struct agent_tree *t = a->tree;
	bool is_main = !a->parent;

	if (!is_main) {
		a->record->turn_limit = turn_limit(a);
		a->budget.limit_usd = t->limits.agent_usd;
		a->budget.limit_tokens = t->limits.agent_tokens;
	}
	agent_open(a, &(struct agent_query_spec){
			      .head = agent_first_head(a),
			      .interrupt_note = is_main ? "[Request interrupted by user]" : NULL,
			      .reminder = d ? d->reminder : NULL,
			      .max_turns = turn_limit(a),
			      .want_deltas = is_main || t->switches.forward_text,
			      .want_raw = is_main && t->services->options.partial_messages,
			      .needs_slot = !is_main,
		      });
	if (a->origin && !a->worktree && t->kit->share_files && a->origin->env.files)
		t->kit->share_files(&a->env, &a->origin->env); /* its history shows them */
	if (is_main)
		return 0; /* it keeps its prompt: its head is written again when tools change */
	buf_release(&a->system);
	a->query.agent_slot.taken = true; /* ours until here */
	return 0;
}

int agent_end_shells(struct agent *a, struct err *err)
{
	a->tree->kit->end_shells(&a->env);
	return 0;
}

static int step_announce(struct agent *a, struct err *err)
{
	struct event_task task;

	if (!a->parent)
		return 0; /* each of its turns says that the session is there */
	struct agent_member *m = a->record->member;
	bool parked = m && m->announced; /* it was there all the time, and works now */
	if (m) {
		m->announced = true;
		m->state = parked ? MEMBER_WORKS : m->state;
	}
	agent_record_event(a->record, &task);
	agent_emit(a, &(struct event){ .kind = parked ? EVENT_MEMBER_STATE : EVENT_AGENT_STARTED, .task = &task });
	if (a->record->background)
		agent_tree_tasks_changed(a->tree);
	return 0;
}

static int step_announce_end(struct agent *a, struct err *err)
{
	struct event_task task;

	if (!a->parent || (a->park_asked && !a->suspend_asked))
		return 0;
	if (a->record->member)
		a->record->member->announced = false;
	agent_record_event(a->record, &task);
	agent_emit(a, &(struct event){ .kind = EVENT_AGENT_ENDED,
				       .task = &task,
				       .text = buf_str(&a->record->report),
				       .is_error = end_states[a->record->state].is_error });
	return 0;
}

const struct life_step life[] = {
	{ "load", agent_load, NULL },
	{ "record", step_record, NULL },
	{ "slot", step_take_slot, step_leave_slot },
	{ "model", agent_choose_model, NULL },
	{ "worktree", step_take_worktree, agent_release_worktree },
	{ "cwd", step_cwd, step_leave_cwd },
	{ "prompt", agent_make_prompt, NULL },
	{ "servers", agent_join_servers, agent_leave_servers },
	{ "tools", agent_choose_tools, agent_drop_tools },
	{ "permission", agent_make_permission, NULL },
	{ "query", step_query, agent_end_shells },
	{ "history", agent_find_history, NULL },
	{ "skills", agent_preload, NULL },
	{ "hooks", agent_step_hooks, agent_unregister_hooks },
	{ "start hooks", agent_start_hooks, agent_undo_start_hooks },
	{ "check start hooks", agent_check_start_hooks, NULL },
	{ "announce", step_announce, step_announce_end },
};
const size_t life_count = COUNT_OF(life);

int agent_come_up(struct agent *a, struct err *err)
{
	while (a->step < life_count) {
		int status = life[a->step].up(a, err);
		assert(status != STEP_TAKES_TIME);
		if (status < 0) {
			agent_go_down(a);
			return status;
		}
		a->step++;
	}
	a->origin = NULL; /* it may be closed before this one */
	return 0;
}

void agent_go_down(struct agent *a)
{
	struct err ignored = { 0 };

	while (a->step > 0) {
		const struct life_step *step = &life[--a->step];
		int status = step->down ? step->down(a, &ignored) : 0;
		assert(status != STEP_TAKES_TIME);
		(void)status;
	}
}
