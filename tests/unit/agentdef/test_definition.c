/* SPDX-License-Identifier: MIT
 * test_definition.c - what a file or an entry is as a whole: agent or not, its names, its text, the report about it. */
#include "definition_text.h"
#include "defs/agentdef/describe.h"
#include "tests.h"

TEST(a_good_file_has_nothing_to_say)
{
	struct agent_definition *d = agent_from("---\nname: a\ndescription: d\ntools: Read\n---\n\nYou are it.\n\n");

	CHECK(!d->ignored && !d->refused && d->name_given);
	CHECK_INT(d->diagnostic_count, 0);
	CHECK_CSTR(d->file, "a.md");
	CHECK_CSTR(d->prompt, "You are it.");
	CHECK_INT(d->field_count, 3);
	CHECK_CSTR(d->fields[2].field, "tools");
	CHECK_INT(d->fields[2].line, 4);
	agent_unref(d);
}

TEST(a_heading_inside_a_description_that_is_not_yaml_is_text)
{
	struct agent_definition *d = agent_from("---\nname: a\ndescription: Use: it\n  # When\n  always # no\n"
						"# a comment\ntools: Read\n---\nb");

	CHECK_CSTR(d->description, "Use: it\n  # When\n  always");
	CHECK_INT(d->tools.count, 1);
	agent_unref(d);
}

TEST(the_body_of_an_indented_file_has_its_lines_in_the_first_column)
{
	struct agent_definition *d =
		agent_from("  ---\n  name: a\n  description: d\n  ---\n  One.\n\n    code\n  Two.\nThree.\n");

	CHECK_CSTR(d->prompt, "One.\n\n  code\nTwo.\nThree.");
	agent_unref(d);
}

TEST(references_keep_a_definition)
{
	struct agent_definition *d = agent_with("");

	CHECK(agent_ref(d) == d);
	agent_unref(d);
	CHECK_CSTR(d->name, "a");
	agent_unref(d);
	agent_unref(NULL);
}

TEST(what_has_no_frontmatter_or_no_description_is_not_an_agent)
{
	static const char *const texts[] = {
		"",
		"# Heading\n",
		"---\nname: a\n---\nb",
		"---\nname: a\ndescription: \"\"\n---\nb",
		"---\n---\n",
		"---\nname: a\ndescription: # nothing\n---\nb",
		"---\nname: a\ndescription: []\n---\nb",
		"---\n- name: a\n- description: d\n---\nb",
		"---\nname: a\nisolation: nonsense\n---\nb",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct agent_definition *d = agent_from(texts[i]);
		CHECK(d->ignored);
		CHECK(!d->refused);
		CHECK(says(d, DIAGNOSTIC_NOTE, "not an agent"));
		agent_unref(d);
	}
}

TEST(a_name_is_what_was_written_or_the_stem)
{
	AUTO_BUF struct buf lengthy = { 0 };
	buf_addstr(&lengthy, "---\ndescription: d\nname: ");
	for (int i = 0; i < 4096; i++)
		buf_addch(&lengthy, 'n');
	buf_addstr(&lengthy, "\n---\n");
	const struct {
		const char *text, *name;
		bool given;
	} table[] = {
		{ "---\ndescription: d\n---\n", "stem", false },
		{ "---\ndescription: d\nname:\n---\n", "stem", false },
		{ "---\ndescription: d\nname: ''\n---\n", "stem", false },
		{ lengthy.p, "stem", false },
		{ "---\ndescription: d\nname: {x: [y]}\n---\n", "{x: [y]}", true },
		{ "---\ndescription: d\nname: ../x\n---\n", "../x", true },
		{ "---\ndescription: d\nname: a/b\n---\n", "a/b", true },
		{ "---\ndescription: d\nname: \xc3\xa4\xe2\x98\x83\n---\n", "\xc3\xa4\xe2\x98\x83", true },
		{ "---\ndescription: d\nname: |\n  a\n  b\n---\n", "a", true },
		{ "---\ndescription: d\nname: \"a\\0b\"\n---\n", "a b", true },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct agent_definition *d = agent_from(table[i].text);
		CHECK_CSTR(d->name, table[i].name);
		CHECK_INT(d->name_given, table[i].given);
		CHECK(!d->ignored && !d->refused);
		agent_unref(d);
	}
}

static struct agent_definition *agent_of_json(const char *name, const char *text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	struct err err;

	CHECK_INT(json_parse(&reader, text, strlen(text), &root, &err), 0);
	return agent_from_json(SOURCE_FLAG, "settings.json#agents.x", name, root);
}

TEST(an_entry_of_json_has_the_same_fields)
{
	struct agent_definition *d =
		agent_of_json("x", "{\"description\":\"d\",\"prompt\":\" p\\n\",\"tools\":[\"Read\",\"Bash(ls:*)\"],"
				   "\"maxTurns\":3,\"permissionMode\":\"plan\",\"mcpServers\":[\"s\"],\"other\":1}");
	AUTO_FREE char *tools = joined(&d->tools);

	CHECK(!d->ignored && !d->refused);
	CHECK_CSTR(d->name, "x");
	CHECK_CSTR(d->prompt, "p");
	CHECK_CSTR(tools, "Read|Bash(ls:*)");
	CHECK_INT(d->max_turns, 3);
	CHECK_CSTR(d->permission_mode, "plan");
	CHECK_CSTR(d->mcp_servers, "[\"s\"]");
	CHECK(says(d, DIAGNOSTIC_NOTE, "other: unknown key"));
	agent_unref(d);
}

TEST(an_entry_of_json_that_is_not_whole_is_refused)
{
	static const struct {
		const char *name, *text, *said;
	} table[] = {
		{ "x", "5", "must be an object" },
		{ "x", "{\"prompt\":\"p\"}", "description: missing" },
		{ "x", "{\"description\":\"d\"}", "prompt: missing" },
		{ "x", "{\"description\":\"d\",\"prompt\":5}", "prompt: missing" },
		{ "", "{\"description\":\"d\",\"prompt\":\"p\"}", "name is empty" },
		{ "x", "{\"description\":\"d\",\"prompt\":\"p\",\"isolation\":\"x\"}", "isolation" },
		{ "x", "{\"description\":\"d\",\"prompt\":\"p\",\"tools\":[{\"a\":1}]}", "tools" },
		{ "x", "{\"description\":\"d\",\"prompt\":\"p\",\"hooks\":[\"Stop\"]}", "hooks" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct agent_definition *d = agent_of_json(table[i].name, table[i].text);
		CHECK(d->refused);
		CHECK(says(d, DIAGNOSTIC_ERROR, table[i].said));
		agent_unref(d);
	}
}

TEST(the_report_tells_all_about_a_file)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	struct agent_definition *d =
		agent_from("---\r\ndescription: d\r\ntools: []\r\ndisallowedTools: X\r\nmodel: m\r\n---\r\na\r\nb");

	agent_check_json(&w, d);

	CHECK_CSTR(
		out.p,
		"{\"file\":\"a.md\",\"loaded\":true,\"is_agent\":true,\"name\":\"stem\",\"description\":\"d\",\"model\":\"m\","
		"\"tools\":[],\"disallowedTools\":[\"X\"],"
		"\"body_sha256\":\"7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78\",\"diagnostics\":["
		"{\"level\":\"note\",\"line\":3,\"message\":\"tools: the list is empty: the agent has no tools\"},"
		"{\"level\":\"warning\",\"line\":4,\"message\":\"disallowedTools: not the name of a tool, takes nothing away: X\"},"
		"{\"level\":\"note\",\"line\":null,\"message\":\"no name: the agent is called stem, as its file\"}]}");
	agent_unref(d);
}

TEST(a_hostile_file_does_not_flood_the_report)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text, "---\nname: a\ndescription: d\n");
	for (int i = 0; i < 900; i++)
		buf_addf(&text, "k%d: v\n", i);
	buf_addstr(&text, "isolation: x\n---\n");
	struct agent_definition *d = agent_from(text.p);
	CHECK_INT(d->diagnostic_count, DIAGNOSTICS_LIMIT + 1);
	CHECK(d->refused);
	agent_unref(d);
}

int test_definition(void)
{
	return RUN_TESTS(T(a_good_file_has_nothing_to_say), T(a_heading_inside_a_description_that_is_not_yaml_is_text),
			 T(the_body_of_an_indented_file_has_its_lines_in_the_first_column),
			 T(references_keep_a_definition), T(what_has_no_frontmatter_or_no_description_is_not_an_agent),
			 T(a_name_is_what_was_written_or_the_stem), T(an_entry_of_json_has_the_same_fields),
			 T(an_entry_of_json_that_is_not_whole_is_refused), T(the_report_tells_all_about_a_file),
			 T(a_hostile_file_does_not_flood_the_report));
}
