/* SPDX-License-Identifier: MIT
 * test_paths.c - which files a skill is for, and skills of nested directories. */
#include "stage.h"
#include "defs/skill/registry.h"
#include "tests.h"

#define AUTO_STAGE CLEANUP(stage_release)

static struct skill *parse(const char *fields, bool is_command)
{
	AUTO_BUF struct buf text = { 0 };
	struct skill_origin origin = { .file = "/p/.claude/skills/x/SKILL.md", .name = "x", .is_command = is_command };

	buf_addf(&text, "---\n%s\n---\nBody.", fields);
	return skill_from_markdown(&origin, buf_str(&text));
}

TEST(a_skill_wants_the_files_that_its_patterns_fit)
{
	static const struct {
		const char *fields, *path;
		bool wanted;
	} rows[] = {
		{ "paths: src/**/*.ts", "src/a/b.ts", true },
		{ "paths: src/**/*.ts", "src/b.ts", true },
		{ "paths: src/**/*.ts", "lib/src/b.ts", false },
		{ "paths: \"*.md\"", "docs/deep/a.md", true },
		{ "paths: ./docs", "docs/deep/a.md", true },
		{ "paths: ./docs", "more/docs/a.md", false },
		{ "paths: docs/", "docs/a.md", true },
		{ "paths: docs/", "docs", false },
		{ "paths: \"a.c, src/*.{h,hpp}\"", "src/x.hpp", true },
		{ "paths: \"a.c, src/*.{h,hpp}\"", "src/x.c", false },
		{ "paths: [\"src/*.{h,hpp}\", b.c]", "deep/b.c", true },
		{ "paths:\n  - src/**\n  - \"!src/old/**\"", "src/new/a", true },
		{ "paths: \"*\"", "any", true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct skill *s = parse(rows[i].fields, false);
		CHECK(s->path_rules.count > 0);
		if (gitignore_covers(&s->path_rules, str_from(rows[i].path)) != rows[i].wanted)
			fail_msg("%s: %s", rows[i].fields, rows[i].path);
		skill_unref(s);
	}
}

TEST(paths_that_say_nothing_leave_a_skill_to_everybody)
{
	static const char *const rows[] = { "paths:", "paths: \"\"", "paths: []", "paths: {a: b}", "paths: [1]" };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct skill *s = parse(rows[i], false);
		CHECK_INT(s->path_rules.count, 0);
		CHECK(!s->refused);
		skill_unref(s);
	}
	struct skill *command = parse("paths: src/**", true);
	CHECK_INT(command->path_rules.count, 0);
	skill_unref(command);
}

TEST(a_nested_directory_comes_with_a_refresh_and_its_skills_know_it)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "top/apps/web/.claude/skills/deploy/SKILL.md");
	stage_skill(&s, "top/apps/web/pages/.claude/skills/deploy/SKILL.md");
	stage_skill(&s, "top/apps/web/pages/.claude/skills/print/SKILL.md");
	stage_skill(&s, "top/apps/web/pages/.claude/commands/never.md");
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "deploy=top/apps/web/.claude/skills/deploy/SKILL.md");

	CHECK(skill_registry_add_nested(s.registry, stage_path(&s, "top/apps/web/pages")));
	CHECK(!skill_registry_add_nested(s.registry, stage_path(&s, "top/apps/web/pages")));
	catalog_refresh(s.registry);

	CHECK_CSTR(stage_active(&s), "apps/web/pages:deploy=top/apps/web/pages/.claude/skills/deploy/SKILL.md,"
				     "deploy=top/apps/web/.claude/skills/deploy/SKILL.md,"
				     "print=top/apps/web/pages/.claude/skills/print/SKILL.md");
	CHECK_CSTR(skill_registry_find(s.registry, STR("print"))->nested, stage_path(&s, "top/apps/web/pages"));
	CHECK(!skill_registry_find(s.registry, STR("deploy"))->nested);
}

TEST(the_names_that_others_have_do_not_change_when_a_directory_is_found)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "top/apps/web/b/.claude/skills/deploy/SKILL.md");
	stage_skill(&s, "top/apps/web/a/.claude/skills/deploy/SKILL.md");
	stage_skill(&s, "config/skills/print/SKILL.md");
	stage_skill(&s, "top/apps/web/a/.claude/skills/print/SKILL.md");
	stage_load(&s);

	(void)skill_registry_add_nested(s.registry, stage_path(&s, "top/apps/web/b"));
	(void)skill_registry_add_nested(s.registry, stage_path(&s, "top/apps/web/a"));
	catalog_refresh(s.registry);

	CHECK_CSTR(stage_active(&s), "apps/web/a:deploy=top/apps/web/a/.claude/skills/deploy/SKILL.md,"
				     "deploy=top/apps/web/b/.claude/skills/deploy/SKILL.md,"
				     "print=config/skills/print/SKILL.md");
}

static bool is_print(void *data, const struct catalog_entry *e)
{
	(void)data;
	return !strcmp(e->name, "print");
}

TEST(a_list_shows_those_that_it_is_asked_for_under_its_own_title)
{
	AUTO_STAGE struct stage s;
	AUTO_BUF struct buf out = { 0 };
	stage_init(&s);
	stage_put(&s, "config/skills/print/SKILL.md", "Prints.");
	stage_put(&s, "config/skills/other/SKILL.md", "Other.");
	stage_load(&s);

	skill_listing_write(&out, s.registry, &(struct skill_listing_spec){ .title = "New:", .shows = is_print });

	CHECK_CSTR(out.p, "New:\n- print: Prints.\n");
}

int test_paths(void)
{
	return RUN_TESTS(T(a_skill_wants_the_files_that_its_patterns_fit),
			 T(paths_that_say_nothing_leave_a_skill_to_everybody),
			 T(a_nested_directory_comes_with_a_refresh_and_its_skills_know_it),
			 T(the_names_that_others_have_do_not_change_when_a_directory_is_found),
			 T(a_list_shows_those_that_it_is_asked_for_under_its_own_title));
}
