/* SPDX-License-Identifier: MIT
 * test_registry.c - the view of what was found, lookup, and changes on disk. */
#include "stage.h"
#include <sys/stat.h>
#include "tests.h"

static struct agent_definition *refresh_and_get(struct stage *s, struct str type, struct err *err)
{
	catalog_refresh(s->registry);
	return agent_registry_get(s->registry, type, err);
}

TEST(an_added_a_changed_and_a_removed_file_are_seen_by_the_next_lookup)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	stage_load(&s);
	CHECK(refresh_and_get(&s, STR("new"), &err) == NULL);
	CHECK_INT(err.kind, ERR_NOT_FOUND);

	stage_put(&s, "top/project/.claude/agents/new.md", "---\nname: new\ndescription: 1\n---\n");
	struct agent_definition *first = refresh_and_get(&s, STR("new"), &err);
	stage_put(&s, "top/project/.claude/agents/new.md", "---\nname: new\ndescription: 2\n---\n");
	struct agent_definition *second = refresh_and_get(&s, STR("new"), &err);
	CHECK_INT(remove(stage_path(&s, "top/project/.claude/agents/new.md")), 0);
	CHECK(refresh_and_get(&s, STR("new"), &err) == NULL);

	CHECK_CSTR(first->description, "1");
	CHECK_CSTR(second->description, "2");
	agent_unref(first);
	agent_unref(second);
	stage_release(&s);
}

/* The file keeps its size, and both writes may fall into one tick of the file system's clock. */
TEST(two_changes_within_one_tick_are_both_seen)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	stage_put(&s, "config/agents/a.md", "---\nname: a\ndescription: 0\n---\n");
	stage_load(&s);

	for (char digit = '1'; digit <= '9'; digit++) {
		FILE *f = fopen(stage_path(&s, "config/agents/a.md"), "r+");
		fprintf(f, "---\nname: a\ndescription: %c\n---\n", digit);
		fclose(f);
		struct agent_definition *d = refresh_and_get(&s, STR("a"), &err);
		CHECK_INT(d->description[0], digit);
		agent_unref(d);
	}
	stage_release(&s);
}

/* A file that was just written is read again, for a tenth of a second. Returns the generation that stays. */
static uint64_t let_settle(struct stage *s)
{
	uint64_t before;

	do {
		before = s->registry->generation;
		catalog_refresh(s->registry);
	} while (s->registry->generation != before && before < 1000000);
	return before;
}

TEST(a_change_of_a_file_that_was_at_rest_is_seen)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/a.md", "before");
	stage_put(&s, "config/settings.json", "{\"agents\":{\"old\":{\"description\":\"d\",\"prompt\":\"p\"}}}");
	stage_load(&s);
	let_settle(&s);

	stage_agent(&s, "config/agents/a.md", "behind");
	stage_put(&s, "config/settings.json", "{\"agents\":{\"new\":{\"description\":\"d\",\"prompt\":\"p\"}}}");
	catalog_refresh(s.registry);

	CHECK_CSTR(stage_active(&s), "behind,new");
	stage_release(&s);
}

TEST(a_look_that_finds_nothing_new_changes_nothing)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/a.md", "a");
	stage_load(&s);
	uint64_t before = let_settle(&s);
	const struct agent_definition *d = stage_find(&s, "a");

	catalog_refresh(s.registry);

	CHECK_INT(s.registry->generation, before);
	CHECK(stage_find(&s, "a") == d);
	stage_release(&s);
}

TEST(settings_that_break_during_a_run_keep_what_they_said)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "config/settings.json", "{\"agents\":{\"a\":{\"description\":\"1\",\"prompt\":\"p\"}}}");
	stage_load(&s);

	stage_put(&s, "config/settings.json", "{\"agents\":{\"a\":{");
	catalog_refresh(s.registry);
	CHECK_CSTR(stage_active(&s), "a");
	CHECK_INT(s.registry->failed_count, 1);

	stage_put(&s, "config/settings.json", "{\"agents\":{\"b\":{\"description\":\"2\",\"prompt\":\"p\"}}}");
	catalog_refresh(s.registry);
	CHECK_CSTR(stage_active(&s), "b");
	CHECK_INT(s.registry->failed_count, 0);
	stage_release(&s);
}

TEST(a_directory_that_appears_later_counts)
{
	struct stage s;
	stage_init(&s);
	stage_load(&s);
	CHECK_CSTR(stage_active(&s), "");

	stage_agent(&s, "top/.claude/agents/x/y/late.md", "late");
	catalog_refresh(s.registry);

	CHECK_CSTR(stage_active(&s), "late");
	stage_release(&s);
}

TEST(of_two_agents_of_one_name_in_one_tree_the_first_path_counts)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/b.md", "same");
	stage_agent(&s, "config/agents/c.md", "same");
	stage_agent(&s, "config/agents/a/a.md", "same");

	stage_load(&s);

	CHECK_CSTR(stage_find(&s, "same")->description, "config/agents/b.md");
	size_t hidden = 0;
	for (size_t i = 0; i < s.registry->all_count; i++)
		hidden += s.registry->all[i].hidden_by != NULL;
	CHECK_INT(hidden, 2);
	stage_release(&s);
}

TEST(what_is_no_agent_is_looked_at_but_neither_active_nor_failed)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "config/agents/README.md", "# Our agents\n");
	stage_put(&s, "config/agents/notes.txt", "---\nname: t\ndescription: d\n---\n");
	stage_put(&s, "config/agents/.hidden.md", "---\nname: h\ndescription: d\n---\n");
	CHECK_INT(mkfifo(stage_path(&s, "config/agents/pipe.md"), 0600), 0);
	CHECK_INT(symlink("nowhere.md", stage_path(&s, "config/agents/broken.md")), 0);

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "");
	CHECK_INT(s.registry->failed_count, 0);
	CHECK_CSTR(s.registry->looked_at[s.registry->looked_at_count - 1]->file,
		   stage_path(&s, "config/agents/README.md"));
	stage_release(&s);
}

TEST(a_refused_agent_is_a_failed_file_with_its_line)
{
	struct stage s;
	stage_init(&s);
	stage_put(&s, "config/agents/bad.md", "---\nname: bad\ndescription: d\nisolation: sometimes\n---\n");

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "");
	CHECK_INT(s.registry->failed_count, 1);
	CHECK_INT(s.registry->failed[0].line, 4);
	CHECK(str_has(str_from(s.registry->failed[0].message), STR("isolation")));
	stage_release(&s);
}

TEST(links_that_lead_in_circles_end)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/deep/a.md", "a");
	CHECK_INT(symlink("..", stage_path(&s, "config/agents/deep/up")), 0);
	CHECK_INT(symlink(".", stage_path(&s, "config/agents/deep/self")), 0);

	stage_load(&s);

	CHECK_CSTR(stage_active(&s), "a");
	CHECK_INT(s.registry->looked_at_count, s.registry->active_count);
	stage_release(&s);
}

TEST(an_exact_type_goes_before_an_alias_and_that_before_a_similar_one)
{
	struct stage s;
	stage_init(&s);
	stage_agent(&s, "config/agents/a.md", "code-reviewer");
	stage_load(&s);

	CHECK_CSTR(stage_find(&s, "Code Reviewer")->name, "code-reviewer");
	CHECK_CSTR(stage_find(&s, "code_reviewer")->name, "code-reviewer");
	CHECK_CSTR(stage_find(&s, "EXPLORE")->name, "Explore");
	CHECK_CSTR(stage_find(&s, "claude-code-guide")->name, "cadre-guide");
	CHECK(!stage_find(&s, "code-review"));
	CHECK(!stage_find(&s, ""));

	stage_agent(&s, "config/agents/b.md", "claude-code-guide");
	stage_agent(&s, "config/agents/c.md", "Code-Reviewer");
	catalog_refresh(s.registry);
	CHECK_CSTR(stage_find(&s, "claude-code-guide")->name, "claude-code-guide");
	CHECK_CSTR(stage_find(&s, "Code-Reviewer")->name, "Code-Reviewer");
	stage_release(&s);
}

TEST(a_denied_type_is_not_given_and_the_rule_is_named)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	stage_put(&s, "top/project/.claude/settings.json", "{\"permissions\":{\"deny\":[\"Agent(Explore)\"]}}");
	stage_load(&s);

	CHECK(refresh_and_get(&s, STR("explore"), &err) == NULL);

	CHECK_INT(err.kind, ERR_DENIED);
	CHECK_CSTR(err.text,
		   "Agent type 'Explore' has been denied by permission rule 'Agent(Explore)' from projectSettings.");
	stage_release(&s);
}

TEST(deny_rules_match_types_in_every_form)
{
	static const struct {
		const char *deny, *type;
		bool denied;
	} rows[] = {
		{ "[\"Agent(Explore)\"]", "Explore", true },
		{ "[\"Task(Explore)\"]", "Explore", true },
		{ "[\" Agent( explore ) \"]", "Explore", true },
		{ "[\"Agent(a, Explore)\"]", "Explore", true },
		{ "[\"Agent(Explore)\"]", "Plan", false },
		{ "[\"Agent\"]", "Plan", true },
		{ "[\"Task\"]", "Plan", true },
		{ "[\"Agent(*)\"]", "Plan", true },
		{ "[{\"tool\":\"Task\",\"args\":\"Explore\"}]", "Explore", true },
		{ "[{\"tool\":\"Agent\",\"args\":[\"a\",\"Explore\"]}]", "Explore", true },
		{ "[{\"tool\":\"Agent\"}]", "Explore", true },
		{ "[{\"tool\":\"Bash\",\"args\":\"Explore\"}]", "Explore", false },
		{ "[\"Bash(Explore)\"]", "Explore", false },
		{ "[\"Agent(model:opus)\"]", "model:opus", false },
		{ "[\"Agent(plg:sub:x)\"]", "plg:sub:x", true },
		{ "[\"Agent(Code Reviewer)\"]", "code-reviewer", true },
		{ "[\"Agent(claude-code-guide)\"]", "cadre-guide", true },
		{ "[\"Agent(Explore\"]", "Explore", false },
		{ "[3, null, [\"Agent\"]]", "Explore", false },
		{ "\"Agent\"", "Explore", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_JSON struct json_reader reader = { 0 };
		struct agent_denials d = { 0 };
		const struct json *deny;
		CHECK_INT(json_parse(&reader, rows[i].deny, strlen(rows[i].deny), &deny, NULL), 0);
		agent_denials_add(&d, deny, "test");
		if ((agent_denials_find(&d, str_from(rows[i].type)) != NULL) != rows[i].denied)
			fail_msg("%s and %s", rows[i].deny, rows[i].type);
		agent_denials_release(&d);
	}
}

int test_registry(void)
{
	return RUN_TESTS(T(an_added_a_changed_and_a_removed_file_are_seen_by_the_next_lookup),
			 T(two_changes_within_one_tick_are_both_seen), T(a_change_of_a_file_that_was_at_rest_is_seen),
			 T(a_look_that_finds_nothing_new_changes_nothing),
			 T(settings_that_break_during_a_run_keep_what_they_said),
			 T(a_directory_that_appears_later_counts),
			 T(of_two_agents_of_one_name_in_one_tree_the_first_path_counts),
			 T(what_is_no_agent_is_looked_at_but_neither_active_nor_failed),
			 T(a_refused_agent_is_a_failed_file_with_its_line), T(links_that_lead_in_circles_end),
			 T(an_exact_type_goes_before_an_alias_and_that_before_a_similar_one),
			 T(a_denied_type_is_not_given_and_the_rule_is_named), T(deny_rules_match_types_in_every_form));
}
