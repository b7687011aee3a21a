/* SPDX-License-Identifier: MIT
 * main_agent.h - the session runs as an agent: `--agent NAME`, the setting `agent`, a plugin's word, or what a resumed session
 * was before. docs/internals/main_agent.md.
 *
 *     session_find_agent -> the pool of tools -> the permission -> servers -> session_become_agent -> turns */
#pragma once
#include "product/session/session_int.h"

/* Which one, with its model. -ERR_USAGE: the option names one that does not exist. None is named: the main agent has no definition. */
int session_find_agent(struct cadre_session *s, struct err *err);
void session_share_agent(struct cadre_session *fork,
			 const struct cadre_session *s); /* the same one, with the same prompt */
/* All tools of the session: those of the main agent, unless it runs as an agent that chooses. */
struct tool_set *session_pool(struct cadre_session *s);
/* The mode that its definition wants in place of this one, as far as its word counts. */
void session_agent_mode(struct cadre_session *s, enum permission_mode *mode);
/* The pool is complete and servers are open: prompt, memory, hooks, servers and tools of its own. */
int session_become_agent(struct cadre_session *s, struct err *err);
void session_choose_tools(struct cadre_session *s); /* the pool has changed */

int session_record_agent(struct cadre_session *s, struct err *err); /* on disk, once */
void session_tell_agent(struct cadre_session *s);                   /* what is to be said about it, once */
/* What stands before the first prompt of a new session; empty: nothing. */
struct str session_initial_prompt(const struct cadre_session *s);
/* Its skills, before the first prompt of a new session. True: they are being made ready, and turn_work_over() comes. */
bool session_preload(struct cadre_session *s);
void session_stop_preload(struct cadre_session *s); /* also when nothing goes on */
