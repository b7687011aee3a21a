/* SPDX-License-Identifier: MIT
 * tool_run.c - a call of a server's tool: from the agent's link to the server and back. */
#include "lib/json/json_write.h"
#include "mcp/client/result.h"
#include "mcp/client/set.h"
#include "mcp/client/toolbox.h"

/* What a call keeps while it runs, in its arena */
struct run {
	struct mcp_link_call *open; /* NULL: answered */
	const char *server, *tool;
	size_t most_chars;
};

/* The server's own words are not cut; they stand in the error object. */
static void fail(struct tool_call *call, const struct run *run, const struct json *error, const struct err *err)
{
	struct str words = json_str(json_get(error, "message"), &call->arena);
	int64_t code = 0;

	(void)json_i64(json_get(error, "code"), &code);
	if (words.n)
		tool_call_fail(call, "The tool %s of the server %s failed: MCP error %lld: " STR_FMT, run->tool,
			       run->server, (long long)code, STR_ARG(words));
	else
		tool_call_fail(call, "The tool %s of the server %s failed: %s", run->tool, run->server, err->text);
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct tool_call *call = data;
	struct run *run = call->state;

	run->open = NULL;
	if (err)
		fail(call, run, result, err);
	else
		mcp_result_finish(call, result, run->most_chars);
}

/* Only its being asked for matters: it keeps the call alive where an idle limit is set. */
static void on_progress(void *data, double progress, double total, struct str message)
{
	(void)data, (void)progress, (void)total, (void)message;
}

void mcp_tool_start(struct tool_call *call)
{
	const struct mcp_tool_ctx *ctx = call->tool->ctx;
	struct mcp_set *servers = call->env->servers;
	struct mcp_link *link = servers ? mcp_set_find(servers, str_from(ctx->box->server)) : NULL;
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	if (!link) {
		tool_call_fail(call, "The tool %s cannot be called: this agent does not use the server %s.",
			       ctx->tool->name, ctx->box->server);
		return;
	}
	json_open(&w, '{');
	json_kcstr(&w, "name", ctx->tool->name);
	json_kraw(&w, "arguments", json_raw(call->input));
	json_close(&w);
	struct run *run = arena_calloc(&call->arena, sizeof *run);
	run->server = arena_strdup(&call->arena, ctx->box->server);
	run->tool = arena_strdup(&call->arena, ctx->tool->name);
	run->most_chars = ctx->tool->most_chars;
	call->state = run;
	run->open = mcp_link_call(link, &(struct mcp_call){ .method = "tools/call",
							    .params = buf_str(&params),
							    .tool_use_id = call->id,
							    .answer = on_answer,
							    .progress = on_progress,
							    .data = call });
}

void mcp_tool_cancel(struct tool_call *call)
{
	struct run *run = call->state;

	if (run && run->open)
		mcp_link_call_cancel(run->open, "the call was cancelled");
}
