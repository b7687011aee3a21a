/* SPDX-License-Identifier: MIT
 * test_layers.c - where settings come from, how they are merged, what is refused, when they are read again. */
#include "lib/io/file.h"
#include "config/settings/settings_key.h"
#include "stage.h"
#include "tests.h"

static const char *const files[] = {
	"config/settings.json",
	"top/project/.claude/settings.json",
	"top/project/.claude/settings.local.json",
	"top/.claude/settings.local.json",
	"managed/managed-settings.json",
	"managed/managed-settings.d/10-a.json",
	"managed/managed-settings.d/20-b.json",
};

TEST(of_every_two_files_the_higher_one_wins)
{
	for (size_t low = 0; low < COUNT_OF(files); low++)
		for (size_t high = low + 1; high < COUNT_OF(files); high++) {
			struct stage s;
			stage_init(&s);
			stage_put(&s, files[low], "{\"model\":\"low\"}");
			stage_put(&s, files[high], "{\n\"model\":\"high\"}");
			stage_load(&s);
			CHECK_CSTR(stage_get(&s, "model"), "\"high\"");
			CHECK(str_has(str_from(stage_origin(&s, "model")), str_from(files[high])));
			CHECK(str_ends(str_from(stage_origin(&s, "model")), STR(":2")));
			stage_release(&s);
		}
}

TEST(the_flag_is_above_local_and_below_managed)
{
	struct stage s;
	stage_init(&s);
	s.spec.flag = "{\"model\":\"flag\"}";
	stage_put(&s, "top/.claude/settings.local.json", "{\"model\":\"local\"}");

	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "\"flag\"");
	CHECK_CSTR(stage_origin(&s, "model"), "flag --settings:1");

	stage_put(&s, "managed/managed-settings.json", "{\"model\":\"managed\"}");
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "\"managed\"");
	stage_release(&s);
}

TEST(the_flag_may_name_a_file_which_must_be_there)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "more.json", "{\"model\":\"more\"}");
	s.spec.flag = stage_path(&s, "more.json");
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "\"more\"");

	s.spec.flag = stage_path(&s, "gone.json");

	CHECK_CSTR(stage_error(&s), "Settings file not found: gone.json");
	stage_release(&s);
}

TEST(setting_sources_and_bare_choose_the_layers)
{
	static const struct {
		const char *list, *expected;
	} rows[] = {
		{ "user,project,local", "[\"u\",\"p\",\"l\",\"f\",\"m\"]" },
		{ "user", "[\"u\",\"f\",\"m\"]" },
		{ "local, project", "[\"p\",\"l\",\"f\",\"m\"]" },
		{ "", "[\"f\",\"m\"]" },
	};
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], "{\"permissions\":{\"deny\":[\"u\"]}}");
	stage_put(&s, files[1], "{\"permissions\":{\"deny\":[\"p\"]}}");
	stage_put(&s, files[2], "{\"permissions\":{\"deny\":[\"l\"]}}");
	stage_put(&s, files[4], "{\"permissions\":{\"deny\":[\"m\"]}}");
	s.spec.flag = "{\"permissions\":{\"deny\":[\"f\"]}}";

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CHECK_INT(setting_sources_parse(str_from(rows[i].list), &s.spec.sources, &err), 0);
		stage_load(&s);
		CHECK_CSTR(stage_get(&s, "permissions.deny"), rows[i].expected);
	}
	s.spec.sources = SETTINGS_ALL;
	s.spec.bare = true;
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "permissions.deny"), "[\"f\",\"m\"]");
	stage_release(&s);
}

TEST(nothing_above_cwd_is_the_projects)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "top/.claude/settings.json", "{\"model\":\"above\"}");

	stage_load(&s);

	CHECK_CSTR(stage_get(&s, "model"), "-");
	stage_release(&s);
}

TEST(local_settings_of_the_root_are_not_for_sdks_nor_from_a_home_or_a_stranger)
{
	struct stage s;
	stage_init(&s);
	AUTO_FREE char *home = xstrdup(getenv("HOME") ? getenv("HOME") : "/");
	stage_put(&s, "top/.claude/settings.local.json", "{\"model\":\"root\"}");
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "\"root\"");

	s.spec.sdk = true;
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "-");

	s.spec.sdk = false;
	setenv("HOME", stage_path(&s, "top"), 1);
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "-");
	setenv("HOME", home, 1);

	if (geteuid() == 0) {
		CHECK_INT(chown(stage_path(&s, "top"), 12345, (gid_t)-1), 0);
		stage_load(&s);
		CHECK_CSTR(stage_get(&s, "model"), "-");
	}
	stage_release(&s);
}

TEST(a_linked_worktree_has_the_local_settings_of_the_main_checkout)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "top/.claude/settings.local.json", "{\"model\":\"main\"}");
	stage_put(&s, "tree/.git", arena_printf(&s.arena, "gitdir: %s/top/.git/worktrees/tree\n", s.dir));
	stage_put(&s, "tree/sub/file", "");
	s.spec.cwd = stage_path(&s, "tree/sub");
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "-");

	stage_put(&s, "top/.git/worktrees/tree/gitdir", arena_printf(&s.arena, "%s/tree/.git\n", s.dir));
	stage_load(&s);

	CHECK_CSTR(stage_get(&s, "model"), "\"main\"");
	CHECK_CSTR(stage_short(&s, settings_local_path(&s.arena, &s.spec)), "top/.claude/settings.local.json");
	stage_release(&s);
}

TEST(in_the_home_directory_the_users_file_is_not_the_projects)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "top/project/.claude/settings.json", "{\"model\":\"a\"}");
	s.spec.config_dir = stage_path(&s, "top/project/.claude");

	stage_load(&s);

	CHECK_CSTR(stage_origin(&s, "model"), "user top/project/.claude/settings.json:1");
	stage_release(&s);
}

TEST(layers_are_merged_as_their_keys_say)
{
	static const struct {
		const char *user, *project, *managed, *path, *expected;
	} rows[] = {
		/* scalars and objects */
		{ "{\"worktree\":{\"baseRef\":\"head\"}}", "{\"worktree\":{\"sparsePaths\":[\"a\"]}}", "{}", "worktree",
		  "{\"baseRef\":\"head\",\"sparsePaths\":[\"a\"]}" },
		{ "{\"env\":{\"A\":\"1\",\"B\":\"1\"}}", "{\"env\":{\"B\":\"2\"}}", "{\"env\":{\"C\":3}}", "env",
		  "{\"A\":\"1\",\"B\":\"2\",\"C\":3}" },
		{ "{\"x\":{\"a\":{\"b\":1,\"c\":1}}}", "{\"x\":{\"a\":{\"c\":2}}}", "{}", "x.a", "{\"b\":1,\"c\":2}" },
		{ "{\"model\":\"a\",\"model\":\"b\"}", "{}", "{}", "model", "\"b\"" },
		/* arrays */
		{ "{\"permissions\":{\"deny\":[\"a\",\"b\"]}}", "{\"permissions\":{\"deny\":[\"c\",\"\\u0061\"]}}",
		  "{\"permissions\":{\"deny\":[\"d\"]}}", "permissions.deny", "[\"a\",\"b\",\"c\",\"d\"]" },
		{ "{\"hooks\":{\"Stop\":[{\"hooks\":[1]}]}}",
		  "{\"hooks\":{\"Stop\":[{ \"hooks\": [1] },{\"hooks\":[2]}]}}", "{\"hooks\":{\"Start\":[]}}", "hooks",
		  "{\"Stop\":[{\"hooks\":[1]},{\"hooks\":[2]}],\"Start\":[]}" },
		/* another type */
		{ "{\"x\":[1]}", "{\"x\":{\"a\":1}}", "{}", "x", "{\"a\":1}" },
		{ "{\"x\":{\"a\":1}}", "{\"x\":2}", "{\"x\":{\"b\":1}}", "x", "{\"b\":1}" },
		{ "{\"x\":{\"a\":1}}", "{\"x\":null}", "{}", "x", "null" },
		/* whole values */
		{ "{\"fallbackModel\":[\"a\"]}", "{\"fallbackModel\":[\"b\"]}", "{}", "fallbackModel", "[\"b\"]" },
		{ "{\"availableModels\":[\"a\"]}", "{\"availableModels\":[\"b\"]}", "{}", "availableModels",
		  "[\"a\",\"b\"]" },
		{ "{\"availableModels\":[\"a\"]}", "{\"availableModels\":[\"b\"]}", "{\"availableModels\":[\"c\"]}",
		  "availableModels", "[\"c\"]" },
		{ "{\"extraKnownMarketplaces\":{\"m\":{\"a\":1},\"n\":{}}}",
		  "{\"extraKnownMarketplaces\":{\"m\":{\"b\":1}}}", "{}", "extraKnownMarketplaces",
		  "{\"m\":{\"b\":1},\"n\":{}}" },
		/* the strictest */
		{ "{\"disableClaudeAiConnectors\":true}", "{\"disableClaudeAiConnectors\":false}", "{}",
		  "disableClaudeAiConnectors", "true" },
		{ "{\"remoteControlAtStartup\":false}", "{\"remoteControlAtStartup\":true}", "{}",
		  "remoteControlAtStartup", "false" },
		{ "{\"crossSessionInbound\":\"hold\"}", "{\"crossSessionInbound\":\"refuse\"}",
		  "{\"crossSessionInbound\":\"accept\"}", "crossSessionInbound", "\"refuse\"" },
		{ "{\"isolatePeerMachines\":false}", "{}", "{\"isolatePeerMachines\":true}", "isolatePeerMachines",
		  "true" },
		/* who may say it */
		{ "{\"allowManagedHooksOnly\":true}", "{\"allowManagedHooksOnly\":true}", "{}", "allowManagedHooksOnly",
		  "-" },
		{ "{}", "{\"allowManagedHooksOnly\":false}", "{\"allowManagedHooksOnly\":true}",
		  "allowManagedHooksOnly", "true" },
		{ "{\"sandbox\":{\"network\":{\"allowManagedDomainsOnly\":true}}}", "{}", "{}", "sandbox",
		  "{\"network\":{}}" },
		{ "{\"permissions\":{\"defaultMode\":\"plan\"}}", "{\"permissions\":{\"defaultMode\":\"auto\"}}", "{}",
		  "permissions.defaultMode", "\"plan\"" },
		{ "{\"permissions\":{\"defaultMode\":\"auto\"}}", "{}", "{}", "permissions.defaultMode", "\"auto\"" },
		/* names with dots */
		{ "{\"enabledPlugins\":{\"a@b.c\":true}}", "{}", "{}", "enabledPlugins.a@b.c", "true" },
		{ "{\"worktree.baseRef\":\"x\"}", "{}", "{}", "worktree.baseRef", "-" },
		{ "{\"my.own\":1}", "{}", "{}", "my.own", "1" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s;
		stage_init(&s);
		stage_put(&s, files[0], rows[i].user);
		stage_put(&s, files[1], rows[i].project);
		stage_put(&s, files[4], rows[i].managed);
		stage_load(&s);
		CHECK_CSTR(stage_get(&s, rows[i].path), rows[i].expected);
		stage_release(&s);
	}
}

TEST(the_origin_is_that_of_the_value_in_force)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], "{\n\"crossSessionInbound\":\"refuse\",\n\"permissions\":{\"defaultMode\":\"plan\"}}");
	stage_put(&s, files[1], "{\"crossSessionInbound\":\"accept\",\"permissions\":{\"defaultMode\":\"auto\"}}");

	stage_load(&s);

	CHECK_CSTR(stage_origin(&s, "crossSessionInbound"), "user config/settings.json:2");
	CHECK_CSTR(stage_origin(&s, "permissions.defaultMode"), "user config/settings.json:3");
	stage_release(&s);
}

TEST(typed_questions_give_the_default_of_the_key_for_what_is_not_said)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0],
		  "{\"subagents\":{\"maxDepth\":5,\"fork\":true,\"maxBudgetUsd\":2.5,\"defaultModel\":\"a\\u0062\"}}");

	stage_load(&s);

	CHECK_INT(settings_i64(s.settings, "subagents.maxDepth"), 5);
	CHECK_INT(settings_i64(s.settings, "subagents.maxAlive"), 1000);
	CHECK(settings_bool(s.settings, "subagents.fork"));
	CHECK(settings_bool(s.settings, "respectGitignore"));
	CHECK(settings_double(s.settings, "subagents.maxBudgetUsd") == 2.5);
	CHECK_CSTR(settings_cstr(s.settings, "subagents.defaultModel", &s.arena), "ab");
	CHECK(!settings_cstr(s.settings, "model", &s.arena));
	stage_release(&s);
}

static void add_item(void *data, const struct settings_item *item)
{
	buf_addf(data, "%s:%u:%u " STR_FMT STR_FMT "|", settings_layer_name(item->origin.layer), item->origin.line,
		 item->origin.column, STR_ARG(json_raw(item->key)), STR_ARG(json_raw(item->value)));
}

TEST(every_element_has_its_layer_and_place)
{
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], "{\"permissions\":{\"deny\":[\"a\",\n \"b\"]},\"hooks\":{\"Stop\":[1]}}");
	stage_put(&s, files[1], "{\"permissions\":{\"deny\":[\"a\"]},\"hooks\":{\"Stop\":[2]}}");
	stage_put(&s, files[6], "{\"permissions\":{\"deny\":[\"c\"]}}");
	stage_load(&s);

	settings_each(s.settings, "permissions.deny", add_item, &out);
	settings_each(s.settings, "hooks", add_item, &out);
	settings_each(s.settings, "permissions.allow", add_item, &out);

	CHECK_CSTR(out.p, "user:1:25 \"a\"|user:2:2 \"b\"|project:1:25 \"a\"|managed:1:25 \"c\"|"
			  "user:2:17 \"Stop\"[1]|project:1:40 \"Stop\"[2]|");
	stage_release(&s);
}

static void add_view(void *data, const struct settings_view *view)
{
	static const char *const names[] = { "nofile", "refused",    "silent", "ignored",
					     "held",   "overridden", "joins",  "wins" };

	buf_addf(data, "%s:%s|", settings_layer_name(view->origin.layer), names[view->effect]);
}

TEST(an_explanation_names_the_part_of_every_file)
{
	AUTO_BUF struct buf out = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], "{\"model\":\"a\",\"permissions\":{\"deny\":[\"a\"]},\"claudeMd\":\"x\"}");
	stage_put(&s, files[1], "{\"model\":\"b\",\"permissions\":{\"deny\":[\"b\"]}}");
	s.spec.sdk = true;
	stage_load(&s);

	settings_explain(s.settings, "model", add_view, &out);
	settings_explain(s.settings, "permissions.deny", add_view, &out);
	settings_explain(s.settings, "claudeMd", add_view, &out);

	CHECK_CSTR(out.p, "managed:nofile|local:nofile|project:wins|user:overridden|"
			  "managed:nofile|local:nofile|project:joins|user:joins|"
			  "managed:nofile|local:nofile|project:silent|user:ignored|");
	stage_release(&s);
}

TEST(what_restricts_and_cannot_be_read_is_refused_with_line_and_column)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "{\n  \"model\": ,}", "config/settings.json:2:12: " },
		{ "{\"a\":1,}", "config/settings.json:1:8: " },
		{ "{ // no\n}", "config/settings.json:1:3: " },
		{ "[]", "config/settings.json:1:1: expected an object" },
		{ "{\"permissions\": []}", "config/settings.json:1:17: permissions: expected an object" },
		{ "{\"sandbox\": true}", "config/settings.json:1:13: sandbox: expected an object" },
		{ "{\"permissions\":{\"deny\":[\"a\",\n3]}}",
		  "config/settings.json:2:1: permissions.deny: expected an array of rules" },
		{ "{\"permissions\":{\"ask\":\"Bash\"}}",
		  "config/settings.json:1:23: permissions.ask: expected an array of rules" },
		{ "{\"subagents\":{\"maxDepth\":-1}}",
		  "config/settings.json:1:26: subagents.maxDepth: expected a whole number from 0 to 100" },
		{ "{\"subagents\":{\"maxDepth\":1.5}}",
		  "config/settings.json:1:26: subagents.maxDepth: expected a whole number from 0 to 100" },
		{ "{\"subagents\":{\"maxDepth\":4294967296}}",
		  "config/settings.json:1:26: subagents.maxDepth: expected a whole number from 0 to 100" },
		{ "{\"subagents\":{\"maxAlive\":4294967296}}",
		  "config/settings.json:1:26: subagents.maxAlive: expected a whole number from 1 to 1000000" },
		{ "{\"subagents\":{\"maxTotal\":4294967296}}",
		  "config/settings.json:1:26: subagents.maxTotal: expected a whole number from 0 to 1000000000" },
		{ "{\"hooks\":{\"Stop\":{}}}", "config/settings.json:1:18: hooks: expected an object of arrays" },
		{ "{\"permissions\":{\"disableBypassPermissionsMode\":true}}",
		  "config/settings.json:1:48: permissions.disableBypassPermissionsMode: expected \"disable\"" },
		{ "{\"permissions\":{\"deny\":[\"Bash\"],\n\"deny\":[]}}",
		  "config/settings.json:1:24: permissions.deny: expected only one of this name" },
		{ "{\"permissions\":{\"deny\":[\"Bash\"]},\"permissions\":null}",
		  "config/settings.json:1:16: permissions: expected only one of this name" },
		{ "{\"sandbox\":{\"enabled\":true},\"model\":\"m\",\"s\\u0061ndbox\":{}}",
		  "config/settings.json:1:12: sandbox: expected only one of this name" },
		{ "{\"hooks\":{\"Stop\":[{\"hooks\":[{}],\"hooks\":[]}]}}",
		  "config/settings.json:1:28: hooks: expected only one of this name" },
		{ "{\"hooks\":{\"PreToolUse\":[{}],\"PreToolUse\":[]}}",
		  "config/settings.json:1:24: hooks: expected only one of this name" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s;
		stage_init(&s);
		stage_put(&s, files[0], rows[i].text);
		const char *error = stage_refusal(&s);
		if (!str_starts(str_from(error), str_from(rows[i].expected)))
			fail_msg("%s is not %s", error, rows[i].expected);
		CHECK(str_has(str_from(error), STR("agents do not run until this is right")));
		stage_release(&s);
	}
}

TEST(what_only_adds_and_does_not_fit_is_left_out_with_line_and_column)
{
	static const struct {
		const char *text, *path, *left, *expected;
	} rows[] = {
		{ "{\n\"model\": 3}", "model", "-", "2:10: model: expected a string; it is left out" },
		{ "{\"model\":null}", "model", "-", "1:10: model: expected a string; it is left out" },
		{ "{\"permissions\":{\"defaultMode\":\"sure\"}}", "permissions.defaultMode", "-",
		  "1:31: permissions.defaultMode: expected one of" },
		{ "{\"permissions\":{\"allow\":[\"a\",3,\"b\",null]}}", "permissions.allow", "[\"a\",\"b\"]",
		  "1:30: permissions.allow: expected an array of rules" },
		{ "{\"permissions\":{\"deny\":null,\"allow\":[\"a\"]}}", "permissions.allow", "[\"a\"]",
		  "1:24: permissions.deny: expected an array of rules" },
		{ "{\"sandbox\":{\"network\":{\"httpProxyPort\":null}}}", "sandbox.network.httpProxyPort", "-",
		  "1:40: sandbox.network.httpProxyPort: expected a whole number" },
		{ "{\"env\":{\"A\":[],\"B\":\"b\"}}", "env", "{\"B\":\"b\"}",
		  "1:13: env: expected an object of strings" },
		{ "{\"env\":{\"A=B\":\"x\",\"B\":\"b\"}}", "env", "{\"B\":\"b\"}", "1:9: env: expected an object" },
		{ "{\"env\":{\"A\":\"x\\u0000\"}}", "env", "{}", "1:13: env: expected an object of strings" },
		{ "{\"fallbackModel\":[\"a\",1]}", "fallbackModel", "-", "1:18: fallbackModel: expected" },
		{ "{\"fastMode\":\"true\"}", "fastMode", "-", "1:13: fastMode: expected true or false" },
		{ "{\"worktree\":3}", "worktree", "-", "1:13: worktree: expected an object" },
		{ "{\"worktree\":{\"baseRef\":\"main\"}}", "worktree.baseRef", "-",
		  "1:24: worktree.baseRef: expected one of \"head\", \"fresh\"" },
		{ "{\"cleanupPeriodDays\":150000000000}", "cleanupPeriodDays", "-",
		  "1:22: cleanupPeriodDays: expected a whole number from 1 to 100000000" },
		{ "{\"cleanupPeriodDays\":0}", "cleanupPeriodDays", "-",
		  "1:22: cleanupPeriodDays: expected a whole number from 1 to 100000000" },
		{ "{\"askUserQuestionTimeout\":1e300}", "askUserQuestionTimeout", "-",
		  "1:27: askUserQuestionTimeout: expected a number from 0 to 100000000" },
		{ "{\"skillListingBudgetFraction\":1.5}", "skillListingBudgetFraction", "-",
		  "1:31: skillListingBudgetFraction: expected a number from 0 to 1" },
		{ "{\"allowManagedHooksOnly\":1}", "allowManagedHooksOnly", "-",
		  "1:26: allowManagedHooksOnly: expected true or false" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t count;
		struct stage s;
		stage_init(&s);
		stage_put(&s, files[0], rows[i].text);
		stage_load(&s);
		CHECK_INT(settings_refusal(s.settings, NULL), 0);
		CHECK_CSTR(stage_get(&s, rows[i].path), rows[i].left);
		const struct settings_note *n = settings_notes(s.settings, &count);
		CHECK(count > 0 && n->kind == NOTE_LEFT_OUT);
		const char *text = arena_printf(&s.arena, "%u:%u: %s", n->origin.line, n->origin.column, n->message);
		if (!str_starts(str_from(text), str_from(rows[i].expected)))
			fail_msg("%s is not %s", text, rows[i].expected);
		stage_release(&s);
	}
}

TEST(a_file_full_of_misfits_is_refused_as_a_whole)
{
	AUTO_BUF struct buf text = { 0 };
	struct stage s;
	stage_init(&s);
	buf_addstr(&text, "{\"agent\":\"a\"");
	for (int i = 0; i < 20000; i++)
		buf_addstr(&text, ",\"model\":1");
	buf_addstr(&text, "}");
	stage_put(&s, files[0], text.p);

	CHECK_CSTR(stage_refusal(&s),
		   "config/settings.json: more than 500 values do not fit; agents do not run until this is right "
		   "(`cadre config`)");
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "agent"), "-");
	stage_release(&s);
}

TEST(every_layer_can_be_bad)
{
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		struct stage s;
		stage_init(&s);
		stage_put(&s, files[i], "{\"permissions\":{\"deny\":1}}");
		CHECK(str_starts(str_from(stage_refusal(&s)), str_from(files[i])));
		stage_release(&s);
	}
}

TEST(a_file_that_cannot_be_read_is_bad_and_an_empty_one_says_nothing)
{
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], " \n");
	stage_put(&s, files[1], "\xef\xbb\xbf{\"model\":\"b\"}");
	stage_load(&s);
	CHECK_CSTR(stage_get(&s, "model"), "\"b\"");

	CHECK_INT(file_make_dirs(stage_path(&s, "managed/managed-settings.d/dir.json"), 0700, &err), 0);

	CHECK(str_starts(str_from(stage_refusal(&s)), STR("managed/managed-settings.d/dir.json: not a regular file")));
	stage_release(&s);
}

TEST(unknown_keys_are_kept_and_noted)
{
	AUTO_BUF struct buf out = { 0 };
	size_t count;
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0],
		  "{\"$schema\":\"x\",\n\"tinge\":\"dark\",\"permissions\":{\"never\":[]},\n"
		  "\"worktree.baseRef\":\"head\",\"allowManagedHooksOnly\":true,\"claudeMd\":\"x\"}");

	stage_load(&s);

	const struct settings_note *notes = settings_notes(s.settings, &count);
	for (size_t i = 0; i < count; i++)
		buf_addf(&out, "%u: %s|", notes[i].origin.line, notes[i].message);
	CHECK_CSTR(out.p, "2: tinge is not known; it is kept|2: permissions.never is not known; it is kept|"
			  "3: worktree.baseRef is not known; it is kept|"
			  "3: allowManagedHooksOnly has no effect here: it counts in managed settings only|"
			  "3: claudeMd has no effect here: it counts in managed settings only|");
	CHECK_CSTR(stage_get(&s, "tinge"), "\"dark\"");
	stage_release(&s);
}

TEST(many_keys_and_elements_cost_what_they_are)
{
	enum { MANY = 60000 };
	AUTO_BUF struct buf text = { 0 };
	struct stage s;
	stage_init(&s);
	buf_addstr(&text, "{\"permissions\":{\"deny\":[");
	for (int i = 0; i < MANY; i++)
		buf_addf(&text, "%s\"Bash(%d)\"", i ? "," : "", i);
	buf_addstr(&text, "]}");
	for (int i = 0; i < MANY; i++)
		buf_addf(&text, ",\"k%d\":1", i);
	buf_addstr(&text, "}");
	stage_put(&s, files[0], text.p);
	stage_put(&s, files[1], text.p);

	stage_load(&s); /* with a square in it, this takes minutes */

	CHECK_INT(settings_get(s.settings, "permissions.deny", NULL)->count, MANY);
	stage_release(&s);
}

TEST(known_keys_are_sorted_described_and_fit_their_own_defaults)
{
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting_key *key = &setting_table[i];
		AUTO_JSON struct json_reader reader = { 0 };
		AUTO_BUF struct buf expected = { 0 };
		const struct json *value;
		CHECK(!i || strcmp(setting_table[i - 1].path, key->path) < 0);
		CHECK(setting_find(str_from(key->path)) == key);
		CHECK(key->summary && key->summary[0]);
		CHECK_INT(key->type == SETTING_CHOICE, key->choices != NULL);
		CHECK(!setting_is_group(str_from(key->path))); /* a key is a value or a group, never both */
		setting_expected(&expected, key);
		CHECK(expected.n > 0);
		if (!key->fallback)
			continue;
		CHECK_INT(json_parse(&reader, key->fallback, strlen(key->fallback), &value, NULL), 0);
		CHECK(!setting_misfit(key, value, NULL));
	}
	CHECK(setting_is_group(STR("sandbox.network")) && !setting_is_group(STR("sand")) && !setting_is_group(STR("")));
}

/* Reads again until the files are so old that their stamps count; a tenth of a second. */
static void settle(struct stage *s)
{
	for (int i = 0; settings_stale(s->settings); i++) {
		CHECK(i < 1000000);
		stage_load(s);
	}
}

TEST(every_change_of_a_file_is_seen)
{
	for (size_t i = 0; i < COUNT_OF(files); i += 3) {
		struct err err = { 0 };
		struct stage s;
		stage_init(&s);
		stage_load(&s);
		CHECK(!settings_stale(s.settings));

		stage_put(&s, files[i], "{\"model\":\"a\"}");
		CHECK_INT(settings_refresh(&s.settings, &err), 1);
		CHECK_CSTR(stage_get(&s, "model"), "\"a\"");
		settle(&s);
		CHECK_INT(settings_refresh(&s.settings, &err), 0);

		stage_put(&s, files[i], "{\"model\":\"b\"}");
		CHECK_INT(settings_refresh(&s.settings, &err), 1);
		CHECK_CSTR(stage_get(&s, "model"), "\"b\"");
		settle(&s);

		stage_remove(&s, files[i]);
		CHECK_INT(settings_refresh(&s.settings, &err), 1);
		CHECK_CSTR(stage_get(&s, "model"), "-");
		stage_release(&s);
	}
}

static void add_change(void *data, enum settings_layer layer, const char *file)
{
	const char *slash = strrchr(file, '/');

	buf_addf(data, "%s %s\n", settings_layer_name(layer), slash ? slash + 1 : file);
}

TEST(the_files_that_changed_between_two_snapshots_are_named)
{
	AUTO_BUF struct buf changes = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, "top/project/.claude/settings.json", "{\"model\":\"a\"}");
	stage_put(&s, "top/project/.claude/settings.local.json", "{\"model\":\"b\"}");
	stage_load(&s);
	struct settings *before = settings_ref(s.settings);

	stage_put(&s, "top/project/.claude/settings.json", "{\"model\":\"c\"}");
	stage_remove(&s, "top/project/.claude/settings.local.json");
	stage_put(&s, "managed/managed-settings.json", "{}");
	stage_load(&s);
	settings_each_change(before, s.settings, add_change, &changes);
	settings_each_change(before, before, add_change, &changes);

	CHECK_CSTR(changes.p, "project settings.json\nlocal settings.local.json\nmanaged managed-settings.json\n");
	settings_unref(before);
	stage_release(&s);
}

TEST(a_change_in_place_to_the_same_size_is_seen)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], "{\"model\":\"a\"}");
	stage_load(&s);
	settle(&s);

	FILE *f = fopen(stage_path(&s, files[0]), "r+");
	CHECK(f && fputs("{\"model\":\"b\"}", f) >= 0 && fclose(f) == 0);

	CHECK(settings_stale(s.settings));
	stage_release(&s);
}

TEST(a_file_that_was_written_a_moment_ago_is_looked_at_again)
{
	bool stale = false;
	struct stage s;
	stage_init(&s);

	for (int i = 0; i < 100 && !stale; i++) { /* the machine may be slow, but not always */
		stage_put(&s, files[0], "{}");
		stage_load(&s);
		stale = settings_stale(s.settings);
	}

	CHECK(stale);
	stage_release(&s);
}

TEST(a_file_that_becomes_bad_leaves_the_snapshot_in_force)
{
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, files[0], "{\"model\":\"a\"}");
	stage_load(&s);
	struct settings *before = settings_ref(s.settings);
	stage_put(&s, files[0], "{\"model\":");

	CHECK_INT(settings_refresh(&s.settings, &err), -ERR_USAGE);

	CHECK(str_has(str_from(err.text), STR("config/settings.json:1:10: ")));
	CHECK(s.settings == before);
	CHECK_CSTR(stage_get(&s, "model"), "\"a\"");
	stage_put(&s, files[0], "{\"model\":\"c\"}");
	CHECK_INT(settings_refresh(&s.settings, &err), 1);
	CHECK_CSTR(stage_get(&s, "model"), "\"c\"");
	CHECK(json_str_is(settings_get(before, "model", NULL), "a"));
	settings_unref(before);
	stage_release(&s);
}

int test_layers(void)
{
	return RUN_TESTS(T(of_every_two_files_the_higher_one_wins), T(the_flag_is_above_local_and_below_managed),
			 T(the_flag_may_name_a_file_which_must_be_there), T(setting_sources_and_bare_choose_the_layers),
			 T(nothing_above_cwd_is_the_projects),
			 T(local_settings_of_the_root_are_not_for_sdks_nor_from_a_home_or_a_stranger),
			 T(a_linked_worktree_has_the_local_settings_of_the_main_checkout),
			 T(in_the_home_directory_the_users_file_is_not_the_projects),
			 T(layers_are_merged_as_their_keys_say), T(the_origin_is_that_of_the_value_in_force),
			 T(typed_questions_give_the_default_of_the_key_for_what_is_not_said),
			 T(every_element_has_its_layer_and_place), T(an_explanation_names_the_part_of_every_file),
			 T(what_restricts_and_cannot_be_read_is_refused_with_line_and_column),
			 T(what_only_adds_and_does_not_fit_is_left_out_with_line_and_column),
			 T(a_file_full_of_misfits_is_refused_as_a_whole), T(every_layer_can_be_bad),
			 T(a_file_that_cannot_be_read_is_bad_and_an_empty_one_says_nothing),
			 T(unknown_keys_are_kept_and_noted), T(many_keys_and_elements_cost_what_they_are),
			 T(known_keys_are_sorted_described_and_fit_their_own_defaults),
			 T(every_change_of_a_file_is_seen), T(the_files_that_changed_between_two_snapshots_are_named),
			 T(a_change_in_place_to_the_same_size_is_seen),
			 T(a_file_that_was_written_a_moment_ago_is_looked_at_again),
			 T(a_file_that_becomes_bad_leaves_the_snapshot_in_force));
}
