/* SPDX-License-Identifier: MIT
 * policy.c - compiles the settings. */
#include "defs/policy/policy.h"
#include "core/model/providers.h"
#include "defs/policy/permissions.h"
#include "defs/policy/plugins.h"
#include "defs/policy/sources.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

static void policy_warn(void *data, const char *message)
{
	struct policy *p = data;

	buf_addf(&p->notes, "%s\n", message);
}

struct sources {
	struct hook_source *list; /* the highest first; has room for one of each file and of the host */
	size_t count;
	bool plugins_only; /* managed settings allow those of plugins, and their own */
};

static void add_source(void *data, const struct settings_view *view)
{
	static const enum hook_layer layers[] = { [LAYER_USER] = HOOK_FROM_USER,
						  [LAYER_PROJECT] = HOOK_FROM_PROJECT,
						  [LAYER_LOCAL] = HOOK_FROM_LOCAL,
						  [LAYER_FLAG] = HOOK_FROM_FLAG,
						  [LAYER_MANAGED] = HOOK_FROM_MANAGED };
	struct sources *s = data;
	enum settings_layer layer = view->origin.layer;

	if (!view->value || view->why || (s->plugins_only && layer != LAYER_MANAGED))
		return;
	s->list = xrealloc(s->list, (s->count + 1) * sizeof *s->list);
	s->list[s->count++] = (struct hook_source){
		.layer = layers[layer],
		.file = view->origin.file,
		.hooks = view->value,
		.lines = view->file,
		.trusted = true,
	};
}

void policy_warn_hooks(const struct settings *s, settings_warn_fn *warn, void *data)
{
	AUTO_ARENA struct arena a = { 0 };
	struct diagnostics problems = { .arena = &a };
	struct sources sources = { 0 };

	settings_explain(s, "hooks", add_source, &sources);
	hook_set_unref(hook_set_new(sources.list, sources.count, NULL, &problems));
	free(sources.list);
	for (size_t i = 0; i < problems.count; i++)
		warn(data, problems.list[i].message);
}

/* Hooks run in this order: those of plugins, of the files from the lowest on, of the host, which is above all files.
 * A guard of a settings file that cannot be read is an error: nothing would stop what it was meant to stop. */
static int compile_hooks(struct services *sv, struct policy *p, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct diagnostics problems = { .arena = &p->arena };
	struct sources sources = { .plugins_only = policy_plugins_only(p->settings, "hooks") };
	struct settings_origin origin;
	const struct json *root;
	const char *host = p->options.hooks;
	size_t n = plugin_list_hook_count(sv->plugins);

	bool off = json_bool(settings_get(p->settings, "disableAllHooks", &origin));
	p->hook_policy = (struct hook_policy){
		.disable_all = off,
		.disable_managed = off && origin.layer == LAYER_MANAGED,
		.managed_only = settings_bool(p->settings, "allowManagedHooksOnly"),
		.http_urls = settings_texts(p->settings, "allowedHttpHookUrls", &p->arena),
		.http_env = settings_texts(p->settings, "httpHookAllowedEnvVars", &p->arena),
	};
	settings_explain(p->settings, "hooks", add_source, &sources);
	struct hook_source *all = arena_calloc(&p->arena, (n + sources.count + 1) * sizeof *all);
	plugin_list_hooks(sv->plugins, all);
	while (sources.count)
		all[n++] = sources.list[--sources.count];
	free(sources.list);
	if (host && json_parse(&reader, host, strlen(host), &root, NULL) == 0)
		all[n++] = (struct hook_source){
			.layer = HOOK_FROM_SDK, .file = "the host", .hooks = root, .trusted = true
		};
	if (n)
		p->hooks = hook_set_new(all, n, &p->hook_policy, &problems);
	for (size_t i = 0; i < problems.count; i++) {
		const struct diagnostic *problem = &problems.list[i];
		enum hook_layer from = ((const struct hook_source *)problem->about)->layer;
		if (problem->level == DIAGNOSTIC_ERROR && from != HOOK_FROM_PLUGIN && from != HOOK_FROM_SDK)
			return err_set(err, ERR_USAGE,
				       "%.160s; agents do not run until this is right (`cadre config explain hooks`)",
				       problem->message);
		buf_addf(&p->notes, "%s (`cadre %s`)\n", problem->message,
			 from == HOOK_FROM_PLUGIN ? "plugin list" : "config explain hooks");
	}
	return 0;
}

struct env {
	struct arena *arena;
	struct map vars; /* name -> "NAME=VALUE", in the arena */
};

static void env_set(struct env *e, const char *name, const char *value)
{
	(void)map_set(&e->vars, str_from(name), arena_printf(e->arena, "%s=%s", name, value));
}

static void set_variable(void *data, const struct settings_var *var)
{
	if (!var->held)
		env_set(data, var->name, var->value);
}

/* Variables that commands and servers do not get: keys of models and of providers, and what sandbox.credentials denies. A file of the user may give one
 * back ({"name": N, "mode": "allow"}); denied names win. */
struct scrub {
	struct arena *arena;
	const char **provider_keys; /* variables that hold the keys of providers */
	size_t provider_key_count;
	struct name_row {
		struct str name;
		bool allowed;
		struct name_row *next;
	} * names;
};

static void read_credentials(void *data, const struct settings_item *item)
{
	struct scrub *s = data;
	bool own = item->origin.layer != LAYER_PROJECT && item->origin.layer != LAYER_LOCAL;

	if (!json_str_is(item->key, "envVars"))
		return;
	for (const struct json *one = json_first(item->value); one; one = json_next(item->value, one)) {
		bool allowed = json_str_is(json_get(one, "mode"), "allow");
		if (allowed && !own)
			continue;
		struct name_row *row = arena_calloc(s->arena, sizeof *row);
		const struct json *name = json_is(one, JSON_STRING) ? one : json_get(one, "name");
		*row = (struct name_row){ json_str(name, s->arena), allowed, s->names };
		s->names = row;
	}
}

static void add_provider_key(struct scrub *s, const char *variable)
{
	if (variable)
		*arena_push(s->arena, s->provider_keys, s->provider_key_count) = variable;
}

static bool is_scrubbed(const struct scrub *s, struct str name)
{
	bool allowed = false;

	for (const struct name_row *row = s->names; row; row = row->next) {
		if (!str_eq(row->name, name))
			continue;
		if (!row->allowed)
			return true;
		allowed = true;
	}
	for (size_t i = 0; i < s->provider_key_count && !allowed; i++)
		if (str_is(name, s->provider_keys[i]))
			return true;
	return !allowed && env_is_model_key(name);
}

/* A copy of the process's environment, because the host may change that at any time; then what clients have set, the settings
 * and the directories of plugins. */
static void make_env(const struct services *sv, struct policy *p)
{
	enum env_trust trust = policy_env_trust(p);
	struct env env = { .arena = &p->env_arena };

	for (char **each = environ; *each; each++) {
		struct str name = { *each, strcspn(*each, "=") };
		if (!map_get(&env.vars, name)) /* the first of a name is that of getenv() */
			(void)map_set(&env.vars, name, arena_strdup(env.arena, *each));
	}
	for (const struct variable *v = sv->variables; v; v = v->next)
		env_set(&env, v->name, v->value);
	settings_env_each(p->settings, trust, set_variable, &env);
	const char *path = services_getenv(sv, p->settings, trust, "PATH");
	path = sv->plugins ? plugin_list_path(sv->plugins, env.arena, path) : NULL;
	if (path)
		env_set(&env, "PATH", path);
	struct scrub scrub = { .arena = &p->env_arena };
	settings_each(p->settings, "sandbox.credentials", read_credentials, &scrub);
	const struct json *own = settings_get(p->settings, "providers", NULL);
	for (const struct provider *const *each = provider_table; *each; each++) {
		add_provider_key(&scrub, (*each)->env.api_key);
		add_provider_key(&scrub, (*each)->env.auth_token);
	}
	for (struct json_member m = json_members(own); m.key; m = json_member_next(own, m))
		add_provider_key(&scrub, json_cstr(json_get(m.value, "keyEnv"), scrub.arena));
	const char **all = arena_calloc(env.arena, (env.vars.count + 1) * sizeof *all);
	const char **kept = arena_calloc(env.arena, (env.vars.count + 1) * sizeof *kept);
	p->own_envp = all;
	p->envp = kept;
	for (struct map_entry *e = map_next(&env.vars, NULL); e; e = map_next(&env.vars, e)) {
		*all++ = e->value;
		if (!is_scrubbed(&scrub, (struct str){ e->key, e->key_len }))
			*kept++ = e->value;
	}
	map_release(&env.vars);
}

static void renew_env(const struct services *sv, struct policy *p)
{
	struct arena old = p->env_arena;

	if (!p->settings)
		return;
	p->env_arena = (struct arena){ 0 };
	make_env(sv, p);
	arena_release(&old);
}

void policy_renew_env(struct services *sv)
{
	renew_env(sv, &sv->policy);
	for (struct policy *p = sv->policies; p; p = p->next)
		renew_env(sv, p);
}

/* In the environment section of agents that can commit. */
static const char *write_git_text(struct policy *p)
{
	const struct settings *settings = p->settings;
	const char *commit = settings_cstr(settings, "attribution.commit", &p->arena);
	const char *pr = settings_cstr(settings, "attribution.pr", &p->arena);
	AUTO_BUF struct buf text = { 0 };

	if (!settings_bool(settings, "includeGitInstructions"))
		return NULL;
	buf_addstr(
		&text,
		"# Git\nCommit only when the user asks for it, and push only when the user asks for that. Before a "
		"commit look at git status, git diff and git log; add the files of the change by name, and say in the "
		"message why it was made. Do not change the configuration of git, do not skip hooks, and do not rewrite "
		"commits that you did not make.\n");
	if (!commit && settings_bool(settings, "includeCoAuthoredBy"))
		commit = "Co-Authored-By: Claude <noreply@anthropic.com>";
	if (commit && commit[0])
		buf_addf(&text, "End the message of each commit with an empty line and these lines:\n%s\n", commit);
	if (pr && pr[0])
		buf_addf(&text, "End the description of each pull request with an empty line and these lines:\n%s\n",
			 pr);
	return arena_str(&p->arena, buf_str(&text)).p;
}

static void warn_flag_rule(void *data, const char *message)
{
	struct policy *p = data;

	buf_addf(&p->notes, "command line: %s (`cadre permissions list`)\n", message);
}

/* Takes settings. *p need not be initialised. */
static int policy_compile(struct services *sv, const struct options *o, struct settings *settings, struct policy *p,
			  struct err *err)
{
	struct err refusal = { 0 };

	*p = (struct policy){ .settings = settings, .trusted = settings_trusted(settings), .options = *o };
	policy_warn_settings(settings, policy_warn, p);
	int status = settings_refusal(settings, err);
	if (status == 0)
		p->rules = policy_rules(settings, policy_warn, p, &refusal);
	if (refusal.text[0])
		status = err_set(err, ERR_USAGE, "%s", refusal.text);
	if (status == 0)
		status = compile_hooks(sv, p, err);
	if (status < 0) {
		policy_release(p);
		return status;
	}
	struct permission flags = { 0 };
	policy_add_flag_rules(&flags, o, warn_flag_rule, p);
	permission_release(&flags);
	make_env(sv, p);
	p->git_text = write_git_text(p);
	return 0;
}

/* The same as a policy of its own. */
static int policy_compile_new(struct services *sv, const struct options *o, struct settings *settings,
			      struct policy **ret, struct err *err)
{
	struct policy *p = xmalloc(sizeof *p);
	int status = policy_compile(sv, o, settings, p, err);

	if (status < 0)
		free(p);
	else
		*ret = p;
	return status;
}

int policy_load(struct services *sv, struct err *err)
{
	struct settings *settings;

	if (sv->policy.settings)
		return 0;
	if (services_settings(sv, &settings, err) < 0)
		return -(int)err->kind;
	if (services_open_plugins(sv, settings, err) < 0) {
		settings_unref(settings);
		return -(int)err->kind;
	}
	return policy_compile(sv, &sv->options, settings, &sv->policy, err);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether sessions with these options have the same settings, hooks and servers. */
static bool is_for(const struct policy *p, const struct options *o, const struct catalog_sources *sources)
{
	static const size_t texts[] = {
		offsetof(struct options, settings),
		offsetof(struct options, managed_settings),
		offsetof(struct options, hooks),
		offsetof(struct options, allowed_tools),
		offsetof(struct options, disallowed_tools),
		offsetof(struct options, permission_prompt_tool),
	};
	static const size_t switches[] = {
		offsetof(struct options, trust_project),     offsetof(struct options, interactive),
		offsetof(struct options, strict_mcp_config), offsetof(struct options, may_bypass),
		offsetof(struct options, no_answers),
	};
	const struct options *own = &p->options;
	const struct settings_spec *files = settings_source(p->settings);
	bool same = same_text(files->cwd, sources->cwd) && same_text(files->config_dir, sources->config_dir) &&
		    same_text(files->managed_dir, sources->managed_dir) && files->sources == sources->setting_sources &&
		    files->sdk == sources->sdk && own->permission_mode == o->permission_mode &&
		    own->mcp_config_count == o->mcp_config_count;

	for (size_t i = 0; same && i < COUNT_OF(texts); i++)
		same = same_text(*(const char *const *)((const char *)own + texts[i]),
				 *(const char *const *)((const char *)o + texts[i]));
	for (size_t i = 0; same && i < COUNT_OF(switches); i++)
		same = *((const bool *)own + switches[i]) == *((const bool *)o + switches[i]);
	for (size_t i = 0; same && i < o->mcp_config_count; i++)
		same = same_text(own->mcp_configs[i], o->mcp_configs[i]);
	return same;
}

int policy_open(struct services *sv, struct policy **ret_policy, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct catalog_sources sources;
	struct settings *settings;
	struct policy *p = &sv->policy;

	if (policy_load(sv, err) < 0 || services_agent_sources(sv, &a, &sources, err) < 0)
		return -(int)err->kind;
	if (!is_for(p, &sv->options, &sources))
		for (p = sv->policies; p && !is_for(p, &sv->options, &sources);)
			p = p->next;
	if (!p) {
		if (services_settings(sv, &settings, err) < 0 ||
		    policy_compile_new(sv, &sv->options, settings, &p, err) < 0)
			return -(int)err->kind;
		p->next = sv->policies;
		sv->policies = p;
	}
	*ret_policy = policy_ref(p);
	return 0;
}

void policy_unref(struct services *sv, struct policy *p)
{
	if (!p || p == &sv->policy || --p->refs)
		return;
	list_drop(&sv->policies, p);
	policy_release(p);
	free(p);
}

int policy_look(struct services *sv, struct policy *p, struct policy **ret_changed, struct err *err)
{
	struct settings *settings = settings_ref(p->seen ? p->seen : p->settings);
	int status = settings_refresh(&settings, err);

	if (status <= 0) {
		settings_unref(settings);
		return status;
	}
	status = policy_compile_new(sv, &p->options, settings, ret_changed, err);
	return status < 0 ? status : 1;
}

int policy_renew(struct services *sv, struct policy *p, struct policy **ret_changed, struct err *err)
{
	struct options now = sv->options;
	struct settings *settings;

	sv->options = p->options; /* files are found by them */
	sv->options.arena = now.arena;
	int status = services_settings(sv, &settings, err);
	now.arena = sv->options.arena;
	sv->options = now;
	return status < 0 ? status : policy_compile_new(sv, &p->options, settings, ret_changed, err);
}

void policy_adopt(struct policy *p, struct policy *changed)
{
	struct policy old = *p;

	*p = *changed;
	p->generation = old.generation + 1;
	p->next = old.next;
	p->refs = old.refs;
	p->mcp_config = TAKE(old.mcp_config);
	policy_release(&old);
	free(changed);
}

void policy_decline(struct policy *p, struct policy *changed)
{
	settings_unref(p->seen);
	p->seen = settings_ref(changed->settings);
	policy_release(changed);
	free(changed);
}

void policy_release(struct policy *p)
{
	settings_unref(p->settings);
	settings_unref(p->seen);
	rule_set_unref(p->rules);
	hook_set_unref(p->hooks);
	mcp_config_free(p->mcp_config);
	buf_release(&p->notes);
	arena_release(&p->env_arena);
	arena_release(&p->arena);
	*p = (struct policy){ 0 };
}
