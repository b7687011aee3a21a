/* SPDX-License-Identifier: MIT
 * test_rule.c - the grammar of rules, and the patterns that are no paths. */
#include "unit.h"
#include "guard/permission/rule_set.h"
#include "tests.h"

static const struct rule_origin origin = { .layer = "userSettings", .file = "/x/settings.json", .base = "/x" };

static void note(void *data, const char *message)
{
	buf_addf(data, "%s\n", message);
}

enum { NONE = -1, BROKEN = -2 };

TEST(rules_are_read_by_their_tool)
{
	static const struct {
		enum rule_list list;
		const char *text;
		int kind; /* NONE: left out; BROKEN: an error */
		const char *tool, *warning;
	} cases[] = {
		{ RULE_DENY, "Bash", RULE_BARE, "bash", NULL },
		{ RULE_DENY, " Bash(*) ", RULE_BARE, "bash", NULL },
		{ RULE_DENY, "Bash()", RULE_BARE, "bash", NULL },
		{ RULE_ALLOW, "Bash()", NONE, NULL, "parentheses are empty" },
		{ RULE_DENY, "Task(Explore)", RULE_AGENT, "agent", NULL },
		{ RULE_DENY, "KillShell", RULE_BARE, "taskstop", NULL },
		{ RULE_DENY, "Bash(rm *)", RULE_COMMAND, "bash", NULL },
		{ RULE_DENY, "Bash(npm:*)", RULE_COMMAND, "bash", NULL },
		{ RULE_DENY, "Monitor(rm *)", RULE_COMMAND, "monitor", NULL },
		{ RULE_DENY, "Bash(run_in_background:true)", RULE_PARAMETER, "bash", NULL },
		{ RULE_ALLOW, "Bash(run_in_background:true)", NONE, NULL, "only deny or ask" },
		{ RULE_ASK, "Bash(command:rm *)", RULE_COMMAND, "bash", NULL },
		{ RULE_ASK, "Read(file_path:x)", RULE_PATH, "read", NULL },
		{ RULE_ALLOW, "Read(file_path:x)", RULE_INERT, "read", "rules of its own" },
		{ RULE_DENY, "Agent(model:opus)", RULE_PARAMETER, "agent", NULL },
		{ RULE_DENY, "Agent(plugin:reviewer)", RULE_AGENT, "agent", NULL },
		{ RULE_DENY, "Read(.env)", RULE_PATH, "read", NULL },
		{ RULE_ALLOW, "Edit(src/**)", RULE_PATH, "edit", NULL },
		{ RULE_DENY, "Write(src/**)", RULE_PATH, "write", "counts as Edit(...)" },
		{ RULE_ASK, "Glob(src/**)", RULE_PATH, "glob", "counts as Read(...)" },
		{ RULE_ALLOW, "Write(src/**)", RULE_INERT, "write", "Read(...) and Edit(...)" },
		{ RULE_DENY, "Write", RULE_BARE, "write", NULL },
		{ RULE_DENY, "WebFetch(domain:x.org)", RULE_HOST, "webfetch", NULL },
		{ RULE_DENY, "WebFetch(x.org)", RULE_INERT, "webfetch", "domain:HOST" },
		{ RULE_DENY, "WebSearch(x)", RULE_INERT, "websearch", "nothing in parentheses" },
		{ RULE_DENY, "Skill(deploy *)", RULE_SKILL, "skill", NULL },
		{ RULE_DENY, "mcp__s", RULE_BARE, "mcp__s__*", NULL },
		{ RULE_DENY, "mcp__My.s:r__a/b", RULE_BARE, "mcp__my_s_r__a_b", NULL },
		{ RULE_ALLOW, "mcp__s", RULE_BARE, "mcp__s__*", NULL },
		{ RULE_ALLOW, "mcp__s__get_*", RULE_BARE, "mcp__s__get_*", NULL },
		{ RULE_ALLOW, "mcp__*", NONE, NULL, "below one MCP server" },
		{ RULE_ALLOW, "mcp__s*__x", NONE, NULL, "below one MCP server" },
		{ RULE_ALLOW, "*", NONE, NULL, "below one MCP server" },
		{ RULE_ALLOW, "B*", NONE, NULL, "below one MCP server" },
		{ RULE_DENY, "*", RULE_BARE, "*", NULL },
		{ RULE_DENY, "mcp__*", RULE_BARE, "mcp__*", NULL },
		{ RULE_DENY, "mcp__s__t(env:prod)", RULE_PARAMETER, "mcp__s__t", NULL },
		{ RULE_DENY, "Bsah", RULE_BARE, "bsah", "no tool that is known" },
		{ RULE_DENY, "some_tool", RULE_BARE, "some_tool", NULL },
		{ RULE_DENY, "Bash(rm", BROKEN, NULL, NULL },
		{ RULE_ALLOW, "Bash(rm", NONE, NULL, "no closing parenthesis" },
		{ RULE_ASK, "(x)", BROKEN, NULL, NULL },
		{ RULE_ASK, "", BROKEN, NULL, NULL },
		{ RULE_ALLOW, "", NONE, NULL, "name of a tool" },
		{ RULE_ASK, "rm -rf", BROKEN, NULL, NULL },
		{ RULE_DENY, "Read([)", BROKEN, NULL, NULL },
		{ RULE_ALLOW, "Read([)", NONE, NULL, "unclosed" },
		{ RULE_DENY, "Read(../x)", BROKEN, NULL, NULL },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_BUF struct buf warnings = { 0 };
		struct rule r = { 0 };
		struct err err = { 0 };
		print_message("# %s %s\n", rule_list_name(cases[i].list), cases[i].text);

		int made = rule_parse(&a, cases[i].list, str_from(cases[i].text), &origin, note, &warnings, &r, &err);

		CHECK_INT(made, cases[i].kind == NONE ? 0 : cases[i].kind == BROKEN ? -ERR_PARSE : 1);
		if (made == 1) {
			CHECK_INT(r.kind, cases[i].kind);
			CHECK_CSTR(r.tool, cases[i].tool);
		}
		CHECK_INT(made < 0, err.text[0] != '\0' && cases[i].kind == BROKEN);
		CHECK_INT(warnings.n > 0, cases[i].warning != NULL);
		if (cases[i].warning)
			CHECK(strstr(warnings.p, cases[i].warning) != NULL);
		rule_release(&r);
	}
}

TEST(commands_match_exactly_by_words_or_by_wildcard)
{
	static const struct {
		const char *pattern, *command;
		bool matches;
	} cases[] = {
		{ "npm run build", "npm run build", true },
		{ "npm run build", "npm run build x", false },
		{ "npm run *", "npm run", true },
		{ "npm run *", "npm run x", true },
		{ "npm run *", "npm runx", false },
		{ "npm  run *", "npm run x", true },
		{ "npm:*", "npm", true },
		{ "npm:*", "npmx", false },
		{ "a:*:b", "a:x:b", true },
		{ "ls*", "lsof", true },
		{ "ls*", "xls", false },
		{ "* --version", "x --version", true },
		{ "* --version", "--version", false },
		{ "git * main", "git push origin main", true },
		{ "git * main", "git main", false },
		{ "git * main *", "git push main -f", true },
		{ "git * main *", "git push mainly", false },
		{ "echo \\*", "echo *", true },
		{ "echo \\*", "echo x", false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct command_rule r;
		struct str text = str_from(cases[i].command);
		command_rule_compile(&r, &a, str_from(cases[i].pattern));

		if (command_rule_match(&r, &(struct command_text){ text, text }) != cases[i].matches)
			fail_msg("%s and %s", cases[i].pattern, cases[i].command);
	}
}

TEST(hosts_match_as_a_whole_below_a_domain_or_within_a_label)
{
	static const struct {
		const char *pattern, *url;
		bool matches;
	} cases[] = {
		{ "example.com", "https://example.com/x", true },
		{ "example.com", "https://EXAMPLE.com.:8080", true },
		{ "Example.COM.", "http://example.com?q", true },
		{ "example.com", "https://www.example.com", false },
		{ "example.com", "https://example.com.evil.org", false },
		{ "example.com", "https://example.com@evil.org/", false },
		{ "example.com", "https://evil.org\\@example.com/", false },
		{ "example.com", "https://example.com%2eevil.org/", false },
		{ "example.com", "example.com", false },
		{ "example.com", "https://", false },
		{ "*.example.com", "https://a.b.example.com", true },
		{ "*.example.com", "https://example.com", false },
		{ "*.example.com", "https://badexample.com", false },
		{ "*", "https://anything.org", true },
		{ "*", "nothing", false },
		{ "api-*.example.com", "https://api-1.example.com", true },
		{ "api-*.example.com", "https://api-1.x.example.com", false },
		{ "example.*", "https://example.org", true },
		{ "example.*", "https://example.co.uk", false },
		{ "[::1]", "http://[::1]:80/", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct str pattern = host_normal(&a, str_from(cases[i].pattern));

		if (host_rule_match(pattern, host_of_url(&a, str_from(cases[i].url))) != cases[i].matches)
			fail_msg("%s and %s", cases[i].pattern, cases[i].url);
	}
}

TEST(agent_types_match_without_case_and_separators)
{
	CHECK(agent_rule_match(STR("Explore"), STR("explore")));
	CHECK(agent_rule_match(STR("a, code-reviewer"), STR("Code Reviewer")));
	CHECK(agent_rule_match(STR("*"), STR("anything")));
	CHECK(!agent_rule_match(STR("review"), STR("reviewer")));
	CHECK(!agent_rule_match(STR(""), STR("reviewer")));
}

TEST(the_table_of_known_tools_is_sorted_and_findable)
{
	for (size_t i = 0; i < tool_facts_count; i++) {
		CHECK(tool_facts_find(str_from(tool_facts_table[i].name)) == &tool_facts_table[i]);
		CHECK(i == 0 || strcmp(tool_facts_table[i - 1].name, tool_facts_table[i].name) < 0);
	}
}

int test_rule(void)
{
	return RUN_TESTS(T(rules_are_read_by_their_tool), T(commands_match_exactly_by_words_or_by_wildcard),
			 T(hosts_match_as_a_whole_below_a_domain_or_within_a_label),
			 T(agent_types_match_without_case_and_separators),
			 T(the_table_of_known_tools_is_sorted_and_findable));
}
