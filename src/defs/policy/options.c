/* SPDX-License-Identifier: MIT
 * options.c - one table of options by name. Values are copied; a later value replaces an earlier one. */
#include "defs/policy/options.h"
#include "lib/base/id.h"
#include "lib/io/file.h"

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
	SOURCES,
	SERVERS,
	THINKING,
	CHOICE,  /* a text, one of choices */
	PROMPTS, /* a switch: the last of choices sets it */
	PROMPT_TOOL,
};

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define AT(member) offsetof(struct options, member), NULL

static const struct option {
	const char *name;
	enum kind kind;
	size_t offset;
	const char *const *choices;
} option_table[] = {
	{ "add-dir", DIRECTORY, 0, NULL },
	{ "agent", TEXT, AT(agent) },
	{ "agent-color", TEXT, AT(agent_color) },
	{ "agent-id", TEXT, AT(agent_id) },
	{ "agent-name", TEXT, AT(agent_name) },
	{ "agent-type", TEXT, AT(agent_type) },
	{ "agents", TEXT, AT(agents) },
	{ "allowed-tools", TEXT, AT(allowed_tools) },
	{ "api-key", TEXT, AT(api_key) },
	{ "allow-dangerously-skip-permissions", SWITCH, AT(may_bypass) },
	{ "allow-cut-prompt", SWITCH, AT(allow_cut_prompt) },
	{ "allow-unknown-price", SWITCH, AT(allow_unknown_price) },
	{ "append-subagent-system-prompt", TEXT, AT(append_subagent_system_prompt) },
	{ "append-system-prompt", TEXT, AT(append_system_prompt) },
	{ "auth-token", TEXT, AT(auth_token) },
	{ "await-initialize", SWITCH, AT(await_initialize) },
	{ "background-agents", SWITCH, AT(background_agents) },
	{ "base-url", TEXT, AT(base_url) },
	{ "betas", TEXT, AT(betas) },
	{ "channels", TEXT, AT(channels) },
	{ "config-dir", TEXT, AT(config_dir) },
	{ "continue", SWITCH, AT(continue_newest) },
	{ "coordinator", SWITCH, AT(coordinator) },
	{ "cwd", TEXT, AT(cwd) },
	{ "debug", TEXT, AT(debug) },
	{ "debug-file", TEXT, AT(debug_file) },
	{ "disable-slash-commands", SWITCH, AT(no_slash_commands) },
	{ "disallowed-tools", DENY_RULES, AT(disallowed_tools) },
	{ "effort", CHOICE, offsetof(struct options, effort), WORDS("low", "medium", "high", "xhigh", "max") },
	{ "entrypoint", TEXT, AT(entrypoint) },
	{ "fallback-model", TEXT, AT(fallback_model) },
	{ "fork-session", SWITCH, AT(fork_session) },
	{ "forward-subagent-text", SWITCH, AT(forward_subagent_text) },
	{ "hooks", TEXT, AT(hooks) },
	{ "include-hook-events", SWITCH, AT(hook_events) },
	{ "include-partial-messages", SWITCH, AT(partial_messages) },
	{ "initialize-fields", TEXT, AT(initialize_fields) },
	{ "interactive", SWITCH, AT(interactive) },
	{ "json-schema", TEXT, AT(json_schema) },
	{ "lead-process", TEXT, AT(lead_process) },
	{ "managed-dir", TEXT, AT(managed_dir) },
	{ "managed-settings", TEXT, AT(managed_settings) },
	{ "managed-settings-in-initialize", SWITCH, AT(managed_in_initialize) },
	{ "max-budget-usd", MONEY, AT(max_budget_usd) },
	{ "max-thinking-tokens", THINKING, AT(thinking) },
	{ "max-turns", NUMBER, AT(max_turns) },
	{ "mcp-config", SERVERS, 0, NULL },
	{ "model", TEXT, AT(model) },
	{ "name", TEXT, AT(name) },
	{ "no-keeper", SWITCH, AT(no_keeper) },
	{ "no-session-persistence", SWITCH, AT(no_persistence) },
	{ "no-subreaper", SWITCH, AT(no_subreaper) },
	{ "one-run", SWITCH, AT(one_run) },
	{ "parent-session-id", UUID, AT(parent_session_id) },
	{ "permission-mode", MODE, 0, NULL },
	{ "permission-prompt-tool", PROMPT_TOOL, AT(permission_prompt_tool) },
	{ "permission-prompts", PROMPTS, offsetof(struct options, no_answers), WORDS("host", "none") },
	{ "plan-mode-required", SWITCH, AT(plan_mode_required) },
	{ "plugin-dir", PLUGIN, 0, NULL },
	{ "plugin-dir-no-mcp", PLUGIN_NO_MCP, 0, NULL },
	{ "plugin-url", PLUGIN_URL, 0, NULL },
	{ "project-config-root", TEXT, AT(config_root) },
	{ "provider", TEXT, AT(provider) },
	{ "raise-descriptor-limit", SWITCH, AT(raise_descriptors) },
	{ "replay-user-messages", SWITCH, AT(replay_user_messages) },
	{ "resume", TEXT, AT(resume) },
	{ "resume-drops-turn", UUID, AT(resume_drops) },
	{ "resume-session-at", UUID, AT(resume_at) },
	{ "retry-deadline", NUMBER, AT(retry_deadline_s) },
	{ "scenario", TEXT, AT(scenario) },
	{ "session-id", UUID, AT(session_id) },
	{ "session-mirror", SWITCH, AT(session_mirror) },
	{ "setting-sources", SOURCES, 0, NULL },
	{ "settings", TEXT, AT(settings) },
	{ "setup", CHOICE, offsetof(struct options, setup), WORDS("init", "maintenance") },
	{ "single-prompt", SWITCH, AT(single_prompt) },
	{ "skills", TEXT, AT(skills) },
	{ "strict-mcp-config", SWITCH, AT(strict_mcp_config) },
	{ "system-prompt", TEXT, AT(system_prompt) },
	{ "task-budget", NUMBER, AT(task_budget) },
	{ "team-name", TEXT, AT(team_name) },
	{ "teammate-mode", CHOICE, offsetof(struct options, teammate_mode),
	  WORDS("in-process", "auto", "tmux", "iterm2") },
	{ "thinking-display", CHOICE, offsetof(struct options, thinking_display), WORDS("summarized", "omitted") },
	{ "thinking", THINKING, AT(thinking) },
	{ "tools", TEXT, AT(tools) },
	{ "trace", TEXT, AT(trace) },
	{ "trust-project", SWITCH, AT(trust_project) },
};

static void add_to_list(struct options *o, const char ***list, size_t *count, const char *value)
{
	*list = arena_grow(&o->arena, *list, *count, sizeof **list);
	(*list)[(*count)++] = arena_strdup(&o->arena, value);
}

/* As if the option had never been set. */
static void options_reset(struct options *o, const struct option *option)
{
	void *at = (char *)o + option->offset;

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

/* Whether a text is one that the option takes; *value becomes the text to keep. */
static int option_check(const struct option *option, const char **value, struct err *err)
{
	static const struct rule_origin origin = { .layer = "cliArg" };
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf names = { 0 };
	const char *const *choices = option->choices;
	struct str text = str_from(*value);
	int64_t tokens;

	switch (option->kind) {
	case UUID:
		if (!id_is_uuid(text))
			return err_set(err, ERR_USAGE, "--%s expects an id (a UUID), not '%s'", option->name, *value);
		return 0;
	case CHOICE:
	case PROMPTS:
		for (size_t i = 0; choices[i]; i++) {
			if (str_is(text, choices[i])) {
				*value = choices[i]; /* a constant: sessions borrow it */
				return 0;
			}
			buf_addf(&names, "%s%s", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
		}
		return err_set(err, ERR_USAGE, "--%s expects %s, not '%s'", option->name, names.p, *value);
	case THINKING: /* a word, or a number of tokens; none at all is no thinking */
		if (str_is(text, "enabled"))
			*value = "adaptive";
		else if (str_to_i64(text, &tokens) && tokens >= 0)
			*value = tokens ? *value : "disabled";
		else if (!str_is(text, "adaptive") && !str_is(text, "disabled"))
			return err_set(err, ERR_USAGE,
				       "--%s expects adaptive, disabled or a number of tokens, not '%s'", option->name,
				       *value);
		return 0;
	case PROMPT_TOOL: /* at once: with another name a question would have no one to answer it */
		if (!str_is(text, "stdio") && !str_starts(text, STR("mcp__")))
			return err_set(err, ERR_USAGE, "--%s expects stdio or mcp__SERVER__TOOL, not '%s'",
				       option->name, *value);
		return 0;
	case DENY_RULES: /* at once: a rule that forbids must not turn out to be unreadable when it is needed */
		while (text.p) {
			struct str one = rule_cut(&text);
			struct rule rule = { 0 };
			if (one.n && rule_parse(&scratch, RULE_DENY, one, &origin, NULL, NULL, &rule, err) < 0) {
				err->kind = ERR_USAGE;
				return err_wrap(err, "--%s", option->name);
			}
			rule_release(&rule);
		}
		return 0;
	default:
		return 0;
	}
}

int options_set(struct options *o, const char *name, const char *value, struct err *err)
{
	const struct option *option = NULL;

	for (size_t i = 0; i < COUNT_OF(option_table) && !option; i++)
		if (!strcmp(option_table[i].name, name))
			option = &option_table[i];
	if (!option)
		return err_set(err, ERR_USAGE, "unknown option '%s'", name);
	if (!value) {
		options_reset(o, option);
		return 0;
	}
	void *at = (char *)o + option->offset;
	double amount;
	int64_t number;
	int status = option_check(option, &value, err);
	if (status < 0)
		return status;
	switch (option->kind) {
	case SWITCH:
		*(bool *)at = true;
		return 0;
	case PROMPTS:
		*(bool *)at = !strcmp(value, option->choices[1]);
		return 0;
	case NUMBER:
		if (!str_to_i64(str_from(value), &number) || number < 1)
			return err_set(err, ERR_USAGE, "--%s expects a whole number from 1 on, not '%s'", name, value);
		*(int64_t *)at = number;
		return 0;
	case MONEY:
		if (!str_to_double(str_from(value), &amount) || !(amount > 0) || amount > 1e9)
			return err_set(err, ERR_USAGE, "--%s expects an amount of money above 0, not '%s'", name,
				       value);
		*(double *)at = amount;
		return 0;
	case MODE:
		o->mode_given = true;
		if (!permission_mode_parse(str_from(value), &o->permission_mode))
			return err_set(err, ERR_USAGE, PERMISSION_MODE_UNKNOWN, value);
		return permission_check_mode(o->permission_mode, err);
	case DIRECTORY:
		add_to_list(o, &o->add_dirs, &o->add_dir_count, value);
		return 0;
	case SERVERS:
		add_to_list(o, &o->mcp_configs, &o->mcp_config_count, value);
		return 0;
	case PLUGIN:
	case PLUGIN_NO_MCP:
	case PLUGIN_URL:
		*arena_push(&o->arena, o->plugin_dirs, o->plugin_dir_count) =
			(struct plugin_given){ .path = arena_strdup(&o->arena, value),
					       .no_mcp = option->kind == PLUGIN_NO_MCP,
					       .is_url = option->kind == PLUGIN_URL };
		return 0;
	case SOURCES:
		o->some_sources = true;
		o->setting_sources_text = arena_strdup(&o->arena, value);
		return setting_sources_parse(str_from(value), &o->setting_sources, err);
	case CHOICE:
		*(const char **)at = value;
		return 0;
	default:
		*(const char **)at = arena_strdup(&o->arena, value);
		return 0;
	}
}

int options_directories(const struct options *o, struct arena *a, const char **ret_cwd, const char **ret_config,
			struct err *err)
{
	const char *variable = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");
	const char *config = o->config_dir ? o->config_dir : variable;
	AUTO_FREE char *here = getcwd(NULL, 0);

	if (!o->cwd && !here)
		return err_set(err, ERR_IO, "the working directory cannot be found: %m");
	if (home && home[0] && home[0] != '/') /* or the project could bring what the user says */
		return err_set(err, ERR_USAGE, "HOME is not an absolute path: %s", home);
	if (!o->config_dir && variable && variable[0] && variable[0] != '/')
		return err_set(err, ERR_USAGE, "CLAUDE_CONFIG_DIR is not an absolute path: %s", variable);
	if (!config || !config[0]) {
		if (!home || !home[0])
			return err_set(err, ERR_USAGE, "HOME is not set: set it, or CLAUDE_CONFIG_DIR");
		config = arena_printf(a, "%s/.claude", home);
	}
	*ret_cwd = path_absolute(a, here ? here : "/", str_from(o->cwd ? o->cwd : here));
	*ret_config = path_absolute(a, *ret_cwd, str_from(config));
	return 0;
}
