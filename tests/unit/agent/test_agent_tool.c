/* SPDX-License-Identifier: MIT
 * test_agent_tool.c - the Agent tool as a model sees it: whom it can call, and which parameters have a meaning here. */
#include "unit.h"
#include "agents/life/life.h"
#include "tests.h"
#include "tree_stage.h"

static const struct tool base = {
	.name = "Agent",
	.definition =
		"{\"name\":\"Agent\",\"description\":\"Starts \\\"one\\\".\",\"input_schema\":{\"type\":\"object\","
		"\"properties\":{\"prompt\":{\"type\":\"string\"},\"run_in_background\":{\"type\":\"boolean\"}},"
		"\"required\":[\"prompt\"],\"additionalProperties\":false}}",
	.flags = TOOL_DELEGATES,
};

static void add_agent(struct tree_stage *st, const char *name)
{
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&path, "project/.claude/agents/%s.md", name);
	buf_addf(&text, "---\nname: %s\ndescription: Knows about %s\n---\nYou are %s.\n", name, name, name);
	tree_stage_put(st, path.p, buf_str(&text));
}

static void stage_with_agents(struct tree_stage *st)
{
	tree_stage_init(st);
	add_agent(st, "apples");
	add_agent(st, "pears");
	tree_stage_load_agents(st);
}

/* The parsed definition; reader and arena are the caller's. */
static const struct json *parse(struct json_reader *reader, const struct tool *tool)
{
	const struct json *root;
	struct err err = { 0 };

	if (json_parse(reader, tool->definition, strlen(tool->definition), &root, &err) < 0)
		fail_msg("%s", err.text);
	return root;
}

static const struct json *property(const struct json *definition, const char *name)
{
	return json_get(json_get(json_get(definition, "input_schema"), "properties"), name);
}

TEST(the_description_tells_whom_one_can_call)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct tree_stage st;
	stage_with_agents(&st);

	const struct tool *tool = agent_tool_make(&st.tree, &base);

	const struct json *root = parse(&reader, tool);
	struct str description = json_str(json_get(root, "description"), &a);
	CHECK(str_starts(description, STR("Starts \"one\".\n\n")));
	CHECK(str_has(description, STR("- apples: Knows about apples")));
	CHECK(str_has(description, STR("- pears: Knows about pears")));
	CHECK(str_has(description, STR("- general-purpose: ")));
	CHECK_INT(tool->flags, TOOL_DELEGATES);
	tree_stage_release(&st);
}

TEST(the_schema_keeps_everything_that_has_a_meaning)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_JSON struct json_reader base_reader = { 0 };
	struct tree_stage st;
	stage_with_agents(&st);

	const struct json *root = parse(&reader, agent_tool_make(&st.tree, &base));

	CHECK(json_same(json_get(root, "input_schema"), json_get(parse(&base_reader, &base), "input_schema")));
	tree_stage_release(&st);
}

TEST(run_in_background_is_hidden_where_nobody_can_choose)
{
	static const struct tree_switches rows[] = {
		{ .background_off = true },
		{ .fork_mode = true },
		{ .coordinator = true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_JSON struct json_reader reader = { 0 };
		struct tree_stage st;
		stage_with_agents(&st);
		st.tree.switches = rows[i];
		const struct json *root = parse(&reader, agent_tool_make(&st.tree, &base));
		CHECK(property(root, "run_in_background") == NULL);
		CHECK(property(root, "prompt") != NULL);
		CHECK(!str_has(json_raw(root), STR("run_in_background")));
		tree_stage_release(&st);
	}
}

TEST(forks_are_explained_as_they_are_made)
{
	struct tree_stage st;
	stage_with_agents(&st);

	const char *plain = agent_tool_make(&st.tree, &base)->definition;
	CHECK(str_has(str_from(plain), STR("With subagent_type \\\"fork\\\" the agent is a fork of you")));
	st.tree.switches.fork_mode = true;
	CHECK(str_has(str_from(agent_tool_make(&st.tree, &base)->definition),
		      STR("Without subagent_type the agent is a fork of you")));
	tree_stage_release(&st);
}

TEST(an_agent_that_may_start_some_sees_only_those)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	static const struct tool other = { .name = "Read", .definition = "{}" };
	struct agent agent = { 0 };
	struct tree_stage st;
	stage_with_agents(&st);

	agent.tree = &st.tree;
	agent.agent_types = "pears";
	tool_set_add(&agent.tools, &other);
	tool_set_add(&agent.tools, agent_tool_make(&st.tree, &base));
	agent_tool_limit(&agent);

	CHECK(agent.tools.tools[0] == &other);
	CHECK(agent.tools.tools[1] != &st.tree.agent_tool);
	struct str description = json_str(json_get(parse(&reader, agent.tools.tools[1]), "description"), &a);
	CHECK(str_has(description, STR("- pears:")));
	CHECK(!str_has(description, STR("- apples:")));
	CHECK(!str_has(description, STR("- general-purpose:")));
	tool_set_release(&agent.tools);
	arena_release(&agent.arena);
	tree_stage_release(&st);
}

TEST(an_agent_without_such_a_limit_shares_the_tool)
{
	struct agent agent = { 0 };
	struct tree_stage st;
	stage_with_agents(&st);

	agent.tree = &st.tree;
	tool_set_add(&agent.tools, agent_tool_make(&st.tree, &base));
	agent_tool_limit(&agent);

	CHECK(agent.tools.tools[0] == &st.tree.agent_tool);
	tool_set_release(&agent.tools);
	tree_stage_release(&st);
}

int test_agent_tool(void)
{
	return RUN_TESTS(T(the_description_tells_whom_one_can_call), T(the_schema_keeps_everything_that_has_a_meaning),
			 T(run_in_background_is_hidden_where_nobody_can_choose),
			 T(forks_are_explained_as_they_are_made), T(an_agent_that_may_start_some_sees_only_those),
			 T(an_agent_without_such_a_limit_shares_the_tool));
}
