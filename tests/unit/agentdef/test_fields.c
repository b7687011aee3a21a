/* SPDX-License-Identifier: MIT
 * test_fields.c - each field with valid, invalid and missing values. */
#include "definition_text.h"
#include "tests.h"

/* The value of a field as text, so that all fields fit one table. */
static char *shown(const struct agent_definition *d, const char *field)
{
	struct {
		const char *name, *text;
	} texts[] = {
		{ "name", d->name },
		{ "description", d->description },
		{ "model", d->model },
		{ "effort", d->effort },
		{ "permissionMode", d->permission_mode_invalid ? "(invalid)" : d->permission_mode },
		{ "initialPrompt", d->initial_prompt },
		{ "color", d->color },
		{ "criticalSystemReminder_EXPERIMENTAL", d->reminder },
		{ "mcpServers", d->mcp_servers },
		{ "hooks", d->hooks },
		{ "background", d->background ? "true" : NULL },
		{ "forkContext", d->fork_context ? "true" : NULL },
		{ "omitClaudeMd", d->omit_claude_md ? "true" : NULL },
		{ "isolation", d->refused                           ? "(refused)"
			       : d->isolation == ISOLATION_WORKTREE ? "worktree"
			       : d->isolation == ISOLATION_REMOTE   ? "remote"
								    : NULL },
		{ "memory", d->memory == MEMORY_USER      ? "user"
			    : d->memory == MEMORY_PROJECT ? "project"
			    : d->memory == MEMORY_LOCAL   ? "local"
							  : NULL },
	};
	struct {
		const char *name;
		const struct name_list *list;
	} lists[] = {
		{ "tools", &d->tools },
		{ "disallowedTools", &d->disallowed_tools },
		{ "skills", &d->skills },
		{ "requiredMcpServers", &d->required_mcp_servers },
	};
	char number[32];

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (!strcmp(texts[i].name, field))
			return xstrdup(texts[i].text ? texts[i].text : "-");
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		if (!strcmp(lists[i].name, field))
			return joined(lists[i].list);
	if (strcmp(field, "autoCompactWindow") != 0)
		assert_string_equal(field, "maxTurns");
	int64_t n = !strcmp(field, "maxTurns") ? d->max_turns : d->compact_window;
	snprintf(number, sizeof number, "%lld", (long long)n);
	return xstrdup(n ? number : "-");
}

static const struct row {
	const char *field, *line, *expected;
	const char *said; /* in a diagnostic; NULL: there is none about it */
} rows[] = {
	{ "name", "", "a", NULL },
	{ "name", "name: My Agent", "My Agent", "twice" },
	{ "name", "name: [x]", "stem", "not a text" },
	{ "name", "name: 12", "12", "twice" },
	{ "description", "", "d", NULL },
	{ "description", "description: one\\n\\ntwo", "one\n\ntwo", "twice" },
	{ "description", "description:\n  - x\n  - y", "x\ny", "joined" },
	{ "description", "description: yes", "yes", "twice" },
	{ "tools", "", "-", NULL },
	{ "tools", "tools: Read, Grep", "Read|Grep", NULL },
	{ "tools", "tools: Read Grep", "Read|Grep", NULL },
	{ "tools", "tools: [Read, \"Grep\", 'Glob']", "Read|Grep|Glob", NULL },
	{ "tools", "tools:\n  - Read, Grep\n  - Glob", "Read|Grep|Glob", NULL },
	{ "tools", "tools: '[\"Read\", \"Grep\"]'", "Read|Grep", NULL },
	{ "tools", "tools:\n  read: true\n  write: false\n  bash: 'off'", "read", "map" },
	{ "tools", "tools: Bash(git add:*, git commit:*), Read", "Bash(git add:*, git commit:*)|Read", NULL },
	{ "tools", "tools:\n  - Bash(git log: *)", "Bash(git log: *)", "each line" },
	{ "tools", "tools:\n  - 'Bash(git log: x)'\n  - Edit(a: b)", "Bash(git log: x)|Edit(a: b)", NULL },
	{ "tools", "tools: Read, Read, Grep", "Read|Grep", NULL },
	{ "tools", "tools: Read, NoSuch, mcp__x__y", "Read|NoSuch|mcp__x__y", "NoSuch" },
	{ "tools", "tools: *", "*", NULL },
	{ "tools", "tools: '*'", "*", NULL },
	{ "tools", "tools: All tools", "*", NULL },
	{ "tools", "tools: [all]", "*", NULL },
	{ "tools", "tools:", "(none)", "no tools" },
	{ "tools", "tools: []", "(none)", "no tools" },
	{ "tools", "tools: {}", "(none)", "no tools" },
	{ "tools", "tools: ''", "(none)", "no tools" },
	{ "tools", "tools: 5", "5", "not the name" },
	{ "tools", "TOOLS: Read", "Read", "was read as" },
	{ "tools", "tools: \"Read\", \"Grep\"", "Read|Grep", "taken literally" },
	{ "disallowedTools", "", "-", NULL },
	{ "disallowedTools", "disallowedTools: Write, Bash", "Write|Bash", NULL },
	{ "disallowedTools", "disallowed-tools: [Write]", "Write", "was read as" },
	{ "disallowedTools", "disallowedTools: Nope", "Nope", "takes nothing away" },
	{ "model", "", "-", NULL },
	{ "model", "model: claude-x-1", "claude-x-1", NULL },
	{ "model", "model: [sonnet, opus]", "sonnet", "first" },
	{ "model", "model:", "-", NULL },
	{ "model", "model: {a: b}", "-", "ignored" },
	{ "effort", "", "-", NULL },
	{ "effort", "effort: High", "high", NULL },
	{ "effort", "effort: normal", "medium", "normal" },
	{ "effort", "effort: 42", "42", NULL },
	{ "effort", "effort: -1", "-", "ignored" },
	{ "effort", "effort: lots", "-", "ignored" },
	{ "autoCompactWindow", "autoCompactWindow: 120000", "120000", NULL },
	{ "autoCompactWindow", "autoCompactWindow: soon", "-", "ignored" },
	{ "maxTurns", "", "-", NULL },
	{ "maxTurns", "maxTurns: 7", "7", NULL },
	{ "maxTurns", "maxTurns: '8'", "8", NULL },
	{ "maxTurns", "maxTurns: 0", "-", "ignored" },
	{ "maxTurns", "maxTurns: 1.5", "-", "ignored" },
	{ "maxTurns", "maxTurns: many", "-", "ignored" },
	{ "permissionMode", "", "-", NULL },
	{ "permissionMode", "permissionMode: plan", "plan", NULL },
	{ "permissionMode", "permissionMode: Plan", "plan", NULL },
	{ "permissionMode", "permissionMode: bubble", "bubble", NULL },
	{ "permissionMode", "permissionMode: bypassPermissions", "bypassPermissions", NULL },
	{ "permissionMode", "permissionMode: BYPASSpermissions", "(invalid)", "stricter" },
	{ "permissionMode", "permissionMode: yolo", "(invalid)", "stricter" },
	{ "permissionMode", "permissionMode:", "(invalid)", "stricter" },
	{ "permissionMode", "permissionMode: [plan]", "(invalid)", "stricter" },
	{ "background", "", "-", NULL },
	{ "background", "background: true", "true", NULL },
	{ "background", "background: 'true'", "true", NULL },
	{ "background", "background: maybe", "-", "ignored" },
	{ "initialPrompt", "", "-", NULL },
	{ "initialPrompt", "initialPrompt: /go #1", "/go #1", NULL },
	{ "initialPrompt", "initialPrompt: [x]", "-", "ignored" },
	{ "isolation", "", "-", NULL },
	{ "isolation", "isolation: worktree", "worktree", NULL },
	{ "isolation", "isolation: remote", "remote", NULL },
	{ "isolation", "isolation: Worktree", "worktree", "was read as" },
	{ "isolation", "isolation: container", "(refused)", "refused" },
	{ "isolation", "isolation:", "(refused)", "refused" },
	{ "memory", "", "-", NULL },
	{ "memory", "memory: user", "user", NULL },
	{ "memory", "memory: Local", "local", "was read as" },
	{ "memory", "memory: true", "-", "ignored" },
	{ "mcpServers", "", "-", NULL },
	{ "mcpServers", "mcpServers: [slack, {db: {command: x}}]", "[\"slack\",{\"db\":{\"command\":\"x\"}}]", NULL },
	{ "mcpServers", "mcpServers: slack, git", "[\"slack\",\"git\"]", NULL },
	{ "mcpServers", "mcpServers:\n  db:\n    command: x", "[{\"db\":{\"command\":\"x\"}}]", NULL },
	{ "mcpServers", "mcpServers:\n  - name: db\n    transport: stdio\n    command: x",
	  "[{\"db\":{\"type\":\"stdio\",\"command\":\"x\"}}]", NULL },
	{ "mcpServers", "mcpServers: [5, {db: x}]", "-", "ignored" },
	{ "mcpServers", "mcpServers:", "-", NULL },
	{ "requiredMcpServers", "", "-", NULL },
	{ "requiredMcpServers", "requiredMcpServers: [a, b]", "a|b", NULL },
	{ "requiredMcpServers", "requiredMcpServers: a, b", "a|b", NULL },
	{ "requiredMcpServers", "requiredMcpServers: [{x: y}]", "(none)", "ignored" },
	{ "hooks", "", "-", NULL },
	{ "hooks", "hooks: {Stop: [{matcher: '', hooks: [{type: command, command: x}]}]}",
	  "{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}", NULL },
	{ "hooks", "hooks:\n  PreToolUse:\n    - command: x\n      timeout: 5000\n      matcher: Bash",
	  "{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"timeout\":5}]}]}",
	  "milliseconds" },
	{ "hooks", "hooks: {Stop: [{command: x, timeout: 600}]}",
	  "{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"timeout\":600}]}]}", "one hook" },
	{ "hooks", "hooks:", "-", "none" },
	{ "hooks", "hooks: x", "-", "ignored" },
	{ "hooks", "hooks: {Stop: x}", "-", "refused" },
	{ "hooks", "hooks: {Stop: [{hooks: [{type: command}]}]}", "-", "refused" },
	{ "skills", "", "-", NULL },
	{ "skills", "skills: a, b", "a|b", NULL },
	{ "skills", "skills: [a, b:c]", "a|b:c", NULL },
	{ "skills", "skills: {a: {}}", "(none)", "ignored" },
	{ "color", "", "-", NULL },
	{ "color", "color: cyan", "cyan", NULL },
	{ "color", "color: '#ff0000'", "-", "chosen" },
	{ "forkContext", "", "-", NULL },
	{ "forkContext", "forkContext: true", "true", NULL },
	{ "forkContext", "forkContext: 1", "-", "ignored" },
	{ "omitClaudeMd", "", "-", NULL },
	{ "omitClaudeMd", "omitClaudeMd: true", "true", NULL },
	{ "omitClaudeMd", "omitClaudeMd: no", "-", "ignored" },
	{ "criticalSystemReminder_EXPERIMENTAL", "", "-", NULL },
	{ "criticalSystemReminder_EXPERIMENTAL", "criticalSystemReminder_EXPERIMENTAL: be careful", "be careful",
	  NULL },
	{ "criticalSystemReminder_EXPERIMENTAL", "criticalSystemReminder_EXPERIMENTAL: []", "-", "ignored" },
};

TEST(each_field_has_its_forms)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct agent_definition *d = agent_with(rows[i].line);
		AUTO_FREE char *value = shown(d, rows[i].field);
		CHECK_CSTR(value, rows[i].expected);
		if (rows[i].said)
			CHECK(says(d, DIAGNOSTIC_NOTE, rows[i].said));
		else if (!strcmp(rows[i].line, "tools: *"))
			CHECK(says(d, DIAGNOSTIC_NOTE, "not YAML"));
		else
			CHECK_INT(d->diagnostic_count, 0);
		agent_unref(d);
	}
}

TEST(each_field_of_the_table_is_tested)
{
	for (const struct definition_field *f = agent_format.fields; f->name; f++) {
		bool tested = !f->read || !strcmp(f->name, "allowed-tools") || !strcmp(f->name, "when-to-use");
		for (size_t i = 0; i < COUNT_OF(rows); i++)
			tested = tested || !strcmp(rows[i].field, f->name);
		CHECK(tested);
	}
}

TEST(aliases_begin_with_the_letter_of_their_field)
{
	for (const struct definition_field *f = agent_format.fields; f->name; f++)
		for (size_t i = 0; i < COUNT_OF(f->aliases) && f->aliases[i]; i++)
			CHECK(definition_field_find(agent_format.fields, str_from(f->aliases[i])) == f);
}

TEST(keys_without_a_meaning_are_said)
{
	static const struct {
		const char *line, *said;
		enum diagnostic_level level;
	} table[] = {
		{ "version: 2", "version: unknown key", DIAGNOSTIC_NOTE },
		{ "allowed-tools: Read", "limits nothing", DIAGNOSTIC_WARNING },
		{ "allowedTools: Read", "limits nothing", DIAGNOSTIC_WARNING },
		{ "observer: x", "without effect", DIAGNOSTIC_NOTE },
		{ "when-to-use: x", "plugins only", DIAGNOSTIC_WARNING },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct agent_definition *d = agent_with(table[i].line);
		CHECK(says(d, table[i].level, table[i].said));
		CHECK_INT(d->diagnostics[0].line, 4);
		CHECK(!d->ignored && !d->refused);
		CHECK(!d->tools.present);
		agent_unref(d);
	}
}

TEST(a_plugin_sets_no_permission_mode)
{
	static const char *const lines[] = { "permissionMode: bypassPermissions", "permissionMode: plan" };

	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "---\nname: a\nwhen-to-use: sometimes\n%s\nhooks: {Stop: [{command: x}]}\n---\n",
			 lines[i]);
		struct agent_definition *d = agent_from_markdown(SOURCE_PLUGIN, "p/a.md", "a", buf_str(&text));
		CHECK(d->permission_mode == NULL);
		CHECK(says(d, DIAGNOSTIC_WARNING, "does not apply"));
		CHECK_CSTR(d->description, "sometimes");
		CHECK(d->hooks != NULL);
		agent_unref(d);
	}
}

TEST(known_tools_match_in_any_case)
{
	static const struct {
		const char *name;
		bool known;
	} table[] = {
		{ "Read", true },
		{ "read", true },
		{ "Bash(git diff:*)", true },
		{ "Task", true },
		{ "mcp__x", true },
		{ "Rea", false },
		{ "", false },
		{ "search/codebase", false },
		{ "Readx", false },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++)
		CHECK_INT(agent_tool_is_known(str_from(table[i].name)), table[i].known);
}

int test_fields(void)
{
	return RUN_TESTS(T(each_field_has_its_forms), T(each_field_of_the_table_is_tested),
			 T(aliases_begin_with_the_letter_of_their_field), T(keys_without_a_meaning_are_said),
			 T(a_plugin_sets_no_permission_mode), T(known_tools_match_in_any_case));
}
