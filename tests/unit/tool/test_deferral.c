/* SPDX-License-Identifier: MIT
 * test_deferral.c - tools that wait: when, which, and what the model is told of them. */
#include "unit.h"
#include "tests.h"
#include "core/tool/deferral.h"

static const struct tool plain = { .name = "Plain", .definition = "{}" };
static const struct tool one = { .name = "one", .definition = "{'one'}", .flags = TOOL_MAY_WAIT };
static const struct tool two = { .name = "two", .definition = "{'two'}", .flags = TOOL_MAY_WAIT };
static const struct tool three = { .name = "three", .definition = "{'three'}", .flags = TOOL_MAY_WAIT };

static const struct {
	const char *text;
	int when;
	unsigned percent;
} policies[] = {
	{ NULL, DEFER_AUTO, 10 },       { "", DEFER_AUTO, 10 },          { "auto", DEFER_AUTO, 10 },
	{ "auto:3", DEFER_AUTO, 3 },    { "auto:0", DEFER_AUTO, 0 },     { "auto:100", DEFER_AUTO, 100 },
	{ "auto:101", DEFER_AUTO, 10 }, { "auto:-1", DEFER_AUTO, 10 },   { "auto:x", DEFER_AUTO, 10 },
	{ "True", DEFER_ALWAYS, 10 },   { "1", DEFER_ALWAYS, 10 },       { "false", DEFER_NEVER, 10 },
	{ "0", DEFER_NEVER, 10 },       { "sometimes", DEFER_AUTO, 10 }, { "on", DEFER_ALWAYS, 10 },
	{ "No", DEFER_NEVER, 10 },      { "off", DEFER_NEVER, 10 },
};

TEST(a_policy_is_read_and_nonsense_is_the_usual_one)
{
	for (size_t i = 0; i < COUNT_OF(policies); i++) {
		struct deferral_policy p = deferral_policy_read(policies[i].text);

		print_message("# %s\n", policies[i].text ? policies[i].text : "(none)");
		CHECK_INT(p.when, policies[i].when);
		CHECK_INT(p.percent, policies[i].percent);
	}
}

static struct tool_set all_tools(void)
{
	struct tool_set set = { 0 };

	tool_set_add(&set, &one);
	tool_set_add(&set, &plain);
	tool_set_add(&set, &two);
	tool_set_add(&set, &three);
	return set;
}

TEST(tools_are_loaded_in_the_order_of_asking_and_only_when_they_are_arranged)
{
	CLEANUP(tool_set_release) struct tool_set tools = all_tools();
	CLEANUP(deferral_release) struct deferral d = { .on = true };
	deferral_arrange(&d, &tools, NULL, NULL);
	CHECK_INT(d.known.count, 3);

	deferral_want(&d, "three");
	deferral_want(&d, "one");
	deferral_want(&d, "three");

	CHECK(deferral_has_news(&d));
	CHECK(deferral_holds(&d, &three));
	deferral_arrange(&d, &tools, NULL, NULL);
	CHECK(!deferral_has_news(&d));
	CHECK_INT(d.loaded.count, 2);
	CHECK(d.loaded.tools[0] == &three && d.loaded.tools[1] == &one);
	CHECK(!deferral_holds(&d, &three));
	CHECK(deferral_holds(&d, &two));
	CHECK(!deferral_holds(&d, &plain));
}

TEST(a_tool_whose_server_is_away_keeps_its_place)
{
	CLEANUP(tool_set_release) struct tool_set tools = all_tools();
	CLEANUP(tool_set_release) struct tool_set fewer = { 0 };
	CLEANUP(deferral_release) struct deferral d = { .on = true };
	tool_set_add(&fewer, &two);
	deferral_want(&d, "three");
	deferral_want(&d, "two");

	deferral_arrange(&d, &fewer, NULL, NULL);
	CHECK_INT(d.loaded.count, 1);
	CHECK(!deferral_has_news(&d));

	deferral_arrange(&d, &tools, NULL, NULL);
	CHECK_INT(d.loaded.count, 2);
	CHECK(d.loaded.tools[0] == &three && d.loaded.tools[1] == &two);
}

TEST(nothing_waits_where_it_is_off)
{
	CLEANUP(tool_set_release) struct tool_set tools = all_tools();
	CLEANUP(deferral_release) struct deferral d = { 0 };

	deferral_want(&d, "one");
	deferral_arrange(&d, &tools, NULL, NULL);

	CHECK_INT(d.known.count, 0);
	CHECK_INT(d.loaded.count, 0);
	CHECK(!deferral_holds(&d, &one));
	CHECK(!deferral_holds(NULL, &one));
	CHECK_INT(deferral_bytes(&tools), 7 + 7 + 9);
}

static bool is_two(void *data, const struct tool *tool)
{
	(void)data;
	return tool == &two;
}

#define SEARCH "{\"name\":\"Find\",\"description\":\"Finds.\",\"input_schema\":{\"type\":\"object\"}}"

TEST(the_description_names_what_can_be_found_and_stays_the_same_when_it_is_loaded)
{
	CLEANUP(tool_set_release) struct tool_set tools = all_tools();
	CLEANUP(deferral_release) struct deferral d = { .on = true };
	AUTO_BUF struct buf before = { 0 };
	AUTO_BUF struct buf after = { 0 };
	deferral_arrange(&d, &tools, is_two, NULL);

	deferral_describe(&before, &d, SEARCH);
	deferral_want(&d, "one");
	deferral_arrange(&d, &tools, is_two, NULL);
	deferral_describe(&after, &d, SEARCH);

	CHECK_CSTR(before.p,
		   "{\"name\":\"Find\",\"description\":\"Finds.\\n\\nThe tools that it finds:\\n- one\\n- three\","
		   "\"input_schema\":{\"type\":\"object\"}}");
	CHECK_CSTR(after.p, before.p);
}

TEST(a_thousand_names_are_cut_and_the_rest_is_counted)
{
	AUTO_ARENA struct arena arena = { 0 };
	CLEANUP(tool_set_release) struct tool_set tools = { 0 };
	CLEANUP(deferral_release) struct deferral d = { .on = true };
	AUTO_BUF struct buf text = { 0 };

	for (unsigned i = 0; i < 1000; i++) {
		struct tool *t = arena_calloc(&arena, sizeof *t);
		*t = (struct tool){ .name = arena_printf(&arena, "mcp__server__tool_number_%04u", i),
				    .definition = "{}",
				    .flags = TOOL_MAY_WAIT };
		tool_set_add(&tools, t);
	}
	deferral_arrange(&d, &tools, NULL, NULL);
	deferral_describe(&text, &d, SEARCH);

	CHECK(text.n < 17000);
	CHECK(strstr(text.p, "mcp__server__tool_number_0000, mcp__server__tool_number_0001, ") != NULL);
	CHECK(strstr(text.p, " more, which only a search by keywords finds\"") != NULL);
}

int test_deferral(void)
{
	return RUN_TESTS(T(a_policy_is_read_and_nonsense_is_the_usual_one),
			 T(tools_are_loaded_in_the_order_of_asking_and_only_when_they_are_arranged),
			 T(a_tool_whose_server_is_away_keeps_its_place), T(nothing_waits_where_it_is_off),
			 T(the_description_names_what_can_be_found_and_stays_the_same_when_it_is_loaded),
			 T(a_thousand_names_are_cut_and_the_rest_is_counted));
}
