/* SPDX-License-Identifier: MIT
 * tree.c - what the agents of a session share, from options, settings and environment. */
#include "agents/profile/memory.h"
#include "defs/policy/sources.h"
#include "product/session/session_int.h"
#include "product/session/compact.h"
#include "product/session/skills.h"
#include "product/session/permission_update.h"
#include "defs/policy/permissions.h"
#include "defs/policy/plugins.h"
#include "product/session/rewind.h"
#include "product/session/web_settings.h"
#include "lib/io/file.h"
#include "core/store/state.h"
#include "config/settings/env_switch.h"
#include "lib/git/git_head.h"
#include "agents/agent/hooks.h"

enum { DEFAULT_DEPTH = 3, DEFAULT_ALIVE = 1000, DEFAULT_TOTAL = 10000 };
enum { TASKS_DEPTH = 4 }; /* directories of a session's tasks that are ours */

static unsigned env_number(const char *variable, unsigned least, unsigned most, unsigned otherwise)
{
	const char *text = getenv(variable);
	uint64_t n;

	return text && str_to_u64(str_from(text), &n) && n >= least && n <= most ? (unsigned)n : otherwise;
}

static int open_registry(struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };

	return sv->registry ? 0 : app_agents(sv, &a, &sv->registry, err);
}

/* A variable of the environment is closer to the run than a file. */
static void find_limits(const struct settings *s, struct tree_limits *l)
{
	unsigned depth = (unsigned)settings_i64(s, "subagents.maxDepth", DEFAULT_DEPTH);
	unsigned alive = (unsigned)settings_i64(s, "subagents.maxAlive", DEFAULT_ALIVE);

	l->depth = env_number("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", 0, 100, depth);
	l->alive = env_number("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", 1, 1000000, alive);
	l->total = (unsigned)settings_i64(s, "subagents.maxTotal", DEFAULT_TOTAL);
	l->agent_usd = settings_double(s, "subagents.maxBudgetUsd", 0);
	l->agent_tokens = settings_i64(s, "subagents.maxTokens", 0);
}

/* Forks are implied only where a person watches and no workers are coordinated; the environment has the last word. */
static bool fork_mode(const struct options *o, const struct settings *s)
{
	const char *variable = getenv("CLAUDE_CODE_FORK_SUBAGENT");

	if (!o->interactive || env_is_on("CLAUDE_CODE_COORDINATOR_MODE"))
		return false;
	return variable && variable[0] ? env_is_on("CLAUDE_CODE_FORK_SUBAGENT")
				       : settings_bool(s, "subagents.fork", false);
}

static void find_switches(const struct options *o, const struct policy *p, struct tree_switches *w)
{
	w->fork_mode = fork_mode(o, p->settings);
	w->coordinator = env_is_on("CLAUDE_CODE_COORDINATOR_MODE");
	w->background_off = env_is_on("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS");
	w->background_default = env_is_on("CADRE_BACKGROUND_DEFAULT");
	w->memory_on = agent_memory_is_on(settings_get(p->settings, "autoMemoryEnabled", NULL));
	w->trusted = p->trusted;
	w->forward_text = o->forward_subagent_text;
}

void session_use_policy(struct cadre_session *s)
{
	const struct policy *p = &s->services->policy;
	struct agent_tree *t = &s->tree;
	const char *base = settings_cstr(p->settings, "worktree.baseRef", &s->arena, "head");
	const char *model = settings_cstr(p->settings, "subagents.defaultModel", &s->arena, NULL);

	permission_use_rules(&t->main.permission, p->rules);
	app_limit_modes(&t->main.permission, p->settings);
	find_limits(p->settings, &t->limits);
	t->slots.cap = t->limits.alive;
	s->services->most_children = t->limits.alive;
	app_adjust_governor(s->services);
	t->switches.trusted = p->trusted;
	t->main.env.envp = p->envp;
	s->services->store.power = !strcmp(settings_cstr(p->settings, "durability", &s->arena, "process"), "power");
	t->no_shell = t->main.env.no_shell = app_sandbox_refusal(p->settings);
	t->worktree.fresh = !strcmp(base, "fresh");
	t->worktree.symlink_dirs = settings_texts(p->settings, "worktree.symlinkDirectories", &s->arena);
	t->worktree.sparse_paths = settings_texts(p->settings, "worktree.sparsePaths", &s->arena);
	session_use_skills(s);
	session_use_web(s);
	session_use_compact(s);
	t->default_model = model && strcmp(model, "inherit") != 0 ? model : NULL;
}

/* Inside the project, or nowhere: a setting of the project must not lead elsewhere. */
static const char *find_plans(struct cadre_session *s)
{
	const struct agent_tree *t = &s->tree;
	const char *wish = settings_cstr(s->services->policy.settings, "plansDirectory", &s->arena, NULL);
	const char *dir = wish && wish[0] ? path_absolute(&s->arena, t->project_dir, str_from(wish)) : NULL;
	AUTO_FREE char *real = dir ? realpath(dir, NULL) : NULL;
	AUTO_FREE char *root = realpath(t->project_dir, NULL);

	if (dir && path_is_inside(dir, t->project_dir) && (!real || (root && path_is_inside(real, root))))
		return dir;
	return arena_printf(&s->arena, "%s/plans", t->config_dir);
}

/* Several sessions may share a list. The name becomes a directory. */
static const char *find_todos(struct cadre_session *s)
{
	const char *list = getenv("CLAUDE_CODE_TASK_LIST_ID");
	bool usable = list && list[0] && list[0] != '.' && !strchr(list, '/') && strlen(list) < 200;

	return arena_printf(&s->arena, "%s/tasks/%s", s->tree.config_dir, usable ? list : s->id);
}

static void find_places(struct cadre_session *s, const char *project_dir)
{
	struct agent_tree *t = &s->tree;
	AUTO_BUF struct buf key = { 0 };
	const char *temp = getenv("CLAUDE_CODE_TMPDIR");
	const char *given = s->services->options.config_root;
	const char *root =
		given ? path_absolute(&s->arena, t->main.cwd, str_from(given)) : git_root(&s->arena, t->main.cwd);

	store_project_key(&key, str_from(t->main.cwd));
	t->session_id = s->id;
	t->config_dir = s->services->store.config_dir;
	t->project_dir = root ? root : t->main.cwd;
	t->plans_dir = find_plans(s);
	t->managed_dir = s->services->options.managed_dir ? s->services->options.managed_dir : "/etc/claude-code";
	t->session_dir = t->main.journal ? arena_printf(&s->arena, "%s/%s", project_dir, s->id) : NULL;
	t->todo_dir = t->session_dir ? find_todos(s) : NULL;
	t->env_dir = arena_printf(&s->arena, "%s/session-env/%s", t->config_dir, s->id);
	t->results_dir = arena_printf(&s->arena, "%s/%s/tool-results", project_dir, s->id);
	t->tasks_dir = arena_printf(&s->arena, "%s/claude-%u/%s/%s/tasks", temp && temp[0] ? temp : "/tmp",
				    (unsigned)getuid(), key.p, s->id);
}

/* Up to claude-UID, as long as there is nothing in them: what shells in the background printed stays. */
void session_leave_places(struct cadre_session *s)
{
	env_files_remove(&s->tree);
	char *path = s->tree.tasks_dir ? arena_strdup(&s->arena, s->tree.tasks_dir) : NULL;

	for (int i = 0; i < TASKS_DEPTH && path && rmdir(path) == 0; i++)
		*strrchr(path, '/') = '\0';
}

static void on_permissions(struct agent_tree *t, const struct json *updates)
{
	session_update_permissions(t->data, updates);
}

static void on_async_hook(struct agent_tree *t, const struct hook_outcome *outcome)
{
	session_watch_more(t->data, outcome);
}

static void on_idle(struct agent_tree *t)
{
	session_kick(t->data);
}

int session_open_tree(struct cadre_session *s, const char *project_dir, struct err *err)
{
	struct services *sv = s->services;
	const struct options *o = &sv->options;
	struct agent_tree *t = &s->tree;
	const char *limit = getenv("CLAUDE_CODE_MAX_OUTPUT_TOKENS");

	if (open_registry(sv, err) < 0 || app_open_skills(sv, err) < 0 || app_open_hooks(sv, err) < 0)
		return -(int)err->kind;
	if (!sv->state)
		sv->state = state_new(sv->loop, sv->store.config_dir);
	if (!sv->worktrees)
		sv->worktrees = worktree_pool_new(sv->loop, sv->spawner);
	s->project_dir = project_dir;
	find_places(s, project_dir);
	env_files_remove(t); /* of a run that was cut off */
	find_switches(o, &sv->policy, &t->switches);
	session_use_policy(s);
	if (!sv->classifier)
		sv->classifier = classifier_new(sv);
	t->state = t->session_dir ? sv->state : NULL;
	t->kit = &tool_kit;
	t->entrypoint = o->entrypoint ? o->entrypoint : "sdk-cli";
	t->append_system_prompt = o->append_subagent_system_prompt;
	t->parallel_calls = env_number("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", 1, 1000, 0);
	t->retry_deadline_ms = (uint64_t)o->retry_deadline_s * 1000;
	t->budget.limit_usd = o->max_budget_usd;
	if (limit && (!str_to_i64(str_from(limit), &t->max_tokens) || t->max_tokens < 1))
		t->max_tokens = 0;
	t->on_event = session_emit;
	t->on_permissions = on_permissions;
	t->on_async_hook = on_async_hook;
	t->on_idle = on_idle;
	t->data = s;
	session_watch_states(s);
	session_open_checkpoint(s);
	return 0;
}
