/* SPDX-License-Identifier: MIT
 * server_pool.h - the MCP servers of a runtime and of its sessions: the configuration, the pool of connections, and what the main
 * agent has of them. docs/internals/mcp.md. */
#pragma once
#include "product/session/session.h"
#include "mcp/servers/config.h"
#include "mcp/client/selection.h"

int app_open_servers(struct services *sv, struct err *err); /* reads the configuration, once */
void app_close_servers(struct services *sv);                /* ends all connections and waits for it */

/* Before the main agent comes up, which joins what is configured. Its tools are known later: session_await_servers. */
void session_open_servers(struct cadre_session *s);
/* True: its servers are starting, and turn_work_over() comes when they are up or their time is over; only before the first
 * turn. */
bool session_await_servers(struct cadre_session *s);
void session_stop_awaiting(struct cadre_session *s); /* while it waits: turn_work_over() comes soon */

void session_find_roots(struct cadre_session *s); /* its directories are known */

/* ---- approval of the servers that a project brings ---------------------------------------------------------------- */

/* Asks the user about those that are pending, from the loop, if the user can be asked. After session_open_servers(). */
void session_open_approval(struct cadre_session *s);
/* True: questions are open, and turn_work_over() comes when they are answered, if the turn still waits. */
bool session_await_approval(struct cadre_session *s);
/* -ERR_NOT_FOUND: no such question. answers[0]: "yes", "all" or "no"; anything else, or count 0: not now. */
int session_answer_approval(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
void session_drop_approval(struct cadre_session *s);

/* elicit.c: {"questions":[{"question","options":[{"label","description"}],"multiSelect"}]}, the form of AskUserQuestion. The caller
 * closes the list and the object. */
void form_open(struct json_out *w);
void form_question(struct json_out *w, struct str text);
void form_option(struct json_out *w, struct str label, struct str meaning);
void form_question_end(struct json_out *w, bool multi_select);

/* Questions of a server to the user. Hooks are asked first, then the host; a host that cannot be asked declines. */
void app_elicit(void *data, const struct mcp_server *server, struct mcp_elicitation *e);
void app_elicit_gone(void *data, struct mcp_elicitation *e);
/* One text for each of the form's questions; count 0: the user does not want to answer. */
int session_answer_form(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
void session_drop_elicitations(struct cadre_session *s);
