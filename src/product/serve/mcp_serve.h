/* SPDX-License-Identifier: MIT
 * mcp_serve.h - between the files of `cadre mcp serve` (docs/internals/mcp_serve.md).
 *
 *     mcp_serve.c         messages in and out, and the life of it all
 *     mcp_serve_call.c    calls of tools: which may run, their progress and their results
 *     mcp_serve_offer.c   the list of tools */
#pragma once
#include "product/session/session.h"
#include "lib/json/json_write.h"
#include "mcp/transport/line_reader.h"

struct serve_call;

struct serve {
	struct services *services;
	struct cadre_session *session; /* whose main agent has the tools; it never asks a model */
	struct cadre_writer *out;
	int in_fd;
	bool watched, over; /* of the input */
	struct line_reader lines;
	struct serve_call *calls, **calls_end; /* open, in the order of coming */
	unsigned call_count, numbered;
	struct kick kick; /* a call has come or ended */
};

/* What stands in a message, as JSON: an answer to id, with its result or an error. */
void serve_answer(struct serve *s, struct str id, struct str result);
void serve_refuse(struct serve *s, struct str id, int code, const char *fmt, ...) printf_like(4, 5);
void serve_notify(struct serve *s, const char *method, struct str params);

/* mcp_serve_call.c */
void serve_call_tool(struct serve *s, struct str id, const struct json *params);
void serve_withdraw(struct serve *s, const struct json *params); /* notifications/cancelled */
void serve_cancel_all(struct serve *s);                          /* they still end by themselves, soon */
void serve_step(struct kick *kick);
void serve_hear(struct serve *s, const struct event *event); /* of the session */

/* mcp_serve_offer.c */
void serve_list_tools(struct serve *s, struct json_out *w);
/* By the name under which it is offered; NULL: it is not. ret_delegates: it is `agent`. */
const struct tool *serve_find_tool(const struct serve *s, struct str name, bool *ret_delegates);
