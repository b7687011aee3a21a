/* SPDX-License-Identifier: MIT
 * test_builtin.c - the agents that come with the program, and what switches them off. */
#include "stage.h"
#include "defs/agentdef/describe.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/sources.h"
#include "agents/profile/roster.h"
#include "tests.h"

static void add_name(void *data, struct agent_definition *d)
{
	struct buf *out = data;

	buf_addf(out, "%s%s", out->n ? "," : "", d->name);
	agent_unref(d);
}

static const char variables[][48] = { "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS",
				      "CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS" };

TEST(switches_drop_some_or_all_built_in_agents)
{
	static const struct {
		const char *entrypoint, *variable, *value, *expected;
	} rows[] = {
		{ "cli", NULL, NULL, "Bash,Explore,Plan,cadre-guide,general-purpose,statusline-setup,verification" },
		{ NULL, NULL, NULL, "Bash,Explore,Plan,cadre-guide,general-purpose,statusline-setup,verification" },
		{ "sdk-ts", NULL, NULL, "Bash,Explore,Plan,general-purpose,statusline-setup,verification" },
		{ "sdk-py", NULL, NULL, "Bash,Explore,Plan,general-purpose,statusline-setup,verification" },
		{ "sdk-cli", NULL, NULL, "Bash,Explore,Plan,general-purpose,statusline-setup,verification" },
		{ "cli", variables[1], "1", "Bash,cadre-guide,general-purpose,statusline-setup,verification" },
		{ "cli", variables[1], "0",
		  "Bash,Explore,Plan,cadre-guide,general-purpose,statusline-setup,verification" },
		{ "cli", variables[0], "1",
		  "Bash,Explore,Plan,cadre-guide,general-purpose,statusline-setup,verification" },
		{ "sdk-cli", variables[0], "true", "" },
		{ "sdk-cli", variables[0], "false", "Bash,Explore,Plan,general-purpose,statusline-setup,verification" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf names = { 0 };
		AUTO_ARENA struct arena a = { 0 };
		struct catalog_sources sources;
		struct services sv = { .options = {
					       .cwd = "/", .config_dir = "/none", .entrypoint = rows[i].entrypoint } };
		if (rows[i].variable)
			services_setenv(&sv, rows[i].variable, rows[i].value);
		CHECK_INT(services_agent_sources(&sv, &a, &sources, NULL), 0);
		services_free_variables(&sv);
		builtin_each(sources.builtin, add_name, &names);
		CHECK_STR(buf_str(&names), rows[i].expected);
	}
	AUTO_BUF struct buf names = { 0 };
	builtin_each(BUILTIN_COORDINATOR, add_name, &names);
	CHECK_STR(buf_str(&names), "worker");
}

static void check_one(void *data, struct agent_definition *d)
{
	static const struct {
		const char *name, *tools, *model, *mode;
		bool background, no_claude_md;
	} rows[] = {
		{ "Bash", "Bash", "inherit", NULL, false, false },
		{ "Explore",
		  "All tools except Agent, AskUserQuestion, Edit, EnterPlanMode, ExitPlanMode, NotebookEdit, TaskStop, Write",
		  "haiku", NULL, false, true },
		{ "Plan",
		  "All tools except Agent, AskUserQuestion, Edit, EnterPlanMode, ExitPlanMode, NotebookEdit, TaskStop, Write",
		  "inherit", NULL, false, true },
		{ "cadre-guide", "Glob, Grep, Read, WebFetch, WebSearch", "haiku", "dontAsk", false, false },
		{ "general-purpose", "All tools", "inherit", NULL, false, false },
		{ "statusline-setup", "Read, Edit", "sonnet", NULL, false, false },
		{ "verification", "All tools except Edit, Write, NotebookEdit", "inherit", NULL, true, false },
		{ "worker", "All tools", "inherit", NULL, true, false },
	};
	AUTO_BUF struct buf tools = { 0 };
	size_t i = 0;

	while (i < COUNT_OF(rows) && strcmp(rows[i].name, d->name) != 0)
		i++;
	CHECK(i < COUNT_OF(rows));
	roster_tools(&tools, d);
	CHECK_CSTR(tools.p, rows[i].tools);
	CHECK_CSTR(d->model, rows[i].model);
	CHECK_CSTR(d->permission_mode ? d->permission_mode : "", rows[i].mode ? rows[i].mode : "");
	CHECK_INT(d->background, rows[i].background);
	CHECK_INT(d->omit_claude_md, rows[i].no_claude_md);
	CHECK_INT(d->diagnostic_count, 0);
	CHECK(!d->ignored && !d->refused && d->prompt_len > 300);
	(*(size_t *)data)++;
	agent_unref(d);
}

TEST(every_built_in_agent_reads_without_a_complaint_and_has_its_limits)
{
	size_t count = 0;

	builtin_each(0, check_one, &count);
	builtin_each(BUILTIN_COORDINATOR, check_one, &count);

	CHECK_INT(count, 8);
}

static void keep_explore_model(void *data, struct agent_definition *d)
{
	if (!strcmp(d->name, "Explore"))
		buf_addstr(data, d->model);
	agent_unref(d);
}

TEST(explore_inherits_the_model_where_the_environment_asks_for_it)
{
	AUTO_BUF struct buf model = { 0 };

	setenv("USER_TYPE", "ant", 1);
	builtin_each(0, keep_explore_model, &model);
	unsetenv("USER_TYPE");
	CHECK_CSTR(model.p, "inherit");
}

static void keep_verification(void *data, struct agent_definition *d)
{
	struct buf *out = data;

	if (!strcmp(d->name, "verification"))
		buf_addstr(out, d->prompt);
	agent_unref(d);
}

TEST(verification_is_told_to_end_with_a_verdict)
{
	AUTO_BUF struct buf prompt = { 0 };

	builtin_each(0, keep_verification, &prompt);

	CHECK(strstr(prompt.p, "VERDICT: PASS\n") && strstr(prompt.p, "VERDICT: FAIL\n") &&
	      strstr(prompt.p, "VERDICT: PARTIAL\n"));
}

TEST(the_guide_knows_what_is_configured)
{
	static const char *const servers[] = { "tickets", NULL };
	AUTO_BUF struct buf before = { 0 };
	AUTO_BUF struct buf after = { 0 };
	struct stage s;
	stage_init(&s);
	stage_load(&s);
	guide_prompt(&before, stage_find(&s, "cadre-guide"), s.registry, &(struct guide_facts){ 0 });
	stage_agent(&s, "config/agents/mine.md", "mine");
	stage_put(&s, "config/agents/bad.md", "---\nname: bad\ndescription: d\nisolation: x\n---\n");
	catalog_refresh(s.registry);

	guide_prompt(&after, stage_find(&s, "cadre-guide"), s.registry,
		     &(struct guide_facts){ .mcp_servers = servers });

	CHECK(strstr(before.p, "Nothing beyond the defaults") != NULL);
	CHECK(strstr(after.p, "- mine (userSettings): config/agents/mine.md\n") != NULL);
	CHECK(strstr(after.p, "MCP servers: tickets\n") != NULL);
	CHECK(strstr(after.p, "could not be loaded: 1;") != NULL);
	CHECK(!strstr(after.p, "Explore (built-in)"));
	stage_release(&s);
}

TEST(a_colour_is_the_one_asked_for_or_always_the_same)
{
	struct agent_definition a = { .name = "reviewer" };
	struct agent_definition b = { .name = "reviewer", .color = "pink" };
	struct agent_definition c = { .name = "tester" };

	CHECK_CSTR(agent_color(&a), "green"); /* for ever: people know their agents by it */
	CHECK_CSTR(agent_color(&b), "pink");
	CHECK_CSTR(agent_color(&c), "red");
}

int test_builtin(void)
{
	return RUN_TESTS(T(explore_inherits_the_model_where_the_environment_asks_for_it),
			 T(switches_drop_some_or_all_built_in_agents),
			 T(every_built_in_agent_reads_without_a_complaint_and_has_its_limits),
			 T(verification_is_told_to_end_with_a_verdict), T(the_guide_knows_what_is_configured),
			 T(a_colour_is_the_one_asked_for_or_always_the_same));
}
