/* SPDX-License-Identifier: MIT
 * test_client_list.c - the lists of a server: pages, limits, failures, changes. */
#include "client_stage.h"
#include "tests.h"

static unsigned count_lines(const struct buf *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == '\n';
	return n;
}

TEST(a_list_with_pages_is_one_list_and_has_an_end)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.endless_pages = true;
	s.peer.tools = "";
	client_stage_connect(&s);

	CHECK_INT(mcp_client_state(s.client), MCP_CONNECTED);
	CHECK(str_has(buf_str(&s.log), STR("tools/list: more than 1,000 pages; the rest is left out")));
	CHECK(str_has(buf_str(&s.peer.lists), STR("\"params\":{\"cursor\":\"page ")));
	CHECK_INT(count_lines(&s.peer.lists), 1000);
	client_stage_release(&s);
}

TEST(more_than_ten_thousand_tools_are_cut_off)
{
	struct client_stage s;
	AUTO_BUF struct buf tools = { 0 };

	for (unsigned i = 0; i < 6000; i++)
		buf_addf(&tools, "%s{\"name\":\"t%u\",\"inputSchema\":{\"type\":\"object\"}}", i ? "," : "", i);
	client_stage_init(&s);
	s.peer.endless_pages = true;
	s.peer.tools = tools.p;
	client_stage_connect(&s);

	struct mcp_catalog *catalog = mcp_client_catalog(s.client);
	CHECK_INT(catalog->tool_count, 6000); /* the second page repeats the names of the first one */
	CHECK(str_has(buf_str(&s.log), STR("more than 10,000 entries")));
	mcp_catalog_unref(catalog);
	client_stage_release(&s);
}

TEST(a_list_that_fails_is_tried_three_times)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.fail_lists = 2;
	client_stage_connect(&s);
	CHECK_STR(buf_str(&s.trail), "connected tools:1 ");
	client_stage_release(&s);

	client_stage_init(&s);
	s.peer.fail_lists = 3;
	client_stage_connect(&s);
	CHECK_STR(buf_str(&s.trail), "connected tools:0 ");
	CHECK(str_has(buf_str(&s.log), STR("error tools/list failed: the server srv answered with error -32603")));
	client_stage_release(&s);
}

TEST(a_burst_of_changes_is_one_refresh_and_a_failed_one_keeps_the_old_list)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	buf_clear(&s.peer.lists);
	s.peer.tools = "{\"name\":\"a\"},{\"name\":\"b\"}";
	for (unsigned i = 0; i < 50; i++)
		peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	loop_run(s.peer.loop);
	CHECK_STR(buf_str(&s.trail), "connected tools:1 tools:2 ");
	CHECK_INT((long)str_from(strchr(s.peer.lists.p, '\n') + 1).n, 0);

	s.peer.fail_lists = 3;
	s.peer.tools = "";
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	loop_run(s.peer.loop);
	struct mcp_catalog *catalog = mcp_client_catalog(s.client);
	CHECK_INT(catalog->tool_count, 2);
	mcp_catalog_unref(catalog);
	CHECK_STR(buf_str(&s.trail), "connected tools:1 tools:2 ");
	client_stage_release(&s);
}

TEST(prompts_and_resources_are_read_where_they_are_offered)
{
	struct client_stage s;

	client_stage_init(&s);
	s.peer.capabilities = "{\"prompts\":{},\"resources\":{}}";
	s.peer.prompts =
		"{\"name\":\"p\",\"arguments\":[{\"name\":\"x\",\"required\":true},{}]},{\"title\":\"nameless\"}";
	s.peer.resources = "{\"uri\":\"file:///x\",\"name\":\"x\",\"mimeType\":\"text/plain\"}";
	client_stage_connect(&s);

	struct mcp_catalog *catalog = mcp_client_catalog(s.client);
	CHECK_INT(catalog->tool_count, 0);
	CHECK_INT(catalog->prompt_count, 1);
	CHECK_INT(catalog->prompts[0].argument_count, 1);
	CHECK(catalog->prompts[0].arguments[0].required);
	CHECK(catalog->has_resources);
	CHECK_CSTR(catalog->resources[0].uri, "file:///x");
	CHECK_CSTR(catalog->resources[0].json, s.peer.resources);
	mcp_catalog_unref(catalog);
	client_stage_release(&s);
}

TEST(a_change_while_the_list_is_on_its_way_is_fetched_after_it)
{
	struct client_stage s;

	client_stage_init(&s);
	client_stage_connect(&s);
	s.peer.mute = true;
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	peer_run_for(&s.peer, 300);
	CHECK(peer_was_sent(&s.peer, "tools/list"));
	s.peer.mute = false;
	buf_clear(&s.peer.lists);
	peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	peer_say(&s.peer, "{\"id\":%lld,\"result\":{\"tools\":[]}}", (long long)peer_last_id(&s.peer));
	loop_run(s.peer.loop);

	CHECK_INT(count_lines(&s.peer.lists), 1);
	CHECK_STR(buf_str(&s.trail), "connected tools:1 tools:0 tools:1 ");
	client_stage_release(&s);
}

TEST(a_list_that_changes_all_the_time_is_fetched_more_and_more_seldom)
{
	struct client_stage s;
	char tools[40];

	client_stage_init(&s);
	client_stage_connect(&s);
	buf_clear(&s.peer.lists);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(tools, sizeof tools, "{\"name\":\"t%u\"}", i);
		s.peer.tools = tools;
		peer_say(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
		peer_run_for(&s.peer, 100);
	}

	CHECK(count_lines(&s.peer.lists) > 3);
	CHECK(count_lines(&s.peer.lists) < 20);
	client_stage_release(&s);
}

int test_client_list(void)
{
	return RUN_TESTS(T(a_change_while_the_list_is_on_its_way_is_fetched_after_it),
			 T(a_list_that_changes_all_the_time_is_fetched_more_and_more_seldom),
			 T(a_list_with_pages_is_one_list_and_has_an_end), T(more_than_ten_thousand_tools_are_cut_off),
			 T(a_list_that_fails_is_tried_three_times),
			 T(a_burst_of_changes_is_one_refresh_and_a_failed_one_keeps_the_old_list),
			 T(prompts_and_resources_are_read_where_they_are_offered));
}
