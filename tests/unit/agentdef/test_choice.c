/* SPDX-License-Identifier: MIT
 * test_choice.c - the model and the tools of an agent. */
#include "unit.h"
#include "agents/profile/model_choice.h"
#include "agents/profile/tool_choice.h"
#include "core/model/provider.h"
#include "tests.h"

TEST(the_model_is_that_of_the_first_who_says_something)
{
	static const struct {
		struct model_wishes wishes;
		const char *id, *origin;
		bool noted;
	} rows[] = {
		{ { "opus", "sonnet", "haiku", "fable", "p-1", NULL, false, NULL, NULL },
		  "claude-opus-5-5",
		  "environment",
		  false },
		{ { NULL, "Sonnet", "haiku", "fable", "p-1", NULL, false, NULL, NULL },
		  "claude-sonnet-5-5",
		  "call",
		  false },
		{ { NULL, NULL, "HAIKU", "fable", "p-1", NULL, false, NULL, NULL },
		  "claude-haiku-5-5",
		  "definition",
		  false },
		{ { NULL, NULL, NULL, "fable", "p-1", NULL, false, NULL, NULL },
		  "claude-fable-5-2",
		  "configured default",
		  false },
		{ { NULL, NULL, NULL, NULL, "p-1", NULL, false, NULL, NULL }, "p-1", "parent", false },
		{ { "inherit", NULL, "haiku", NULL, "p-1", NULL, false, NULL, NULL },
		  "claude-haiku-5-5",
		  "definition",
		  false },
		{ { "", "", "", "", "p-1", NULL, false, NULL, NULL }, "p-1", "parent", false },
		{ { NULL, NULL, "Inherit", "fable", "p-1", NULL, false, NULL, NULL }, "p-1", "definition", false },
		{ { NULL, "inherit", "haiku", "fable", "p-1", NULL, false, NULL, NULL }, "p-1", "call", false },
		{ { NULL, NULL, "gpt-4", NULL, "p-1", NULL, false, NULL, NULL }, "gpt-4", "definition", false },
		{ { NULL, NULL, "turbo", NULL, "p-1", NULL, false, NULL, NULL }, "p-1", "parent", true },
		{ { NULL, NULL, "opus", NULL, "p-1", NULL, true, NULL, NULL }, "p-1", "parent", true },
		{ { NULL, NULL, "inherit", NULL, "p-1", NULL, true, NULL, NULL }, "p-1", "definition", false },
		{ { "opus", NULL, NULL, NULL, "p-1", NULL, true, NULL, NULL }, "p-1", "parent", true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct model_choice choice;
		model_choose(&a, &rows[i].wishes, &choice);
		CHECK_CSTR(choice.id, rows[i].id);
		CHECK_CSTR(choice.origin, rows[i].origin);
		CHECK_INT(choice.note != NULL, rows[i].noted);
	}
}

TEST(a_model_that_is_not_allowed_is_not_chosen)
{
	static const struct {
		const char *allowed, *wish, *id, *note;
	} rows[] = {
		{ "[\"sonnet\"]", "sonnet", "claude-sonnet-5-5", NULL },
		{ "[\"sonnet\"]", "claude-sonnet-4-20250514", "claude-sonnet-4-20250514", NULL },
		{ "[\"claude-sonnet-4-5\",\"claude-sonnet-4-10\"]", "sonnet", "claude-sonnet-4-10", NULL },
		{ "[\"sonnet\"]", "opus", "p-1",
		  "the model 'opus' is not among availableModels ([\"sonnet\"]): inherits its parent's model" },
		{ "[]", "haiku", "p-1",
		  "the model 'haiku' is not among availableModels ([]): inherits its parent's model" },
		{ "\"sonnet\"", "opus", "claude-opus-5-5", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_JSON struct json_reader reader = { 0 };
		struct model_choice choice;
		const struct json *list;
		CHECK_INT(json_parse(&reader, rows[i].allowed, strlen(rows[i].allowed), &list, NULL), 0);
		model_choose(&a, &(struct model_wishes){ .call = rows[i].wish, .parent = "p-1", .allowed = list },
			     &choice);
		CHECK_CSTR(choice.id, rows[i].id);
		CHECK_CSTR(choice.note ? choice.note : "", rows[i].note ? rows[i].note : "");
	}
}

TEST(opusplan_is_another_model_in_plan_mode_for_who_names_it_and_who_inherits)
{
	static const struct {
		const char *allowed, *wish, *id, *plan_id;
		bool noted;
	} rows[] = {
		{ "null", "opusplan", "claude-sonnet-5-5", "claude-opus-5-5", false },
		{ "null", "OpusPlan[1m]", "claude-sonnet-5-5", "claude-opus-5-5", false },
		{ "null", "anthropic/opusplan", "anthropic/claude-sonnet-5-5", "anthropic/claude-opus-5-5", false },
		{ "[\"opusplan\"]", "opusplan", "claude-sonnet-5-5", "claude-opus-5-5", false },
		{ "[\"opus\",\"sonnet\"]", "opusplan", "claude-sonnet-5-5", "claude-opus-5-5", false },
		{ "[\"sonnet\"]", "opusplan", "other", "planner", true },
		{ "null", "inherit", "other", "planner", false },
		{ "null", NULL, "other", "planner", false },
		{ "null", "opus", "claude-opus-5-5", "", false },
		{ "null", "haiku", "claude-haiku-5-5", "", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_JSON struct json_reader reader = { 0 };
		struct model_choice choice;
		const struct json *list;
		CHECK_INT(json_parse(&reader, rows[i].allowed, strlen(rows[i].allowed), &list, NULL), 0);
		model_choose(&a,
			     &(struct model_wishes){ .definition = rows[i].wish,
						     .parent = "other",
						     .parent_plan = "planner",
						     .allowed = list },
			     &choice);
		CHECK_CSTR(choice.id, rows[i].id);
		CHECK_CSTR(choice.plan_id ? choice.plan_id : "", rows[i].plan_id);
		CHECK_INT(choice.note != NULL, rows[i].noted);
	}
}

TEST(an_alias_that_the_provider_does_not_know_means_inherit_with_a_note)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct providers at_openai = { .usual = provider_find(NULL, STR("openai")) };
	struct model_choice choice;

	model_choose(&a, &(struct model_wishes){ .definition = "haiku", .parent = "local", .providers = &at_openai },
		     &choice);

	CHECK_CSTR(choice.id, "local");
	CHECK_CSTR(choice.note,
		   "the provider openai has no model 'haiku': name one of its own: inherits its parent's model");
}

static const char *const pool_names[] = {
	"Agent", "Bash",         "Edit",         "ExitPlanMode",  "Glob",
	"Grep",  "Read",         "TaskOutput",   "TodoWrite",     "CronList",
	"Write", "mcp__db__get", "mcp__db__put", "mcp__dbx__get", "mcp__my_srv__get"
};

struct pool {
	struct tool tools[COUNT_OF(pool_names)];
	struct tool_set set;
};

static void pool_init(struct pool *p)
{
	*p = (struct pool){ 0 };
	for (size_t i = 0; i < COUNT_OF(pool_names); i++) {
		const struct tool_facts *facts = tool_facts_find(str_from(pool_names[i]));
		p->tools[i].name = pool_names[i];
		p->tools[i].flags = facts ? facts->flags : 0;
		tool_set_add(&p->set, &p->tools[i]);
	}
}

static void add_names(struct buf *out, const char *title, const struct tool_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		buf_addf(out, "%s%s", i ? "," : title, names->list[i]);
}

static void add_limits(struct buf *out, const char *title, const struct tool_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		buf_addf(out, "%s%s(%s)", i ? "," : title, limits->list[i].tool, limits->list[i].specifier);
}

/* "Read,Edit only Bash(x) never ... unknown ... withheld ... missing ... memory ..." */
static char *chosen(const char *fields, struct tool_choice_spec spec)
{
	AUTO_BUF struct buf text = { 0 };
	struct buf out = { 0 };
	struct pool p;
	struct tool_choice c;
	pool_init(&p);
	spec.pool = &p.set;
	buf_addf(&text, "---\nname: a\ndescription: d\n%s---\n", fields);
	struct agent_definition *d = agent_from_markdown(SOURCE_USER, "a.md", "a", buf_str(&text));

	tool_choose(d, &spec, &c);

	buf_addstr(&out, "");
	for (size_t i = 0; i < c.tools.count; i++)
		buf_addf(&out, "%s%s", i ? "," : "", c.tools.tools[i]->name);
	add_limits(&out, " only ", &c.only);
	add_limits(&out, " never ", &c.never);
	add_names(&out, " unknown ", &c.unknown);
	add_names(&out, " withheld ", &c.withheld);
	add_names(&out, " missing ", &c.missing);
	add_names(&out, " memory ", &c.for_memory);
	tool_choice_release(&c);
	tool_set_release(&p.set);
	agent_unref(d);
	return buf_take(&out, NULL);
}

#define ALL "Agent,Bash,Edit,Glob,Grep,Read,TodoWrite,CronList,Write"
#define MCP "mcp__db__get,mcp__db__put,mcp__dbx__get,mcp__my_srv__get"

TEST(an_agent_gets_the_tools_that_it_may_have)
{
	static const struct {
		const char *fields;
		struct tool_choice_spec spec;
		const char *expected;
	} rows[] = {
		{ "", { 0 }, ALL "," MCP },
		{ "tools: '*'\n", { 0 }, ALL "," MCP },
		{ "tools: []\n", { 0 }, "" },
		{ "tools:\n", { 0 }, "" },
		{ "tools: Write, read, READ\n", { 0 }, "Write,Read" },
		{ "tools: Task\n", { 0 }, "Agent" },
		{ "tools: Task\n", { .deepest = true }, " withheld Task" },
		{ "", { .deepest = true }, "Bash,Edit,Glob,Grep,Read,TodoWrite,CronList,Write," MCP },
		{ "", { .background = true }, "Agent,Bash,Edit,Glob,Grep,Read,TodoWrite,Write," MCP },
		{ "tools: CronList, Read\n", { .background = true }, "Read withheld CronList" },
		{ "tools: TaskOutput, ExitPlanMode, Task\n", { .main_thread = true }, "TaskOutput,ExitPlanMode,Agent" },
		{ "disallowedTools: Bash\n",
		  { .main_thread = true },
		  "Agent,Edit,ExitPlanMode,Glob,Grep,Read,TaskOutput,TodoWrite,CronList,Write," MCP },
		{ "permissionMode: plan\n",
		  { 0 },
		  "Agent,Bash,Edit,ExitPlanMode,Glob,Grep,Read,TodoWrite,CronList,Write," MCP },
		{ "tools: Read, TaskOutput\n", { 0 }, "Read withheld TaskOutput" },
		{ "tools: Read, Teleport\n", { 0 }, "Read unknown Teleport" },
		{ "tools: Read, WebFetch\n", { 0 }, "Read missing WebFetch" },
		{ "disallowedTools: bash, Task\n", { 0 }, "Edit,Glob,Grep,Read,TodoWrite,CronList,Write," MCP },
		{ "tools: Read, Bash\ndisallowedTools: Bash\n", { 0 }, "Read" },
		{ "disallowedTools: '*'\n", { 0 }, "" },
		{ "tools: Read, Bash(git diff:*), Bash(git log)\n",
		  { 0 },
		  "Read,Bash only Bash(git diff:*),Bash(git log)" },
		{ "tools: Bash(git *), Bash\n", { 0 }, "Bash" },
		{ "tools: Bash(*)\n", { 0 }, "Bash" },
		{ "tools: Agent(a, b)\n", { 0 }, "Agent only Agent(a, b)" },
		{ "tools: bash\ndisallowedTools: Bash(rm *)\n", { 0 }, "Bash never Bash(rm *)" },
		{ "tools: mcp__db\n", { 0 }, "mcp__db__get,mcp__db__put" },
		{ "tools: mcp__db__*\n", { 0 }, "mcp__db__get,mcp__db__put" },
		{ "tools: mcp__db__put\n", { 0 }, "mcp__db__put" },
		{ "tools: mcp__gone__x\n", { 0 }, " missing mcp__gone__x" },
		{ "tools: Read, mcp__*\n", { 0 }, "Read unknown mcp__*" },
		{ "disallowedTools: mcp__*\n", { 0 }, ALL },
		{ "disallowedTools: mcp__db\n", { 0 }, ALL ",mcp__dbx__get,mcp__my_srv__get" },
		{ "disallowedTools: mcp__my.srv, mcp__db*\n", { 0 }, ALL },
		{ "disallowedTools: MCP__My_Srv, mcp__db__p*, '*__dbx__*'\n", { 0 }, ALL ",mcp__db__get" },
		{ "disallowedTools: mcp__mý.srv, mcp__my@srv__get, mcp__db__*\n", { 0 }, ALL ",mcp__dbx__get" },
		{ "tools: mcp__my.srv, MCP__DB__PUT\n", { 0 }, "mcp__my_srv__get,mcp__db__put" },
		{ "tools: mcp__db__p*\n", { 0 }, " unknown mcp__db__p*" },
		{ "disallowedTools: Tod*, Cron*, Edi*\n", { 0 }, "Agent,Bash,Glob,Grep,Read,Write," MCP },
		{ "tools: Grep\nmemory: user\n", { .memory = true }, "Grep,Edit,Read,Write memory Edit,Read,Write" },
		{ "tools: Read\nmemory: user\n", { .memory = true }, "Read,Edit,Write memory Edit,Write" },
		{ "tools: Grep\nmemory: user\n", { .memory = false }, "Grep" },
		{ "tools: Grep\n", { .memory = true }, "Grep" },
		{ "tools: Grep\nmemory: user\ndisallowedTools: Write\n",
		  { .memory = true },
		  "Grep,Edit,Read memory Edit,Read" },
		{ "tools: Grep\n",
		  { .whole = true },
		  "Agent,Bash,Edit,ExitPlanMode,Glob,Grep,Read,TaskOutput,TodoWrite,CronList,Write," MCP },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_FREE char *got = chosen(rows[i].fields, rows[i].spec);
		if (strcmp(got, rows[i].expected) != 0)
			fail_msg("%s gives '%s', not '%s'", rows[i].fields, got, rows[i].expected);
	}
}

TEST(an_agent_whose_tools_come_to_nothing_is_not_started)
{
	static const struct {
		const char *fields, *expected;
	} rows[] = {
		{ "tools: Teleport, TaskOutput, WebFetch\n",
		  "Agent 'a' would be spawned with zero tools \xe2\x80\x94 refusing. Not recognised: Teleport. Not "
		  "available to subagents: "
		  "TaskOutput. Matched no tool in this session: WebFetch." },
		{ "tools: []\n", "" },
		{ "", "" },
		{ "tools: Read, Teleport\n", "" },
		{ "tools: Read\ndisallowedTools: Read\n", "" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_BUF struct buf why = { 0 };
		struct pool p;
		struct tool_choice c;
		pool_init(&p);
		buf_addf(&text, "---\nname: a\ndescription: d\n%s---\n", rows[i].fields);
		struct agent_definition *d = agent_from_markdown(SOURCE_USER, "a.md", "a", buf_str(&text));
		tool_choose(d, &(struct tool_choice_spec){ .pool = &p.set }, &c);
		CHECK_INT(tool_choice_refuses(&c, d, &why), rows[i].expected[0] != '\0');
		CHECK_STR(buf_str(&why), rows[i].expected);
		tool_choice_release(&c);
		tool_set_release(&p.set);
		agent_unref(d);
	}
}

int test_choice(void)
{
	return RUN_TESTS(
		T(the_model_is_that_of_the_first_who_says_something), T(a_model_that_is_not_allowed_is_not_chosen),
		T(opusplan_is_another_model_in_plan_mode_for_who_names_it_and_who_inherits),
		T(an_alias_that_the_provider_does_not_know_means_inherit_with_a_note),
		T(an_agent_gets_the_tools_that_it_may_have), T(an_agent_whose_tools_come_to_nothing_is_not_started));
}
