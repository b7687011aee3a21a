/* SPDX-License-Identifier: MIT
 * mention.h - files that a prompt names as @path or @"path with blanks": the model gets them with the prompt, as Read would show
 * them, a directory as a list of names. What the rules do not allow to read is not attached, and the model is told so. */
#pragma once
#include "product/session/session.h"

struct mentions;

enum { MOST_MENTIONS = 20 };

/* Reads what the prompt names into s->turn.mentions. True: turn_work_over() comes when all of it was read. */
bool session_read_mentions(struct cadre_session *s);
/* Records what was read, a message for all; only when the query is idle. */
int session_add_mentions(struct cadre_session *s, struct err *err);
void session_stop_mentions(struct cadre_session *s); /* its calls end soon; also when nothing is read */
void session_drop_mentions(struct cadre_session *s); /* no call of them may run */
