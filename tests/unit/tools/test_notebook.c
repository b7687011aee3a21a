/* SPDX-License-Identifier: MIT
 * test_notebook.c - notebooks: Read and NotebookEdit. */
#include "unit.h"
#include "lib/base/base64.h"
#include "picture.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/media/notebook.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

/* As Jupyter writes it */
static const char usual[] = "{\n"
			    " \"cells\": [\n"
			    "  {\n"
			    "   \"cell_type\": \"markdown\",\n"
			    "   \"id\": \"aa\",\n"
			    "   \"metadata\": {},\n"
			    "   \"source\": [\n"
			    "    \"# Title\\n\",\n"
			    "    \"words\"\n"
			    "   ]\n"
			    "  },\n"
			    "  {\n"
			    "   \"cell_type\": \"code\",\n"
			    "   \"execution_count\": 7,\n"
			    "   \"id\": \"bb\",\n"
			    "   \"metadata\": {\"x\":  1},\n"
			    "   \"outputs\": [\n"
			    "    {\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"1\\n\"]},\n"
			    "    {\"output_type\": \"error\", \"ename\": \"E\", \"evalue\": \"v\", \"traceback\": "
			    "[\"\\u001b[0;31mred\\u001b[0m\"]}\n"
			    "   ],\n"
			    "   \"source\": [\n"
			    "    \"print(1)\"\n"
			    "   ]\n"
			    "  }\n"
			    " ],\n"
			    " \"metadata\": {\"language_info\": {\"name\": \"python\"}},\n"
			    " \"nbformat\": 4,\n"
			    " \"nbformat_minor\": 5\n"
			    "}\n";

TEST(a_notebook_comes_as_its_cells_and_what_they_printed)
{
	BOX(box);
	toolbox_put(&box, "a.ipynb", usual);

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");

	CHECK(!box.call->is_error);
	CHECK_STR(toolbox_text(&box), "<cell id=\"aa\" type=\"markdown\">\n# Title\nwords\n</cell>\n"
				      "<cell id=\"bb\" type=\"code\">\nprint(1)\n</cell>\n"
				      "<output>\n1\n\n</output>\n<output>\nE: v\nred\n</output>");
	CHECK_INT(box.call->result_blocks.n, 0);
	CHECK(str_has(toolbox_object(&box),
		      STR("\"cells\":[{\"cell_id\":\"aa\",\"cellType\":\"markdown\",\"source\":\"# Title\\nwords\",")));
}

TEST(offset_and_limit_count_cells)
{
	BOX(box);
	toolbox_put(&box, "a.ipynb", usual);

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb','limit':1}");
	CHECK_STR(toolbox_text(&box), "<cell id=\"aa\" type=\"markdown\">\n# Title\nwords\n</cell>");

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb','offset':3}");
	CHECK_STR(toolbox_text(&box),
		  "<system-reminder>The notebook has 2 cells, fewer than the offset (3).</system-reminder>");
}

TEST(pictures_of_a_notebook_come_as_blocks_and_bad_ones_say_why_not)
{
	BOX(box);
	AUTO_BUF struct buf png = { 0 };
	AUTO_BUF struct buf data = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf expected = { 0 };
	picture_png(&png, (struct picture){ 4, 3, .noise = true });
	base64_add(&data, buf_str(&png));
	buf_addf(&text,
		 "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"plot()\",\"outputs\":["
		 "{\"output_type\":\"display_data\",\"data\":{\"image/png\":\"%s\\n\",\"text/plain\":\"<Figure>\"}},"
		 "{\"output_type\":\"display_data\",\"data\":{\"image/png\":\"?\"}}]}]}",
		 data.p);
	toolbox_put(&box, "a.ipynb", text.p);

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");

	buf_addf(&expected,
		 "[{\"type\":\"text\",\"text\":\"<cell id=\\\"cell-0\\\" type=\\\"code\\\">\\nplot()\\n</cell>\"},"
		 "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"%s\"}},"
		 "{\"type\":\"text\",\"text\":\"[image/png, left out: not base64]\"}]",
		 data.p);
	CHECK_STR(buf_str(&box.call->result_blocks), expected.p);
}

static void add_many_cells(struct buf *out, size_t count)
{
	buf_addstr(out, "{\"cells\":[");
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%s{\"cell_type\":\"code\",\"source\":[\"x = %zu\"],\"outputs\":[]}", i ? "," : "", i);
	buf_addstr(out, "]}");
}

TEST(of_a_notebook_with_very_many_cells_the_first_are_shown_and_it_does_not_count_as_read)
{
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	add_many_cells(&text, 100000);
	toolbox_put_bytes(&box, "a.ipynb", buf_str(&text));

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");
	CHECK(!box.call->is_error);
	CHECK(box.call->result.n < 110000);
	CHECK(str_has(toolbox_text(&box),
		      STR("PARTIAL view: the notebook is too long for one Read. Shown are cells 1-")));

	toolbox_run(&box, "NotebookEdit", "{'notebook_path':'a.ipynb','cell_id':'cell-7','new_source':'y'}");
	CHECK(str_has(toolbox_text(&box), STR("File has not been read yet.")));

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb','offset':99999}");
	CHECK(str_has(toolbox_text(&box), STR("<cell id=\"cell-99999\" type=\"code\">\nx = 99999\n</cell>")));
}

TEST(a_cell_that_does_not_fit_any_more_waits_for_the_next_read_and_one_alone_is_cut)
{
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf large = { 0 };
	for (int i = 0; i < 20000; i++)
		buf_addstr(&large, "12345678");
	buf_addf(&text, "{\"cells\":[{\"source\":\"a\\u0000b\"},{\"source\":\"%s\"}]}", large.p);
	toolbox_put(&box, "a.ipynb", text.p);

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");
	CHECK(str_starts(toolbox_text(&box), STR("<cell id=\"cell-0\" type=\"\">\na\xef\xbf\xbd"
						 "b\n</cell>\n<system-reminder>PARTIAL")));
	CHECK(str_has(toolbox_text(&box), STR("Shown are cells 1-1 of 2.")));

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb','offset':2}");
	CHECK(box.call->result.n < 101000);
	CHECK(str_has(toolbox_text(&box), STR(" more bytes were left out]\n</cell>")));
}

TEST(a_file_that_is_not_a_notebook_is_an_error_with_the_reason)
{
	AUTO_BUF struct buf digits = { 0 };
	buf_addstr(&digits, "{\"cells\":[");
	for (size_t i = 0; i < (5 << 20); i++)
		buf_add(&digits, "1,", 2);
	buf_addstr(&digits, "1]}");
	const struct {
		const char *text, *error;
	} cases[] = {
		{ "{\"cells\":[", "not a notebook, because not JSON: line 1, column " },
		{ "[]", "not a notebook of format 4: it has no list of cells." },
		{ "{\"worksheets\":[]}", "not a notebook of format 4: it has no list of cells." },
		{ "{\"cells\":[1]}", "not a notebook: one of its cells is not an object." },
		{ digits.p, "a notebook with more than 100 MB or 4 million values." },
	};
	BOX(box);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_put(&box, "a.ipynb", cases[i].text);
		toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");
		CHECK(box.call->is_error);
		CHECK(str_has(toolbox_text(&box), str_from(cases[i].error)));
	}
}

static void check_change(const char *text, struct notebook_edit edit, const char *cell, const char *expected)
{
	AUTO_NOTEBOOK struct notebook n = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct err err = { 0 };

	CHECK_INT(notebook_open(&n, str_from(text), &err), 0);
	edit.cell = cell ? notebook_find(&n, str_from(cell)) : NULL;
	CHECK(!cell == !edit.cell);
	notebook_change(&n, &edit, &out);
	CHECK_STR(buf_str(&out), expected);
}

TEST(a_change_leaves_everything_else_as_it_was)
{
	static const struct {
		const char *text, *cell;
		struct notebook_edit edit;
		const char *expected;
	} cases[] = {
		/* the form of the source stays: a text, a list, and how it is indented */
		{ "{ \"cells\" : [ {\"source\" : \"a\" , \"z\":1} ] }",
		  "cell-0",
		  { .source = STR("b\nc") },
		  "{ \"cells\" : [ {\"source\" : \"b\\nc\", \"z\":1,\"cell_type\": \"markdown\"} ] }" },
		{ "{\"cells\":[{\"cell_type\":\"raw\",\"source\":[\"a\"]}]}",
		  "cell-0",
		  { .source = STR("b\nc\n") },
		  "{\"cells\":[{\"cell_type\":\"raw\",\"source\":[\"b\\n\",\"c\\n\"]}]}" },
		{ "{\"cells\":[{\"cell_type\":\"raw\",\"source\":[\r\n  \"a\"\r\n ]}]}",
		  "cell-0",
		  { .source = STR("b\nc") },
		  "{\"cells\":[{\"cell_type\":\"raw\",\"source\":[\r\n  \"b\\n\",\r\n  \"c\"\r\n ]}]}" },
		{ "{\"cells\":[{\"cell_type\":\"raw\",\"source\":[]}]}",
		  "cell-0",
		  { .source = STR("") },
		  "{\"cells\":[{\"cell_type\":\"raw\",\"source\":[]}]}" },
		/* code that changes has not been run */
		{ "{\"cells\":[{\"cell_type\":\"code\",\"execution_count\":3,\"outputs\":[{}],\"source\":\"\"}]}",
		  "cell-0",
		  { .source = STR("x") },
		  "{\"cells\":[{\"cell_type\":\"code\",\"execution_count\":null,\"outputs\":[],\"source\":\"x\"}]}" },
		/* another type */
		{ "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"\",\"execution_count\":3,\"outputs\":[{}]}]}",
		  "cell-0",
		  { .source = STR("x"), .type = "markdown" },
		  "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":\"x\"}]}" },
		{ "{\"cells\":[{\"cell_type\":\"markdown\",\"source\":\"\"}]}",
		  "cell-0",
		  { .source = STR("x"), .type = "code" },
		  "{\"cells\":[{\"cell_type\":\"code\",\"source\":\"x\",\"execution_count\": null,\"outputs\": []}]}" },
		{ "{\"cells\":[{}]}",
		  "cell-0",
		  { .source = STR("x"), .type = "code" },
		  "{\"cells\":[{\"cell_type\": \"code\",\"execution_count\": null,\"outputs\": [],\"source\": \"x\"}]}" },
		/* removing */
		{ "{\"cells\":[ {\"id\":\"a\"} , {\"id\":\"b\"} ]}",
		  "a",
		  { .verb = NOTEBOOK_DELETE },
		  "{\"cells\":[ {\"id\":\"b\"} ]}" },
		{ "{\"cells\":[ {\"id\":\"a\"} , {\"id\":\"b\"} ]}",
		  "b",
		  { .verb = NOTEBOOK_DELETE },
		  "{\"cells\":[ {\"id\":\"a\"} ]}" },
		{ "{\"cells\":[ {\"id\":\"a\"} ]}", "a", { .verb = NOTEBOOK_DELETE }, "{\"cells\":[]}" },
		/* adding */
		{ "{\n  \"cells\": []\n}",
		  NULL,
		  { .verb = NOTEBOOK_INSERT, .type = "code", .source = STR("x"), .id = "i" },
		  "{\n  \"cells\": [\n    {\n      \"cell_type\": \"code\",\n      \"execution_count\": null,\n"
		  "      \"id\": \"i\",\n      \"metadata\": {},\n      \"outputs\": [],\n      \"source\": [\n"
		  "        \"x\"\n      ]\n    }\n  ]\n}" },
		{ "{\"cells\":[{\"id\":\"a\"}]}",
		  NULL,
		  { .verb = NOTEBOOK_INSERT, .type = "markdown", .source = STR("x") },
		  "{\"cells\":[{\"cell_type\": \"markdown\",\"metadata\": {},\"source\": [\"x\"]},{\"id\":\"a\"}]}" },
		{ "{\"cells\":[{\"id\":\"a\"},{\"id\":\"b\"}]}",
		  "a",
		  { .verb = NOTEBOOK_INSERT, .type = "markdown", .source = STR("x") },
		  "{\"cells\":[{\"id\":\"a\"},{\"cell_type\": \"markdown\",\"metadata\": {},\"source\": [\"x\"]},"
		  "{\"id\":\"b\"}]}" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		check_change(cases[i].text, cases[i].edit, cases[i].cell, cases[i].expected);
}

static void add_replaced(const char *from, const char *to, struct buf *out)
{
	const char *at = strstr(usual, from);

	buf_add(out, usual, (size_t)(at - usual));
	buf_addstr(out, to);
	buf_addstr(out, at + strlen(from));
}

TEST(the_tool_changes_one_cell_of_a_file_that_was_read)
{
	BOX(box);
	AUTO_BUF struct buf expected = { 0 };
	toolbox_put(&box, "a.ipynb", usual);
	add_replaced("    \"# Title\\n\",\n    \"words\"\n", "    \"new\"\n", &expected);

	toolbox_run(&box, "NotebookEdit", "{'notebook_path':'a.ipynb','cell_id':'aa','new_source':'new'}");
	CHECK(box.call->is_error);
	CHECK(str_has(toolbox_text(&box), STR("File has not been read yet.")));

	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");
	toolbox_run(&box, "NotebookEdit", "{'notebook_path':'a.ipynb','cell_id':'aa','new_source':'new'}");
	CHECK_STR(toolbox_text(&box), "Updated cell aa.");
	CHECK_STR(toolbox_get(&box, "a.ipynb"), expected.p);
	CHECK(str_has(toolbox_object(&box),
		      STR("{\"new_source\":\"new\",\"old_source\":\"# Title\\nwords\",\"cell_id\":\"aa\","
			  "\"cell_type\":\"markdown\",\"language\":\"python\","
			  "\"edit_mode\":\"replace\"")));

	toolbox_put(&box, "a.ipynb", usual);
	toolbox_run(&box, "NotebookEdit", "{'notebook_path':'a.ipynb','cell_id':'aa','new_source':'newer'}");
	CHECK(str_has(toolbox_text(&box), STR("File has been modified since it was read")));
	CHECK_STR(toolbox_get(&box, "a.ipynb"), usual);
}

TEST(an_inserted_cell_has_an_id_and_can_be_removed_without_a_trace)
{
	BOX(box);
	AUTO_ARENA struct arena scratch = { 0 };
	toolbox_put(&box, "a.ipynb", usual);
	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");

	toolbox_run(
		&box, "NotebookEdit",
		"{'notebook_path':'a.ipynb','cell_id':'aa','new_source':'x','cell_type':'code','edit_mode':'insert'}");
	CHECK(str_starts(toolbox_text(&box), STR("Inserted a code cell with the id ")));
	struct str text = toolbox_text(&box);
	struct str id = { text.p + strlen("Inserted a code cell with the id "), 8 };
	CHECK(str_has(toolbox_get(&box, "a.ipynb"), id));

	toolbox_run(&box, "NotebookEdit",
		    "{'notebook_path':'a.ipynb','cell_id':'%s','new_source':'','edit_mode':'delete'}",
		    arena_dup(&scratch, id.p, id.n));
	CHECK(!box.call->is_error);
	CHECK_STR(toolbox_get(&box, "a.ipynb"), usual);
}

TEST(what_the_tool_cannot_do_it_says)
{
	BOX(box);
	toolbox_put(&box, "a.ipynb", usual);
	toolbox_put(&box, "b.ipynb", "{}");
	toolbox_run(&box, "Read", "{'file_path':'a.ipynb'}");
	static const struct {
		const char *input, *text;
	} cases[] = {
		{ "'notebook_path':'no.ipynb','cell_id':'a'", "File does not exist." },
		{ "'notebook_path':'a.ipynb'", "cell_id is needed" },
		{ "'notebook_path':'a.ipynb','edit_mode':'insert'", "cell_type is needed" },
		{ "'notebook_path':'a.ipynb','cell_id':'zz'", "The notebook has no cell \"zz\"." },
		{ "'notebook_path':'a.ipynb','cell_id':'aa','cell_type':'raw'", "InputValidationError" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "NotebookEdit", "{%s,'new_source':'x'}", cases[i].input);
		CHECK(box.call->is_error);
		CHECK(str_has(toolbox_text(&box), str_from(cases[i].text)));
	}
	CHECK_STR(toolbox_get(&box, "a.ipynb"), usual);
}

int test_notebook(void)
{
	return RUN_TESTS(
		T(a_notebook_comes_as_its_cells_and_what_they_printed), T(offset_and_limit_count_cells),
		T(pictures_of_a_notebook_come_as_blocks_and_bad_ones_say_why_not),
		T(of_a_notebook_with_very_many_cells_the_first_are_shown_and_it_does_not_count_as_read),
		T(a_cell_that_does_not_fit_any_more_waits_for_the_next_read_and_one_alone_is_cut),
		T(a_file_that_is_not_a_notebook_is_an_error_with_the_reason),
		T(a_change_leaves_everything_else_as_it_was), T(the_tool_changes_one_cell_of_a_file_that_was_read),
		T(an_inserted_cell_has_an_id_and_can_be_removed_without_a_trace), T(what_the_tool_cannot_do_it_says));
}
