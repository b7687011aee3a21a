/* SPDX-License-Identifier: MIT
 * test_policy.c - settings files as a policy: what is compiled, when a change is seen, and what an adopted, declined or broken
 * change leaves behind. */
#include <cadre.h>
#include "agents/profile/memory.h"
#include "defs/policy/permissions.h"
#include "defs/policy/services.h"
#include "unit.h"

struct stage {
	char dir[FOLDER_MAX], user[96];
	struct cadre *c;
	struct services *sv;
};

static void stage_open(struct stage *s, const char *settings)
{
	folder_make(s->dir);
	snprintf(s->user, sizeof s->user, "%s/config/settings.json", s->dir);
	file_put(s->user, str_from(settings));
	s->c = cadre_new(NULL, 0);
	char config[96];
	snprintf(config, sizeof config, "%s/config", s->dir);
	CHECK_INT(cadre_set(s->c, "config-dir", config, NULL, 0), 0);
	CHECK_INT(cadre_set(s->c, "cwd", s->dir, NULL, 0), 0);
	s->sv = cadre_services(s->c);
}

static void stage_close(struct stage *s)
{
	cadre_free(s->c);
	folder_remove(s->dir);
}

static bool has_hooks(const struct stage *s)
{
	return s->sv->policy.hooks != NULL;
}

/* A file that was written within the clock's last tick counts as changed until the tick is over. */
static void stage_settle(struct stage *s, void (*take)(struct policy *p, struct policy *changed))
{
	struct policy *changed;
	int status;

	while ((status = policy_look(s->sv, &s->sv->policy, &changed, NULL)) == 1)
		take(&s->sv->policy, changed);
	CHECK_INT(status, 0);
}

#define HOOKS "\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]}"

TEST(a_bad_file_is_refused_with_its_place)
{
	struct stage s;
	struct err err = { 0 };

	stage_open(&s, "{\n  \"permissions\": {\"deny\": [3]}\n}");
	CHECK_INT(policy_load(s.sv, &err), -ERR_USAGE);
	CHECK(str_has(str_from(err.text), STR("settings.json:2")));
	stage_close(&s);
}

TEST(memory_can_be_switched_off)
{
	static const struct {
		const char *settings, *variable;
		bool on;
	} rows[] = {
		{ "{}", NULL, true },
		{ "{\"autoMemoryEnabled\":false}", NULL, false },
		{ "{\"autoMemoryEnabled\":true}", "0", true },
		{ "{}", "1", false },
		{ "{\"env\":{\"CLAUDE_CODE_DISABLE_AUTO_MEMORY\":1}}", "0", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s;
		stage_open(&s, rows[i].settings);
		CHECK_INT(policy_load(s.sv, NULL), 0);
		if (rows[i].variable)
			services_setenv(s.sv, "CLAUDE_CODE_DISABLE_AUTO_MEMORY", rows[i].variable);
		CHECK_INT(agent_memory_is_on(s.sv, &s.sv->policy), rows[i].on);
		stage_close(&s);
	}
}

TEST(a_change_is_seen_once_and_counts_when_it_is_adopted)
{
	struct stage s;
	struct err err = { 0 };
	struct policy *changed;

	stage_open(&s, "{}");
	CHECK_INT(policy_load(s.sv, &err), 0);
	CHECK(!has_hooks(&s));
	stage_settle(&s, policy_adopt);
	unsigned before = s.sv->policy.generation;
	file_put(s.user, STR("{" HOOKS "}"));
	CHECK_INT(policy_look(s.sv, &s.sv->policy, &changed, &err), 1);
	CHECK(!has_hooks(&s)); /* until it is adopted */
	policy_adopt(&s.sv->policy, changed);
	CHECK(has_hooks(&s));
	CHECK(s.sv->policy.generation > before);
	stage_settle(&s, policy_adopt);
	stage_close(&s);
}

TEST(a_declined_change_is_not_offered_again)
{
	struct stage s;
	struct err err = { 0 };
	struct policy *changed;

	stage_open(&s, "{}");
	CHECK_INT(policy_load(s.sv, &err), 0);
	file_put(s.user, STR("{" HOOKS "}"));
	CHECK_INT(policy_look(s.sv, &s.sv->policy, &changed, &err), 1);
	policy_decline(&s.sv->policy, changed);
	stage_settle(&s, policy_decline);
	CHECK(!has_hooks(&s));
	file_put(s.user, STR("{" HOOKS ",\"model\":\"opus\"}"));
	CHECK_INT(policy_look(s.sv, &s.sv->policy, &changed, &err), 1);
	policy_adopt(&s.sv->policy, changed);
	CHECK(has_hooks(&s));
	stage_close(&s);
}

TEST(a_file_that_breaks_leaves_the_old_policy)
{
	struct stage s;
	struct err err = { 0 };
	struct policy *changed;

	stage_open(&s, "{" HOOKS "}");
	CHECK_INT(policy_load(s.sv, &err), 0);
	file_put(s.user, STR("{\"hooks\":"));
	CHECK(policy_look(s.sv, &s.sv->policy, &changed, &err) < 0);
	CHECK(has_hooks(&s));
	stage_close(&s);
}

/* Which mode a session starts in: the option, else the setting, and never one that is switched off. */
TEST(the_mode_at_the_start)
{
	static const struct {
		const char *settings, *option, *mode; /* mode NULL: refused */
	} rows[] = {
		{ "{}", NULL, "default" },
		{ "{\"permissions\":{\"defaultMode\":\"plan\"}}", NULL, "plan" },
		{ "{\"permissions\":{\"defaultMode\":\"plan\"}}", "acceptEdits", "acceptEdits" },
		{ "{\"permissions\":{\"defaultMode\":\"bypassPermissions\",\"disableBypassPermissionsMode\":\"disable\"}}",
		  NULL, NULL },
		{ "{\"permissions\":{\"disableBypassPermissionsMode\":\"disable\"}}", "acceptEdits", "acceptEdits" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s;
		struct err err = { 0 };
		enum permission_mode mode;

		stage_open(&s, rows[i].settings);
		if (rows[i].option)
			CHECK_INT(cadre_set(s.c, "permission-mode", rows[i].option, NULL, 0), 0);
		CHECK_INT(policy_load(s.sv, &err), 0);
		int status = policy_start_mode(s.sv->policy.settings, &s.sv->options, &mode, &err);
		CHECK_INT(status, rows[i].mode ? 0 : -ERR_USAGE);
		if (rows[i].mode)
			CHECK_CSTR(permission_mode_name(mode), rows[i].mode);
		else
			CHECK(str_has(str_from(err.text), STR("settings.json:1")));
		stage_close(&s);
	}
}

static void check_env(const char *const *envp, const char *expected)
{
	AUTO_BUF struct buf text = { 0 };

	for (; *envp; envp++)
		buf_addf(&text, "%s ", *envp);
	CHECK_CSTR(text.p, expected);
}

TEST(programs_get_each_variable_once_and_commands_no_keys)
{
	static const char *const variables[] = { "TWICE=1", "TWICE=2", "OLD=x", "ANTHROPIC_API_KEY=k", "KEPT=y", NULL };
	char **before = environ;
	struct stage s;

	stage_open(&s, "{\"env\":{\"OLD\":\"new\",\"MORE\":\"z\"}}");
	environ = (char **)variables;
	int status = policy_load(s.sv, NULL);
	environ = before;
	CHECK_INT(status, 0);
	check_env(s.sv->policy.own_envp, "TWICE=1 OLD=new ANTHROPIC_API_KEY=k KEPT=y MORE=z ");
	check_env(s.sv->policy.envp, "TWICE=1 OLD=new KEPT=y MORE=z ");
	stage_close(&s);
}

TEST(deny_rules_of_settings_and_options_join)
{
	struct stage s;
	struct err err = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct permission_setup p;

	stage_open(&s, "{\"permissions\":{\"deny\":[\"Read\"],\"allow\":[\"WebFetch\"]}}");
	CHECK_INT(cadre_set(s.c, "disallowed-tools", "Bash", NULL, 0), 0);
	CHECK_INT(permission_setup_open(s.sv, &a, &p, NULL, NULL, &err), 0);
	CHECK(permission_forbids(&p.permission, &(struct tool){ .name = "Read" }));
	CHECK(permission_forbids(&p.permission, &(struct tool){ .name = "Bash" }));
	CHECK(!permission_forbids(&p.permission, &(struct tool){ .name = "WebFetch" }));
	permission_setup_release(&p);
	stage_close(&s);
}

/* The first variable that is set counts. One of them cannot make it shorter than it is by itself. */
TEST(how_long_a_server_may_be_silent_comes_from_the_environment)
{
	static const struct {
		const char *env;
		uint64_t expected;
	} rows[] = {
		{ "", 0 },
		{ "\"API_TIMEOUT_MS\":\"700\"", 700 },
		{ "\"API_TIMEOUT_MS\":\"700\",\"CLAUDE_STREAM_IDLE_TIMEOUT_MS\":\"400000\"", 400000 },
		{ "\"CLAUDE_STREAM_IDLE_TIMEOUT_MS\":\"700\"", 300000 },
		{ "\"CADRE_STALL_MS\":\"600\",\"CLAUDE_STREAM_IDLE_TIMEOUT_MS\":\"400000\"", 600 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf text = { 0 };
		struct endpoint_options options = { 0 };
		struct stage s;
		buf_addf(&text, "{\"env\":{%s}}", rows[i].env);
		stage_open(&s, text.p);
		CHECK_INT(cadre_set(s.c, "provider", "scripted", NULL, 0), 0);
		CHECK_INT(policy_load(s.sv, NULL), 0);
		CHECK_INT(services_open_endpoints(s.sv, NULL), 0);
		s.sv->endpoints.configure(s.sv, s.sv->endpoints.providers.usual, &options);
		CHECK_INT(options.stall_ms, rows[i].expected);
		stage_close(&s);
	}
}

int main(void)
{
	RUN_TESTS(T(memory_can_be_switched_off), T(a_bad_file_is_refused_with_its_place),
		  T(a_change_is_seen_once_and_counts_when_it_is_adopted), T(a_declined_change_is_not_offered_again),
		  T(a_file_that_breaks_leaves_the_old_policy), T(the_mode_at_the_start),
		  T(programs_get_each_variable_once_and_commands_no_keys), T(deny_rules_of_settings_and_options_join),
		  T(how_long_a_server_may_be_silent_comes_from_the_environment));
	return tests_run();
}
