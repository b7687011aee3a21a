/* SPDX-License-Identifier: MIT
 * test_registry.c - where skills are found, which one has a name, and that the disk is seen as it is. */
#include "stage.h"
#include <sys/stat.h>
#include "tests.h"

#define AUTO_STAGE CLEANUP(stage_release)

TEST(skills_are_found_in_all_places)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "managed/.claude/skills/a/SKILL.md");
	stage_skill(&s, "config/skills/b/SKILL.md");
	stage_skill(&s, "top/.claude/skills/c/SKILL.md");
	stage_skill(&s, "top/apps/.claude/skills/d/SKILL.md");
	stage_skill(&s, "top/apps/web/.claude/skills/e/SKILL.md");
	stage_skill(&s, "added/.claude/skills/f/SKILL.md");
	const char *dirs[] = { stage_path(&s, "added") };
	s.sources.add_dirs = dirs;
	s.sources.add_dir_count = 1;

	stage_load(&s);

	CHECK_CSTR(stage_active(&s),
		   "a=managed/.claude/skills/a/SKILL.md,b=config/skills/b/SKILL.md,c=top/.claude/skills/c/SKILL.md,"
		   "d=top/apps/.claude/skills/d/SKILL.md,e=top/apps/web/.claude/skills/e/SKILL.md,"
		   "f=added/.claude/skills/f/SKILL.md");
}

TEST(managed_wins_over_user_and_user_over_project)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "managed/.claude/skills/a/SKILL.md");
	stage_skill(&s, "config/skills/a/SKILL.md");
	stage_skill(&s, "config/skills/b/SKILL.md");
	stage_skill(&s, "top/.claude/skills/a/SKILL.md");
	stage_skill(&s, "top/.claude/skills/b/SKILL.md");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "a=managed/.claude/skills/a/SKILL.md,b=config/skills/b/SKILL.md");
	CHECK_INT(s.registry->all_count, 5);
}

TEST(a_skill_wins_over_a_command_of_any_place)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "managed/.claude/commands/a.md");
	stage_skill(&s, "top/.claude/skills/a/SKILL.md");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "a=top/.claude/skills/a/SKILL.md");
}

TEST(commands_in_directories_have_them_in_their_names)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "top/.claude/commands/one.md");
	stage_skill(&s, "top/.claude/commands/git/push.md");
	stage_skill(&s, "top/.claude/commands/git/deep/x.md");
	stage_put(&s, "top/.claude/commands/readme.txt", "no");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "git:deep:x=top/.claude/commands/git/deep/x.md,"
				     "git:push=top/.claude/commands/git/push.md,one=top/.claude/commands/one.md");
}

TEST(below_the_root_a_name_that_is_taken_gets_its_directory)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "top/.claude/skills/deploy/SKILL.md");
	stage_skill(&s, "top/apps/web/.claude/skills/deploy/SKILL.md");
	stage_skill(&s, "top/apps/web/.claude/skills/other/SKILL.md");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "apps/web:deploy=top/apps/web/.claude/skills/deploy/SKILL.md,"
				     "deploy=top/.claude/skills/deploy/SKILL.md,"
				     "other=top/apps/web/.claude/skills/other/SKILL.md");
}

TEST(the_folder_synced_and_bad_names_are_left_out)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "top/.claude/skills/synced/SKILL.md");
	stage_skill(&s, "top/.claude/skills/two words/SKILL.md");
	stage_skill(&s, "top/.claude/skills/.hidden/SKILL.md");
	stage_skill(&s, "top/.claude/skills/good/SKILL.md");
	stage_put(&s, "top/.claude/skills/empty/other.md", "x");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "good=top/.claude/skills/good/SKILL.md");
	CHECK_INT(s.registry->failed_count, 1);
}

TEST(a_directory_that_links_lead_to_counts_once)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "elsewhere/x/SKILL.md");
	stage_skill(&s, "top/.claude/skills/a/SKILL.md");
	CHECK_INT(symlink(stage_path(&s, "elsewhere/x"), stage_path(&s, "top/.claude/skills/b")), 0);
	CHECK_INT(symlink(stage_path(&s, "elsewhere/x"), stage_path(&s, "top/.claude/skills/c")), 0);

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "a=top/.claude/skills/a/SKILL.md,b=top/.claude/skills/b/SKILL.md");
}

TEST(sources_that_are_not_chosen_do_not_count)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "managed/.claude/skills/a/SKILL.md");
	stage_skill(&s, "config/skills/b/SKILL.md");
	stage_skill(&s, "top/.claude/skills/c/SKILL.md");
	s.sources.setting_sources = 0;

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "a=managed/.claude/skills/a/SKILL.md");
}

TEST(a_plugin_brings_skills_and_commands_and_nothing_from_outside)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "plug/skills/a/SKILL.md");
	stage_skill(&s, "plug/one/SKILL.md");
	stage_skill(&s, "plug/commands/c.md");
	stage_skill(&s, "secret/SKILL.md");
	CHECK_INT(symlink(stage_path(&s, "secret"), stage_path(&s, "plug/skills/out")), 0);
	const char *root = stage_path(&s, "plug");
	const struct catalog_plugin_path paths[] = {
		{ .path = stage_path(&s, "plug/skills"), .is_dir = true },
		{ .path = stage_path(&s, "plug/one"), .is_dir = true },
		{ .path = stage_path(&s, "plug/commands"), .is_dir = true, .is_command = true },
		{ .path = stage_path(&s, "secret"), .is_dir = true },
	};
	struct catalog_plugin plugin = {
		.name = "p", .vars.root = root, .paths = paths, .path_count = COUNT_OF(paths)
	};
	s.sources.plugins = &plugin;
	s.sources.plugin_count = 1;

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "p:a=plug/skills/a/SKILL.md,p:c=plug/commands/c.md,p:one=plug/one/SKILL.md");
	CHECK_INT(s.registry->failed_count, 2);
}

TEST(what_changes_on_disk_is_seen_by_the_next_look)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "");
	uint64_t generation = s.registry->generation;

	stage_skill(&s, "top/.claude/skills/a/SKILL.md");
	catalog_refresh(s.registry);
	CHECK_CSTR(stage_active(&s), "a=top/.claude/skills/a/SKILL.md");
	CHECK(s.registry->generation != generation);

	stage_put(&s, "top/.claude/skills/a/SKILL.md", "---\ndescription: new\n---\nx");
	catalog_refresh(s.registry);
	CHECK_CSTR(s.registry->active[0]->skill->description, "new");

	CHECK_INT(unlink(stage_path(&s, "top/.claude/skills/a/SKILL.md")), 0);
	catalog_refresh(s.registry);
	CHECK_CSTR(stage_active(&s), "");
}

TEST(a_refused_skill_is_among_the_failures_and_cannot_be_found)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_put(&s, "top/.claude/skills/a/SKILL.md", "---\ndisallowed-tools: Bash(rm\n---\nx");

	stage_load(&s);

	CHECK(!skill_registry_find(s.registry, STR("a")));
	CHECK_INT(s.registry->failed_count, 1);
	CHECK_INT(s.registry->failed[0].line, 2);
}

TEST(a_skill_is_found_by_its_name_in_any_case_with_or_without_its_slash)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "config/skills/Deploy/SKILL.md");
	stage_load(&s);

	CHECK(skill_registry_find(s.registry, STR("Deploy")));
	CHECK(skill_registry_find(s.registry, STR(" /deploy ")));
	CHECK(!skill_registry_find(s.registry, STR("/")));
	CHECK(!skill_registry_find(s.registry, STR("deploy2")));
}

TEST(names_that_look_alike_are_offered)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "config/skills/deploy/SKILL.md");
	stage_skill(&s, "config/skills/review/SKILL.md");
	stage_load(&s);
	AUTO_BUF struct buf near = { 0 };
	AUTO_BUF struct buf none = { 0 };

	skill_registry_add_near(&near, s.registry, STR("/depoly"));
	skill_registry_add_near(&none, s.registry, STR("xyz"));

	CHECK_CSTR(near.p, "deploy");
	CHECK_INT(none.n, 0);
}

int test_registry(void)
{
	return RUN_TESTS(T(skills_are_found_in_all_places), T(managed_wins_over_user_and_user_over_project),
			 T(a_skill_wins_over_a_command_of_any_place),
			 T(commands_in_directories_have_them_in_their_names),
			 T(below_the_root_a_name_that_is_taken_gets_its_directory),
			 T(the_folder_synced_and_bad_names_are_left_out), T(a_directory_that_links_lead_to_counts_once),
			 T(sources_that_are_not_chosen_do_not_count),
			 T(a_plugin_brings_skills_and_commands_and_nothing_from_outside),
			 T(what_changes_on_disk_is_seen_by_the_next_look),
			 T(a_refused_skill_is_among_the_failures_and_cannot_be_found),
			 T(a_skill_is_found_by_its_name_in_any_case_with_or_without_its_slash),
			 T(names_that_look_alike_are_offered));
}
