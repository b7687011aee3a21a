/* SPDX-License-Identifier: MIT
 * test_listing.c - the list of skills that a model reads. */
#include "stage.h"
#include "defs/skill/registry.h"
#include "tests.h"

#define AUTO_STAGE CLEANUP(stage_release)

static void put_many(struct stage *s, unsigned count, size_t length)
{
	AUTO_FREE char *words = xcalloc(1, length + 1);

	memset(words, 'w', length);
	for (unsigned i = 0; i < count; i++)
		stage_put(s, arena_printf(&s->arena, "config/skills/skill-%03u/SKILL.md", i),
			  arena_printf(&s->arena, "---\ndescription: %s\n---\nx", words));
}

TEST(a_line_names_a_skill_and_says_when_to_use_it)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_put(&s, "config/skills/a/SKILL.md", "---\ndescription: Does\n  it\nwhen_to_use: Now\n---\nx");
	stage_put(&s, "config/skills/b/SKILL.md", "---\ndescription: B\ndisable-model-invocation: true\n---\nx");
	stage_put(&s, "config/skills/c/SKILL.md", "---\ndescription: C\nuser-invocable: false\n---\nx");
	stage_load(&s);
	AUTO_BUF struct buf list = { 0 };

	skill_listing_write(&list, s.registry, &(struct skill_listing_spec){ 0 });

	CHECK_CSTR(list.p, "Skills that the Skill tool can use:\n- a: Does it - Now\n- c: C\n");
}

TEST(a_list_without_skills_is_empty)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_load(&s);
	AUTO_BUF struct buf list = { 0 };

	skill_listing_write(&list, s.registry, &(struct skill_listing_spec){ 0 });

	CHECK_INT(list.n, 0);
}

TEST(a_description_is_cut_at_its_limit)
{
	AUTO_STAGE struct stage s;
	stage_init(&s);
	put_many(&s, 1, 3000);
	stage_load(&s);
	AUTO_BUF struct buf list = { 0 };

	skill_listing_write(&list, s.registry, &(struct skill_listing_spec){ 0 });

	CHECK(list.n > SKILL_LISTING_CHARS && list.n < SKILL_LISTING_CHARS + 100);
}

TEST(a_list_stays_within_its_budget)
{
	static const struct {
		unsigned count;
		size_t length, budget;
	} rows[] = { { 30, 400, 4000 }, { 100, 400, 4000 }, { 100, 400, 900 }, { 3, 10, 4000 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_STAGE struct stage s;
		stage_init(&s);
		put_many(&s, rows[i].count, rows[i].length);
		stage_load(&s);
		AUTO_BUF struct buf list = { 0 };
		skill_listing_write(&list, s.registry, &(struct skill_listing_spec){ .budget_bytes = rows[i].budget });
		CHECK(list.n <= rows[i].budget);
		CHECK(str_has(buf_str(&list), STR("skill-000")));
		if (rows[i].budget == 900)
			CHECK(str_has(buf_str(&list), STR("more are not named here")));
	}
}

TEST(settings_can_hide_a_skill_from_the_model_from_all_or_only_its_description)
{
	static const struct {
		const char *word;
		unsigned views;
		const char *chosen;
	} rows[] = {
		{ "on", SKILL_FOR_MODEL | SKILL_FOR_USER | SKILL_DESCRIBED, NULL },
		{ "name-only", SKILL_FOR_MODEL | SKILL_FOR_USER, NULL },
		{ "user-invocable-only", SKILL_FOR_USER | SKILL_DESCRIBED, NULL },
		{ "off", 0, NULL },
		{ "nonsense", 0, NULL },
		{ "on", SKILL_FOR_MODEL | SKILL_FOR_USER | SKILL_DESCRIBED, "b, a" },
		{ "on", SKILL_FOR_USER | SKILL_DESCRIBED, "b,plugin:a,aa" },
		{ "on", SKILL_FOR_USER | SKILL_DESCRIBED, "" },
		{ "off", 0, "a" },
	};
	AUTO_STAGE struct stage s;
	stage_init(&s);
	stage_skill(&s, "config/skills/a/SKILL.md");
	stage_load(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		char text[80];
		snprintf(text, sizeof text, "{\"a\":\"%s\"}", rows[i].word);
		CHECK_INT(json_parse(&reader, text, strlen(text), &root, NULL), 0);
		CHECK_INT(skill_views(s.registry->active[0], root, rows[i].chosen), rows[i].views);
	}
}

int test_listing(void)
{
	return RUN_TESTS(T(a_line_names_a_skill_and_says_when_to_use_it), T(a_list_without_skills_is_empty),
			 T(a_description_is_cut_at_its_limit), T(a_list_stays_within_its_budget),
			 T(settings_can_hide_a_skill_from_the_model_from_all_or_only_its_description));
}
