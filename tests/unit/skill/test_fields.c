/* SPDX-License-Identifier: MIT
 * test_fields.c - what the fields of a skill mean, and what happens to those that cannot be read. */
#include "unit.h"
#include "defs/skill/skill.h"
#include "tests.h"

static struct skill *parse(const char *fields)
{
	AUTO_BUF struct buf text = { 0 };
	struct skill_origin origin = { .source = SOURCE_PROJECT, .file = "/p/.claude/skills/x/SKILL.md", .name = "x" };

	buf_addf(&text, "---\n%s\n---\nThe body.\n", fields);
	return skill_from_markdown(&origin, buf_str(&text));
}

static bool says(const struct skill *s, enum diagnostic_level level)
{
	for (size_t i = 0; i < s->diagnostic_count; i++)
		if (s->diagnostics[i].level == level)
			return true;
	return false;
}

static void names(const struct name_list *list, char out[200])
{
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; i < list->count; i++)
		buf_addf(&text, "%s%s", i ? "|" : "", list->names[i]);
	snprintf(out, 200, "%s", text.n ? text.p : "");
}

TEST(lists_of_tools_are_read_in_all_their_forms)
{
	static const struct {
		const char *fields, *allowed;
	} rows[] = {
		{ "allowed-tools: Read, Grep", "Read|Grep" },
		{ "allowed-tools: Bash(git add:*) Bash(git status:*) Read", "Bash(git add:*)|Bash(git status:*)|Read" },
		{ "allowed-tools: [Read, \"Bash(ls, cat)\"]", "Read|Bash(ls, cat)" },
		{ "allowed-tools:\n  - Read\n  - Bash(npm run *)", "Read|Bash(npm run *)" },
		{ "allowed_tools: Read", "Read" },
		{ "allowedTools: Read", "Read" },
		{ "allowed-tools:", "" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char got[200];
		struct skill *s = parse(rows[i].fields);
		names(&s->allowed_tools, got);
		CHECK_CSTR(got, rows[i].allowed);
		CHECK(!s->refused);
		skill_unref(s);
	}
}

TEST(allowed_tools_that_cannot_be_read_grant_nothing)
{
	static const char *const rows[] = { "allowed-tools: Read, Bash(git", "allowed-tools: Read) Bash",
					    "allowed-tools: \"[Read, Bash\"" };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct skill *s = parse(rows[i]);
		CHECK_INT(s->allowed_tools.count, 0);
		CHECK(!s->refused);
		CHECK(says(s, DIAGNOSTIC_WARNING));
		skill_unref(s);
	}
}

TEST(a_skill_whose_restriction_cannot_be_read_is_refused)
{
	static const char *const rows[] = { "disallowed-tools: Bash(rm", "disallowed-tools: \"[Bash\"", "hooks: yes",
					    "shell: powershell" };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct skill *s = parse(rows[i]);
		CHECK(s->refused);
		CHECK(says(s, DIAGNOSTIC_ERROR));
		skill_unref(s);
	}
}

TEST(booleans_are_read_in_all_their_words)
{
	static const struct {
		const char *word;
		bool user_only, model_only, in_foreground;
	} rows[] = {
		{ "true", true, false, false }, { "yes", true, false, false },  { "ON", true, false, false },
		{ "1", true, false, false },    { "false", false, true, true }, { "no", false, true, true },
		{ "Off", false, true, true },   { "0", false, true, true },     { "perhaps", true, false, false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char fields[200];
		snprintf(fields, sizeof fields, "disable-model-invocation: %s\nuser-invocable: %s\nbackground: %s",
			 rows[i].word, rows[i].word, rows[i].word);
		struct skill *s = parse(fields);
		CHECK_INT(s->user_only, rows[i].user_only);
		CHECK_INT(s->model_only, rows[i].model_only);
		CHECK_INT(s->in_foreground, rows[i].in_foreground);
		skill_unref(s);
	}
}

TEST(every_other_field_has_its_meaning)
{
	struct skill *s =
		parse("name: A title\ndescription: What: it does\nwhen_to_use: Always\nargument-hint: [file]\n"
		      "arguments: file depth\nmodel: haiku\neffort: high\ncontext: fork\nagent: Explore\n"
		      "paths: src/**\nlicense: MIT\nhooks:\n  Stop:\n    - hooks: []");

	CHECK_CSTR(s->name, "x");
	CHECK_CSTR(s->title, "A title");
	CHECK_CSTR(s->description, "What: it does");
	CHECK_CSTR(s->when_to_use, "Always");
	CHECK_CSTR(s->argument_hint, "[file]");
	CHECK_INT(s->arguments.count, 2);
	CHECK_CSTR(s->model, "haiku");
	CHECK_CSTR(s->effort, "high");
	CHECK(s->is_fork);
	CHECK_CSTR(s->agent, "Explore");
	CHECK_INT(s->paths.count, 1);
	CHECK_CSTR(s->hooks, "{\"Stop\":[{\"hooks\":[]}]}");
	CHECK_CSTR(s->dir, "/p/.claude/skills/x");
	CHECK_STR(s->body, "The body.");
	skill_unref(s);
}

TEST(without_a_description_the_first_paragraph_is_it)
{
	static const struct {
		const char *text, *description;
	} rows[] = {
		{ "# Title\n\nFirst line\nsecond line.\n\nMore.", "First line\nsecond line." },
		{ "Just text", "Just text" },
		{ "---\nmodel: x\n---\n\nBody text", "Body text" },
		{ "", "" },
		{ "# Title only", "" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct skill_origin origin = { .file = "/x/SKILL.md", .name = "x" };
		struct skill *s = skill_from_markdown(&origin, str_from(rows[i].text));
		CHECK_CSTR(s->description, rows[i].description);
		CHECK(!s->refused);
		skill_unref(s);
	}
}

TEST(a_plugins_skill_is_called_by_its_directory_or_by_its_name_where_its_directory_was_named)
{
	static const struct {
		const char *text, *name;
		bool stands_alone;
	} rows[] = {
		{ "---\nname: better\n---\nx", "tools:dir", false },
		{ "---\nname: better\n---\nx", "tools:better", true },
		{ "---\nname: not good\n---\nx", "tools:dir", true },
		{ "x", "tools:dir", true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct skill_origin origin = { .file = "/x/dir/SKILL.md",
					       .name = "dir",
					       .plugin = "tools",
					       .stands_alone = rows[i].stands_alone };
		struct skill *s = skill_from_markdown(&origin, str_from(rows[i].text));
		CHECK_CSTR(s->name, rows[i].name);
		skill_unref(s);
	}
}

TEST(names_that_can_be_typed_are_good)
{
	CHECK(skill_name_is_good(STR("a-b_c.9")));
	CHECK(!skill_name_is_good(STR("")));
	CHECK(!skill_name_is_good(STR(".hidden")));
	CHECK(!skill_name_is_good(STR("-flag")));
	CHECK(!skill_name_is_good(STR("a b")));
	CHECK(!skill_name_is_good(STR("a/b")));
	CHECK(!skill_name_is_good(STR("..")));
}

int test_fields(void)
{
	return RUN_TESTS(
		T(lists_of_tools_are_read_in_all_their_forms), T(allowed_tools_that_cannot_be_read_grant_nothing),
		T(a_skill_whose_restriction_cannot_be_read_is_refused), T(booleans_are_read_in_all_their_words),
		T(every_other_field_has_its_meaning), T(without_a_description_the_first_paragraph_is_it),
		T(a_plugins_skill_is_called_by_its_directory_or_by_its_name_where_its_directory_was_named),
		T(names_that_can_be_typed_are_good));
}
