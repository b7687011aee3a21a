/* SPDX-License-Identifier: MIT
 * test_tool.c - tools of servers as tools of agents: definitions, flags, calls, results and their limits. */
#include "unit.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "mcp/client/toolset.h"
#include "mcp/client/pool.h"
#include "peer.h"
#include "tests.h"

#define PIXEL "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

struct stage {
	struct peer peer;
	struct mcp_pool *pool;
	struct mcp_selection *set;
	struct tool_set tools;
	struct tool_env env;
	struct tool_gate gate;
	unsigned done;
	bool drained;
	char dir[FOLDER_MAX];
};

static void allow(struct tool_gate *gate, struct tool_call *call)
{
	(void)gate;
	tool_call_decided(call, TOOL_ALLOW, STR(""));
}

static void on_done(struct tool_call *call)
{
	++((struct stage *)call->owner)->done;
}

static void stage_init(struct stage *s)
{
	struct mcp_host_events events = { .make_transport = peer_transport, .data = &s->peer };

	*s = (struct stage){ .gate.ask = allow };
	peer_init(&s->peer);
	s->pool = mcp_pool_new(&s->peer.env, &events);
	s->set = mcp_selection_new(s->pool, &s->peer.env);
	folder_make(s->dir);
	s->env = (struct tool_env){ .loop = s->peer.loop, .servers = s->set, .results_dir = s->dir };
}

static void stage_connect(struct stage *s)
{
	mcp_selection_join(s->set, s->peer.server);
	loop_run(s->peer.loop);
	mcp_selection_tools(s->set, &s->tools);
}

static void on_drained(void *data)
{
	((struct stage *)data)->drained = true;
}

static void stage_release(struct stage *s)
{
	tool_set_release(&s->tools);
	mcp_selection_free(s->set);
	mcp_pool_drain(s->pool, on_drained, s);
	loop_run(s->peer.loop);
	CHECK(s->drained);
	mcp_pool_free(s->pool);
	peer_release(&s->peer);
	folder_remove(s->dir);
}

static struct tool_call *start(struct stage *s, const char *name, const char *input)
{
	const struct tool *tool = tool_set_find(&s->tools, str_from(name));
	struct tool_call *call =
		tool_call_new(&s->env, &s->gate, tool, STR("toolu_9"), str_from(name), str_from(input));

	call->owner = s;
	call->done = on_done;
	tool_call_start(call);
	return call;
}

/* A call of echo that the server answers with this result. */
static struct tool_call *run(struct stage *s, const char *result)
{
	struct tool_call *call = start(s, "mcp__srv__echo", "{}");

	peer_say(&s->peer, "{\"id\":%lld,\"result\":%s}", (long long)peer_last_id(&s->peer), result);
	loop_run(s->peer.loop);
	CHECK(call->finished);
	return call;
}

TEST(tools_have_the_name_of_their_server_and_one_definition_for_all_agents)
{
	struct stage s;
	struct tool_set again = { 0 };
	struct mcp_selection *child;

	stage_init(&s);
	s.peer.tools = "{\"name\":\"do it.now\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
		       "\"annotations\":{\"readOnlyHint\":true}},{\"name\":\"do-it\"},{\"name\":\"do it now\"}";
	stage_connect(&s);
	CHECK_INT(s.tools.count, 2); /* the third one would have the name of the first */
	CHECK_CSTR(s.tools.tools[0]->name, "mcp__srv__do_it_now");
	CHECK_CSTR(s.tools.tools[0]->definition,
		   "{\"name\":\"mcp__srv__do_it_now\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}");
	CHECK_INT(s.tools.tools[0]->flags, TOOL_OWN_LIMIT | TOOL_CONCURRENT | TOOL_MAY_WAIT);
	CHECK_INT(s.tools.tools[1]->flags, TOOL_OWN_LIMIT | TOOL_MAY_WAIT);

	child = mcp_selection_new(s.pool, &s.peer.env);
	mcp_selection_share(child, s.set, STR("srv"));
	mcp_selection_tools(child, &again);
	CHECK(again.tools[0] == s.tools.tools[0]);
	tool_set_release(&again);
	mcp_selection_free(child);
	stage_release(&s);
}

TEST(a_long_description_is_cut_and_a_long_name_is_left_out)
{
	struct stage s;
	AUTO_BUF struct buf tools = { 0 };

	buf_addstr(&tools, "{\"name\":\"");
	for (unsigned i = 0; i < 200; i++)
		buf_addch(&tools, 'n');
	buf_addstr(&tools, "\"},{\"name\":\"ok\",\"description\":\"");
	for (unsigned i = 0; i < 5000; i++)
		buf_addch(&tools, 'd');
	buf_addstr(&tools, "\"}");
	stage_init(&s);
	s.peer.tools = tools.p;
	stage_connect(&s);

	CHECK_INT(s.tools.count, 1);
	CHECK_CSTR(s.tools.tools[0]->name, "mcp__srv__ok");
	CHECK(strstr(s.tools.tools[0]->definition, "ddd [...]\"") != NULL);
	CHECK(strlen(s.tools.tools[0]->definition) < 2200);
	stage_release(&s);
}

TEST(tools_of_an_old_catalog_stay_valid_after_the_list_has_changed)
{
	struct stage s;
	struct tool_set now = { 0 };

	stage_init(&s);
	stage_connect(&s);
	s.peer.tools = "{\"name\":\"other\"}";
	peer_say(&s.peer, "{\"method\":\"notifications/tools/list_changed\"}");
	loop_run(s.peer.loop);
	mcp_selection_tools(s.set, &now);

	CHECK_INT(now.count, 1);
	CHECK_CSTR(now.tools[0]->name, "mcp__srv__other");
	CHECK_CSTR(s.tools.tools[0]->name, "mcp__srv__echo");
	tool_set_release(&now);
	stage_release(&s);
}

TEST(results_are_mapped_to_text_and_errors)
{
	static const struct {
		const char *result, *text;
		bool is_error;
	} cases[] = {
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"},{\"type\":\"text\",\"text\":\"c\"}]}",
		  "a\nb\nc", false },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":{\"n\": 1}}", "{\"n\": 1}",
		  false },
		{ "{\"content\":[{\"type\":\"text\",\"text\":\"bad\"}],\"isError\":true}", "bad", true },
		{ "{\"content\":[]}", "", false },
		{ "{\"toolResult\":5}", "{\"toolResult\":5}", false },
		{ "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"f:///a\",\"text\":\"in it\"}}]}",
		  "[Resource f:///a]\nin it", false },
		{ "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"f:///a\",\"name\":\"n\",\"description\":\"d\"}]}",
		  "[Resource link: n] f:///a (d)", false },
		{ "{\"content\":[{\"type\":\"new\",\"x\":1}]}", "{\"type\":\"new\",\"x\":1}", false },
		{ "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/tiff\",\"data\":\"**\"}]}",
		  "[image, image/tiff, 0.0KB, left out: the model cannot see this type]", false },
		{ "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"a b=\"}]}",
		  "[image, image/png, 0.0KB, left out: not base64]", false },
	};
	struct stage s;

	stage_init(&s);
	stage_connect(&s);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tool_call *call = run(&s, cases[i].result);
		CHECK_STR(buf_str(&call->result), cases[i].text);
		CHECK_INT(call->is_error, cases[i].is_error);
		CHECK_INT(call->result_blocks.n, 0);
		tool_call_free(call);
	}
	stage_release(&s);
}

TEST(an_image_is_a_block_between_the_texts)
{
	struct stage s;

	stage_init(&s);
	stage_connect(&s);
	struct tool_call *call = run(
		&s,
		"{\"content\":[{\"type\":\"text\",\"text\":\"before\"},{\"type\":\"image\",\"mimeType\":\"image/png\","
		"\"data\":\"" PIXEL "\"},{\"type\":\"text\",\"text\":\"after\"}]}");

	CHECK_STR(buf_str(&call->result), "before\n[image, image/png]\nafter");
	CHECK_STR(buf_str(&call->result_blocks),
		  "[{\"type\":\"text\",\"text\":\"before\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\","
		  "\"media_type\":\"image/png\",\"data\":\"" PIXEL "\"}},{\"type\":\"text\",\"text\":\"after\"}]");
	tool_call_free(call);
	stage_release(&s);
}

/* One of them in a request, and the API refuses the whole conversation. */
TEST(an_image_that_the_api_would_refuse_becomes_a_file)
{
	static const struct {
		const char *result, *text;
	} cases[] = {
		{ "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"QUJD\"}]}",
		  "left out: damaged; saved to " },
		{ "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw==\"}]}",
		  "left out: damaged; saved to " },
		{ "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/jpeg\",\"data\":\"" PIXEL "\"}]}",
		  "left out: it is of another type; saved to " },
		{ "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoAAAANSUhEUgAAIygAAAABCAIAAAA8QZISAAAAAElFTkSuQmCC\"}]}",
		  "left out: too large; saved to " },
	};
	struct stage s;

	stage_init(&s);
	stage_connect(&s);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tool_call *call = run(&s, cases[i].result);
		CHECK(str_has(buf_str(&call->result), str_from(cases[i].text)));
		CHECK_INT(call->result_blocks.n, 0);
		tool_call_free(call);
	}
	stage_release(&s);
}

TEST(sound_becomes_a_file)
{
	struct stage s;
	struct buf file = { 0 };

	stage_init(&s);
	stage_connect(&s);
	struct tool_call *call =
		run(&s, "{\"content\":[{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"UklGRg==\"}]}");

	char *path = arena_printf(&call->arena, "%s/toolu_9-1.wav", s.dir);
	CHECK(str_has(buf_str(&call->result), str_from(path)));
	CHECK_INT(file_read(path, 100, &file, NULL), 0);
	CHECK_INT(file.n, 4);
	CHECK_STR(buf_str(&file), "RIFF");
	buf_release(&file);
	tool_call_free(call);
	stage_release(&s);
}

static char *long_result(size_t n)
{
	struct buf b = { 0 };

	buf_addstr(&b, "{\"content\":[{\"type\":\"text\",\"text\":\"");
	for (size_t i = 0; i < n; i++)
		buf_addch(&b, 'x');
	buf_addstr(&b, "\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PIXEL "\"}]}");
	return buf_take(&b, NULL);
}

TEST(long_output_goes_to_a_file_and_images_stay)
{
	static const struct {
		size_t bytes;
		const char *tokens, *most_chars;
		bool to_file;
	} cases[] = {
		{ 100000, NULL, NULL, false }, { 100001, NULL, NULL, true },      { 401, "100", NULL, true },
		{ 400, "100", NULL, false },   { 400000, NULL, "500000", false }, { 500001, NULL, "900000", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stage s;
		AUTO_FREE char *result = long_result(cases[i].bytes);
		AUTO_BUF struct buf tools = { 0 };
		stage_init(&s);
		buf_addf(&tools, "{\"name\":\"echo\",\"_meta\":{\"anthropic/maxResultSizeChars\":%s}}",
			 cases[i].most_chars ? cases[i].most_chars : "null");
		s.peer.tools = tools.p;
		stage_connect(&s);
		if (cases[i].tokens)
			setenv("MAX_MCP_OUTPUT_TOKENS", cases[i].tokens, 1);
		struct tool_call *call = run(&s, result);
		unsetenv("MAX_MCP_OUTPUT_TOKENS");
		CHECK_INT(str_has(buf_str(&call->result), STR("/toolu_9.txt")), cases[i].to_file);
		CHECK_INT(str_has(buf_str(&call->result_blocks), STR("<persisted-output>")), cases[i].to_file);
		CHECK(str_has(buf_str(&call->result_blocks), STR("\"data\":\"" PIXEL "\"")));
		tool_call_free(call);
		stage_release(&s);
	}
}

TEST(a_failure_names_the_server_and_the_tool)
{
	struct stage s;

	stage_init(&s);
	stage_connect(&s);
	struct tool_call *call = start(&s, "mcp__srv__echo", "{}");
	peer_die(&s.peer, "it ended with status 1", false, false);
	loop_run(s.peer.loop);
	CHECK(call->is_error);
	CHECK_STR(buf_str(&call->result),
		  "The tool echo of the server srv failed: the server srv died during the call: it "
		  "ended with status 1");
	tool_call_free(call);

	AUTO_BUF struct buf words = { 0 };
	for (unsigned i = 0; i < 1000; i++)
		buf_addch(&words, 'w');
	call = start(&s, "mcp__srv__echo", "{}");
	peer_say(&s.peer, "{\"id\":%lld,\"error\":{\"code\":-32602,\"message\":\"%s\"}}",
		 (long long)peer_last_id(&s.peer), words.p);
	loop_run(s.peer.loop);
	CHECK(str_starts(buf_str(&call->result), STR("The tool echo of the server srv failed: MCP error -32602: www")));
	CHECK(call->result.n > 1000);
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_cancelled_call_is_cancelled_at_the_server_and_still_ends)
{
	struct stage s;

	stage_init(&s);
	stage_connect(&s);
	struct tool_call *call = start(&s, "mcp__srv__echo", "{\"a\":1}");
	CHECK(peer_was_sent(&s.peer,
			    "\"params\":{\"name\":\"echo\",\"arguments\":{\"a\":1},\"_meta\":{\"claudecode/toolUseId\":"
			    "\"toolu_9\","));
	tool_call_cancel(call);
	loop_run(s.peer.loop);

	CHECK(call->finished && call->is_error);
	CHECK_STR(buf_str(&call->result),
		  "The tool echo of the server srv failed: the request to the server srv was cancelled");
	CHECK_INT(s.done, 1);
	CHECK(peer_was_sent(&s.peer, "notifications/cancelled"));
	tool_call_free(call);
	stage_release(&s);
}

TEST(an_agent_without_the_server_cannot_call_its_tool)
{
	struct stage s;

	stage_init(&s);
	stage_connect(&s);
	s.env.servers = NULL;
	struct tool_call *call = start(&s, "mcp__srv__echo", "{}");
	loop_run(s.peer.loop);

	CHECK_STR(buf_str(&call->result), "The tool echo cannot be called: this agent does not use the server srv.");
	CHECK(call->is_error);
	tool_call_free(call);
	stage_release(&s);
}

int test_tool(void)
{
	return RUN_TESTS(T(tools_have_the_name_of_their_server_and_one_definition_for_all_agents),
			 T(a_long_description_is_cut_and_a_long_name_is_left_out),
			 T(tools_of_an_old_catalog_stay_valid_after_the_list_has_changed),
			 T(results_are_mapped_to_text_and_errors), T(an_image_is_a_block_between_the_texts),
			 T(an_image_that_the_api_would_refuse_becomes_a_file), T(sound_becomes_a_file),
			 T(long_output_goes_to_a_file_and_images_stay), T(a_failure_names_the_server_and_the_tool),
			 T(a_cancelled_call_is_cancelled_at_the_server_and_still_ends),
			 T(an_agent_without_the_server_cannot_call_its_tool));
}
