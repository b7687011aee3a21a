/* SPDX-License-Identifier: MIT
 * tree_settings.c - what the agents of a session share, from options, settings and environment. */
#include "agents/life/life.h"
#include "guard/sandbox/sandbox.h"
#include "guard/permission/resolved_path.h"
#include "config/settings/settings.h"
#include "core/store/store.h"
#include "defs/policy/permissions.h"
#include "agents/agent/context.h"
#include "agents/agent/hooks.h"
#include "agents/agent/servers.h"
#include "agents/profile/memory.h"
#include "lib/base/id.h"
#include "lib/io/file.h"

enum { USUAL_PATIENCE_MS = 120000 };
enum { TASKS_DEPTH = 3 };                              /* directories of a session's tasks that are ours */
enum { LEAST_WINDOW = 100000, MOST_WINDOW = 1000000 }; /* that the environment may set */

static unsigned env_number(const struct agent_tree *t, const char *variable, unsigned least, unsigned most,
			   unsigned otherwise)
{
	const char *text = agent_tree_variable(t, variable);
	uint64_t n;

	return text && str_to_u64(str_from(text), &n) && n >= least && n <= most ? (unsigned)n : otherwise;
}

static void find_switches(struct agent_tree *t)
{
	const struct services *sv = t->services;
	const struct options *o = &sv->options;
	const struct policy *p = t->policy;
	struct tree_switches *w = &t->switches;
	struct buf *notes = &t->main.notes;
	const char *fork = agent_tree_variable(t, "CLAUDE_CODE_FORK_SUBAGENT");
	const struct json *teams = settings_get(p->settings, "teams.enabled", NULL);
	const struct json *implicit = settings_get(p->settings, "teams.implicit", NULL);

	w->coordinator = policy_coordinates(sv);
	/* An omitted type is a fork only where a user watches and no workers are coordinated; the environment wins. */
	w->fork_mode = o->interactive && !w->coordinator &&
		       (fork && fork[0] ? env_is_on(fork) : settings_bool(p->settings, "subagents.fork"));
	/* A project cannot turn teams on, and false in the settings wins over the environment: docs/settings.md. */
	w->teams = teams ? json_bool(teams)
			 : env_is_on(services_getenv(sv, p->settings, ENV_OWN, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"));
	if (w->teams && w->coordinator)
		buf_addstr(notes, "a coordinator leads no team: coordinator mode holds, and teams are off\n");
	w->teams = w->teams && !w->coordinator;
	w->implicit_team = implicit ? json_bool(implicit) : o->interactive;
	w->lead_only = w->teams && !o->agent_id &&
		       json_str_is(settings_get(p->settings, "teams.leadTools", NULL), "coordinate");
	w->user_plans =
		options_can_ask(o) && json_str_is(settings_get(p->settings, "teams.planApproval", NULL), "user");
	w->background_off = env_is_on(agent_tree_variable(t, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"));
	w->background_default = env_is_on(agent_tree_variable(t, "CADRE_BACKGROUND_DEFAULT"));
	w->background_host = o->background_agents;
	if (env_is_on(agent_tree_variable(t, "CLAUDE_AUTO_BACKGROUND_TASKS")))
		w->patience_ms = USUAL_PATIENCE_MS;
	w->patience_ms = env_number(t, "CLAUDE_AUTO_BACKGROUND_TASKS", 2, 24 * 3600 * 1000, w->patience_ms);
	w->memory_on = agent_memory_is_on(sv, p);
	w->trusted = p->trusted;
	w->forward_text = o->forward_subagent_text;
}

static void use_compact(struct agent_tree *t)
{
	const struct settings *settings = t->policy->settings;
	struct compact_policy *p = &t->compact;
	const char *window = agent_tree_variable(t, "CLAUDE_CODE_AUTO_COMPACT_WINDOW");
	const char *part = agent_tree_variable(t, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE");
	int64_t tokens;
	double percent;

	p->possible = !env_is_on(agent_tree_variable(t, "DISABLE_COMPACT"));
	p->automatic = p->possible && !env_is_on(agent_tree_variable(t, "DISABLE_AUTO_COMPACT")) &&
		       settings_bool(settings, "autoCompactEnabled");
	p->window = settings_i64(settings, "autoCompactWindow");
	if (window && str_to_i64(str_from(window), &tokens))
		p->window = MAX(LEAST_WINDOW, MIN(tokens, MOST_WINDOW));
	else if (p->window)
		p->window = MAX(p->window, (int64_t)COMPACT_WINDOW_LEAST);
	p->percent = part && str_to_double(str_from(part), &percent) && percent > 0 && percent <= 100 ? percent : 0;
	t->main.query.config.compact = *p;
}

void agent_tree_use_policy(struct agent_tree *t)
{
	const struct policy *p = t->policy;
	struct arena *a = &t->policy_arena;

	arena_release(a);
	const char *model = settings_cstr(p->settings, "subagents.defaultModel", a);
	unsigned depth = (unsigned)settings_i64(p->settings, "subagents.maxDepth");
	unsigned alive = (unsigned)settings_i64(p->settings, "subagents.maxAlive");

	permission_use_rules(&t->main.permission, p->rules);
	policy_limit_modes(&t->main.permission, p->settings);
	t->limits = (struct tree_limits){
		/* the environment is closer to the run than a file */
		.depth = env_number(t, "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", 0, 100, depth),
		.alive = env_number(t, "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", 1, 1000000, alive),
		.total = (unsigned)settings_i64(p->settings, "subagents.maxTotal"),
		.agent_usd = settings_double(p->settings, "subagents.maxBudgetUsd"),
		.agent_tokens = settings_i64(p->settings, "subagents.maxTokens"),
	};
	slot_pool_set_cap(&t->slots, t->limits.alive);
	t->switches.trusted = p->trusted;
	struct catalog *const found[] = { t->services->registry, t->skills.registry };
	for (size_t i = 0; i < COUNT_OF(found) && t->services->policy.trusted; i++)
		if (found[i])
			found[i]->sources.held_in = NULL; /* the user may have trusted it since */
	t->allowed_models = settings_get(p->settings, "availableModels", NULL);
	t->main.env.envp = p->envp;
	sandbox_use_policy(t->sandbox, sandbox_policy_new(p->settings, t->main.cwd, t->config_dir));
	sandbox_use_policy(t->cage, sandbox_policy_new(p->settings, t->main.cwd, t->config_dir));
	/* Its rules hold for servers that start before it, and for the definition and the style that it gets. */
	t->main.env.permission = &t->main.permission;
	if (!t->main.permission.root)
		t->main.permission.root = t->main.cwd;
	sandbox_serve_under(t->cage, &t->main.env);
	t->no_shell = t->main.env.no_shell = sandbox_refusal(t->sandbox);
	t->tool_settings = (struct tool_settings){
		.shell = settings_cstr(p->settings, "defaultShell", a),
		.search_ignored = !settings_bool(p->settings, "respectGitignore"),
		.question_ms = (uint64_t)(settings_double(p->settings, "askUserQuestionTimeout") * 1000),
		.fetch_private = settings_bool(p->settings, "webFetch.allowPrivate"),
	};
	t->git_text = p->git_text;
	t->claude_md = settings_cstr(p->settings, "claudeMd", a);
	t->claude_excludes = settings_texts(p->settings, "claudeMdExcludes", a);
	t->worktree.fresh = json_str_is(settings_get(p->settings, "worktree.baseRef", NULL), "fresh");
	t->worktree.symlink_dirs = settings_texts(p->settings, "worktree.symlinkDirectories", a);
	t->worktree.sparse_paths = settings_texts(p->settings, "worktree.sparsePaths", a);
	t->default_model = model && strcmp(model, "inherit") != 0 ? model : NULL;
	t->skills.registry = t->services->skills;
	t->skills.overrides = settings_get(p->settings, "skillOverrides", NULL);
	t->skills.no_commands = settings_bool(p->settings, "disableSkillShellExecution");
	t->skills.fork_in_background = t->services->options.interactive;
	t->skills.listing_part = settings_double(p->settings, "skillListingBudgetFraction");
	t->skills.listing_chars = settings_i64(p->settings, "skillListingMaxDescChars");
	use_compact(t);
	if (t->main.query.config.loop)
		agent_renew_head(&t->main); /* rules decide which tools are offered */
}

/* Inside the project, or in the configuration directory: a setting of the project must not lead elsewhere. No link is in it, so that
 * what becomes one later is another place. */
static const char *find_plans(struct agent_tree *t)
{
	const char *wish = settings_cstr(t->policy->settings, "plansDirectory", t->arena);
	struct resolved_path own = resolved_path_find(t->arena, t->config_dir, STR("plans"));

	if (wish && wish[0]) {
		struct resolved_path dir = resolved_path_find(t->arena, t->project_dir, str_from(wish));
		if (resolved_path_is_inside(t->arena, &dir, t->project_dir))
			return dir.target;
	}
	return own.target ? own.target : own.path;
}

static void find_locations(struct agent_tree *t, const char *session_id, const char *project_dir)
{
	AUTO_BUF struct buf key = { 0 };
	const char *temp = agent_tree_variable(t, "CLAUDE_CODE_TMPDIR");
	const char *list = agent_tree_variable(t, "CLAUDE_CODE_TASK_LIST_ID"); /* several sessions may share a list */
	bool shares_list = list && list[0] && list[0] != '.' && !strchr(list, '/') && strlen(list) < 200;

	store_project_key(&key, str_from(t->main.cwd));
	t->session_id = session_id;
	t->config_dir = t->services->store.config_dir;
	t->project_dir = services_project_dir(t->services, t->arena, t->main.cwd);
	t->plans_dir = find_plans(t);
	t->memory_dir = agent_memory_is_on(t->services, t->policy)
				? conversation_memory_dir(t->arena, t->policy->settings, project_dir)
				: NULL;
	if (t->memory_dir && file_make_dirs(t->memory_dir, 0700, NULL) < 0)
		t->memory_dir = NULL;
	t->managed_dir = t->services->options.managed_dir ? t->services->options.managed_dir : "/etc/claude-code";
	t->session_dir = t->main.journal ? arena_printf(t->arena, "%s/%s", project_dir, t->session_id) : NULL;
	t->agents_dir = t->session_dir ? arena_printf(t->arena, "%s/subagents", t->session_dir) : NULL;
	t->todo_dir = t->session_dir
			      ? arena_printf(t->arena, "%s/tasks/%s", t->config_dir, shares_list ? list : t->session_id)
			      : NULL;
	t->env_dir = arena_printf(t->arena, "%s/session-env/%s", t->config_dir, t->session_id);
	t->results_dir = arena_printf(t->arena, "%s/%s/tool-results", project_dir, t->session_id);
	t->temp_dir = path_temporary(t->arena, temp, t->config_dir);
	t->tasks_dir = arena_printf(t->arena, "%s/%s/%s/tasks", t->temp_dir, key.p, t->session_id);
}

void agent_tree_warn_sandbox(struct agent_tree *t)
{
	const struct sandbox_policy *p = sandbox_get_policy(t->sandbox);
	const char *warning = sandbox_warning(t->sandbox, permission_mode(&t->main.permission), t->arena);
	const char *why = NULL;

	if (t->no_shell)
		buf_addf(&t->main.notes, "%s\n", t->no_shell);
	else if (p->enabled && sandbox_strength(t->sandbox, &why) != SANDBOX_FULL)
		buf_addf(&t->main.notes, "sandbox.enabled: %s: %s\n",
			 sandbox_may_reduce(t->sandbox) ? "commands run in a reduced sandbox"
							: "commands are not confined",
			 why);
	if (warning)
		buf_addf(&t->main.notes, "%s\n", warning);
	for (const char *const *note = p->enabled || p->hooks || p->servers ? p->notes : NULL; note && *note; note++)
		buf_addf(&t->main.notes, "%s\n", *note);
}

const char *agent_tree_sandbox_word(struct agent_tree *t)
{
	if (!t->sandbox || !sandbox_get_policy(t->sandbox)->enabled)
		return NULL;
	return sandbox_strength(t->sandbox, NULL) == SANDBOX_FULL ? "full"
	       : sandbox_may_reduce(t->sandbox)                   ? "reduced"
								  : "none";
}

/* Below claude-UID, as long as there is nothing in them: what shells in the background printed stays. */
void agent_tree_remove_dirs(struct agent_tree *t)
{
	host_questions_close(t);
	servers_close(t);
	sandbox_retire(TAKE(t->cage));
	sandbox_free(TAKE(t->sandbox));
	env_files_remove(t);
	char *path = arena_strdup(t->arena, t->tasks_dir);

	for (int i = 0; i < TASKS_DEPTH && path && rmdir(path) == 0; i++)
		*strrchr(path, '/') = '\0';
}

/* What environment and settings say about thinking, as in agent_tree. */
static const char *usual_thinking(struct agent_tree *t)
{
	const struct providers *providers = &t->services->endpoints.providers;
	const char *tokens = providers_env(providers, "MAX_THINKING_TOKENS");
	int64_t n;

	if (providers_env_is_on(providers, "CLAUDE_CODE_DISABLE_THINKING"))
		return "";
	if (tokens && str_to_i64(str_from(tokens), &n) && n >= 0)
		return n ? arena_strdup(t->arena, tokens) : "";
	return settings_bool(t->policy->settings, "alwaysThinkingEnabled") ? NULL : "";
}

void agent_tree_configure(struct agent_tree *t, const char *session_id, const char *project_dir)
{
	const struct options *o = &t->services->options;
	const char *limit = providers_env(&t->services->endpoints.providers, "CLAUDE_CODE_MAX_OUTPUT_TOKENS");

	find_locations(t, session_id, project_dir);
	env_files_remove(t); /* of a run that was cut off */
	find_switches(t);
	char own[9] = ""; /* of this process: when one is killed, its keeper removes it though the session runs again */
	id_random(own, sizeof own - 1, "0123456789abcdef");
	t->sandbox = sandbox_new(&(struct sandbox_options){ t->services->loop, t->config_dir,
							    arena_printf(t->arena, "%s/tmp-%s", t->tasks_dir, own),
							    t->services->spawner });
	t->cage = sandbox_new(&(struct sandbox_options){ t->services->loop, t->config_dir,
							 arena_printf(t->arena, "%s/cage-%s", t->temp_dir, own),
							 t->services->spawner });
	policy_add_flag_rules(&t->main.permission, o, NULL, NULL); /* servers start before the agent */
	host_questions_open(t);
	const char *host = getenv("CLAUDE_CODE_ENTRYPOINT");
	t->entrypoint = o->entrypoint ? o->entrypoint : host && *host ? host : "sdk-cli";
	t->append_system_prompt = o->append_subagent_system_prompt;
	t->given.system_prompt = o->system_prompt;
	t->given.append_system_prompt = o->append_system_prompt;
	t->given.effort = o->effort;
	t->parallel_calls = env_number(t, "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", 1, 1000, 0);
	t->retry_deadline_ms = (uint64_t)o->retry_deadline_s * 1000;
	t->budget.limit_usd = o->max_budget_usd;
	if (limit && (!str_to_i64(str_from(limit), &t->max_tokens) || t->max_tokens < 1))
		t->max_tokens = 0;
	t->effort = settings_cstr(t->policy->settings, "effortLevel", t->arena);
	t->thinking = o->thinking;
	t->usual_thinking = usual_thinking(t);
	t->thinking_display = o->thinking_display;
	t->task_budget = o->task_budget;
}
