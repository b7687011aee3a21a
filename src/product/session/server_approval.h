/* SPDX-License-Identifier: MIT
 * server_approval.h - the user's word on the servers that a project brings. */
#pragma once
#include "product/session/session.h"

/* Asks about those that are pending, from the loop; nothing where nobody can be asked. After session_open_servers(). */
void session_open_approval(struct cadre_session *s);
/* True: questions are open, and turn_work_over() comes when they are answered, if the turn still waits. */
bool session_await_approval(struct cadre_session *s);
/* -ERR_NOT_FOUND: nobody asks this. answers[0]: "yes", "all" or "no"; anything else, or count 0: not now. */
int session_answer_approval(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
void session_drop_approval(struct cadre_session *s);
