/* SPDX-License-Identifier: MIT
 * tool_read_mcp_resource.c - ReadMcpResourceTool: asks a server of the agent for one resource. */
#include "lib/json/json_write.h"
#include "mcp/client/result.h"
#include "tools/mcp_server.h"
#include "tools/tool_list.h"

static void read_start(struct tool_call *call);
static void read_cancel(struct tool_call *call);

const struct tool tool_read_mcp_resource = {
	TOOL_READ_MCP_RESOURCE_FACTS,
	.start = read_start,
	.cancel = read_cancel,
};

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct tool_call *call = data;

	call->state = NULL;
	if (err)
		tool_call_fail(call, "The resource cannot be read: %s", err->text);
	else
		mcp_result_finish_resource(call, result);
}

static void read_start(struct tool_call *call)
{
	struct mcp_lease *link = mcp_server_of_call(call, json_str(json_get(call->input, "server"), &call->arena));
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	if (!link)
		return;
	json_open(&w, '{');
	json_kraw(&w, "uri", json_raw(json_get(call->input, "uri")));
	json_close(&w);
	call->state = mcp_lease_call(link, &(struct mcp_call){ .method = "resources/read",
							       .params = buf_str(&params),
							       .tool_use_id = call->id,
							       .answer = on_answer,
							       .data = call });
}

static void read_cancel(struct tool_call *call)
{
	if (call->state)
		mcp_lease_call_cancel(call->state, "the call was cancelled");
}
