/* SPDX-License-Identifier: MIT
 * settings_env.c - the variables that settings set. */
#include "lib/base/map.h"
#include "config/settings/settings_int.h"

/* Grouped by effect */
bool env_is_dangerous(struct str name)
{
	static const char names[] =
		/* which program runs */
		"PATH|SHELL|CLAUDE_CODE_SHELL|CLAUDE_CODE_SHELL_PREFIX|EDITOR|VISUAL|PAGER|BROWSER|"
		/* what code it loads */
		"LD_*|DYLD_*|GCONV_PATH|BASH_ENV|BASH_FUNC_*|ENV|ZDOTDIR|PROMPT_COMMAND|PS4|IFS|SHELLOPTS|BASHOPTS|"
		"CLAUDE_ENV_FILE|NODE_OPTIONS|NODE_PATH|PYTHON*|PERL5*|PERLLIB|RUBY*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|"
		"GIT_*|CARGO_*|RUSTC*|GEM_*|npm_config_*|NPM_CONFIG_*|"
		/* where keys and requests go */
		"ANTHROPIC_*|OPENAI_*|CLAUDE_CODE_USE_*|CLAUDE_CODE_SKIP_*|CLAUDE_CODE_CLIENT_*|"
		"CLAUDE_CODE_API_KEY_HELPER_*|CLOUD_ML_REGION|VERTEX_REGION_*|AZURE_*|GEMINI_*|GCLOUD_*|CLOUDSDK_*|"
		"GCE_METADATA_*|CLAUDE_CODE_EXTRA_BODY|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|NO_PROXY|http_proxy|https_proxy|"
		"all_proxy|no_proxy|SSL_CERT_*|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|"
		"REQUESTS_CA_BUNDLE|AWS_*|GOOGLE_*|"
		/* what protects the user, and where files are looked for */
		"HOME|TMPDIR|XDG_*|IS_SANDBOX|CLAUDE_CONFIG_DIR|CLAUDE_CODE_SIMPLE|CLAUDE_CODE_TMPDIR|"
		"CLAUDE_CODE_PLUGIN_*|CADRE_*";

	return str_fits_one_of(name, names);
}

/* What an untrusted project may set: how programs print, and limits and switches of this one. Every
 * program has variables that run code or move files, so all others are held. */
bool env_is_harmless(struct str name)
{
	static const char names[] =
		"CI|CLICOLOR|CLICOLOR_FORCE|COLORTERM|COLUMNS|DEBUG|FORCE_COLOR|LANG|LANGUAGE|LC_ADDRESS|LC_ALL|"
		"LC_COLLATE|LC_CTYPE|LC_MESSAGES|LC_MONETARY|LC_NUMERIC|LC_TIME|LINES|NODE_ENV|NO_COLOR|RAILS_ENV|"
		"RUST_BACKTRACE|TZ|"
		"API_TIMEOUT_MS|BASH_DEFAULT_TIMEOUT_MS|BASH_MAX_OUTPUT_LENGTH|BASH_MAX_TIMEOUT_MS|"
		"CLAUDE_CODE_AUTO_COMPACT_WINDOW|CLAUDE_CODE_DISABLE_AUTO_MEMORY|CLAUDE_CODE_DISABLE_BACKGROUND_TASKS|"
		"CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS|CLAUDE_CODE_DISABLE_THINKING|CLAUDE_CODE_ENABLE_TASKS|"
		"CLAUDE_CODE_ENABLE_TODO_TOOLS|CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS|CLAUDE_CODE_GLOB_HIDDEN|"
		"CLAUDE_CODE_GLOB_NO_IGNORE|CLAUDE_CODE_MAX_OUTPUT_TOKENS|CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY|"
		"DISABLE_AUTOUPDATER|DISABLE_COST_WARNINGS|DISABLE_TELEMETRY|ENABLE_TOOL_SEARCH|MAX_MCP_OUTPUT_TOKENS|"
		"MAX_THINKING_TOKENS|MCP_TIMEOUT|MCP_TOOL_TIMEOUT";

	return str_is_one_of(name, names);
}

/* Keys of the models that this program itself uses, and nothing of the user's own services. */
bool env_is_model_key(struct str name)
{
	return str_is_one_of(name, "AWS_BEARER_TOKEN_BEDROCK|GOOGLE_API_KEY") ||
	       (str_starts_with_one_of(name, "ANTHROPIC_|CLAUDE_|OPENAI_|AZURE_OPENAI_|GEMINI_|CADRE_") &&
		env_is_secret(name));
}

/* Compares the parts between underscores, so that MAX_OUTPUT_TOKENS and KEYBOARD do not match. Suffixes of a part match
 * too: authtoken, PGPASSWORD. */
bool env_is_secret(struct str name)
{
	static const char *const endings[] = { "token",  "secret",     "secrets",     "password",  "passwd",
					       "apikey", "passphrase", "credentials", "credential" };

	if (str_is_one_of(name, "PWD|SSH_AUTH_SOCK"))
		return false;
	if (str_is_nocase(name, "ANTHROPIC_CUSTOM_HEADERS"))
		return true;
	for (struct str rest = name; rest.p;) {
		struct str part = str_cut(&rest, '_');
		while (part.n && part.p[part.n - 1] >= '0' && part.p[part.n - 1] <= '9')
			part.n--; /* KEY2 */
		if (str_is_one_of_nocase(
			    part,
			    "key|keys|pat|pass|pwd|pw|jwt|auth|oauth|cookie|cookies|bearer|dsn|webhook|sk|seed|netrc"))
			return true;
		for (size_t i = 0; i < COUNT_OF(endings); i++) {
			size_t n = strlen(endings[i]);
			if (part.n >= n && str_is_nocase((struct str){ part.p + part.n - n, n }, endings[i]))
				return true;
		}
	}
	return false;
}

bool env_holds_secret(struct str name, const char *value)
{
	/* A URL or a connection string with a password in it, a private key, or a token of a well-known form */
	static const char begins[] =
		"sk-|sk_live_|rk_live_|ghp_|gho_|ghs_|ghu_|ghr_|github_pat_|glpat-|xoxb-|xoxp-|xoxa-|xoxe|xapp-|hf_|npm_|"
		"AKIA|ASIA|AIza|ya29.|eyJ|hvs.|hvb.|pypi-|SG.|shpat_|dop_v1_|gsk_|AGE-SECRET-KEY-|Bearer |Basic |"
		"-----BEGIN";
	static const char *const inside[] = {
		";AccountKey=", ";SharedAccessKey=",           ";Password=", ";Pwd=", "?sig=",
		"&sig=",        "://hooks.slack.com/services/"
	};
	bool holds = env_is_secret(name);
	const char *host = value ? strstr(value, "://") : NULL;
	const char *at = host ? memchr(host + 3, '@', strcspn(host + 3, "/?# ")) : NULL;

	for (size_t i = 0; i < COUNT_OF(inside) && value && !holds; i++)
		holds = strcasestr(value, inside[i]) != NULL;
	return holds || (value && str_starts_with_one_of(str_from(value), begins)) ||
	       (at && memchr(host + 3, ':', (size_t)(at - host - 3)));
}

void settings_env_add(struct settings *s, const struct layer_file *from, const struct json *env)
{
	struct settings_cursor at = { 0 };

	for (struct json_member m = json_members(env); m.key; m = json_member_next(env, m)) {
		if (settings_left_out(from, m.key) || settings_left_out(from, m.value))
			continue;
		settings_cursor_move(&at, &from->file, m.key);
		*xpush(s->vars, s->var_count, s->var_cap) = (struct env_var){
			.name = json_cstr(m.key, &s->arena),
			.value = json_is(m.value, JSON_STRING) ? json_cstr(m.value, &s->arena)
							       : arena_str(&s->arena, json_raw(m.value)).p,
			.foreign = !settings_is_projects(from->layer) && !from->believed,
			.origin = { from->layer, from->file.path, at.line, at.column },
		};
	}
}

static bool is_held(const struct env_var *var, enum env_trust trust)
{
	struct str name = str_from(var->name);
	const char *value = var->value;
	/* A locale or a time zone can be the path of a file: a catalog of messages has formats that programs print with. */
	bool is_locale = str_starts(name, STR("LANG")) || str_starts(name, STR("LC_"));
	bool names_file = (is_locale && strchr(value, '/')) ||
			  (str_is(name, "TZ") && (value[0] == '/' || value[0] == ':' || strstr(value, "..")));
	bool harmless = env_is_harmless(name) && !names_file;

	if (!settings_is_projects(var->origin.layer))
		return var->foreign && !harmless;
	return trust == ENV_OWN || (trust == ENV_SAFE && !harmless);
}

const char *settings_getenv(const struct settings *s, enum env_trust trust, const char *name)
{
	for (size_t i = s->var_count; i-- > 0;)
		if (!strcmp(s->vars[i].name, name) && !is_held(&s->vars[i], trust))
			return s->vars[i].value;
	return NULL;
}

void settings_env_each(const struct settings *s, enum env_trust trust, settings_var_fn *fn, void *data)
{
	CLEANUP(map_release) struct map winners = { 0 };

	for (size_t i = 0; i < s->var_count; i++)
		if (!is_held(&s->vars[i], trust))
			map_set(&winners, str_from(s->vars[i].name), &s->vars[i]);
	for (const struct map_entry *e = map_next(&winners, NULL); e; e = map_next(&winners, e)) {
		const struct env_var *var = e->value;
		fn(data, &(struct settings_var){ var->name, var->value, var->origin, false });
	}
	for (size_t i = 0; i < s->var_count; i++) {
		const struct env_var *var = &s->vars[i];
		if (is_held(var, trust))
			fn(data, &(struct settings_var){ var->name, var->value, var->origin, true });
	}
}
