/* SPDX-License-Identifier: MIT
 * options.c - one table of options by name. Values are copied; a later value replaces an earlier one. */
#include "defs/policy/options.h"
#include "defs/agentdef/registry.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "core/model/provider.h"

enum kind {
	TEXT,
	SWITCH,
	NUMBER,
	MONEY,
	MODE,
	DENY_RULES,
	UUID,
	DIRECTORY,
	PLUGIN,
	PLUGIN_NO_MCP,
	PLUGIN_URL,
	PROVIDER,
	SOURCES,
	SERVERS,
	EFFORT,
	THINKING,
	PROMPTS,
	SETUP,
	DISPLAY
};

static const struct option {
	const char *name;
	enum kind kind;
	size_t offset;
} table[] = {
	{ "add-dir", DIRECTORY, 0 },
	{ "agent", TEXT, offsetof(struct options, agent) },
	{ "agents", TEXT, offsetof(struct options, agents) },
	{ "allowed-tools", TEXT, offsetof(struct options, allowed_tools) },
	{ "api-key", TEXT, offsetof(struct options, api_key) },
	{ "allow-dangerously-skip-permissions", SWITCH, offsetof(struct options, may_bypass) },
	{ "append-subagent-system-prompt", TEXT, offsetof(struct options, append_subagent_system_prompt) },
	{ "append-system-prompt", TEXT, offsetof(struct options, append_system_prompt) },
	{ "auth-token", TEXT, offsetof(struct options, auth_token) },
	{ "await-initialize", SWITCH, offsetof(struct options, await_initialize) },
	{ "background-agents", SWITCH, offsetof(struct options, background_agents) },
	{ "base-url", TEXT, offsetof(struct options, base_url) },
	{ "betas", TEXT, offsetof(struct options, betas) },
	{ "channels", TEXT, offsetof(struct options, channels) },
	{ "config-dir", TEXT, offsetof(struct options, config_dir) },
	{ "continue", SWITCH, offsetof(struct options, continue_newest) },
	{ "coordinator", SWITCH, offsetof(struct options, coordinator) },
	{ "cwd", TEXT, offsetof(struct options, cwd) },
	{ "debug", TEXT, offsetof(struct options, debug) },
	{ "debug-file", TEXT, offsetof(struct options, debug_file) },
	{ "disable-slash-commands", SWITCH, offsetof(struct options, no_slash_commands) },
	{ "disallowed-tools", DENY_RULES, offsetof(struct options, disallowed_tools) },
	{ "effort", EFFORT, offsetof(struct options, effort) },
	{ "entrypoint", TEXT, offsetof(struct options, entrypoint) },
	{ "fallback-model", TEXT, offsetof(struct options, fallback_model) },
	{ "fork-session", SWITCH, offsetof(struct options, fork_session) },
	{ "forward-subagent-text", SWITCH, offsetof(struct options, forward_subagent_text) },
	{ "hooks", TEXT, offsetof(struct options, hooks) },
	{ "include-hook-events", SWITCH, offsetof(struct options, hook_events) },
	{ "include-partial-messages", SWITCH, offsetof(struct options, partial_messages) },
	{ "interactive", SWITCH, offsetof(struct options, interactive) },
	{ "json-schema", TEXT, offsetof(struct options, json_schema) },
	{ "managed-dir", TEXT, offsetof(struct options, managed_dir) },
	{ "managed-settings", TEXT, offsetof(struct options, managed_settings) },
	{ "managed-settings-in-initialize", SWITCH, offsetof(struct options, managed_in_initialize) },
	{ "max-budget-usd", MONEY, offsetof(struct options, max_budget_usd) },
	{ "max-thinking-tokens", THINKING, offsetof(struct options, thinking) },
	{ "max-turns", NUMBER, offsetof(struct options, max_turns) },
	{ "mcp-config", SERVERS, 0 },
	{ "model", TEXT, offsetof(struct options, model) },
	{ "name", TEXT, offsetof(struct options, name) },
	{ "no-keeper", SWITCH, offsetof(struct options, no_keeper) },
	{ "no-session-persistence", SWITCH, offsetof(struct options, no_persistence) },
	{ "no-subreaper", SWITCH, offsetof(struct options, no_subreaper) },
	{ "one-run", SWITCH, offsetof(struct options, one_run) },
	{ "permission-mode", MODE, 0 },
	{ "permission-prompt-tool", TEXT, offsetof(struct options, permission_prompt_tool) },
	{ "permission-prompts", PROMPTS, offsetof(struct options, nobody_answers) },
	{ "plugin-dir", PLUGIN, 0 },
	{ "plugin-dir-no-mcp", PLUGIN_NO_MCP, 0 },
	{ "plugin-url", PLUGIN_URL, 0 },
	{ "project-config-root", TEXT, offsetof(struct options, config_root) },
	{ "provider", PROVIDER, offsetof(struct options, provider) },
	{ "raise-descriptor-limit", SWITCH, offsetof(struct options, raise_descriptors) },
	{ "replay-user-messages", SWITCH, offsetof(struct options, replay_user_messages) },
	{ "resume", TEXT, offsetof(struct options, resume) },
	{ "resume-drops-turn", UUID, offsetof(struct options, resume_drops) },
	{ "resume-session-at", UUID, offsetof(struct options, resume_at) },
	{ "retry-deadline", NUMBER, offsetof(struct options, retry_deadline_s) },
	{ "scenario", TEXT, offsetof(struct options, scenario) },
	{ "session-id", UUID, offsetof(struct options, session_id) },
	{ "session-mirror", SWITCH, offsetof(struct options, session_mirror) },
	{ "setting-sources", SOURCES, 0 },
	{ "settings", TEXT, offsetof(struct options, settings) },
	{ "setup", SETUP, offsetof(struct options, setup) },
	{ "single-prompt", SWITCH, offsetof(struct options, single_prompt) },
	{ "strict-mcp-config", SWITCH, offsetof(struct options, strict_mcp_config) },
	{ "system-prompt", TEXT, offsetof(struct options, system_prompt) },
	{ "task-budget", NUMBER, offsetof(struct options, task_budget) },
	{ "thinking-display", DISPLAY, offsetof(struct options, thinking_display) },
	{ "thinking", THINKING, offsetof(struct options, thinking) },
	{ "tools", TEXT, offsetof(struct options, tools) },
	{ "trace", TEXT, offsetof(struct options, trace) },
	{ "trust-project", SWITCH, offsetof(struct options, trust_project) },
};

static const struct option *find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

static int set_number(const struct option *option, const char *value, int64_t *out, struct err *err)
{
	int64_t v;

	if (!str_to_i64(str_from(value), &v) || v < 1)
		return err_set(err, ERR_USAGE, "--%s expects a whole number from 1 on, not '%s'", option->name, value);
	*out = v;
	return 0;
}

static int set_money(const struct option *option, const char *value, double *out, struct err *err)
{
	double v;

	if (!str_to_double(str_from(value), &v) || !(v > 0) || v > 1e9)
		return err_set(err, ERR_USAGE, "--%s expects an amount of money above 0, not '%s'", option->name,
			       value);
	*out = v;
	return 0;
}

/* Checked at once: a rule that forbids must not turn out to be unreadable when it is needed. */
static int set_deny_rules(const struct option *option, const char *value, const char **out, struct options *o,
			  struct err *err)
{
	static const struct rule_origin origin = { .layer = "cliArg" };
	AUTO_ARENA struct arena scratch = { 0 };

	for (struct str rest = str_from(value); rest.p;) {
		struct str text = rule_cut(&rest);
		struct rule rule = { 0 };
		if (text.n && rule_parse(&scratch, RULE_DENY, text, &origin, NULL, NULL, &rule, err) < 0) {
			err->kind = ERR_USAGE;
			return err_wrap(err, "--%s", option->name);
		}
		rule_release(&rule);
	}
	*out = arena_strdup(&o->arena, value);
	return 0;
}

static int set_effort(const char *value, const char **out, struct options *o, struct err *err)
{
	static const char *const levels[] = { "low", "medium", "high", "xhigh", "max" };

	for (size_t i = 0; i < COUNT_OF(levels); i++) {
		if (strcmp(value, levels[i]) != 0)
			continue;
		*out = levels[i];
		return 0;
	}
	(void)o;
	return err_set(err, ERR_USAGE, "--effort expects low, medium, high, xhigh or max, not '%s'", value);
}

/* A word, or a number of tokens; none at all is no thinking. */
static int set_thinking(const struct option *option, const char *value, const char **out, struct options *o,
			struct err *err)
{
	int64_t tokens;

	if (!strcmp(value, "adaptive") || !strcmp(value, "disabled"))
		*out = arena_strdup(&o->arena, value);
	else if (!strcmp(value, "enabled"))
		*out = "adaptive";
	else if (str_to_i64(str_from(value), &tokens) && tokens >= 0)
		*out = tokens ? arena_strdup(&o->arena, value) : "disabled";
	else
		return err_set(err, ERR_USAGE, "--%s expects adaptive, disabled or a number of tokens, not '%s'",
			       option->name, value);
	return 0;
}

static int set_prompts(const char *value, bool *out, struct err *err)
{
	*out = !strcmp(value, "none");
	if (!*out && strcmp(value, "host") != 0)
		return err_set(err, ERR_USAGE, "--permission-prompts expects host or none, not '%s'", value);
	return 0;
}

/* highlights is a way of services that host sessions. */
static int set_display(const char *value, const char **out, struct err *err)
{
	bool omitted = !strcmp(value, "omitted");

	if (!omitted && strcmp(value, "summarized") != 0)
		return err_set(err, ERR_USAGE, "--thinking-display expects summarized or omitted, not '%s'", value);
	*out = omitted ? "omitted" : "summarized";
	return 0;
}

static int set_setup(const char *value, const char **out, struct err *err)
{
	bool init = !strcmp(value, "init");

	if (!init && strcmp(value, "maintenance") != 0)
		return err_set(err, ERR_USAGE, "setup expects init or maintenance, not '%s'", value);
	*out = init ? "init" : "maintenance";
	return 0;
}

static int set_provider(const char *value, const char **out, struct options *o, struct err *err)
{
	AUTO_BUF struct buf names = { 0 };

	if (provider_find(str_from(value))) {
		*out = arena_strdup(&o->arena, value);
		return 0;
	}
	for (size_t i = 0; provider_table[i]; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", provider_table[i]->name);
	return err_set(err, ERR_USAGE, "unknown provider '%s': expected one of %s", value, names.p);
}

static void add_to_list(struct options *o, const char ***list, size_t *count, const char *value)
{
	const char **longer = arena_alloc(&o->arena, (*count + 1) * sizeof *longer);

	if (*count)
		memcpy(longer, *list, *count * sizeof *longer);
	longer[(*count)++] = arena_strdup(&o->arena, value);
	*list = longer;
}

static void add_plugin(struct options *o, const char *value, enum kind kind)
{
	struct plugin_given *all = arena_alloc(&o->arena, (o->plugin_dir_count + 1) * sizeof *all);

	if (o->plugin_dir_count)
		memcpy(all, o->plugin_dirs, o->plugin_dir_count * sizeof *all);
	all[o->plugin_dir_count++] = (struct plugin_given){ .path = arena_strdup(&o->arena, value),
							    .no_mcp = kind == PLUGIN_NO_MCP,
							    .is_url = kind == PLUGIN_URL };
	o->plugin_dirs = all;
}

static void take_back(struct options *o, const struct option *option, void *at)
{
	if (option->kind == MODE)
		o->permission_mode = PERMISSION_DEFAULT, o->mode_given = false;
	else if (option->kind == DIRECTORY)
		o->add_dir_count = 0;
	else if (option->kind == PLUGIN || option->kind == PLUGIN_NO_MCP || option->kind == PLUGIN_URL)
		o->plugin_dir_count = 0;
	else if (option->kind == SERVERS)
		o->mcp_config_count = 0;
	else if (option->kind == SOURCES)
		o->some_sources = false;
	else if (option->kind == SWITCH || option->kind == PROMPTS)
		*(bool *)at = false;
	else if (option->kind == MONEY)
		*(double *)at = 0;
	else if (option->kind == NUMBER)
		*(int64_t *)at = 0;
	else
		*(const char **)at = NULL;
}

int options_set(struct options *o, const char *name, const char *value, struct err *err)
{
	const struct option *option = find(name);
	char *at = option ? (char *)o + option->offset : NULL;

	if (!option)
		return err_set(err, ERR_USAGE, "unknown option '%s'", name);
	if (!value) {
		take_back(o, option, at);
		return 0;
	}
	switch (option->kind) {
	case SWITCH:
		*(bool *)(void *)at = true;
		return 0;
	case NUMBER:
		return set_number(option, value, (int64_t *)(void *)at, err);
	case MONEY:
		return set_money(option, value, (double *)(void *)at, err);
	case MODE:
		o->mode_given = true;
		if (!permission_mode_parse(str_from(value), &o->permission_mode))
			return err_set(
				err, ERR_USAGE,
				"unknown permission mode '%s': expected default, acceptEdits, plan, dontAsk, auto "
				"or bypassPermissions",
				value);
		return permission_check_mode(o->permission_mode, err);
	case DENY_RULES:
		return set_deny_rules(option, value, (const char **)(void *)at, o, err);
	case UUID:
		if (!id_is_uuid(str_from(value)))
			return err_set(err, ERR_USAGE, "--%s expects an id (a UUID), not '%s'", name, value);
		*(const char **)(void *)at = arena_strdup(&o->arena, value);
		return 0;
	case DIRECTORY:
		add_to_list(o, &o->add_dirs, &o->add_dir_count, value);
		return 0;
	case PLUGIN:
	case PLUGIN_NO_MCP:
	case PLUGIN_URL:
		add_plugin(o, value, option->kind);
		return 0;
	case SERVERS:
		add_to_list(o, &o->mcp_configs, &o->mcp_config_count, value);
		return 0;
	case SOURCES:
		o->some_sources = true;
		return setting_sources_parse(str_from(value), &o->setting_sources, err);
	case PROMPTS:
		return set_prompts(value, (bool *)(void *)at, err);
	case DISPLAY:
		return set_display(value, (const char **)(void *)at, err);
	case SETUP:
		return set_setup(value, (const char **)(void *)at, err);
	case EFFORT:
		return set_effort(value, (const char **)(void *)at, o, err);
	case THINKING:
		return set_thinking(option, value, (const char **)(void *)at, o, err);
	case PROVIDER:
		return set_provider(value, (const char **)(void *)at, o, err);
	case TEXT:
		break;
	}
	*(const char **)(void *)at = arena_strdup(&o->arena, value);
	return 0;
}

int options_directories(const struct options *o, struct arena *a, const char **ret_cwd, const char **ret_config,
			struct err *err)
{
	const char *config = o->config_dir ? o->config_dir : getenv("CLAUDE_CONFIG_DIR");
	const char *home = getenv("HOME");
	AUTO_FREE char *here = getcwd(NULL, 0);

	if (!o->cwd && !here)
		return err_set(err, ERR_IO, "the working directory cannot be found: %m");
	if (!config || !config[0]) {
		if (!home || !home[0])
			return err_set(err, ERR_USAGE, "HOME is not set: set it, or CLAUDE_CONFIG_DIR");
		config = arena_printf(a, "%s/.claude", home);
	}
	*ret_cwd = path_absolute(a, here ? here : "/", str_from(o->cwd ? o->cwd : here));
	*ret_config = path_absolute(a, *ret_cwd, str_from(config));
	return 0;
}

void options_release(struct options *o)
{
	arena_release(&o->arena);
}
