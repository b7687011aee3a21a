/* SPDX-License-Identifier: MIT
 * server_pool.h - the MCP servers of a runtime and of its sessions: the configuration, the pool of connections, and what the main
 * agent has of them. docs/internals/mcp.md. */
#pragma once
#include "product/session/session.h"
#include "mcp/servers/config.h"
#include "mcp/client/pool.h"
#include "core/tool/tool.h"
#include "product/session/session_int.h"
#include "mcp/client/client.h"

/* Reads the configuration, once for each policy. */
int services_open_servers(struct services *sv, struct policy *p, struct err *err);
void services_close_servers(struct services *sv); /* ends all connections and waits for it */

/* Before the main agent comes up, which joins what is configured. Its tools are known later: session_await_servers. */
void session_open_servers(struct cadre_session *s);
/* True: its servers are starting, and turn_work_over() comes when they are up or their time is over; only before the first
 * turn. */
bool session_await_servers(struct cadre_session *s);
void session_stop_awaiting(struct cadre_session *s); /* while it waits: turn_work_over() comes soon */

/* Approval of the servers that a project brings. */

/* Asks the user about those that are pending, from the loop, if the user can be asked. After session_open_servers(). */
void session_open_approval(struct cadre_session *s);
/* True: questions are open, and turn_work_over() comes when they are answered, if the turn still waits. */
static inline bool session_await_approval(struct cadre_session *s)
{
	return s->approval != NULL;
}
/* -ERR_NOT_FOUND: no such question. answers[0]: "yes", "all" or "no"; anything else, or count 0: not now. */
int session_answer_approval(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
void session_drop_approval(struct cadre_session *s);

/* Questions of a server to the user. Hooks are asked first, then the host; a host that cannot be asked declines. */
void services_elicit(void *data, const struct mcp_client *client, struct mcp_elicitation *e);
void services_elicit_gone(void *data, struct mcp_elicitation *e);
/* One text for each of the form's questions; count 0: the user does not want to answer. */
int session_answer_form(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
void session_drop_elicitations(struct cadre_session *s);

/* A call of an MCP tool that no model makes: a hook's, a client's, or one that answers a permission question. It
 * is a tool call of the main agent with a policy: rules that forbid the tool and PreToolUse hooks hold for it. */
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
/* The same of a built-in tool, or a copy of one with another start; *tool is copied. */
void session_call_tool(struct cadre_session *s, const struct tool *tool, struct str input, struct gate_policy policy,
		       server_call_fn *done, void *data);
void server_call_cancel(struct server_call *c);
void session_cancel_server_calls(
	struct cadre_session *s); /* the session is being closed; those of hooks end with their hooks */

/* answer.c: --permission-prompt-tool mcp__server__tool. Asks it about the call of this event. */
void prompt_tool_ask(struct cadre_session *s, const struct event *event);

/* Prompts of MCP servers as commands: "/mcp__SERVER__PROMPT one two" asks the server for its messages, which
 * become part of the user's message. */
/* All are borrowed until return. False: the visit ends. */
typedef bool server_prompt_visit_fn(void *data, struct mcp_lease *link, const char *name,
				    const struct mcp_prompt *prompt);
/* Visits the prompts of the main agent's connected servers; their names are without the slash. */
void server_prompts_each(const struct cadre_session *s, server_prompt_visit_fn *visit, void *data);
bool server_prompt_is(const struct cadre_session *s, struct str name);
static inline void server_prompt_hint(struct buf *out,
				      const struct mcp_prompt *prompt) /* "<topic> [tone]": its arguments */
{
	for (size_t i = 0; i < prompt->argument_count; i++) {
		const struct mcp_prompt_argument *a = &prompt->arguments[i];
		buf_addf(out, a->required ? "%s<%s>" : "%s[%s]", i ? " " : "", a->name);
	}
}

struct server_prompt; /* one that is being asked for */
/* failure.n > 0: why there is nothing. Otherwise done takes the blocks; the array is borrowed until return. */
typedef void server_prompt_fn(void *data, struct segment **blocks, size_t count, struct str failure);

/* arguments: words, in the order of the prompt's own list; the last one takes all that is left. done comes from the loop, exactly
 * once, also after a cancel. NULL with the reason in err: there is none of this name, or arguments are missing. */
struct server_prompt *server_prompt_start(struct cadre_session *s, struct str name, struct str arguments,
					  server_prompt_fn *done, void *data, struct err *err);
void server_prompt_cancel(struct server_prompt *p);
