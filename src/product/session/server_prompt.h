/* SPDX-License-Identifier: MIT
 * server_prompt.h - prompts of MCP servers as commands: "/mcp__SERVER__PROMPT one two" asks the server for its messages, which
 * become part of the user's message. */
#pragma once
#include "product/session/session_int.h"
#include "mcp/client/client.h"

struct mcp_lease;
/* All are borrowed until return. False: the visit ends. */
typedef bool server_prompt_visit_fn(void *data, struct mcp_lease *link, const char *name,
				    const struct mcp_prompt *prompt);
/* Visits the prompts of the main agent's connected servers; their names are without the slash. */
void server_prompts_each(const struct cadre_session *s, server_prompt_visit_fn *visit, void *data);
bool server_prompt_is(const struct cadre_session *s, struct str name);
void server_prompt_hint(struct buf *out, const struct mcp_prompt *prompt); /* "<topic> [tone]": its arguments */

struct server_prompt; /* one that is being asked for */
/* failure.n > 0: why there is nothing. Otherwise done takes the blocks; the array is borrowed until return. */
typedef void server_prompt_fn(void *data, struct segment **blocks, size_t count, struct str failure);

/* arguments: words, in the order of the prompt's own list; the last one takes all that is left. done comes from the loop, exactly
 * once, also after a cancel. NULL with the reason in err: there is none of this name, or arguments are missing. */
struct server_prompt *server_prompt_start(struct cadre_session *s, struct str name, struct str arguments,
					  server_prompt_fn *done, void *data, struct err *err);
void server_prompt_cancel(struct server_prompt *p);
