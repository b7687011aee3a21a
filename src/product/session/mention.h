/* SPDX-License-Identifier: MIT
 * mention.h - files that a prompt names as @path or @"path with blanks": the model gets them with the prompt, as Read would show
 * them, a directory as a list of names. What the rules do not allow to read is not attached, and the model is told so. */
#pragma once
#include "product/session/session.h"

struct mentions;

enum { MOST_MENTIONS = 20 };

bool session_has_mentions(const struct cadre_session *s); /* the prompt may name some */
/* Reads what the prompt names. False: it names nothing, and then does not come. Otherwise it comes exactly once, from the loop;
 * what was read waits in s->turn.mentions. */
bool session_read_mentions(struct cadre_session *s, void (*then)(struct cadre_session *s, bool cancelled));
/* Records what was read, a message for all; only when the query is idle. */
int session_add_mentions(struct cadre_session *s, struct err *err);
void session_stop_mentions(struct cadre_session *s);
void session_drop_mentions(struct cadre_session *s); /* no call of them may run */
