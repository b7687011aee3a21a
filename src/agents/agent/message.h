/* SPDX-License-Identifier: MIT
 * message.h - a word from one agent to another that runs. It is on disk before the sender is told that it waits; the request
 * that carries it names its id, and what no request has carried waits again after a crash. */
#pragma once
#include "agents/agent/subagent.h"

/* from: name or id of the sender. Failures: -ERR_BUSY, it is about to end; -ERR_IO. */
int agent_message(struct agent *to, const char *from, struct str text, struct err *err);
int agent_message_main(struct agent_tree *t, const char *from, struct str text, struct err *err);

/* What waits since an earlier run. Before the first request of this one. */
void agent_recall_messages(struct agent *a, const struct session_load *l);
