/* SPDX-License-Identifier: MIT
 * test_hidden.c - files that a search must not show. */
#include "guard/permission/permission.h"
#include "stage.h"
#include "tests.h"
#include "unit.h"

static bool hides(struct stage *stage, const struct hidden_files *h, const char *name)
{
	return hidden_files_has(h, arena_printf(&stage->arena, "%s/%s", stage->dir, name));
}

TEST(without_deny_rules_for_reading_nothing_is_kept_and_nothing_hidden)
{
	STAGE(stage);
	struct permission p = { 0 };
	stage.env.permission = &p;
	stage_rules(&stage, &p, "deny Edit(.env)\nask Read(.env)\nallow Read(f)\ndeny Bash(cat .env)");

	struct hidden_files *h = hidden_files_find(&stage.env, stage.dir);

	CHECK(!h);
	CHECK(!hides(&stage, h, ".env"));
	permission_release(&p);
}

TEST(deny_rules_of_the_whole_line_hide_files_and_directories)
{
	STAGE(stage);
	struct permission main = { .root = stage.dir };
	struct permission child;
	struct rule_set *settings = rule_set_new();
	const struct rule_origin origin = { .layer = "userSettings" };
	CHECK_INT(rule_set_add(settings, RULE_DENY, STR("Read(secrets/**)"), &origin, NULL, NULL, NULL), 0);
	permission_use_rules(&main, settings);
	stage_rules(&stage, &main, "deny Read(.env)");
	permission_derive(&child, &main, &(struct permission_birth){ 0 });
	stage_rules(&stage, &child, "deny Read(//@/docs)");
	stage.env.permission = &child;

	struct hidden_files *h = hidden_files_find(&stage.env, stage.dir);

	static const char *const hidden[] = { ".env", "a/.env", "secrets", "secrets/k", "a/secrets/k", "docs/d.md" };
	static const char *const shown[] = { "f", "a", "src/app.ts", ".env.example" };
	for (size_t i = 0; i < COUNT_OF(hidden); i++)
		CHECK(hides(&stage, h, hidden[i]));
	for (size_t i = 0; i < COUNT_OF(shown); i++)
		CHECK(!hides(&stage, h, shown[i]));
	hidden_files_free(h);
	permission_release(&child);
	permission_release(&main);
	rule_set_unref(settings);
}

TEST(a_snapshot_outlives_its_rules_and_does_not_see_new_ones)
{
	STAGE(stage);
	struct permission p = { 0 };
	stage.env.permission = &p;
	stage_rules(&stage, &p, "deny Read(.env)");

	struct hidden_files *h = hidden_files_find(&stage.env, stage.dir);
	stage_rules(&stage, &p, "deny Read(f)");
	permission_release(&p);

	CHECK(hides(&stage, h, ".env"));
	CHECK(!hides(&stage, h, "f"));
	hidden_files_free(h);
}

TEST(what_is_searched_through_a_link_is_hidden_by_the_rules_for_its_target)
{
	STAGE(stage);
	struct permission p = { 0 };
	stage.env.permission = &p;
	stage_rules(&stage, &p, "deny Read(./src/app.ts)");
	const char *link = arena_printf(&stage.arena, "%s/inside", stage.dir);

	struct hidden_files *h = hidden_files_find(&stage.env, link);

	CHECK(hides(&stage, h, "inside/app.ts"));
	CHECK(!hides(&stage, h, "inside/other.ts"));
	hidden_files_free(h);
	permission_release(&p);
}

int test_hidden(void)
{
	return RUN_TESTS(T(without_deny_rules_for_reading_nothing_is_kept_and_nothing_hidden),
			 T(deny_rules_of_the_whole_line_hide_files_and_directories),
			 T(a_snapshot_outlives_its_rules_and_does_not_see_new_ones),
			 T(what_is_searched_through_a_link_is_hidden_by_the_rules_for_its_target));
}
