/* SPDX-License-Identifier: MIT
 * test_env.c - variables in settings: which of a project count, which names are dangerous or secret. */
#include "stage.h"
#include <sys/stat.h>
#include "tests.h"

static void add_var(void *data, const struct settings_var *var)
{
	buf_addf(data, "%s%s=%s@%s ", var->held ? "!" : "", var->name, var->value,
		 settings_layer_name(var->origin.layer));
}

TEST(variables_of_a_project_count_as_far_as_it_is_trusted)
{
	static const struct {
		enum env_trust trust;
		const char *expected, *path;
	} rows[] = {
		{ ENV_ALL,
		  "A=1@user PATH=/p@project B=2@project N=3@user TZ=X@project LD_PRELOAD=x@local M=true@managed ",
		  "/p" },
		{ ENV_SAFE,
		  "A=1@user PATH=/u@user B=1@user N=3@user TZ=X@project M=true@managed !B=2@project !PATH=/p@project "
		  "!LD_PRELOAD=x@local ",
		  "/u" },
		{ ENV_OWN,
		  "A=1@user PATH=/u@user B=1@user N=3@user M=true@managed !B=2@project !PATH=/p@project !TZ=X@project "
		  "!LD_PRELOAD=x@local ",
		  "/u" },
	};
	struct stage s;
	stage_init(&s);
	stage_put(&s, "config/settings.json", "{\"env\":{\"A\":\"1\",\"PATH\":\"/u\",\"B\":\"1\",\"N\":3}}");
	stage_put(&s, "top/project/.claude/settings.json", "{\"env\":{\"B\":\"2\",\"PATH\":\"/p\",\"TZ\":\"X\"}}");
	stage_put(&s, "top/project/.claude/settings.local.json", "{\"env\":{\"LD_PRELOAD\":\"x\"}}");
	stage_put(&s, "managed/managed-settings.json", "{\"env\":{\"M\":true}}");
	stage_load(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		settings_env_each(s.settings, rows[i].trust, add_var, &out);
		CHECK_CSTR(out.p, rows[i].expected);
		CHECK_CSTR(settings_getenv(s.settings, rows[i].trust, "PATH"), rows[i].path);
	}
	CHECK(settings_getenv(s.settings, ENV_ALL, "CADRE_TEST_NOWHERE") == NULL);
	stage_release(&s);
}

TEST(names_that_decide_what_runs_or_where_keys_go_are_dangerous)
{
	static const char *const bad[] = {
		"PATH",       "LD_PRELOAD",         "BASH_ENV",    "NODE_OPTIONS", "GIT_SSH_COMMAND",
		"IS_SANDBOX", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "PYTHONPATH",   "CLAUDE_CONFIG_DIR"
	};
	static const char *const good[] = {
		"NODE_ENV", "LANG", "DEBUG", "PATHS", "MY_PATH", "", "BASH_DEFAULT_TIMEOUT_MS"
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(env_is_dangerous(str_from(bad[i])));
	for (size_t i = 0; i < COUNT_OF(good); i++)
		CHECK(!env_is_dangerous(str_from(good[i])));
}

/* Names that run code, move files or send keys elsewhere, as reports and manuals have them; none is known to be harmless. */
TEST(an_untrusted_project_sets_only_variables_that_are_known_to_be_harmless)
{
	static const char *const held[] = {
		"RIPGREP_CONFIG_PATH",
		"CDPATH",
		"MAKEFILES",
		"MAKEFLAGS",
		"OPENSSL_CONF",
		"LESSOPEN",
		"LUA_INIT",
		"PHPRC",
		"JDK_JAVA_OPTIONS",
		"DOTNET_STARTUP_HOOKS",
		"GOFLAGS",
		"PIP_INDEX_URL",
		"BUNDLE_GEMFILE",
		"YARN_RC_FILENAME",
		"KUBECONFIG",
		"SSH_ASKPASS",
		"GLOBIGNORE",
		"POSIXLY_CORRECT",
		"RUSTFLAGS",
		"MANPAGER",
		"LESS",
		"TERMINFO",
		"GREP_OPTIONS",
		"TAR_OPTIONS",
		"GZIP",
		"EDITOR",
		"DOCKER_HOST",
		"HTTP_PROXY",
		"MAVEN_OPTS",
		"GRADLE_OPTS",
		"PYTEST_ADDOPTS",
		"ELECTRON_RUN_AS_NODE",
		"BUN_INSTALL",
		"DENO_DIR",
		"UV_INDEX",
		"JQ_LIB",
		"FOO",
		"lang",
		"LANG ",
		"LD_PRELOAD",
		"PATH",
		"BASH_ENV",
		"ANTHROPIC_BASE_URL",
		"CLAUDE_CODE_SHELL",
		"CLAUDE_CODE_SUBAGENT_MODEL",
		"",
	};
	static const char *const set[] = { "LANG", "TZ", "NO_COLOR", "NODE_ENV", "BASH_DEFAULT_TIMEOUT_MS" };

	for (size_t i = 0; i < COUNT_OF(held); i++)
		CHECK(!env_is_harmless(str_from(held[i])));
	for (size_t i = 0; i < COUNT_OF(set); i++)
		CHECK(env_is_harmless(str_from(set[i])) && !env_is_dangerous(str_from(set[i])));
}

TEST(a_locale_or_a_time_zone_that_is_a_file_is_held)
{
	struct stage s;
	AUTO_BUF struct buf out = { 0 };
	stage_init(&s);
	stage_put(&s, "top/project/.claude/settings.json",
		  "{\"env\":{\"LANG\":\"de_DE.UTF-8\",\"TZ\":\"Europe/Berlin\",\"LANGUAGE\":\"../../evil\","
		  "\"LC_ALL\":\"/evil\"}}");
	stage_put(&s, "top/project/.claude/settings.local.json", "{\"env\":{\"TZ\":\":/evil\"}}");
	stage_load(&s);

	settings_env_each(s.settings, ENV_SAFE, add_var, &out);
	CHECK_CSTR(
		out.p,
		"LANG=de_DE.UTF-8@project TZ=Europe/Berlin@project !LANGUAGE=../../evil@project !LC_ALL=/evil@project "
		"!TZ=:/evil@local ");
	stage_release(&s);
}

TEST(variables_of_a_file_that_others_can_write_are_held)
{
	struct stage s;
	AUTO_BUF struct buf out = { 0 };
	stage_init(&s);
	stage_put(&s, "config/settings.json", "{\"env\":{\"BASH_ENV\":\"x\",\"CI\":\"1\"}}");
	CHECK_INT(chmod(stage_path(&s, "config/settings.json"), 0666), 0);
	stage_load(&s);

	settings_env_each(s.settings, ENV_ALL, add_var, &out);
	CHECK_CSTR(out.p, "CI=1@user !BASH_ENV=x@user ");
	stage_release(&s);
}

TEST(keys_of_models_are_told_from_other_secrets)
{
	static const char *const keys[] = {
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",     "ANTHROPIC_CUSTOM_HEADERS",  "CLAUDE_CODE_OAUTH_TOKEN",
		"OPENAI_API_KEY",    "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_FOUNDRY_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_API_KEY",    "AZURE_OPENAI_API_KEY"
	};
	static const char *const others[] = {
		"GITHUB_TOKEN",    "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "ANTHROPIC_BASE_URL",
		"ANTHROPIC_MODEL", "OPENAI_BASE_URL",       "HOME"
	};

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		CHECK(env_is_model_key(str_from(keys[i])));
	for (size_t i = 0; i < COUNT_OF(others); i++)
		CHECK(!env_is_model_key(str_from(others[i])));
}

TEST(names_of_secrets_are_known_by_their_parts)
{
	static const char *const secret[] = { "ANTHROPIC_API_KEY",
					      "ANTHROPIC_AUTH_TOKEN",
					      "ANTHROPIC_CUSTOM_HEADERS",
					      "OPENAI_API_KEY",
					      "GITHUB_TOKEN",
					      "GH_PAT",
					      "AWS_ACCESS_KEY_ID",
					      "AWS_SECRET_ACCESS_KEY",
					      "PGPASSWORD",
					      "DB_PWD",
					      "npm_config__authToken",
					      "CLAUDE_CODE_OAUTH_TOKEN_FILE",
					      "KEY",
					      "github_token",
					      "SLACK_WEBHOOK_URL",
					      "SENTRY_DSN",
					      "STRIPE_SK",
					      "GOOGLE_APPLICATION_CREDENTIALS",
					      "ENCRYPTION_KEYS",
					      "SITE_COOKIES",
					      "LDAP_BIND_PW",
					      "PASSPHRASE2",
					      "API_KEY_1",
					      "KEY2" };
	static const struct {
		const char *value;
		bool is_secret;
	} values[] = { { "postgres://me:pw@host/db", true },
		       { "https://:pw@host", true },
		       { "postgres://me@host/db", false },
		       { "https://host/a:b@c", false },
		       { "https://host?x=a:b@c", false },
		       { "ghp_0123", true },
		       { "hvs.0123", true },
		       { "ya29.0123", true },
		       { "pypi-0123", true },
		       { "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=0123==", true },
		       { "Server=db;User Id=me;Password=pw;", true },
		       { "Endpoint=sb://x/;SharedAccessKey=0123", true },
		       { "https://x.blob.example/c?sv=1&sig=0123", true },
		       { "https://hooks.slack.com/services/T0/B0/0123", true },
		       { "the password is asked for", false },
		       { "signal=9", false },
		       { "-----BEGIN PRIVATE KEY-----", true },
		       { "/usr/bin", false },
		       { "", false } };
	static const char *const open[] = { "PATH",
					    "HOME",
					    "PWD",
					    "OLDPWD",
					    "SSH_AUTH_SOCK",
					    "LANG",
					    "KEYBOARD",
					    "MAX_OUTPUT_TOKENS",
					    "GIT_AUTHOR_NAME",
					    "MONKEYS",
					    "UTF8",
					    "X_2",
					    "DB_URL",
					    "",
					    "_" };

	for (size_t i = 0; i < COUNT_OF(secret); i++)
		if (!env_is_secret(str_from(secret[i])))
			fail_msg("%s is a secret", secret[i]);
	for (size_t i = 0; i < COUNT_OF(open); i++)
		if (env_is_secret(str_from(open[i])))
			fail_msg("%s is none", open[i]);
	for (size_t i = 0; i < COUNT_OF(values); i++)
		if (env_holds_secret(STR("PLACE"), values[i].value) != values[i].is_secret)
			fail_msg("%s", values[i].value);
}

int test_env(void)
{
	return RUN_TESTS(T(variables_of_a_project_count_as_far_as_it_is_trusted),
			 T(names_that_decide_what_runs_or_where_keys_go_are_dangerous),
			 T(an_untrusted_project_sets_only_variables_that_are_known_to_be_harmless),
			 T(a_locale_or_a_time_zone_that_is_a_file_is_held),
			 T(variables_of_a_file_that_others_can_write_are_held),
			 T(keys_of_models_are_told_from_other_secrets), T(names_of_secrets_are_known_by_their_parts));
}
