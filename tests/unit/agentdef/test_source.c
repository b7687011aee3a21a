/* SPDX-License-Identifier: MIT
 * test_source.c - where agents come from and who wins. */
#include "stage.h"
#include <sys/stat.h>
#include "tests.h"

/* Each makes the agent "same" in one source; its description names the source. */
/* A plugin whose agents are at these paths, NULL-terminated; one that ends with .md is a file. */
static void use_plugin(struct stage *s, const char *name, const char *const *paths)
{
	struct catalog_plugin *p = arena_calloc(&s->arena, sizeof *p);
	struct catalog_plugin_path *list = arena_calloc(&s->arena, 8 * sizeof *list);

	*p = (struct catalog_plugin){ .name = name, .vars.root = stage_path(s, "dir"), .paths = list };
	for (; paths[p->path_count]; p->path_count++)
		list[p->path_count] =
			(struct catalog_plugin_path){ .path = stage_path(s, paths[p->path_count]),
						      .is_dir = !str_ends(str_from(paths[p->path_count]), STR(".md")) };
	s->sources.plugins = p;
	s->sources.plugin_count = 1;
}

static const char *const usual_place[] = { "dir/agents", NULL };

static void in_plugin(struct stage *s)
{
	/* A plugin's agent has its plugin in its type: the others take that type. */
	stage_put(s, "dir/agents/same.md", "---\nname: same\ndescription: plugin\n---\n");
	use_plugin(s, "plug", usual_place);
}

static void in_user_settings(struct stage *s)
{
	stage_put(s, "config/settings.json",
		  "{\"agents\":{\"plug:same\":{\"description\":\"user settings\",\"prompt\":\"p\"}}}");
}

static void in_project_settings(struct stage *s)
{
	stage_put(s, "top/project/.claude/settings.json",
		  "{\"agents\":{\"plug:same\":{\"description\":\"project settings\",\"prompt\":\"p\"}}}");
}

static void in_local_settings(struct stage *s)
{
	stage_put(s, "top/project/.claude/settings.local.json",
		  "{\"agents\":{\"plug:same\":{\"description\":\"local settings\",\"prompt\":\"p\"}}}");
}

static void in_flag(struct stage *s)
{
	s->sources.flag = "{\"plug:same\":{\"description\":\"flag\",\"prompt\":\"p\"}}";
}

static void in_managed_settings(struct stage *s)
{
	stage_put(s, "managed/managed-settings.json",
		  "{\"agents\":{\"plug:same\":{\"description\":\"managed settings\",\"prompt\":\"p\"}}}");
}

static void in_managed_part(struct stage *s)
{
	stage_put(s, "managed/managed-settings.d/10.json",
		  "{\"agents\":{\"plug:same\":{\"description\":\"managed part\",\"prompt\":\"p\"}}}");
}

TEST(of_every_two_sources_the_later_one_wins)
{
	static const struct {
		void (*make)(struct stage *s);
		const char *description;
	} sources[] = {
		{ in_plugin, "plugin" },
		{ in_user_settings, "user settings" },
		{ in_project_settings, "project settings" },
		{ in_local_settings, "local settings" },
		{ in_flag, "flag" },
		{ in_managed_settings, "managed settings" },
		{ in_managed_part, "managed part" },
	};

	for (size_t low = 0; low < COUNT_OF(sources); low++)
		for (size_t high = low + 1; high < COUNT_OF(sources); high++) {
			struct stage s;
			stage_init(&s);
			sources[high].make(&s);
			sources[low].make(&s);
			stage_load(&s);
			CHECK_CSTR(stage_find(&s, "plug:same")->description, sources[high].description);
			CHECK_CSTR(stage_active(&s), "plug:same");
			stage_release(&s);
		}
}

TEST(of_every_two_directories_the_nearer_one_wins)
{
	static const char *const trees[] = { "config/agents",
					     "extra/.claude/agents",
					     "top/.claude/agents",
					     "top/middle/.claude/agents",
					     "top/middle/project/.claude/agents",
					     "managed/.claude/agents" };

	for (size_t low = 0; low < COUNT_OF(trees); low++)
		for (size_t high = low + 1; high < COUNT_OF(trees); high++) {
			struct stage s;
			stage_init(&s);
			const char *extra[] = { stage_path(&s, "extra") };
			char *far = arena_printf(&s.arena, "%s/a.md", trees[low]);
			char *near = arena_printf(&s.arena, "%s/deep/er/b.md", trees[high]);
			stage_agent(&s, far, "same");
			stage_agent(&s, near, "same");
			s.sources.cwd = stage_path(&s, "top/middle/project");
			s.sources.add_dirs = extra;
			s.sources.add_dir_count = 1;
			stage_load(&s);
			CHECK_CSTR(stage_find(&s, "same")->description, near);
			CHECK_INT(s.registry->failed_count, 0);
			stage_release(&s);
		}
}

TEST(a_file_wins_over_the_settings_of_its_level_and_may_replace_a_built_in_agent)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/x.md", "Explore");
	stage_put(&s, "config/settings.json",
		  "{\"agents\":{\"Explore\":{\"description\":\"settings\",\"prompt\":\"p\"}}}");

	stage_load(&s);

	CHECK_CSTR(stage_find(&s, "Explore")->description, "config/agents/x.md");
	size_t hidden = 0;
	for (size_t i = 0; i < s.registry->all_count; i++)
		hidden += s.registry->all[i].hidden_by == agent_registry_find(s.registry, STR("Explore"));
	CHECK_INT(hidden, 2);
	stage_release(&s);
}

TEST(nothing_above_the_repository_counts_and_without_one_only_cwd_does)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, ".claude/agents/above.md", "above");
	stage_agent(&s, "top/.claude/agents/root.md", "root");
	stage_agent(&s, "top/project/.claude/agents/here.md", "here");

	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "here,root");

	CHECK_INT(remove(stage_path(&s, "top/.git/HEAD")), 0);
	CHECK_INT(remove(stage_path(&s, "top/.git")), 0);
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "here");
	stage_release(&s);
}

TEST(a_linked_worktree_sees_the_main_checkout_if_that_knows_it)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "top/.claude/agents/main.md", "main");
	stage_put(&s, "tree/.git", arena_printf(&s.arena, "gitdir: %s/top/.git/worktrees/tree\n", s.dir));
	s.sources.cwd = stage_path(&s, "tree");

	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "");
	stage_put(&s, "top/.git/worktrees/tree/gitdir", "/elsewhere/.git\n");
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "");

	stage_put(&s, "top/.git/worktrees/tree/gitdir", arena_printf(&s.arena, "%s/tree/.git\n", s.dir));
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "main");
	stage_release(&s);
}

TEST(the_users_directory_is_no_project)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "top/.claude/agents/mine.md", "mine");
	s.sources.config_dir = stage_path(&s, "top/.claude");
	s.sources.setting_sources = SETTINGS_PROJECT;

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "");
	stage_release(&s);
}

TEST(local_settings_of_the_repositorys_root_count_unless_an_sdk_asks)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "top/.claude/settings.local.json",
		  "{\"agents\":{\"root\":{\"description\":\"d\",\"prompt\":\"p\"}}}");
	stage_put(&s, "top/.claude/settings.json", "{\"agents\":{\"no\":{\"description\":\"d\",\"prompt\":\"p\"}}}");

	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "root");

	s.sources.sdk = true;
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "");
	stage_release(&s);
}

TEST(setting_sources_choose_whose_agents_count)
{
	static const struct {
		const char *list, *expected;
	} rows[] = {
		{ "user,project,local", "flag,local,managed,project,user" },
		{ "user", "flag,managed,user" },
		{ "project", "flag,managed,project" },
		{ " local , user", "flag,local,managed,user" },
		{ "", "flag,managed" },
	};
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	stage_agent(&s, "config/agents/a.md", "user");
	stage_agent(&s, "top/project/.claude/agents/a.md", "project");
	stage_agent(&s, "managed/.claude/agents/a.md", "managed");
	stage_put(&s, "top/project/.claude/settings.local.json",
		  "{\"agents\":{\"local\":{\"description\":\"d\",\"prompt\":\"p\"}}}");
	s.sources.flag = "{\"flag\":{\"description\":\"d\",\"prompt\":\"p\"}}";

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CHECK_INT(setting_sources_parse(str_from(rows[i].list), &s.sources.setting_sources, &err), 0);
		stage_load(&s);
		CHECK_CSTR(stage_active(&s), rows[i].expected);
	}
	CHECK_INT(setting_sources_parse(STR("user,everything"), &s.sources.setting_sources, &err), -ERR_USAGE);
	s.sources.setting_sources = SETTINGS_ALL;
	s.sources.bare = true;
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "flag,managed");
	stage_release(&s);
}

TEST(a_managed_lock_leaves_plugins_and_managed_agents_only)
{
	static const char *const locks[] = { "true", "{\"agents\":true}", "[\"agents\"]" };

	for (size_t i = 0; i < COUNT_OF(locks); i++) {
		struct stage s;
		stage_init(&s);
		in_plugin(&s);
		stage_agent(&s, "config/agents/a.md", "user");
		stage_agent(&s, "top/project/.claude/agents/a.md", "project");
		stage_agent(&s, "managed/.claude/agents/a.md", "managed");
		s.sources.flag = "{\"flag\":{\"description\":\"d\",\"prompt\":\"p\"}}";
		stage_put(&s, "managed/managed-settings.json",
			  arena_printf(&s.arena, "{\"strictPluginOnlyCustomization\":%s}", locks[i]));
		stage_load(&s);
		CHECK_CSTR(stage_active(&s), "managed,plug:same");
		CHECK(s.registry->plugins_only);
		stage_release(&s);
	}
}

TEST(a_lock_for_something_else_or_by_somebody_else_locks_nothing)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/a.md", "user");
	stage_put(&s, "managed/managed-settings.json",
		  "{\"strictPluginOnlyCustomization\":{\"hooks\":true,\"agents\":false}}");
	stage_put(&s, "config/settings.json", "{\"strictPluginOnlyCustomization\":true}");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "user");
	stage_release(&s);
}

TEST(a_plugins_agents_have_its_name_and_their_directories_in_their_type)
{
	static const char *const paths[] = { "dir/agents", "dir/more", "dir/single.md", "dir/agents/sub", NULL };
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "dir/agents/one.md", "uno");
	stage_agent(&s, "dir/agents/sub/t.md", "two");
	stage_put(&s, "dir/agents/raw.md", "No frontmatter, but a prompt.");
	stage_put(&s, "dir/agents/w.md", "---\nwhen-to-use: on Mondays\npermissionMode: bypassPermissions\n---\n");
	stage_agent(&s, "dir/more/three.md", "three");
	stage_agent(&s, "dir/more/zzz.md", "uno");
	stage_agent(&s, "dir/single.md", "single");
	use_plugin(&s, "plg", paths);

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "plg:raw,plg:single,plg:sub:two,plg:three,plg:uno,plg:w");
	CHECK_CSTR(stage_find(&s, "plg:raw")->description, "Agent from plg plugin");
	CHECK_CSTR(stage_find(&s, "plg:raw")->prompt, "No frontmatter, but a prompt.");
	CHECK_CSTR(stage_find(&s, "plg:w")->description, "on Mondays");
	CHECK(!stage_find(&s, "plg:w")->permission_mode);
	CHECK_CSTR(stage_find(&s, "plg:uno")->description, "dir/agents/one.md");
	CHECK_CSTR(stage_find(&s, "plg:uno")->plugin, "plg");
	CHECK_INT(s.registry->failed_count, 0);
	stage_release(&s);
}

TEST(a_plugins_agent_knows_where_its_plugin_is)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "dir/agents/a.md", "Read ${CLAUDE_PLUGIN_ROOT}/x, not ${user_config.KEY} or ${HOME}.");
	use_plugin(&s, "plg", usual_place);

	stage_load(&s);

	const struct agent_definition *d = stage_find(&s, "plg:a");
	CHECK_CSTR(d->prompt,
		   arena_printf(&s.arena, "Read %s/x, not ${user_config.KEY} or ${HOME}.", stage_path(&s, "dir")));
	CHECK_INT(d->prompt_len, strlen(d->prompt));
	stage_release(&s);
}

TEST(every_problem_of_a_plugin_is_told_and_changes_nothing_when_looked_at_again)
{
	static const struct catalog_problem problems[] = { { "/p/plugin.json", 3, "agents: ./gone is not there" },
							   { "/p", 0, "is not there" } };
	static const struct catalog_plugin plugin = {
		.name = "plg", .vars.root = "/p", .problems = problems, .problem_count = COUNT_OF(problems)
	};
	struct stage s;
	stage_init(&s);
	s.sources.plugins = &plugin;
	s.sources.plugin_count = 1;
	stage_load(&s);
	uint64_t before = s.registry->generation;

	catalog_refresh(s.registry);

	CHECK_INT(s.registry->failed_count, 2);
	CHECK_CSTR(s.registry->failed[0].path, "/p/plugin.json");
	CHECK_INT(s.registry->failed[0].line, 3);
	CHECK_INT(s.registry->generation, before);
	stage_release(&s);
}

TEST(links_in_a_plugins_directory_are_followed_only_inside_it)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "out/a.md", "outside");
	stage_agent(&s, "dir/inside/b.md", "inside");
	stage_put(&s, "dir/agents/keep", "");
	CHECK_INT(symlink(stage_path(&s, "out"), stage_path(&s, "dir/agents/dir")), 0);
	CHECK_INT(symlink(stage_path(&s, "out/a.md"), stage_path(&s, "dir/agents/file.md")), 0);
	CHECK_INT(symlink("../inside/b.md", stage_path(&s, "dir/agents/good.md")), 0);
	use_plugin(&s, "dir", usual_place);

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "dir:inside");
	CHECK_INT(s.registry->failed_count, 2);
	stage_release(&s);
}

TEST(a_plugin_agent_that_lost_a_restriction_is_refused_even_without_a_description)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "dir/agents/a.md", "---\nname: a\nnote: [unclosed\ntools: [Read\n  - x: {\n---\nbody\n");
	use_plugin(&s, "plg", usual_place);

	stage_load(&s);

	CHECK(!stage_find(&s, "plg:a"));
	CHECK_INT(s.registry->failed_count, 1);
	stage_release(&s);
}

TEST(one_bad_entry_of_the_flag_is_an_error_and_of_settings_a_failure)
{
	static const struct {
		const char *flag, *expected;
	} rows[] = {
		{ "{\"a\":{\"description\":\"d\",\"prompt\":\"p\"},\"b\":{\"prompt\":\"p\"}}",
		  "Invalid --agents configuration: b: " },
		{ "{\"a\":", "Invalid --agents configuration: --agents:1:" },
		{ "[]", "Invalid --agents configuration: no such file: " },
		{ "nothing.json", "Invalid --agents configuration: no such file: " },
		{ "{\"a\":3}", "Invalid --agents configuration: a: " },
	};
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct catalog *r;
		struct err err = { 0 };
		s.sources.flag = rows[i].flag;
		CHECK_INT(agent_registry_new(&s.sources, &r, &err), -ERR_USAGE);
		CHECK(str_starts(str_from(err.text), str_from(rows[i].expected)));
	}
	s.sources.flag = NULL;
	stage_put(&s, "config/settings.json",
		  "{\"agents\":{\"a\":{\"description\":\"d\",\"prompt\":\"p\"},\"b\":{\"prompt\":\"p\"}}}");
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "a");
	CHECK_INT(s.registry->failed_count, 1);
	stage_release(&s);
}

TEST(the_flag_may_name_a_file)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "top/project/team.json", "{\"lead\":{\"description\":\"d\",\"prompt\":\"p\"}}");
	s.sources.flag = "team.json";

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "lead");
	CHECK_INT(stage_find(&s, "lead")->source, SOURCE_FLAG);
	stage_release(&s);
}

TEST(a_broken_settings_file_is_among_the_failures_with_its_line)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *expected;
	} rows[] = {
		{ "{\n\"agents\": {,}}", 2, "expected a key" },
		{ "{\n\n\"agents\": 3}", 3, "agents: expected an object" },
		{ "[1]", 1, "expected an object" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s;
		struct catalog *r;
		struct err err = { 0 };
		stage_init(&s);
		stage_put(&s, "config/settings.json", rows[i].text);
		CHECK_INT(agent_registry_new(&s.sources, &r, &err), 0);
		CHECK_INT(r->failed_count, 1);
		CHECK_INT(r->failed[0].line, rows[i].line);
		CHECK(str_starts(str_from(r->failed[0].message), str_from(rows[i].expected)));
		catalog_free(r);
		stage_release(&s);
	}
}

int test_source(void)
{
	return RUN_TESTS(
		T(of_every_two_sources_the_later_one_wins), T(of_every_two_directories_the_nearer_one_wins),
		T(a_file_wins_over_the_settings_of_its_level_and_may_replace_a_built_in_agent),
		T(nothing_above_the_repository_counts_and_without_one_only_cwd_does),
		T(a_linked_worktree_sees_the_main_checkout_if_that_knows_it), T(the_users_directory_is_no_project),
		T(local_settings_of_the_repositorys_root_count_unless_an_sdk_asks),
		T(setting_sources_choose_whose_agents_count), T(a_managed_lock_leaves_plugins_and_managed_agents_only),
		T(a_lock_for_something_else_or_by_somebody_else_locks_nothing),
		T(a_plugins_agents_have_its_name_and_their_directories_in_their_type),
		T(a_plugins_agent_knows_where_its_plugin_is),
		T(every_problem_of_a_plugin_is_told_and_changes_nothing_when_looked_at_again),
		T(links_in_a_plugins_directory_are_followed_only_inside_it),
		T(a_plugin_agent_that_lost_a_restriction_is_refused_even_without_a_description),
		T(one_bad_entry_of_the_flag_is_an_error_and_of_settings_a_failure), T(the_flag_may_name_a_file),
		T(a_broken_settings_file_is_among_the_failures_with_its_line));
}
