/* SPDX-License-Identifier: MIT
 * test_mcp_resources.c - ListMcpResourcesTool, ReadMcpResourceTool and ReadMcpResourceDirTool, in front of a scripted
 * server. */
#include "unit.h"
#include "../mcp/peer.h"
#include "mcp/client/pool.h"
#include "tests.h"
#include "toolbox.h"

struct stage {
	struct toolbox box;
	struct peer peer;
	struct mcp_pool *pool;
	struct mcp_selection *set;
	struct loop *own_loop; /* of the toolbox */
	bool drained;
};

static void stage_init(struct stage *s)
{
	struct mcp_host_events events = { .make_transport = peer_transport, .data = &s->peer };

	toolbox_open(&s->box);
	peer_init(&s->peer);
	s->peer.capabilities = "{\"resources\":{}}";
	s->peer.resources =
		"{\"uri\":\"mem://a\",\"name\":\"a\",\"server\":\"lies\"},{\"uri\":\"mem://b\",\"name\":\"b\"}";
	s->pool = mcp_pool_new(&s->peer.env, &events);
	s->set = mcp_selection_new(s->pool, &s->peer.env);
	mcp_selection_join(s->set, s->peer.server);
	loop_run(s->peer.loop);
	s->own_loop = s->box.env.loop;
	s->box.env.loop = s->peer.loop;
	s->box.env.servers = s->set;
	s->drained = false;
}

static void on_drained(void *data)
{
	((struct stage *)data)->drained = true;
}

static void stage_release(struct stage *s)
{
	mcp_selection_free(s->set);
	mcp_pool_drain(s->pool, on_drained, s);
	loop_run(s->peer.loop);
	CHECK(s->drained);
	mcp_pool_free(s->pool);
	tool_call_free(TAKE(s->box.call));
	s->box.env.loop = s->own_loop;
	peer_release(&s->peer);
	toolbox_close(&s->box);
}

#define BOTH                                                                             \
	"[{\"uri\":\"mem://a\",\"name\":\"a\",\"server\":\"srv\"},{\"uri\":\"mem://b\"," \
	"\"name\":\"b\",\"server\":\"srv\"}]"

TEST(the_resources_of_all_servers_or_of_one_are_listed)
{
	struct stage s;

	stage_init(&s);
	toolbox_run(&s.box, "ListMcpResourcesTool", "{}");
	CHECK_STR(toolbox_text(&s.box), BOTH);
	toolbox_run(&s.box, "ListMcpResourcesTool", "{'server':'srv'}");
	CHECK_STR(toolbox_text(&s.box), BOTH);
	toolbox_run(&s.box, "ListMcpResourcesTool", "{'server':'other'}");
	CHECK(s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box),
		  "<tool_use_error>No such MCP server: \"other\". Servers: srv.</tool_use_error>");
	s.box.env.servers = NULL;
	toolbox_run(&s.box, "ListMcpResourcesTool", "{}");
	CHECK(!s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box), "No resources found. Servers without resources may still have tools.");
	stage_release(&s);
}

TEST(a_resource_is_read_from_its_server)
{
	struct stage s;

	stage_init(&s);
	toolbox_begin(&s.box, "ReadMcpResourceTool", "{\"server\":\"srv\",\"uri\":\"mem://a\"}");
	CHECK(peer_was_sent(&s.peer, "\"method\":\"resources/read\",\"params\":{\"uri\":\"mem://a\",\"_meta\""));
	peer_say(
		&s.peer,
		"{\"id\":%lld,\"result\":{\"contents\":[{\"uri\":\"mem://a\",\"text\":\"one\"},{\"uri\":\"mem://p\","
		"\"mimeType\":\"image/png\",\"blob\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\"}]}}",
		(long long)peer_last_id(&s.peer));
	toolbox_finish(&s.box);
	CHECK_STR(toolbox_text(&s.box), "[Resource mem://a]\none\n[Resource mem://p]\n[image, image/png]");
	CHECK(str_has(
		buf_str(&s.box.call->result_blocks),
		STR("\"data\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\"")));
	stage_release(&s);
}

TEST(a_resource_that_cannot_be_read_says_why)
{
	struct stage s;

	stage_init(&s);
	toolbox_begin(&s.box, "ReadMcpResourceTool", "{\"server\":\"srv\",\"uri\":\"mem://x\"}");
	peer_say(&s.peer, "{\"id\":%lld,\"error\":{\"code\":-32002,\"message\":\"not there\"}}",
		 (long long)peer_last_id(&s.peer));
	toolbox_finish(&s.box);
	CHECK(s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box),
		  "The resource cannot be read: the server srv answered with error -32002: not there");
	stage_release(&s);
}

#define TEMPLATES "{\"id\":%lld,\"result\":{\"resourceTemplates\":["

static void begin_dir(struct stage *s, const char *uri)
{
	AUTO_BUF struct buf input = { 0 };

	s->peer.mute = true; /* the test answers */
	buf_addf(&input, "{\"server\":\"srv\",\"uri\":\"%s\"}", uri);
	toolbox_begin(&s->box, "ReadMcpResourceDirTool", input.p);
	CHECK(peer_was_sent(&s->peer, "\"method\":\"resources/templates/list\""));
}

TEST(resources_and_all_pages_of_templates_below_an_address_are_listed)
{
	struct stage s;

	stage_init(&s);
	begin_dir(&s, "mem://");
	peer_say(&s.peer,
		 TEMPLATES
		 "{\"uriTemplate\":\"mem://{x}\"},{\"uriTemplate\":\"memo://{x}\"},{\"uriTemplate\":\"mem://\"},7],"
		 "\"nextCursor\":\"p2\"}}",
		 (long long)peer_last_id(&s.peer));
	peer_run_for(&s.peer, 10);
	CHECK(peer_was_sent(&s.peer, "\"cursor\":\"p2\""));
	peer_say(&s.peer, TEMPLATES "{\"uriTemplate\":\"mem://y/{x}\"}]}}", (long long)peer_last_id(&s.peer));
	toolbox_finish(&s.box);
	CHECK_STR(toolbox_text(&s.box), "[{\"uri\":\"mem://a\",\"name\":\"a\",\"server\":\"srv\"},"
					"{\"uri\":\"mem://b\",\"name\":\"b\",\"server\":\"srv\"},"
					"{\"uriTemplate\":\"mem://{x}\",\"server\":\"srv\"},"
					"{\"uriTemplate\":\"mem://y/{x}\",\"server\":\"srv\"}]");
	stage_release(&s);
}

TEST(an_address_is_not_below_itself_and_a_server_need_not_have_templates)
{
	struct stage s;

	stage_init(&s);
	begin_dir(&s, "mem://a/");
	peer_say(&s.peer, "{\"id\":%lld,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}",
		 (long long)peer_last_id(&s.peer));
	toolbox_finish(&s.box);
	CHECK(!s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box), "The server srv lists nothing below mem://a/.");
	stage_release(&s);
}

TEST(a_listing_that_is_cancelled_ends)
{
	struct stage s;

	stage_init(&s);
	begin_dir(&s, "mem://");
	tool_call_cancel(s.box.call);
	toolbox_finish(&s.box);
	CHECK(s.box.call->is_error);
	CHECK_STR(toolbox_text(&s.box), "The call was cancelled.");
	stage_release(&s);
}

int test_mcp_resources(void)
{
	return RUN_TESTS(T(the_resources_of_all_servers_or_of_one_are_listed), T(a_resource_is_read_from_its_server),
			 T(a_resource_that_cannot_be_read_says_why),
			 T(resources_and_all_pages_of_templates_below_an_address_are_listed),
			 T(an_address_is_not_below_itself_and_a_server_need_not_have_templates),
			 T(a_listing_that_is_cancelled_ends));
}
