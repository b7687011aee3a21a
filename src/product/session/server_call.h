/* SPDX-License-Identifier: MIT
 * server_call.h - a call of an MCP tool that no model makes: a hook's, a client's, or one that answers a permission question. It
 * is a tool call of the main agent with a policy: rules that forbid the tool and PreToolUse hooks hold for it. */
#pragma once
#include "core/tool/tool.h"
#include "product/session/session.h"

struct server_call;

/* Borrowed until server_call_start() returns */
struct server_call_spec {
	struct str server, tool; /* by their own names */
	struct str arguments;    /* a JSON object */
	struct gate_policy policy;
	uint64_t timeout_ms; /* 0: the server's usual one */
};

/* Borrowed until done returns */
struct server_reply {
	bool failed, denied; /* denied: it did not run */
	struct str text;     /* all text blocks of the result; when failed: why */
	struct str json;     /* the result as the server gave it; n == 0: it gave none */
};
typedef void server_call_fn(void *data, const struct server_reply *reply);

/* done comes from the loop, exactly once, also after a cancel. NULL: the session has no such server, and done does not come.
 * Borrowed until done. */
struct server_call *server_call_start(struct cadre_session *s, const struct server_call_spec *spec,
				      server_call_fn *done, void *data, struct err *err);
void server_call_cancel(struct server_call *c);
void session_cancel_server_calls(
	struct cadre_session *s); /* the session is being closed; those of hooks end with their hooks */

/* answer.c: --permission-prompt-tool mcp__server__tool. Asks it about the call of this event. */
bool prompt_tool_is_given(const struct cadre_session *s);
void prompt_tool_ask(struct cadre_session *s, const struct event *event);
