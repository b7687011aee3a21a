/* SPDX-License-Identifier: MIT
 * test_fail_closed.c - files whose reading went wrong must never give an agent more than its author wrote. Each row says
 * that the file is refused, or which tools it has: never a row in which a limit is gone. */
#include "definition_text.h"
#include "tests.h"

static const char refused[] = "refused";

static const struct row {
	const char *why, *text, *tools;
} rows[] = {
	{ "dashes inside a line close nothing", "---\nname: a\ndescription: x --- y\ntools: Read\n---\nb", "Read" },
	{ "an empty list is no list of all", "---\nname: a\ndescription: d\ntools: []\n---\nb", "(none)" },
	{ "an empty map is no list of all", "---\nname: a\ndescription: d\ntools: {}\n---\nb", "(none)" },
	{ "a map of false is none", "---\nname: a\ndescription: d\ntools: {Bash: false}\n---\nb", "(none)" },
	{ "Agent(x) keeps its limit", "---\nname: a\ndescription: d\ntools: Agent(x), Read\n---\nb", "Agent(x)|Read" },
	{ "Bash(git diff:*) keeps its limit", "---\nname: a\ndescription: d\ntools: Bash(git diff:*)\n---\nb",
	  "Bash(git diff:*)" },
	{ "a list that is not closed", "---\nname: a\ndescription: d\ntools: [Read\n---\nb", refused },
	{ "a list that is not closed over lines",
	  "---\nname: a\ndescription: d\ntools: [Read,\n  Grep\nmodel: m\n---\nb", refused },
	{ "a map that is not closed", "---\nname: a\ndescription: d\ntools: {Read: true\n---\nb", refused },
	{ "a parenthesis that is not closed", "---\nname: a\ndescription: d\ntools: Bash(git diff, Read\n---\nb",
	  refused },
	{ "a parenthesis that is not opened", "---\nname: a\ndescription: d\ntools: Bash), Read\n---\nb", refused },
	{ "a block that breaks before the tools", "---\nname: a\ndescription: |\n  x\n y\ntools: Read\n---\nb",
	  "Read" },
	{ "a quote that swallows the tools",
	  "---\nname: a\ndescription: \"x\ntools: Read\ninitialPrompt: say \"\n---\nb", refused },
	{ "a single quote that swallows the tools", "---\nname: a\ndescription: 'x\ntools: Read\ny'\n---\nb", refused },
	{ "a quoted key with a broken value", "---\nname: a\ndescription: x: y\n\"tools\": [Read, {\n---\nb", refused },
	{ "a quoted key in a broken file", "---\nname: a\ndescription: x: y\n'tools': Read\n---\nb", "Read" },
	{ "tabs before the items", "---\nname: a\ndescription: d\ntools:\n\t- Read\n---\nb", "Read" },
	{ "a blank before the colon", "---\nname: a\ndescription: x: y\nTools : Read\n---\nb", "Read" },
	{ "no blank behind the colon", "---\nname: a\ndescription: d\ntools:Read\n---\nb", "Read" },
	{ "a no-break space behind the colon", "---\nname: a\ndescription: d\ntools:\xc2\xa0Read\n---\nb", "Read" },
	{ "two lines that differ", "---\nname: a\ndescription: x: y\ntools: Read\ntools: [Bash\n---\nb", refused },
	{ "two good lines that differ in a broken file",
	  "---\nname: a\ndescription: x: y\ntools: Read\ntools: Bash\n---\nb", refused },
	{ "a second line inside an example",
	  "---\nname: a\ntools: Read\ndescription: x: y\n<example>\ntools: *\n</example>\n---\nb", refused },
	{ "two lines that agree", "---\nname: a\ndescription: x: y\ntools: Read\ntools: Read\n---\nb", "Read" },
	{ "two lines in good YAML: the last", "---\nname: a\ndescription: d\ntools: Bash\ntools: Read\n---\nb",
	  "Read" },
	{ "prose behind the list", "---\nname: a\ndescription: x: y\ntools: Read\nuse this to write code\n---\nb",
	  refused },
	{ "a block mark without a block", "---\nname: a\ndescription: x: y\ntools: |\nRead\n---\nb", refused },
	{ "an explicit key in a broken file", "---\nname: a\ndescription: x: y\n? tools\n: Read\n---\nb", refused },
	{ "a file that never closes", "---\nname: a\ndescription: d\nsome prose\ntools: Read\n", refused },
	{ "dashes between the keys", "---\nname: a\ndescription: d\n-----\ntools: Read\n---\nb", "Read" },
	{ "keys that are indented", "---\n  name: a\n  description: x: y\n  tools: Read\n---\nb", "Read" },
	{ "an indented file", "   ---\n   name: a\n   description: x: y\n   tools: Read\n   ---\n   b", "Read" },
	{ "a map inside the list", "---\nname: a\ndescription: d\ntools:\n  - Bash:\n      allow: x\n---\nb", refused },
	{ "maps inside the map", "---\nname: a\ndescription: d\ntools: {Bash: {allow: [x]}}\n---\nb", refused },
	{ "an alias is not all tools", "---\nname: a\ndescription: d\ntools: *x\n---\nb", "*x" },
	{ "line ends of an old machine", "---\rname: a\rdescription: x: y\rtools: Read\r---\rb", "Read" },
	{ "a control character", "---\nname: a\ndescription: \x01x\ntools: Read\n---\nb", "Read" },
	{ "the word all in a list of others", "---\nname: a\ndescription: d\ntools: Read, All tools\n---\nb",
	  "Read|All|tools" },
};

TEST(a_limit_on_tools_holds_or_the_agent_is_refused)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct agent_definition *d = agent_from(rows[i].text);
		AUTO_FREE char *tools = joined(&d->tools);
		CHECK(!d->ignored);
		if (strcmp(rows[i].tools, d->refused ? refused : tools))
			fail_msg("%s: expected %s, got %s", rows[i].why, rows[i].tools, d->refused ? refused : tools);
		CHECK_INT(d->refused, says(d, DIAGNOSTIC_ERROR, ""));
		agent_unref(d);
	}
}

TEST(other_limits_hold_or_the_agent_is_refused)
{
	static const struct {
		const char *lines;
		bool refused;
	} table[] = {
		{ "disallowedTools: [Bash", true },
		{ "disallowedTools: *x", true },
		{ "disallowedTools: [&x Bash, *x]", true },
		{ "disallowedTools: Bash(rm", true },
		{ "disallowedTools: - Bash: x\nmore", true },
		{ "isolation: container", true },
		{ "isolation: [worktree", true },
		{ "isolation: [worktree]", true },
		{ "hooks: no PreToolUse", true },
		{ "hooks: PreToolUse: check.sh", true },
		{ "hooks:\n  pretooluse: check.sh", true },
		{ "hooks:\n  validator: check.sh\n  Stop: done.sh", true },
		{ "hooks: {validator: check.sh, then: [Stop", true },
		{ "hooks: no", false },
		{ "hooks: validator: check.sh", false },
		{ "hooks:\n  validator: stop.sh", false },
		{ "hooks: {validator: check.sh", false },
		{ "hooks:\n  - a.sh\n  - b.sh", false },
		{ "hooks:\n  PreToolUse:\n  - command: [x", true },
		{ "hooks: {PreToolUse: [{matcher: 5, hooks: []}]}", true },
		{ "permissionMode: [plan", true },
		{ "PERMISSIONMODE: 'plan\nisolation: worktree'", true },
		{ "disallowedTools: Bash", false },
		{ "permissionMode: nonsense", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct agent_definition *d = agent_with(table[i].lines);
		if (d->refused != table[i].refused)
			fail_msg("%s: refused is %d", table[i].lines, d->refused);
		CHECK(!d->ignored);
		agent_unref(d);
	}
}

TEST(hooks_that_name_no_event_are_left_out_with_a_warning)
{
	struct agent_definition *d = agent_with("hooks:\n  validator: check.sh");

	CHECK(!d->refused && !d->hooks);
	CHECK(says(d, DIAGNOSTIC_WARNING, "hooks: names no event"));
	agent_unref(d);
}

TEST(a_refusal_names_its_line)
{
	struct agent_definition *d = agent_with("model: m\ntools: [Read");
	const struct diagnostic *last = &d->diagnostics[d->diagnostic_count - 1];

	CHECK_INT(last->level, DIAGNOSTIC_ERROR);
	CHECK_INT(last->line, 5);
	agent_unref(d);
}

TEST(too_many_names_refuse)
{
	AUTO_BUF struct buf line = { 0 };

	buf_addstr(&line, "tools: x");
	for (int i = 0; i < 3000; i++)
		buf_addf(&line, ",t%d", i);
	struct agent_definition *d = agent_with(line.p);
	CHECK(d->refused);
	CHECK_INT(d->diagnostic_count, 2); /* and the unknown names */
	agent_unref(d);
}

int test_fail_closed(void)
{
	return RUN_TESTS(T(a_limit_on_tools_holds_or_the_agent_is_refused),
			 T(other_limits_hold_or_the_agent_is_refused),
			 T(hooks_that_name_no_event_are_left_out_with_a_warning), T(a_refusal_names_its_line),
			 T(too_many_names_refuse));
}
