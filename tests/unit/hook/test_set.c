/* SPDX-License-Identifier: MIT
 * test_set.c - what becomes of hooks in files, and what is said about those that cannot be used. */
#include "unit.h"
#include "guard/hook/set.h"
#include "config/settings/settings_file.h"
#include "tests.h"

struct bench {
	struct arena arena;
	struct diagnostics diagnostics;
};

static struct hook_set *read_set(struct bench *b, struct hook_source source, const char *json,
				 const struct hook_policy *policy)
{
	*b = (struct bench){ 0 };
	b->diagnostics.arena = &b->arena;
	source.file = source.file ? source.file : "s.json";
	return hook_set_parse(&source, str_from(json), policy, &b->diagnostics);
}

static void finish(struct bench *b, struct hook_set *set)
{
	hook_set_unref(set);
	arena_release(&b->arena);
}

TEST(what_cannot_be_used_is_left_out_and_named)
{
	static const struct {
		const char *json, *message;
	} table[] = {
		{ "[]", "s.json: hooks: must be an object of events and is ignored" },
		{ "{", "s.json: hooks: line 1, column 2: expected a key or '}', but the text ends here" },
		{ "{\"Preuse\":[]}", "s.json: hooks: unknown event Preuse is ignored" },
		{ "{\"Stop\":{}}", "s.json: hooks.Stop: must be a list and is ignored" },
		{ "{\"Stop\":[1]}", "s.json: hooks.Stop: an entry must be an object with \"hooks\" and is ignored" },
		{ "{\"Stop\":[{}]}", "s.json: hooks.Stop: an entry without a list \"hooks\" is ignored" },
		{ "{\"Stop\":[{\"hooks\":[1]}]}",
		  "s.json: hooks.Stop: a hook must be an object, so this hook does not run" },
		{ "{\"PreToolUse\":[{\"matcher\":1,\"hooks\":[]}]}",
		  "s.json: hooks.PreToolUse: the matcher must be a text, so its hooks do not run" },
		{ "{\"PreToolUse\":[{\"matcher\":\"[\",\"hooks\":[]}]}",
		  "s.json: hooks.PreToolUse: the matcher is not a regular expression ("
		  "missing terminating ] for character class at character 1), so its hooks do not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"script\"}]}]}",
		  "s.json: hooks.Stop: the type must be command, http, mcp_tool, prompt or agent, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"callback\"}]}]}",
		  "s.json: hooks.Stop: the type must be command, http, mcp_tool, prompt or agent, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\"}]}]}",
		  "s.json: hooks.Stop: \"command\" must be a text, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\\u0000b\"}]}]}",
		  "s.json: hooks.Stop: \"command\" must be a text, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\",\"args\":[1]}]}]}",
		  "s.json: hooks.Stop: \"args\" must be a list of texts, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\",\"shell\":\"fish\"}]}]}",
		  "s.json: hooks.Stop: \"shell\" must be bash or powershell, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\",\"if\":\"Bash\"}]}]}",
		  "s.json: hooks.Stop: \"if\" has a meaning for events of tools only, so this hook does not run" },
		{ "{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\",\"if\":[]}]}]}",
		  "s.json: hooks.PreToolUse: \"if\" must be one permission rule, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"file:///etc\"}]}]}",
		  "s.json: hooks.Stop: \"url\" must begin with http:// or https://, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"http://h\",\"headers\":{\"A b\":\"c\"}}]}]}",
		  "s.json: hooks.Stop: \"headers\" must be an object of texts of one line, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"http://h\",\"headers\":{\"A\":\"c\\nB: d\"}}]}]}",
		  "s.json: hooks.Stop: \"headers\" must be an object of texts of one line, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"http://h\",\"allowedEnvVars\":\"A\"}]}]}",
		  "s.json: hooks.Stop: \"allowedEnvVars\" must be a list of names, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"mcp_tool\",\"server\":\"s\"}]}]}",
		  "s.json: hooks.Stop: \"tool\" must be a text, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"mcp_tool\",\"server\":\"s\",\"tool\":\"t\",\"input\":1}]}]}",
		  "s.json: hooks.Stop: \"input\" must be an object, so this hook does not run" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"prompt\"}]}]}",
		  "s.json: hooks.Stop: \"prompt\" must be a text, so this hook does not run" },
		{ "{\"SessionStart\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"http://h\"}]}]}",
		  "s.json: hooks.SessionStart: this event does not take hooks of this type, so this hook does not run" },
		{ "{\"SubagentStart\":[{\"hooks\":[{\"type\":\"prompt\",\"prompt\":\"p\"}]}]}",
		  "s.json: hooks.SubagentStart: this event does not take hooks of this type, so this hook does not run" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct bench b;
		struct hook_set *set = read_set(&b, (struct hook_source){ 0 }, table[i].json, NULL);
		if (b.diagnostics.count != 1)
			fail_msg("%s: %zu diagnostics", table[i].json, b.diagnostics.count);
		CHECK_CSTR(b.diagnostics.list[0].message, table[i].message);
		CHECK_INT(set->count, 0);
		finish(&b, set);
	}
}

TEST(what_is_untidy_is_used_and_noted)
{
	static const struct {
		const char *json, *message;
	} table[] = {
		{ "{\"Stop\":[{\"hooks\":[{\"command\":\"a\"}]}]}",
		  "s.json: hooks.Stop: a hook without a type was read as a command" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\",\"timeout\":-1}]}]}",
		  "s.json: hooks.Stop: a timeout must be a number of seconds above 0; the default is used" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\",\"once\":true}]}]}",
		  "s.json: hooks.Stop: \"once\" has a meaning in skills only" },
		{ "{\"Stop\":[{\"hooks\":[{\"type\":\"prompt\",\"prompt\":\"a\",\"async\":true}]}]}",
		  "s.json: hooks.Stop: \"async\" has a meaning for commands only" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct bench b;
		struct hook_set *set = read_set(&b, (struct hook_source){ 0 }, table[i].json, NULL);
		CHECK_INT(b.diagnostics.count, 1);
		CHECK_CSTR(b.diagnostics.list[0].message, table[i].message);
		CHECK_INT(b.diagnostics.list[0].level, DIAGNOSTIC_NOTE);
		CHECK_INT(set->count, 1);
		finish(&b, set);
	}
}

TEST(a_good_handler_beside_a_bad_one_is_kept_with_its_line)
{
	struct settings_file file;
	struct bench b = { .diagnostics.arena = &b.arena };
	struct err err = { 0 };
	CHECK_INT(settings_file_parse(&file, "s.json",
				      STR("{\"hooks\":{\"Stop\":[{\"hooks\":[\n"
					  " {\"type\":\"nonsense\"},\n"
					  " {\"type\":\"command\",\"command\":\"good\",\"timeout\":1.5}]}]}}"),
				      &err),
		  0);
	struct hook_source source = {
		.layer = HOOK_FROM_USER, .file = file.path, .hooks = json_get(file.root, "hooks"), .lines = &file
	};

	struct hook_set *set = hook_set_new(&source, 1, NULL, &b.diagnostics);

	CHECK_INT(b.diagnostics.count, 1);
	CHECK_INT(b.diagnostics.list[0].line, 2);
	const struct hook *hook = set->events[HOOK_STOP];
	CHECK(hook && !hook->next);
	CHECK_INT(hook->line, 3);
	CHECK_INT(hook->timeout_ms, 1500);
	CHECK_CSTR(hook->command, "good");
	settings_file_release(&file);
	finish(&b, set);
}

TEST(stop_of_a_subagent_is_subagent_stop)
{
	struct bench b;
	struct hook_source source = { .layer = HOOK_FROM_AGENT, .of_subagent = true };

	struct hook_set *set =
		read_set(&b, source, "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}", NULL);

	CHECK(!set->events[HOOK_STOP]);
	CHECK(set->events[HOOK_SUBAGENT_STOP]);
	finish(&b, set);
}

static bool fits(const struct hook_set *set, enum hook_event event, struct str name)
{
	const struct hook_subject subject = hook_subject(event, name);

	return hook_fits(set->events[event], &subject);
}

TEST(the_old_and_the_new_name_of_the_agent_tool_fit_each_other)
{
	static const char *const matchers[] = { "Task", "Agent", "^Task$", "^Agent$", "Bash|Task" };

	for (size_t i = 0; i < COUNT_OF(matchers); i++) {
		struct bench b;
		AUTO_BUF struct buf json = { 0 };
		buf_addf(&json, "{\"PreToolUse\":[{\"matcher\":\"%s\",\"hooks\":[{\"command\":\"a\"}]}]}", matchers[i]);
		struct hook_set *set = read_set(&b, (struct hook_source){ 0 }, json.p, NULL);
		CHECK(fits(set, HOOK_PRE_TOOL_USE, STR("Agent")));
		CHECK(fits(set, HOOK_PRE_TOOL_USE, STR("Task")));
		CHECK(!fits(set, HOOK_PRE_TOOL_USE, STR("TaskOutput")));
		finish(&b, set);
	}
}

TEST(a_matcher_of_an_event_without_a_subject_is_ignored)
{
	struct bench b;

	struct hook_set *set =
		read_set(&b, (struct hook_source){ 0 },
			 "{\"Stop\":[{\"matcher\":\"[\",\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}", NULL);

	CHECK_INT(b.diagnostics.count, 0);
	CHECK(fits(set, HOOK_STOP, STR("")));
	finish(&b, set);
}

TEST(the_switches_of_settings_decide_which_layers_run)
{
	static const struct {
		struct hook_policy policy;
		enum hook_layer layer;
		bool runs;
	} table[] = {
		{ { 0 }, HOOK_FROM_USER, true },
		{ { .disable_all = true }, HOOK_FROM_USER, false },
		{ { .disable_all = true }, HOOK_FROM_PLUGIN, false },
		{ { .disable_all = true }, HOOK_FROM_AGENT, false },
		{ { .disable_all = true }, HOOK_FROM_MANAGED, true },
		{ { .disable_managed = true }, HOOK_FROM_MANAGED, false },
		{ { .disable_managed = true }, HOOK_FROM_USER, false },
		{ { .managed_only = true }, HOOK_FROM_MANAGED, true },
		{ { .managed_only = true }, HOOK_FROM_PROJECT, false },
		{ { .managed_only = true }, HOOK_FROM_FLAG, false },
		{ { .managed_only = true }, HOOK_FROM_SKILL, false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct bench b;
		struct hook_source source = { .layer = table[i].layer };
		struct hook_set *set =
			read_set(&b, source, "{\"Stop\":[{\"hooks\":[{\"command\":\"a\"}]}]}", &table[i].policy);
		CHECK_INT(set->count, table[i].runs);
		CHECK_INT(b.diagnostics.count, 1); /* the note about the type, or why it does not run */
		finish(&b, set);
	}
}

TEST(urls_outside_the_allowed_patterns_are_refused)
{
	static const char *const urls[] = { "https://hooks.example.com/*", "http://localhost:*/h", "https://*.corp/x",
					    "https://open.org*", NULL };
	static const char *const none[] = { NULL };
	static const struct {
		const char *url;
		const char *const *allowed;
		bool runs;
	} table[] = {
		{ "https://hooks.example.com/a/b", urls, true },
		{ "https://hooks.example.com.evil/a", urls, false },
		{ "http://localhost:8080/h", urls, true },
		{ "http://localhost:8080/hh", urls, false },
		{ "https://hooks.example.com@evil/a", urls, false },
		{ "https://a.corp/x", urls, true },
		{ "https://evil/a.corp/x", urls, false },
		{ "https://evil?a.corp/x", urls, false },
		{ "https://a.corp@evil.corp/x", urls, false },
		{ "https://open.org:8443/any?q", urls, true },
		{ "http://any", NULL, true },
		{ "http://any", none, false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct bench b;
		struct hook_policy policy = { .http_urls = table[i].allowed };
		AUTO_BUF struct buf json = { 0 };
		buf_addf(&json, "{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"%s\"}]}]}", table[i].url);
		struct hook_set *set = read_set(&b, (struct hook_source){ 0 }, json.p, &policy);
		CHECK_INT(set->count, table[i].runs);
		finish(&b, set);
	}
}

TEST(variables_of_headers_are_those_that_hook_and_policy_allow)
{
	static const char *const allowed[] = { "B", "C", NULL };
	struct hook_policy policy = { .http_env = allowed };
	struct bench b;

	struct hook_set *set = read_set(&b, (struct hook_source){ 0 },
					"{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"http://h\","
					"\"allowedEnvVars\":[\"A\",\"B\"]}]}]}",
					&policy);

	const char *const *names = set->events[HOOK_STOP]->env_names;
	CHECK_CSTR(names[0], "B");
	CHECK(!names[1]);
	finish(&b, set);
}

TEST(callbacks_of_the_sdk_become_hooks_and_only_theirs)
{
	const char *json = "{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hookCallbackIds\":[\"h1\",\"h2\"],"
			   "\"timeout\":5,\"onFailure\":\"block\"}]}";
	struct bench b;

	struct hook_set *set = read_set(&b, (struct hook_source){ .layer = HOOK_FROM_SDK }, json, NULL);

	CHECK_INT(set->count, 2);
	CHECK_CSTR(set->events[HOOK_PRE_TOOL_USE]->callback, "h1");
	CHECK_CSTR(set->events[HOOK_PRE_TOOL_USE]->next->callback, "h2");
	CHECK_INT(set->events[HOOK_PRE_TOOL_USE]->timeout_ms, 5000);
	CHECK(set->events[HOOK_PRE_TOOL_USE]->block_on_failure);
	finish(&b, set);
	set = read_set(&b, (struct hook_source){ .layer = HOOK_FROM_PROJECT }, json, NULL);
	CHECK_INT(set->count, 0);
	finish(&b, set);
}

int test_set(void)
{
	return RUN_TESTS(
		T(what_cannot_be_used_is_left_out_and_named), T(what_is_untidy_is_used_and_noted),
		T(a_good_handler_beside_a_bad_one_is_kept_with_its_line), T(stop_of_a_subagent_is_subagent_stop),
		T(the_old_and_the_new_name_of_the_agent_tool_fit_each_other),
		T(a_matcher_of_an_event_without_a_subject_is_ignored),
		T(the_switches_of_settings_decide_which_layers_run), T(urls_outside_the_allowed_patterns_are_refused),
		T(variables_of_headers_are_those_that_hook_and_policy_allow),
		T(callbacks_of_the_sdk_become_hooks_and_only_theirs));
}
