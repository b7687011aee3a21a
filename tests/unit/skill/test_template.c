/* SPDX-License-Identifier: MIT
 * test_template.c - commands, arguments, variables and files in the text of a skill. */
#include "unit.h"
#include "defs/skill/template.h"
#include "tests.h"

TEST(commands_are_found_where_they_may_stand)
{
	static const struct {
		const char *text, *parts; /* a command in angle brackets, | between parts */
	} rows[] = {
		{ "plain", "plain" },
		{ "!`ls`", "<ls>" },
		{ "a !`ls -l` b", "a |<ls -l>| b" },
		{ "x\n!`ls`\ny", "x\n|<ls>|\ny" },
		{ "no!`ls`", "no!`ls`" },
		{ "!`` and !`open", "!`` and !`open" },
		{ "!`a\nb`", "!`a\nb`" },
		{ "!`a` !`b`", "<a>| |<b>" },
		{ "x\n```!\none\ntwo\n```\ny", "x\n|<one\ntwo>|\ny" },
		{ "```!\none\n```", "<one>" },
		{ "```! \none\n``` ", "<one>" },
		{ "```!\nnever closed", "```!\nnever closed" },
		{ "```!bash\none\n```", "```!bash\none\n```" },
		{ "```\n!`ls`\n```", "```\n|<ls>|\n```" },
		{ "```!\n```", "```!\n```" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct template_parts parts = { 0 };
		AUTO_BUF struct buf got = { 0 };
		template_split(&parts, str_from(rows[i].text));
		for (size_t k = 0; k < parts.count; k++)
			buf_addf(&got, parts.list[k].is_command ? "%s<" STR_FMT ">" : "%s" STR_FMT, k ? "|" : "",
				 STR_ARG(parts.list[k].text));
		CHECK_CSTR(got.p, rows[i].parts);
		template_parts_release(&parts);
	}
}

static struct skill *make(const char *fields)
{
	AUTO_BUF struct buf text = { 0 };
	struct skill_origin origin = { .file = "/s/x/SKILL.md", .name = "x" };

	buf_addf(&text, "---\n%s\n---\n", fields);
	return skill_from_markdown(&origin, buf_str(&text));
}

static void fill(const struct skill *s, const char *text, const char *arguments, const char *expected, bool used)
{
	struct template_values v = { .skill = s, .arguments = str_from(arguments), .session_id = "id" };
	AUTO_BUF struct buf out = { 0 };

	template_values_open(&v);
	template_fill(&out, str_from(text), &v);
	CHECK_STR(buf_str(&out), expected);
	CHECK_INT(v.used, used);
	template_values_release(&v);
}

TEST(arguments_are_put_in)
{
	static const struct {
		const char *text, *arguments, *expected;
		bool used;
	} rows[] = {
		{ "a $ARGUMENTS b", "x  'y z'", "a x  'y z' b", true },
		{ "$ARGUMENTS", "", "", true },
		{ "$0 $1", "x 'y z'", "x y z", true },
		{ "$0-$1", "\"a b\" c\\ d", "a b-c d", true },
		{ "$2 costs $5", "a b", "$2 costs $5", false },
		{ "$ARGUMENTS[1] $ARGUMENTS[9]", "a b", "b $ARGUMENTS[9]", true },
		{ "$ARGUMENTSX", "a", "$ARGUMENTSX", false },
		{ "\\$0 \\$ARGUMENTS", "a", "$0 $ARGUMENTS", false },
		{ "$0", "$1 x", "$1", true },
		{ "it's $0", "it's", "it's it's", true },
		{ "$", "a", "$", false },
		{ "no", "a", "no", false },
		{ "${CLAUDE_SKILL_DIR}/a ${CLAUDE_SESSION_ID} ${HOME} ${CLAUDE_PLUGIN_ROOT}", "",
		  "/s/x/a id ${HOME} ${CLAUDE_PLUGIN_ROOT}", false },
		{ "${CLAUDE_SKILL_DIR", "", "${CLAUDE_SKILL_DIR", false },
	};
	struct skill *s = make("model: x");

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		fill(s, rows[i].text, rows[i].arguments, rows[i].expected, rows[i].used);
	skill_unref(s);
}

TEST(arguments_with_names_are_put_in_by_name)
{
	struct skill *s = make("arguments: [file, file-name, depth]");

	fill(s, "$file $file-name $depth.", "a b", "a b .", true);
	fill(s, "$files", "a", "$files", false);
	fill(s, "$0", "a", "a", true);
	skill_unref(s);
}

TEST(variables_of_a_plugin_are_its_own)
{
	struct skill_origin origin = {
		.file = "/p/s/SKILL.md", .name = "s", .plugin = "p", .plugin_root = "/p", .plugin_data = "/data"
	};
	struct skill *s = skill_from_markdown(&origin, STR("x"));

	fill(s, "${CLAUDE_PLUGIN_ROOT}:${CLAUDE_PLUGIN_DATA}", "", "/p:/data", false);
	skill_unref(s);
}

TEST(files_are_named_by_an_at_sign_behind_a_blank)
{
	struct str rest = STR("See @src/a.c, mail me@example.com (@b) and @c/d.md.\n@last @ @,");
	AUTO_BUF struct buf got = { 0 };
	struct str path;

	while (template_next_file(&rest, &path))
		buf_addf(&got, "[" STR_FMT "]", STR_ARG(path));

	CHECK_CSTR(got.p, "[src/a.c][c/d.md][last]");
}

int test_template(void)
{
	return RUN_TESTS(T(commands_are_found_where_they_may_stand), T(arguments_are_put_in),
			 T(arguments_with_names_are_put_in_by_name), T(variables_of_a_plugin_are_its_own),
			 T(files_are_named_by_an_at_sign_behind_a_blank));
}
