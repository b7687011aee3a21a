/* SPDX-License-Identifier: MIT
 * test_tool_search.c - ToolSearch, and which tools fit which words. */
#include "unit.h"
#include "tests.h"
#include "core/tool/deferral.h"
#include "toolbox.h"
#include "tools/agents/tool_rank.h"

#define TOOL(tool_name, text)                                                                                 \
	{                                                                                                     \
		.name = tool_name, .definition = "{\"name\":\"" tool_name "\",\"description\":\"" text "\"}", \
		.flags = TOOL_MAY_WAIT                                                                        \
	}

static const struct tool tools[] = {
	TOOL("mcp__git__log", "History of a file.\\nMore about it."),
	TOOL("mcp__git__blame", "Who changed a line, and in which log entry"),
	TOOL("mcp__hub__createIssue", "Opens a new one"),
	TOOL("mcp__hub__list_issues", "Shows what is open"),
	TOOL("mcp__hub__catalog", ""),
};

struct stage {
	struct toolbox box;
	struct tool_set set;
	struct deferral deferral;
};

static void stage_init(struct stage *s)
{
	*s = (struct stage){ .deferral.on = true };
	toolbox_open(&s->box);
	for (size_t i = 0; i < COUNT_OF(tools); i++)
		tool_set_add(&s->set, &tools[i]);
	deferral_arrange(&s->deferral, &s->set, NULL, NULL);
	s->box.env.deferral = &s->deferral;
}

static void stage_release(struct stage *s)
{
	deferral_release(&s->deferral);
	tool_set_release(&s->set);
	toolbox_close(&s->box);
}

/* clang-format off */
static const struct {
	const char *words;
	size_t most;
	const char *best;
} searches[] = {
	{ "log", 9, "mcp__git__log mcp__hub__catalog mcp__git__blame " },
	{ "LOG", 1, "mcp__git__log " },
	{ "create issue", 9, "mcp__hub__createIssue mcp__hub__list_issues " },
	{ "open issue", 1, "mcp__hub__createIssue " },
	{ "create_issue", 1, "mcp__hub__createIssue " },
	{ "+git", 9, "mcp__git__log mcp__git__blame " },
	{ "+open +hub", 9, "mcp__hub__list_issues mcp__hub__createIssue " },
	{ "+history open", 9, "mcp__git__log " },
	{ "history of\tlines", 9, "mcp__git__log " },
	{ "mcp", 2, "mcp__git__log mcp__git__blame " },
	{ "teapot", 9, "" },
	{ "", 9, "" },
	{ " + ++ _ ", 9, "" },
	{ "log", 0, "" },
};
/* clang-format on */

TEST(tools_are_ranked_by_where_the_words_are_found)
{
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(searches); i++) {
		const struct tool *best[9];
		AUTO_BUF struct buf names = { 0 };
		size_t n = tool_rank(&s.set, str_from(searches[i].words), searches[i].most, best);
		for (size_t k = 0; k < n; k++)
			buf_addf(&names, "%s ", best[k]->name);
		print_message("# %s\n", searches[i].words);
		CHECK_STR(buf_str(&names), searches[i].best);
	}
	stage_release(&s);
}

#define LIST "These tools are in your list from now on, and you can call them:\n"

TEST(names_load_exactly_these_tools_in_any_case_and_once)
{
	struct stage s;
	stage_init(&s);

	toolbox_run(&s.box, "ToolSearch",
		    "{'query':' select: mcp__git__blame,MCP__git__log,, mcp__git__blame, Read','max_results':1}");

	CHECK_STR(toolbox_text(&s.box), LIST
		  "- mcp__git__blame: Who changed a line, and in which log entry\n- mcp__git__log: History of a file.\n"
		  "Not found: Read. Tools in your list need not be loaded.\n");
	CHECK_STR(toolbox_object(&s.box), "{\"matches\":[\"mcp__git__blame\",\"mcp__git__log\"],"
					  "\"query\":\"select: mcp__git__blame,MCP__git__log,, mcp__git__blame, Read\","
					  "\"total_deferred_tools\":5}");
	CHECK(deferral_holds(&s.deferral, &tools[0])); /* until the answer's calls are over */
	deferral_arrange(&s.deferral, &s.set, NULL, NULL);
	CHECK_INT(s.deferral.loaded.count, 2);
	CHECK(s.deferral.loaded.tools[0] == &tools[1] && s.deferral.loaded.tools[1] == &tools[0]);
	stage_release(&s);
}

TEST(words_load_as_many_as_are_wanted)
{
	struct stage s;
	stage_init(&s);

	toolbox_run(&s.box, "ToolSearch", "{'query':'hub','max_results':2}");
	CHECK_STR(toolbox_text(&s.box), LIST "- mcp__hub__createIssue: Opens a new one\n"
					     "- mcp__hub__list_issues: Shows what is open\n");
	toolbox_run(&s.box, "ToolSearch", "{'query':'mcp__hub__catalog'}");
	CHECK_STR(toolbox_text(&s.box), LIST "- mcp__hub__catalog\n");
	CHECK_INT(s.deferral.wanted_count, 3);
	stage_release(&s);
}

TEST(a_query_without_a_match_loads_nothing_and_is_not_an_error)
{
	struct stage s;
	stage_init(&s);

	toolbox_run(&s.box, "ToolSearch", "{'query':'teapot'}");

	CHECK(!s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box), "No tool matches. Try other words, or exact names with select:\n");
	CHECK_INT(s.deferral.wanted_count, 0);
	s.box.env.deferral = NULL;
	toolbox_run(&s.box, "ToolSearch", "{'query':'log'}");
	CHECK_STR(toolbox_text(&s.box), "There is nothing to load: all your tools are in your list.");
	stage_release(&s);
}

int test_tool_search(void)
{
	return RUN_TESTS(T(tools_are_ranked_by_where_the_words_are_found),
			 T(names_load_exactly_these_tools_in_any_case_and_once), T(words_load_as_many_as_are_wanted),
			 T(a_query_without_a_match_loads_nothing_and_is_not_an_error));
}
