/* SPDX-License-Identifier: MIT
 * test_child.c - what a child has from its parent, and what its definition may change. */
#include "unit.h"
#include "stage.h"
#include "tests.h"

TEST(the_mode_of_a_child_follows_its_parent_and_its_definition)
{
	static const struct {
		enum permission_mode parent;
		const char *mode;
		bool invalid, may_widen;
		enum permission_mode expected;
	} cases[] = {
		{ PERMISSION_DEFAULT, NULL, false, true, PERMISSION_DEFAULT },
		{ PERMISSION_PLAN, NULL, false, true, PERMISSION_PLAN },
		{ PERMISSION_DEFAULT, "acceptEdits", false, true, PERMISSION_ACCEPT_EDITS },
		{ PERMISSION_DEFAULT, "acceptEdits", false, false, PERMISSION_DEFAULT },
		{ PERMISSION_DEFAULT, "bypassPermissions", false, false, PERMISSION_DEFAULT },
		{ PERMISSION_DEFAULT, "plan", false, false, PERMISSION_PLAN },
		{ PERMISSION_DEFAULT, "dontAsk", false, false, PERMISSION_DONT_ASK },
		{ PERMISSION_PLAN, "default", false, false, PERMISSION_PLAN },
		{ PERMISSION_PLAN, "default", false, true, PERMISSION_DEFAULT },
		{ PERMISSION_BYPASS, "plan", false, true, PERMISSION_PLAN },
		{ PERMISSION_ACCEPT_EDITS, "plan", false, false, PERMISSION_PLAN },
		{ PERMISSION_BYPASS, "default", false, true, PERMISSION_BYPASS },
		{ PERMISSION_ACCEPT_EDITS, "bypassPermissions", false, true, PERMISSION_ACCEPT_EDITS },
		{ PERMISSION_ACCEPT_EDITS, "default", false, true, PERMISSION_ACCEPT_EDITS },
		{ PERMISSION_AUTO, "bypassPermissions", false, true, PERMISSION_AUTO },
		{ PERMISSION_BYPASS, NULL, true, true, PERMISSION_DEFAULT },
		{ PERMISSION_PLAN, NULL, true, true, PERMISSION_PLAN },
		{ PERMISSION_BYPASS, "nonsense", false, true, PERMISSION_DEFAULT },
		{ PERMISSION_DONT_ASK, "bubble", false, false, PERMISSION_DONT_ASK },
		{ PERMISSION_BYPASS, "bubble", false, false, PERMISSION_BYPASS },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission parent = { .mode = cases[i].parent };
		struct permission child;
		permission_derive(&child, &parent,
				  &(struct permission_birth){ .mode = cases[i].mode,
							      .mode_invalid = cases[i].invalid,
							      .mode_may_widen = cases[i].may_widen });
		if (permission_mode(&child) != cases[i].expected)
			fail_msg("%zu: %s", i, permission_mode_name(permission_mode(&child)));
		permission_release(&child);
	}
}

TEST(an_inherited_mode_is_the_one_of_now)
{
	struct permission parent = { 0 };
	struct permission child;
	permission_derive(&child, &parent, &(struct permission_birth){ 0 });

	parent.mode = PERMISSION_PLAN;

	CHECK_INT(permission_mode(&child), PERMISSION_PLAN);
	permission_release(&child);
}

TEST(a_fork_asks_where_its_parent_asks)
{
	struct permission parent = { .can_ask = true };
	struct permission fork;
	struct permission background;
	permission_derive(&fork, &parent, &(struct permission_birth){ .mode = "bubble" });
	permission_derive(&background, &parent, &(struct permission_birth){ 0 });

	CHECK(permission_can_ask(&fork));
	CHECK(!permission_can_ask(&background));
	permission_release(&fork);
	permission_release(&background);
}

TEST(rules_of_all_ancestors_hold)
{
	STAGE(stage);
	struct permission main_agent = { .mode = PERMISSION_BYPASS };
	struct permission child;
	struct permission grandchild;
	static const char *const allow[] = { "Bash", "Write" };
	stage_rules(&stage, &main_agent, "deny Bash(rm *)\nask Write");
	permission_derive(&child, &main_agent, &(struct permission_birth){ .can_ask = true });
	permission_derive(&grandchild, &child,
			  &(struct permission_birth){ .can_ask = true, .allow = allow, .allow_count = 2 });

	CHECK_INT(stage_decide(&grandchild, stage_bash(&stage, "rm f")), NOT);
	CHECK_INT(stage_decide(&grandchild, stage_call(&stage, "Write", "{'file_path':'x'}")), ASK);
	CHECK_INT(stage_decide(&grandchild, stage_bash(&stage, "qq")), RUN);
	permission_release(&grandchild);
	permission_release(&child);
	permission_release(&main_agent);
}

TEST(an_answer_for_the_session_holds_for_children_that_exist)
{
	STAGE(stage);
	struct permission main_agent = { .can_ask = true };
	struct permission child;
	permission_derive(&child, &main_agent, &(struct permission_birth){ .can_ask = true });
	CHECK_INT(stage_decide(&child, stage_bash(&stage, "qq")), ASK);

	stage_allow_tool(&main_agent, STR("Bash"));

	CHECK_INT(stage_decide(&child, stage_bash(&stage, "qq")), RUN);
	permission_release(&child);
	permission_release(&main_agent);
}

TEST(allowed_tools_of_a_call_replace_the_sessions)
{
	STAGE(stage);
	struct permission main_agent = { .can_ask = true };
	struct permission child;
	static const char *const allow[] = { "Bash(qq *)" };
	stage_rules(&stage, &main_agent, "allow Bash(zz *)\nallow Write");
	permission_derive(&child, &main_agent,
			  &(struct permission_birth){ .can_ask = true, .allow = allow, .allow_count = 1 });

	CHECK_INT(stage_decide(&child, stage_bash(&stage, "qq x")), RUN);
	CHECK_INT(stage_decide(&child, stage_bash(&stage, "zz x")), ASK);
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Write", "{'file_path':'x'}")), ASK);
	permission_release(&child);
	permission_release(&main_agent);
}

TEST(limits_of_a_definition_hold_for_it_and_below_it)
{
	static const struct permission_limit only[] = {
		{ "Bash", "git diff:*" }, { "Bash", "git log *" }, { "Edit", "docs/**" }, { "WebFetch", "domain:x.org" }
	};
	static const struct permission_limit agents[] = { { "Agent", "a, b" } };
	static const struct permission_limit never[] = { { "Bash", "git log --all" }, { "Read", ".env" } };
	static const struct {
		const char *tool, *input;
		int expected;
	} cases[] = {
		{ "Bash", "{'command':'git diff'}", RUN },
		{ "Bash", "{'command':'git diff x && git log y'}", RUN },
		{ "Bash", "{'command':'git log --all'}", NOT },
		{ "Bash", "{'command':'git diff; ls'}", NOT },
		{ "Bash", "{'command':'ls'}", NOT },
		{ "Bash", "{'command':'git diff $(ls)'}", NOT },
		{ "Bash", "{'command':'X=1 git diff'}", NOT },
		{ "Bash", "{'command':''}", NOT },
		{ "Edit", "{'file_path':'docs/d.md'}", RUN },
		{ "Edit", "{'file_path':'src/app.ts'}", NOT },
		{ "Edit", "{'file_path':'docs/../src/app.ts'}", NOT },
		{ "Write", "{'file_path':'src/app.ts'}", RUN },
		{ "Read", "{'file_path':'.env'}", NOT },
		{ "WebFetch", "{'url':'https://x.org'}", RUN },
		{ "WebFetch", "{'url':'https://y.org'}", NOT },
		{ "Agent", "{'subagent_type':'A'}", RUN },
		{ "Agent", "{'subagent_type':'c'}", NOT },
	};
	STAGE(stage);
	struct permission main_agent = { .mode = PERMISSION_BYPASS };
	struct permission child;
	struct permission grandchild;
	permission_derive(&child, &main_agent,
			  &(struct permission_birth){ .only = only,
						      .only_count = COUNT_OF(only),
						      .agents = agents,
						      .agent_count = COUNT_OF(agents),
						      .never = never,
						      .never_count = COUNT_OF(never) });
	permission_derive(&grandchild, &child, &(struct permission_birth){ 0 });

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tool_use *call = stage_call(&stage, cases[i].tool, cases[i].input);
		if ((int)stage_decide(&child, call) != cases[i].expected ||
		    (int)stage_decide(&grandchild, call) != cases[i].expected)
			fail_msg("%s", cases[i].input);
		CHECK_INT(stage_decide(&main_agent, call), RUN);
	}
	permission_release(&grandchild);
	permission_release(&child);
}

TEST(a_limit_that_cannot_be_read_forbids_its_tool)
{
	static const struct permission_limit only[] = { { "Edit", "[" } };
	static const struct permission_limit never[] = { { "Read", "../x" } };
	STAGE(stage);
	struct permission main_agent = { .mode = PERMISSION_BYPASS };
	struct permission child;
	permission_derive(
		&child, &main_agent,
		&(struct permission_birth){ .only = only, .only_count = 1, .never = never, .never_count = 1 });

	CHECK_INT(stage_decide(&child, stage_call(&stage, "Edit", "{'file_path':'x'}")), NOT);
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Read", "{'file_path':'f'}")), NOT);
	permission_release(&child);
}

TEST(a_worktree_agent_writes_only_there)
{
	STAGE(stage);
	const char *tree = arena_printf(&stage.arena, "%s/.claude/worktrees/agent-1", stage.dir);
	struct permission main_agent = { .mode = PERMISSION_BYPASS };
	struct permission child;
	struct permission grandchild;
	permission_derive(&child, &main_agent,
			  &(struct permission_birth){
				  .write_root = tree, .main_checkout = stage.dir, .memory_dir = "/var/memory" });
	permission_derive(&grandchild, &child, &(struct permission_birth){ 0 });
	static const struct {
		const char *tool, *input;
		int expected;
	} cases[] = {
		{ "Write", "{'file_path':'@/.claude/worktrees/agent-1/x'}", RUN },
		{ "Write", "{'file_path':'@/x'}", NOT },
		{ "Write", "{'file_path':'/var/tmp/x'}", NOT },
		{ "Write", "{'file_path':'@/.claude/worktrees/agent-2/x'}", NOT },
		{ "Read", "{'file_path':'@/f'}", RUN },
		{ "Bash", "{'command':'echo x > @/f'}", NOT },
		{ "Bash", "{'command':'touch @/f'}", NOT },
		{ "Bash", "{'command':'touch @/.claude/worktrees/agent-1/f'}", RUN },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tool_use *call = stage_call(&stage, cases[i].tool, cases[i].input);
		if ((int)stage_decide(&child, call) != cases[i].expected ||
		    (int)stage_decide(&grandchild, call) != cases[i].expected)
			fail_msg("%s", cases[i].input);
	}
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Write", "{'file_path':'/var/memory/x'}")), RUN);
	CHECK_INT(stage_decide(&grandchild, stage_call(&stage, "Write", "{'file_path':'/var/memory/x'}")), NOT);
	CHECK(strstr(stage_reason(&stage, &child, stage_call(&stage, "Write", "{'file_path':'@/x'}")),
		     "main checkout"));
	permission_release(&grandchild);
	permission_release(&child);
}

TEST(tools_for_memory_work_there_alone_and_not_for_those_below)
{
	STAGE(stage);
	static const char *const tools[] = { "Read", "Write" };
	struct permission main_agent = { .mode = PERMISSION_BYPASS };
	struct permission child;
	struct permission grandchild;
	permission_derive(&child, &main_agent,
			  &(struct permission_birth){
				  .memory_dir = "/var/memory", .memory_tools = tools, .memory_tool_count = 2 });
	permission_derive(&grandchild, &child, &(struct permission_birth){ 0 });

	CHECK_INT(stage_decide(&child, stage_call(&stage, "Write", "{'file_path':'/var/memory/x'}")), RUN);
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Write", "{'file_path':'/var/memory/../x'}")), NOT);
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Read", "{'file_path':'@/f'}")), NOT);
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Edit", "{'file_path':'@/f'}")), RUN);
	CHECK_INT(stage_decide(&grandchild, stage_call(&stage, "Read", "{'file_path':'@/f'}")), RUN);
	permission_release(&grandchild);
	permission_release(&child);
}

TEST(memory_stays_when_rules_of_the_session_go)
{
	STAGE(stage);
	static const char *const tools[] = { "Write" };
	struct permission p = { 0 };
	permission_give_memory(&p, "/var/memory", tools, 1);
	stage_allow_tool(&p, STR("Bash"));

	permission_drop_rules(&p, RULE_ALLOW, NULL);

	CHECK_INT(stage_decide(&p, stage_call(&stage, "Write", "{'file_path':'/var/memory/x'}")), RUN);
	CHECK_INT(stage_decide(&p, stage_call(&stage, "Write", "{'file_path':'@/f'}")), NOT);
	permission_release(&p);
}

TEST(a_childs_directories_do_not_widen_its_parents)
{
	STAGE(stage);
	const char *narrow[] = { arena_printf(&stage.arena, "%s/src", stage.dir), NULL };
	struct permission main_agent = { .dirs = narrow, .can_ask = true };
	struct permission child;
	permission_derive(&child, &main_agent, &(struct permission_birth){ .can_ask = true });

	CHECK_INT(stage_decide(&child, stage_call(&stage, "Read", "{'file_path':'src/app.ts'}")), RUN);
	CHECK_INT(stage_decide(&child, stage_call(&stage, "Read", "{'file_path':'f'}")), ASK);
	permission_release(&child);
}

TEST(a_parents_rule_without_anchor_starts_at_the_parent_too)
{
	STAGE(stage);
	struct permission main_agent = { .mode = PERMISSION_BYPASS, .root = stage.dir };
	struct permission child;
	stage_rules(&stage, &main_agent, "deny Read(a/secrets/**)");
	permission_derive(&child, &main_agent, &(struct permission_birth){ 0 });
	struct tool_use *call = stage_call(&stage, "Read", "{'file_path':'@/a/secrets/k'}");
	struct tool_env elsewhere = stage.env;
	elsewhere.cwd = elsewhere.root = "/var";
	call->env = &elsewhere;

	CHECK_INT(stage_decide(&child, call), NOT);
	permission_release(&child);
	permission_release(&main_agent);
}

TEST(a_mode_that_is_switched_off_holds_for_nobody_from_that_moment_on)
{
	static const char *const wishes[] = { "bypassPermissions", "auto" };
	struct permission main_agent = { .mode = PERMISSION_PLAN };

	for (size_t i = 0; i < COUNT_OF(wishes); i++) {
		struct permission child, grandchild;
		struct permission_birth birth = { .mode = wishes[i], .mode_may_widen = true };
		main_agent.bypass_off = main_agent.auto_off = false;
		permission_derive(&child, &main_agent, &birth);
		permission_derive(&grandchild, &child, &birth);
		CHECK_CSTR(permission_mode_name(permission_mode(&child)), wishes[i]);

		*(i ? &main_agent.auto_off : &main_agent.bypass_off) = true;

		CHECK_INT(permission_mode(&child), PERMISSION_PLAN);
		CHECK_INT(permission_mode(&grandchild), PERMISSION_PLAN);
		permission_release(&grandchild);
		permission_release(&child);
	}
	main_agent.mode = PERMISSION_AUTO;
	CHECK_INT(permission_mode(&main_agent), PERMISSION_DEFAULT);
	permission_release(&main_agent);
}

TEST(rules_of_the_session_can_be_taken_away_and_others_not)
{
	static const struct rule_origin session = { .layer = "session" };
	STAGE(stage);
	struct permission p = { .can_ask = true };
	struct tool_use *one = stage_bash(&stage, "one");
	struct tool_use *two = stage_bash(&stage, "two");
	stage_rules(&stage, &p, "deny Bash(three)");
	CHECK_INT(permission_add_rule(&p, RULE_ALLOW, STR("Bash(one)"), &session, NULL, NULL, NULL), 0);
	CHECK_INT(permission_add_rule(&p, RULE_ALLOW, STR("Bash(two)"), &session, NULL, NULL, NULL), 0);

	permission_drop_rules(&p, RULE_ALLOW, "Bash(one)");
	CHECK_INT(stage_decide(&p, one), ASK);
	CHECK_INT(stage_decide(&p, two), RUN);
	permission_drop_rules(&p, RULE_ALLOW, NULL);
	CHECK_INT(stage_decide(&p, two), ASK);
	permission_drop_rules(&p, RULE_DENY, NULL);
	CHECK_INT(stage_decide(&p, stage_bash(&stage, "three")), NOT);
	permission_release(&p);
}

int test_child(void)
{
	return RUN_TESTS(T(the_mode_of_a_child_follows_its_parent_and_its_definition),
			 T(an_inherited_mode_is_the_one_of_now), T(a_fork_asks_where_its_parent_asks),
			 T(rules_of_all_ancestors_hold), T(an_answer_for_the_session_holds_for_children_that_exist),
			 T(allowed_tools_of_a_call_replace_the_sessions),
			 T(limits_of_a_definition_hold_for_it_and_below_it),
			 T(a_limit_that_cannot_be_read_forbids_its_tool), T(a_worktree_agent_writes_only_there),
			 T(tools_for_memory_work_there_alone_and_not_for_those_below),
			 T(memory_stays_when_rules_of_the_session_go), T(a_childs_directories_do_not_widen_its_parents),
			 T(a_parents_rule_without_anchor_starts_at_the_parent_too),
			 T(a_mode_that_is_switched_off_holds_for_nobody_from_that_moment_on),
			 T(rules_of_the_session_can_be_taken_away_and_others_not));
}
