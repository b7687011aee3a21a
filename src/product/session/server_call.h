/* SPDX-License-Identifier: MIT
 * server_call.h - a call of an MCP tool that no model makes: a hook's, or one that answers a permission question. It goes past
 * the gate, because whoever wrote the configuration chose it. */
#pragma once
#include "product/session/session_int.h"

struct server_call;
/* text: what the tool said, all its text blocks; when failed: why. Borrowed until return. */
typedef void server_call_fn(void *data, bool failed, struct str text);

/* server and tool by their own names; arguments: a JSON object. done comes from the loop, exactly once, also after a cancel.
 * NULL: the session has no such server, and done does not come. Borrowed until done. */
struct server_call *server_call_start(struct cadre_session *s, struct str server, struct str tool, struct str arguments,
				      server_call_fn *done, void *data, struct err *err);
void server_call_cancel(struct server_call *c);

/* hook_server.c: hooks of the type mcp_tool */
struct hook_runner *hook_server_new(struct services *sv); /* returns owned: free() */
/* prompt_tool.c: --permission-prompt-tool mcp__server__tool. Asks it about the call of this event. */
bool prompt_tool_is_given(const struct cadre_session *s);
void prompt_tool_ask(struct cadre_session *s, const struct event *event);
