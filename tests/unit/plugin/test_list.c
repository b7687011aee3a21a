/* SPDX-License-Identifier: MIT
 * test_list.c - which plugins count. */
#include "stage.h"
#include "defs/plugin/install.h"
#include "tests.h"
#include "zip_maker.h"
#include "lib/io/file.h"

TEST(settings_say_which_installed_plugins_count_and_the_higher_layer_wins)
{
	static const struct {
		const char *user, *project, *managed;
		bool trusted;
		const char *states;
	} table[] = {
		{ "{}", "{}", "{}", false, "p@shop=disabled" },
		{ "{\"p@shop\":true}", "{}", "{}", false, "p@shop=enabled" },
		{ "{\"p@shop\":false}", "{}", "{}", false, "p@shop=disabled" },
		{ "{\"p@shop\":true}", "{\"p@shop\":false}", "{}", false, "p@shop=enabled" },
		{ "{\"p@shop\":true}", "{\"p@shop\":false}", "{}", true, "p@shop=disabled" },
		{ "{\"p@shop\":false}", "{\"p@shop\":true}", "{}", false, "p@shop=disabled" },
		{ "{\"p@shop\":false}", "{\"p@shop\":true}", "{}", true, "p@shop=enabled" },
		{ "{\"p@shop\":true}", "{}", "{\"p@shop\":false}", true, "p@shop=disabled" },
		{ "{\"p@shop\":\"yes\"}", "{}", "{}", false, "p@shop=failed:user-config-invalid" },
		{ "{\"gone@shop\":true,\"off@shop\":false}", "{}", "{}", false,
		  "gone@shop=failed:plugin-not-found p@shop=disabled" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		stage_init(&s);
		stage_plugin(&s, "src/p", "{\"name\":\"p\"}");
		stage_install(&s, "src/p", "shop");
		stage_put(&s, "home/settings.json", arena_printf(&s.arena, "{\"enabledPlugins\":%s}", table[i].user));
		stage_put(&s, "work/.claude/settings.json",
			  arena_printf(&s.arena, "{\"enabledPlugins\":%s}", table[i].project));
		stage_put(&s, "managed/managed-settings.json",
			  arena_printf(&s.arena, "{\"enabledPlugins\":%s}", table[i].managed));
		s.trusted = table[i].trusted;
		stage_load(&s);
		CHECK_CSTR(stage_states(&s), table[i].states);
		stage_release(&s);
	}
}

TEST(managed_settings_choose_the_marketplaces)
{
	static const struct {
		const char *managed, *states;
	} table[] = {
		{ "{}", "p@shop=enabled" },
		{ "{\"strictKnownMarketplaces\":[]}", "p@shop=failed:marketplace-blocked-by-policy" },
		{ "{\"strictKnownMarketplaces\":[{\"source\":\"github\",\"repo\":\"o/r\"}]}", "p@shop=enabled" },
		{ "{\"strictKnownMarketplaces\":[{\"source\":\"git\",\"url\":\"https://github.com/o/r.git\"}]}",
		  "p@shop=enabled" },
		{ "{\"strictKnownMarketplaces\":[{\"source\":\"github\",\"repo\":\"o/x\"}]}",
		  "p@shop=failed:marketplace-blocked-by-policy" },
		{ "{\"strictKnownMarketplaces\":[{\"source\":\"hostPattern\",\"hostPattern\":\"^github[.]com$\"}]}",
		  "p@shop=enabled" },
		{ "{\"blockedMarketplaces\":[{\"source\":\"github\",\"repo\":\"o/r\"}]}",
		  "p@shop=failed:marketplace-blocked-by-policy" },
		{ "{\"blockedMarketplaces\":[{\"source\":\"github\",\"repo\":\"o/r\",\"ref\":\"v9\"}]}",
		  "p@shop=enabled" },
		{ "{\"blockedMarketplaces\":[\"shop\"]}", "p@shop=failed:marketplace-blocked-by-policy" },
		{ "{\"blockedMarketplaces\":[\"other\",7,{}]}", "p@shop=enabled" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		struct err err = { 0 };
		stage_init(&s);
		stage_plugin(&s, "src/p", "{\"name\":\"p\"}");
		stage_install(&s, "src/p", "shop");
		CHECK_INT(record_market(s.spec.plugins_dir, "shop", STR("{\"source\":\"github\",\"repo\":\"o/r\"}"),
					stage_path(&s, "src"), &err),
			  0);
		stage_put(&s, "home/settings.json", "{\"enabledPlugins\":{\"p@shop\":true}}");
		stage_put(&s, "managed/managed-settings.json", table[i].managed);
		stage_load(&s);
		CHECK_CSTR(stage_states(&s), table[i].states);
		stage_release(&s);
	}
}

TEST(a_plugin_of_the_command_line_hides_an_installed_one_of_its_name)
{
	struct stage s;
	stage_init(&s);
	stage_plugin(&s, "src/p", "{\"name\":\"p\"}");
	stage_install(&s, "src/p", "shop");
	stage_put(&s, "home/settings.json", "{\"enabledPlugins\":{\"p@shop\":true}}");
	stage_give(&s, "src/p");

	stage_load(&s);

	CHECK_CSTR(stage_states(&s), "p@inline=enabled p@shop=disabled");
	CHECK_CSTR(s.list->all[1]->why, "p@inline has the same name");
	CHECK_INT(s.list->enabled_count, 1);
	CHECK(plugin_list_find(s.list, "p") == s.list->all[0]);
	CHECK(plugin_list_find(s.list, "p@shop") == s.list->all[1]);
	stage_release(&s);
}

TEST(the_flag_can_be_forbidden_and_only_it_is_left_in_a_bare_run)
{
	struct stage s;
	stage_init(&s);
	stage_plugin(&s, "src/p", "{\"name\":\"p\"}");
	stage_plugin(&s, "src/q", "{\"name\":\"q\"}");
	stage_install(&s, "src/q", "shop");
	stage_put(&s, "home/settings.json", "{\"enabledPlugins\":{\"q@shop\":true}}");
	stage_give(&s, "src/p");
	s.spec.bare = true;

	stage_load(&s);
	CHECK_CSTR(stage_states(&s), "p@inline=enabled");

	stage_put(&s, "managed/managed-settings.json", "{\"disableSideloadFlags\":true}");
	s.spec.bare = false;
	stage_load(&s);
	CHECK_CSTR(stage_states(&s), "p@inline=failed:marketplace-blocked-by-policy q@shop=enabled");
	stage_release(&s);
}

TEST(a_plugin_needs_what_it_depends_on_and_what_that_depends_on)
{
	static const struct {
		const char *base, *middle, *states;
	} table[] = {
		{ "{\"name\":\"base\",\"version\":\"1.4.0\"}", "[\"base\"]",
		  "base=enabled middle=enabled top=enabled" },
		{ "{\"name\":\"base\",\"version\":\"1.4.0\"}", "[{\"name\":\"base\",\"version\":\"^1.2.0\"}]",
		  "base=enabled middle=enabled top=enabled" },
		{ "{\"name\":\"base\",\"version\":\"2.0.0\"}", "[{\"name\":\"base\",\"version\":\"^1.2.0\"}]",
		  "base=enabled middle=failed top=failed" },
		{ "{\"name\":\"base\"}", "[{\"name\":\"base\",\"version\":\"^1.2.0\"}]",
		  "base=enabled middle=failed top=failed" },
		{ "{\"name\":\"base\",\"version\":2}", "[\"base\"]", "base=failed middle=failed top=failed" },
		{ "{\"name\":\"base\",\"defaultEnabled\":false}", "[\"base\"]",
		  "base=disabled middle=failed top=failed" },
		{ "{\"name\":\"base\",\"dependencies\":[\"top\"]}", "[\"base\"]",
		  "base=enabled middle=enabled top=enabled" },
		{ "{\"name\":\"base\"}", "[\"nobody\"]", "base=enabled middle=failed top=failed" },
	};
	static const char *const names[] = { "enabled", "disabled", "failed" };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		AUTO_BUF struct buf states = { 0 };
		stage_init(&s);
		stage_plugin(&s, "base", table[i].base);
		stage_plugin(&s, "middle",
			     arena_printf(&s.arena, "{\"name\":\"middle\",\"dependencies\":%s}", table[i].middle));
		stage_plugin(&s, "top", "{\"name\":\"top\",\"dependencies\":[\"middle\"]}");
		stage_give(&s, "top"); /* what fails is known only after those that need it were looked at */
		stage_give(&s, "middle");
		stage_give(&s, "base");
		stage_load(&s);
		for (size_t k = s.list->count; k-- > 0;)
			buf_addf(&states, "%s=%s%s", s.list->all[k]->name, names[s.list->all[k]->state], k ? " " : "");
		CHECK_STR(buf_str(&states), table[i].states);
		stage_release(&s);
	}
}

TEST(options_come_from_the_users_own_settings_and_never_from_the_project)
{
	static const char manifest[] =
		"{\"name\":\"p\",\"userConfig\":{\"KEY\":{\"type\":\"string\",\"required\":true},"
		"\"N\":{\"type\":\"number\",\"default\":3,\"max\":5},\"L\":{\"type\":\"string\",\"multiple\":true}}}";
	static const struct {
		const char *user, *project, *options;
	} table[] = {
		{ "{\"KEY\":\"k\"}", "{}", "KEY=k N=3 " },
		{ "{\"KEY\":\"k\",\"N\":5,\"L\":[\"a\",\"b\"]}", "{\"N\":1}", "KEY=k N=5 L=a,b " },
		{ "{}", "{\"KEY\":\"stolen\"}", NULL },
		{ "{\"KEY\":7}", "{}", NULL },
		{ "{\"KEY\":\"k\",\"N\":6}", "{}", NULL },
		{ "{\"KEY\":\"k\",\"L\":\"a\"}", "{}", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		AUTO_BUF struct buf options = { 0 };
		stage_init(&s);
		stage_plugin(&s, "p", manifest);
		stage_give(&s, "p");
		stage_put(&s, "home/settings.json",
			  arena_printf(&s.arena, "{\"pluginConfigs\":{\"p@inline\":{\"options\":%s}}}", table[i].user));
		stage_put(&s, "work/.claude/settings.json",
			  arena_printf(&s.arena, "{\"pluginConfigs\":{\"p@inline\":{\"options\":%s}}}",
				       table[i].project));
		s.trusted = true;
		stage_load(&s);
		const struct plugin *p = s.list->all[0];
		for (const char *const *o = p->vars.options; o && *o && table[i].options; o++)
			buf_addf(&options, "%s ", *o);
		CHECK_STR(buf_str(&options), table[i].options ? table[i].options : "");
		CHECK_CSTR(stage_states(&s),
			   table[i].options ? "p@inline=enabled" : "p@inline=failed:user-config-invalid");
		stage_release(&s);
	}
}

TEST(a_plugin_among_the_skills_of_a_project_waits_for_trust_in_that_very_folder)
{
	struct stage s;
	stage_init(&s);
	stage_plugin(&s, "work/.claude/skills/tool", "{\"name\":\"tool\"}");
	stage_put(&s, "work/.claude/skills/plain/SKILL.md", "x");
	s.skills_dir = (struct plugin_skills_dir){ stage_path(&s, "work/.claude/skills"), stage_path(&s, "work") };
	s.spec.skills_dir_count = 1;

	stage_load(&s);
	CHECK_CSTR(stage_states(&s), "tool@skills-dir=disabled");

	stage_put(&s, "state.json",
		  arena_printf(&s.arena, "{\"projects\":{\"%s\":{\"hasTrustDialogAccepted\":true}}}",
			       stage_path(&s, "work")));
	CHECK_INT(trust_read(&s.trust, stage_path(&s, "state.json"), NULL), 0);
	stage_load(&s);
	CHECK_CSTR(stage_states(&s), "tool@skills-dir=enabled");
	stage_release(&s);
}

TEST(trust_holds_for_one_copy_of_one_plugin)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	stage_plugin(&s, "one/p", "{\"name\":\"p\"}");
	stage_plugin(&s, "two/p", "{\"name\":\"p\"}");
	stage_give(&s, "one/p");
	stage_load(&s);
	CHECK(!s.list->all[0]->trusted);

	CHECK_INT(record_trust(s.spec.plugins_dir, "p@inline", s.list->all[0]->root, &err), 0);
	stage_load(&s);
	CHECK(s.list->all[0]->trusted);

	s.given[0].path = stage_path(&s, "two/p");
	stage_load(&s);
	CHECK(!s.list->all[0]->trusted);
	CHECK_INT(record_trust(s.spec.plugins_dir, "p@inline", NULL, &err), 0);
	s.given[0].path = stage_path(&s, "one/p");
	stage_load(&s);
	CHECK(!s.list->all[0]->trusted);
	stage_release(&s);
}

TEST(places_of_a_plugin_are_known_and_its_servers_can_be_left_out)
{
	struct stage s;
	stage_init(&s);
	stage_plugin(&s, "p", "{\"name\":\"p.q\",\"mcpServers\":{\"s\":{\"command\":\"c\"}}}");
	stage_give(&s, "p");
	stage_load(&s);
	const struct plugin *p = s.list->all[0];
	CHECK_CSTR(p->vars.root, stage_path(&s, "p"));
	CHECK_CSTR(p->vars.data, stage_path(&s, "home/plugins/data/p-q-inline"));
	CHECK_CSTR(p->vars.project, stage_path(&s, "work"));
	CHECK_INT(p->mcp.count, 1);

	s.given[0].no_mcp = true;
	stage_load(&s);

	CHECK_INT(s.list->all[0]->mcp.count, 0);
	stage_release(&s);
}

TEST(a_zip_file_is_a_plugin_and_a_bad_one_a_failed_one)
{
	static const struct zip_file good[] = { { .name = "plugin.json", .text = "{\"name\":\"z\"}" } };
	static const struct zip_file bad[] = { { .name = "../plugin.json", .text = "{\"name\":\"z\"}" } };
	struct stage s;
	stage_init(&s);
	AUTO_BUF struct buf zip = { 0 };
	AUTO_BUF struct buf evil = { 0 };
	zip_make(&zip, good, 1);
	zip_make(&evil, bad, 1);
	CHECK_INT(file_replace(stage_path(&s, "good.zip"), zip.p, zip.n, NULL), 0);
	CHECK_INT(file_replace(stage_path(&s, "evil.ZIP"), evil.p, evil.n, NULL), 0);
	stage_give(&s, "good.zip");
	stage_give(&s, "evil.ZIP");
	stage_give(&s, "gone.zip");

	stage_load(&s);

	CHECK_CSTR(stage_states(&s), "z@inline=enabled evil.ZIP@inline=failed:archive-invalid "
				     "gone.zip@inline=failed:plugin-not-found");
	stage_release(&s);
}

TEST(records_that_cannot_be_read_are_told)
{
	struct stage s;
	stage_init(&s);
	stage_plugin(&s, "p", "{\"name\":\"p\"}");
	stage_give(&s, "p");
	stage_put(&s, "home/plugins/installed_plugins.json", "{\"plugins\":");

	stage_load(&s);

	CHECK_CSTR(stage_states(&s), "plugins@records=failed:plugin-not-found p@inline=enabled");
	stage_release(&s);
}

int test_list(void)
{
	return RUN_TESTS(T(settings_say_which_installed_plugins_count_and_the_higher_layer_wins),
			 T(managed_settings_choose_the_marketplaces),
			 T(a_plugin_of_the_command_line_hides_an_installed_one_of_its_name),
			 T(the_flag_can_be_forbidden_and_only_it_is_left_in_a_bare_run),
			 T(a_plugin_needs_what_it_depends_on_and_what_that_depends_on),
			 T(options_come_from_the_users_own_settings_and_never_from_the_project),
			 T(a_plugin_among_the_skills_of_a_project_waits_for_trust_in_that_very_folder),
			 T(trust_holds_for_one_copy_of_one_plugin),
			 T(places_of_a_plugin_are_known_and_its_servers_can_be_left_out),
			 T(a_zip_file_is_a_plugin_and_a_bad_one_a_failed_one), T(records_that_cannot_be_read_are_told));
}
