/* SPDX-License-Identifier: MIT
 * test_tools_main.c - all tests of the built-in tools. */
#include "unit.h"
#include "tests.h"
#include "lib/json/json.h"
#include "tools/tools.h"

TEST(the_table_is_sorted_by_name)
{
	for (size_t i = 1; tool_table[0] && tool_table[i]; i++)
		CHECK(strcmp(tool_table[i - 1]->name, tool_table[i]->name) < 0);
}

TEST(each_definition_is_one_line_of_json_with_the_tools_name_and_a_closed_schema)
{
	for (size_t i = 0; tool_table[i]; i++) {
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		const char *text = tool_table[i]->definition;

		CHECK_INT(json_parse(&reader, text, strlen(text), &root, NULL), 0);
		CHECK(!strchr(text, '\n'));
		CHECK(json_str_is(json_get(root, "name"), tool_table[i]->name));
		CHECK(json_is(json_get(root, "description"), JSON_STRING));
		CHECK(json_is(json_get(json_get(root, "input_schema"), "additionalProperties"), JSON_FALSE));
	}
}

int main(void)
{
	RUN_TESTS(T(the_table_is_sorted_by_name),
		  T(each_definition_is_one_line_of_json_with_the_tools_name_and_a_closed_schema));
	test_bash();
	test_image();
	test_notebook();
	test_pdf();
	test_read();
	test_read_image();
	test_write();
	test_edit();
	test_glob();
	test_file_type();
	test_walk();
	test_grep();
	test_mcp_resources();
	test_todo();
	test_tool_search();
	test_html();
	test_web();
	return tests_run();
}
