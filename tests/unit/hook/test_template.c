/* SPDX-License-Identifier: MIT
 * test_template.c - the places in the texts of handlers. */
#include "unit.h"
#include "guard/hook/hook_int.h"
#include "tests.h"

TEST(arguments_take_directories_and_options_literally)
{
	static const char *const options[] = { "token=a b", "evil=${CLAUDE_PROJECT_DIR}", NULL };
	const struct hook_origin origin = { .plugin_root = "/plug in", .plugin_options = options };
	static const struct {
		const char *text, *filled;
	} table[] = {
		{ "${CLAUDE_PROJECT_DIR}/x", "/pro ject/x" },
		{ "a${CLAUDE_PLUGIN_ROOT}b${CLAUDE_PLUGIN_ROOT}", "a/plug inb/plug in" },
		{ "${CLAUDE_PLUGIN_DATA}", "${CLAUDE_PLUGIN_DATA}" }, /* not given */
		{ "${user_config.token}", "a b" },
		{ "${user_config.evil}", "${CLAUDE_PROJECT_DIR}" }, /* not looked at again */
		{ "${user_config.toke}", "${user_config.toke}" },
		{ "${HOME} $CLAUDE_PROJECT_DIR ${", "${HOME} $CLAUDE_PROJECT_DIR ${" },
		{ "${${CLAUDE_PROJECT_DIR}", "${/pro ject" },
		{ "", "" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf out = { 0 };
		template_add_argument(&out, table[i].text, &origin, "/pro ject");
		CHECK_STR(buf_str(&out), table[i].filled);
	}
}

TEST(prompts_take_the_arguments_or_have_them_behind)
{
	static const struct {
		const char *text, *filled;
	} table[] = {
		{ "Look: $ARGUMENTS.", "Look: {\"a\":1}." },   { "Look", "Look\n\n{\"a\":1}" },
		{ "\\$ARGUMENTS", "$ARGUMENTS\n\n{\"a\":1}" }, { "\\$5 and $ARGUMENTS", "$5 and {\"a\":1}" },
		{ "$ARG \\n", "$ARG \\n\n\n{\"a\":1}" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf out = { 0 };
		template_add_prompt(&out, table[i].text, STR("{\"a\":1}"));
		CHECK_STR(buf_str(&out), table[i].filled);
	}
}

TEST(headers_take_allowed_names_only_and_stay_one_line)
{
	static const char *const names[] = { "TOKEN", "LINES", NULL };
	static const char *const envp[] = { "TOKEN=t0", "SECRET=s", "TOKENS=x", "LINES=a\r\nX: b", NULL };
	static const struct {
		const char *text, *filled;
	} table[] = {
		{ "Bearer $TOKEN", "Bearer t0" },
		{ "${TOKEN}s", "t0s" },
		{ "a$SECRET b${SECRET}c", "a bc" },
		{ "$LINES", "aX: b" },
		{ "$TOKENS", "" },
		{ "5$ $", "5$ $" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf out = { 0 };
		template_add_header(&out, table[i].text, names, envp);
		CHECK_STR(buf_str(&out), table[i].filled);
	}
}

TEST(inputs_of_tools_take_values_of_the_event)
{
	const char *event = "{\"tool_input\":{\"file_path\":\"/a \\\"b\\\"\",\"n\":[1,2]},\"cwd\":\"/w\"}";
	static const struct {
		const char *input, *filled;
	} table[] = {
		{ "{\"f\":\"${tool_input.file_path}\"}", "{\"f\":\"/a \\\"b\\\"\"}" },
		{ "{\"f\":[\"in ${cwd}: ${tool_input.n}\",1,null]}", "{\"f\":[\"in /w: [1,2]\",1,null]}" },
		{ "{\"f\":\"${tool_input.none} ${}\"}", "{\"f\":\"${tool_input.none} ${}\"}" },
		{ "{\"${cwd}\":true}", "{\"${cwd}\":true}" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf out = { 0 };
		template_add_json(&out, str_from(table[i].input), str_from(event));
		CHECK_STR(buf_str(&out), table[i].filled);
	}
}

int test_template(void)
{
	return RUN_TESTS(
		T(arguments_take_directories_and_options_literally), T(prompts_take_the_arguments_or_have_them_behind),
		T(headers_take_allowed_names_only_and_stay_one_line), T(inputs_of_tools_take_values_of_the_event));
}
