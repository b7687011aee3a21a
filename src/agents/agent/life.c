/* SPDX-License-Identifier: MIT
 * life.c - how an agent comes to life: one table of steps, each with a way up and, where something is to be undone, a way
 * down. They run in this order; a failure takes the steps that are up down again, last first. */
#include <assert.h>
#include "agents/profile/memory.h"
#include "mcp/client/selection.h"
#include "lib/base/crash.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"
#include "lib/git/git_head.h"
#include "agents/agent/agent_tool.h"
#include "agents/agent/context.h"
#include "agents/agent/initial_messages.h"
#include "agents/agent/hooks.h"
#include "agents/agent/record.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/servers.h"
#include "agents/agent/life.h"
#include "agents/agent/tool_load.h"
#include "agents/agent/worktree_hook.h"

/* ---- on disk and in line ----------------------------------------------------------------------------------------- */

/* The edge from parent to child is on disk before the child does anything. */
static int step_record(struct agent *a, struct err *err)
{
	if (!a->load) {
		meta_place(a->record);
		if (meta_write(a->record, err) < 0)
			return -(int)err->kind;
	}
	crash_point(agent_recorded);
	agent_record_note(a->record);
	if (a->record->transcript)
		a->journal = journal_new(a->tree->store, a->record->transcript);
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

	(void)err;
	slot->on_taken = on_slot_taken;
	slot_wait(slots, slot, SLOT_NEW);
	return STEP_TAKES_TIME;
}

static int step_leave_slot(struct agent *a, struct err *err)
{
	(void)err;
	slot_leave(&a->tree->slots, &a->query.agent_slot);
	return 0;
}

/* ---- what it runs on --------------------------------------------------------------------------------------------- */

static void add_note(struct agent *a, const char *text)
{
	buf_addf(&a->notes, "%s\n", text);
}

static int step_model(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;

	model_choose(&a->arena,
		     &(struct model_wishes){
			     .provider = a->tree->endpoints->usual,
			     .allowed = a->tree->allowed_models,
			     .environment = getenv("CLAUDE_CODE_SUBAGENT_MODEL"),
			     .call = a->record->request.model,
			     .definition = d ? d->model : NULL,
			     .configured = a->tree->default_model,
			     .parent = a->parent->model,
			     .shares_context = !d || d->fork_context,
		     },
		     &a->model_choice);
	a->model = a->model_choice.id;
	a->record->model = arena_strdup(&a->record->arena, a->model);
	if (a->model_choice.note)
		add_note(a, a->model_choice.note);
	return endpoints_find(a->tree->endpoints, a->model, &a->endpoint, err);
}

/* ---- where it works ---------------------------------------------------------------------------------------------- */

static void on_worktree(struct worktree *w, const struct err *err, void *data)
{
	struct agent *a = data;

	a->job = NULL;
	a->worktree = w;
	agent_step_done(a, w ? NULL : err);
}

static bool wants_worktree(const struct agent *a)
{
	if (a->record->base)
		return true; /* it had one before */
	if (a->record->request.isolation)
		return !strcmp(a->record->request.isolation, "worktree");
	return a->definition && a->definition->isolation == ISOLATION_WORKTREE;
}

static bool wants_remote(const struct agent *a)
{
	if (a->record->request.isolation)
		return !strcmp(a->record->request.isolation, "remote");
	return a->definition && a->definition->isolation == ISOLATION_REMOTE;
}

static int step_take_worktree(struct agent *a, struct err *err)
{
	const struct agent_tree *t = a->tree;
	struct worktree_spec spec = { .agent_id = a->who.id,
				      .cwd = a->parent ? a->parent->env.cwd : NULL,
				      .fresh = t->worktree.fresh,
				      .symlink_dirs = t->worktree.symlink_dirs,
				      .sparse_paths = t->worktree.sparse_paths };

	if (!a->parent) {
		if (a->definition && a->definition->isolation != ISOLATION_NONE)
			buf_addf(&a->notes, "isolation of %s has no effect: the main agent works where it is\n",
				 a->definition->name);
		return 0;
	}
	if (wants_remote(a))
		return err_set(err, ERR_USAGE, "isolation \"remote\" is not available here: use \"worktree\"");
	if (!wants_worktree(a))
		return 0;
	if (worktree_hook_is_there(a))
		return worktree_hook_take(a, err);
	if (!t->worktrees)
		return err_set(err, ERR_USAGE, "worktrees are not available here");
	a->job = a->record->base ? worktree_adopt(t->worktrees, &spec, a->record->base, on_worktree, a)
				 : worktree_take(t->worktrees, &spec, on_worktree, a);
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
	if (!a->worktree)
		return 0;
	if (a->worktree->by_hook)
		return worktree_hook_release(a, err);
	a->job = worktree_release(a->tree->worktrees, TAKE(a->worktree), on_released, a);
	return STEP_TAKES_TIME;
}

/* Its processes write only in the worktree. A kernel that cannot hold them to it is said; any other failure is one. Their
 * temporary directory is in the worktree's part of the git directory, and goes with it. */
static int confine(struct agent *a, struct err *err)
{
	struct tool_env *env = &a->env;
	const struct worktree *w = a->worktree;

	env->temp_dir = w->by_hook ? arena_printf(&a->arena, "%s/%s-tmp", a->tree->tasks_dir, a->record->id)
				   : arena_printf(&a->arena, "%s/tmp", w->admin);
	int rc =
		w->by_hook ? file_make_dirs(env->temp_dir, 0700, err) : file_below_make_dir(w->admin, "tmp", 0700, err);
	if (rc < 0)
		return rc;
	int fd = w->by_hook ? worktree_hook_landlock(w, env->temp_dir, err) : worktree_landlock(w, NULL, err);
	if (fd == -ERR_LIMIT) {
		add_note(a, "this kernel has no Landlock: commands of the agent are not held to its worktree");
		return 0;
	}
	if (fd > 0)
		env->landlock_fd = fd;
	return fd < 0 ? fd : 0;
}

/* The place is known: directories, branch, and what its own processes may write. */
static int step_cwd(struct agent *a, struct err *err)
{
	struct agent_record *t = a->record;
	const char *const *parent_dirs = a->parent->env.dirs;

	a->cwd = arena_strdup(&a->arena, a->worktree ? a->worktree->path : a->root ? a->root : a->parent->env.cwd);
	a->branch = a->parent->branch;
	a->env.dirs = parent_dirs;
	if (!a->worktree) { /* its parent may be held to one */
		a->env.landlock_fd = a->parent->env.landlock_fd;
		a->env.temp_dir = a->parent->env.temp_dir;
		return 0;
	}
	size_t n = str_count(parent_dirs);
	const char **dirs = arena_alloc(&a->arena, (n + 1) * sizeof *dirs);
	dirs[0] = a->cwd; /* in place of the checkout that it must not touch */
	for (size_t i = 1; i <= n; i++)
		dirs[i] = i < n ? parent_dirs[i] : NULL;
	a->env.dirs = dirs;
	a->branch = arena_strdup(&a->arena, a->worktree->branch);
	t->worktree = arena_strdup(&t->arena, a->worktree->path);
	t->branch = arena_strdup(&t->arena, a->worktree->branch);
	t->base = arena_strdup(&t->arena, a->worktree->base);
	return confine(a, err) < 0 ? -(int)err->kind : meta_write(t, err);
}

static int step_leave_cwd(struct agent *a, struct err *err)
{
	int fd = a->env.landlock_fd;

	(void)err;
	if (fd > 0 && fd != a->parent->env.landlock_fd)
		close(fd);
	a->env.landlock_fd = 0;
	return 0;
}

/* ---- what it is told --------------------------------------------------------------------------------------------- */

static struct memory_places memory_places(const struct agent_tree *t)
{
	return (struct memory_places){ t->config_dir, t->project_dir, t->switches.trusted };
}

static bool has_memory(const struct agent *a)
{
	return a->definition && a->tree->switches.memory_on && a->definition->memory != MEMORY_NONE;
}

static int step_prompt(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	const struct agent_tree *t = a->tree;

	if (!d)
		return 0; /* the usual main agent; a fork has its parent's, to the byte */
	struct memory_places places = memory_places(t);
	bool memory = has_memory(a);

	if (memory && agent_memory_prepare(d, &places, err) < 0)
		return a->parent ? -(int)err->kind : err_wrap(err, "agent %s", d->name);
	if (a->system.n)
		return 0; /* a forked session has it from its origin */
	buf_add(&a->system, d->prompt, d->prompt_len);
	if (a->parent)
		buf_addf(&a->system, "%s%s", a->system.n ? "\n\n" : "", subagent_rules_text);
	else if (memory)
		buf_addstr(&a->system, a->system.n ? "\n\n" : "");
	if (memory) /* read once: a prompt that changed with it would cost the whole prefix */
		agent_memory_prompt(&a->system, d, &places);
	if (a->parent && t->append_system_prompt && t->append_system_prompt[0])
		buf_addf(&a->system, "\n\n%s", t->append_system_prompt);
	return 0;
}

/* ---- what it can do ---------------------------------------------------------------------------------------------- */

/* What servers of its own bring is there, even if the session has none. */
static void find_pool(const struct agent *a, struct tool_set *out)
{
	const struct tool_set *from = a->definition ? agent_tree_pool(a->tree) : &a->parent->tools;

	for (size_t i = 0; i < from->count; i++)
		tool_set_add(out, from->tools[i]);
	if (a->definition)
		servers_bring_tools(a->tree, a->servers, out);
}

void agent_choose_tools(struct agent *a)
{
	const struct mcp_selection *set = a->servers;
	CLEANUP(tool_set_release) struct tool_set own = { 0 };

	if (!a->definition)
		return;
	for (size_t i = 0; set && i < mcp_selection_count(set); i++)
		if (mcp_lease_server(mcp_selection_at(set, i))->scope == MCP_SCOPE_AGENT)
			mcp_lease_tools(mcp_selection_at(set, i), &own);
	tool_choice_release(&a->choice);
	tool_choose(a->definition,
		    &(struct tool_choice_spec){ .pool = agent_tree_pool(a->tree),
						.own = &own,
						.memory = a->tree->switches.memory_on,
						.main_thread = true },
		    &a->choice);
	tool_set_release(&a->tools);
	for (size_t i = 0; i < a->choice.tools.count; i++)
		tool_set_add(&a->tools, a->choice.tools.tools[i]);
	a->agent_types = tool_choice_types(&a->choice, &a->arena);
	agent_tool_limit(a);
}

static int step_tools(struct agent *a, struct err *err)
{
	const struct agent_tree *t = a->tree;
	CLEANUP(tool_set_release) struct tool_set pool = { 0 };
	AUTO_BUF struct buf why = { 0 };

	if (!a->parent) {
		agent_choose_tools(a);
		return 0;
	}
	find_pool(a, &pool);
	tool_choose(a->definition,
		    &(struct tool_choice_spec){
			    .pool = &pool,
			    .own = agent_server_tools(a),
			    .background = a->record->background,
			    .deepest = a->who.depth >= t->limits.depth,
			    .memory = t->switches.memory_on,
			    .whole = !a->definition,
		    },
		    &a->choice);
	if (a->definition &&
	    (tool_choice_refuses(&a->choice, a->definition, &why) || tool_choice_lacks(&a->choice, &why))) {
		buf_add(&a->failure, why.p, why.n);
		return err_set(err, ERR_USAGE, "%s", why.p);
	}
	for (size_t i = 0; i < a->choice.tools.count; i++)
		tool_set_add(&a->tools, a->choice.tools.tools[i]);
	for (size_t i = 0; i < a->choice.unknown.count; i++)
		buf_addf(&a->notes, "the definition names a tool that does not exist: %s\n", a->choice.unknown.list[i]);
	a->agent_types = tool_choice_types(&a->choice, &a->arena);
	if (!a->definition)
		a->agent_types = a->parent->agent_types;
	agent_tool_limit(a);
	return 0;
}

/* Its rules and its mode are the session's; what its definition says with specifiers, and its memory, come to them. */
void agent_apply_limits(struct agent *a)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct tool_choice *c = &a->choice;
	struct memory_places places = memory_places(a->tree);
	const struct permission_limit *only;
	size_t only_count = tool_choice_limits(c, &arena, &only);

	if (!a->definition)
		return;
	if (only_count + c->never.count != a->limit_count) { /* the others are of tools that were there before */
		permission_add_limits(&a->permission, RULE_ONLY, only, only_count);
		permission_add_limits(&a->permission, RULE_DENY, c->never.list, c->never.count);
		a->limit_count = only_count + c->never.count;
	}
	if (has_memory(a))
		permission_give_memory(&a->permission, agent_memory_dir(&arena, a->definition, &places),
				       c->for_memory.list, c->for_memory.count);
}

static int step_permission(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	const struct tool_choice *c = &a->choice;
	const struct permission_limit *only;
	size_t only_count = tool_choice_limits(c, &a->arena, &only);
	bool trusted = !d || d->source != SOURCE_PROJECT || a->tree->switches.trusted;
	bool memory = has_memory(a);
	struct memory_places places = memory_places(a->tree);

	(void)err;
	if (!a->parent) {
		agent_apply_limits(a);
		return 0;
	}
	permission_derive(&a->permission, a->gone.count ? &a->gone.list[a->gone.count - 1] : &a->parent->permission,
			  &(struct permission_birth){
				  .mode = d ? d->permission_mode : NULL,
				  .mode_invalid = d && d->permission_mode_invalid,
				  .mode_may_widen = d && d->source != SOURCE_PLUGIN && trusted,
				  .can_ask = a->parent->permission.can_ask,
				  .only = only,
				  .only_count = only_count,
				  .never = c->never.list,
				  .never_count = c->never.count,
				  .write_root = a->worktree ? a->worktree->path : NULL,
				  .main_checkout = a->worktree ? a->worktree->root : NULL,
				  .memory_dir = memory ? agent_memory_dir(&a->arena, d, &places) : NULL,
				  .memory_tools = c->for_memory.list,
				  .memory_tool_count = c->for_memory.count,
			  });
	if (d && d->permission_mode && !trusted)
		add_note(a,
			 "this folder is not trusted, so the permissionMode of a project's agent can only narrow: run "
			 "`cadre trust` to record consent");
	return 0;
}

static int step_drop_tools(struct agent *a, struct err *err)
{
	(void)err;
	tool_choice_release(&a->choice);
	return 0;
}

/* ---- its own things ---------------------------------------------------------------------------------------------- */

static unsigned turn_limit(const struct agent *a)
{
	int64_t n = a->record->request.max_turns;

	if (!n && a->definition)
		n = a->definition->max_turns;
	return (unsigned)MIN(n, (int64_t)1 << 30);
}

/* A fork has its parent's, to the byte, unless it had loaded tools of its own before it was resumed. A resumed parent that has
 * not asked yet has the one that it will ask with. */
static struct head *make_head(struct agent *a)
{
	const struct agent_definition *d = a->definition;
	const struct query *q = &a->parent->query;
	struct head *parent_head = a->load && q->next_head ? q->next_head : q->config.head;
	const char *effort = a->record->request.effort ? a->record->request.effort : d ? d->effort : NULL;

	if (a->load)
		agent_recall_tools(a, a->load);
	if (d) {
		agent_defer_tools(a);
		return context_head(a, buf_str(&a->system), effort);
	}
	agent_defer_like(a, a->parent);
	if (a->deferral.loaded.count > a->parent->deferral.loaded.count)
		return context_head_like(a, parent_head);
	return head_ref(parent_head);
}

static int step_query(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;

	(void)err;
	a->record->turn_limit = turn_limit(a);
	a->budget.limit_usd = a->tree->limits.agent_usd;
	a->budget.limit_tokens = a->tree->limits.agent_tokens;
	agent_open(a, &(struct agent_query_spec){
			      .head = make_head(a),
			      .reminder = d ? d->reminder : NULL,
			      .max_turns = turn_limit(a),
			      .want_deltas = a->tree->switches.forward_text,
			      .needs_slot = true,
		      });
	buf_release(&a->system);
	a->query.agent_slot.taken = true; /* ours until here */
	return 0;
}

static int step_end_shells(struct agent *a, struct err *err)
{
	(void)err;
	a->tree->kit->end_shells(&a->env);
	return 0;
}

static int step_announce(struct agent *a, struct err *err)
{
	struct event_task task;

	(void)err;
	agent_record_event(a->record, &task);
	agent_emit(a, &(struct event){ .kind = EVENT_AGENT_STARTED, .task = &task });
	if (a->record->background)
		agent_tree_tasks_changed(a->tree);
	return 0;
}

static int step_announce_end(struct agent *a, struct err *err)
{
	struct event_task task;

	(void)err;
	agent_record_event(a->record, &task);
	agent_emit(a, &(struct event){ .kind = EVENT_AGENT_ENDED,
				       .task = &task,
				       .text = buf_str(&a->record->report),
				       .is_error = end_words(a->record->state)->is_error });
	return 0;
}

const struct life_step life[] = {
	{ "record", true, step_record, NULL },
	{ "slot", true, step_take_slot, step_leave_slot },
	{ "model", true, step_model, NULL },
	{ "worktree", false, step_take_worktree, agent_release_worktree },
	{ "cwd", true, step_cwd, step_leave_cwd },
	{ "prompt", false, step_prompt, NULL },
	{ "servers", false, agent_join_servers, agent_leave_servers },
	{ "tools", false, step_tools, step_drop_tools },
	{ "permission", false, step_permission, NULL },
	{ "query", true, step_query, step_end_shells },
	{ "skills", true, agent_preload, NULL },
	{ "hooks", false, agent_step_hooks, agent_unregister_hooks },
	{ "start hooks", true, agent_start_hooks, agent_undo_start_hooks },
	{ "check start hooks", true, agent_check_start_hooks, NULL },
	{ "announce", true, step_announce, step_announce_end },
};
const size_t life_count = COUNT_OF(life);

int agent_come_up(struct agent *a, struct err *err)
{
	struct err ignored = { 0 };

	for (size_t i = 0; i < life_count; i++) {
		int status = life[i].child_only ? 0 : life[i].up(a, err);
		assert(status != STEP_TAKES_TIME);
		if (status == 0)
			continue;
		while (i-- > 0)
			if (!life[i].child_only && life[i].down)
				(void)life[i].down(a, &ignored);
		return status;
	}
	return 0;
}
