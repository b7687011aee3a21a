/* SPDX-License-Identifier: MIT
 * peer.h - messages between sessions of one user on this machine: a line on a socket, and a registry of who lives
 * (docs/internals/team.md). A message of another session is text without authority. */
#pragma once
#include "agents/team/team.h"

enum { LARGEST_PEER_LINE = 512 << 10 };

/* SendMessage to "uds:PATH". False: it is another address; the call is open. */
bool peer_send(struct tool_call *call);

/* What a session has heard from others. A zeroed struct is empty. */
struct peer_box {
	struct map known; /* ids of messages */
};

enum peer_fate { PEER_TAKEN, PEER_KNOWN, PEER_REFUSED, PEER_INVALID };
/* A line of another session, on disk when it returns PEER_TAKEN. said: for the user, if it was not taken. */
enum peer_fate peer_receive(struct agent_tree *t, struct peer_box *box, struct str line, struct buf *said);

/* Whether this session is to be reached: crossSessionInbound, or a person at the terminal */
bool peer_is_wanted(const struct agent_tree *t);
/* <config>/sessions/PID.json, where other sessions find it; address is that of tree->peer_address, and copied. */
int peer_register(struct agent_tree *t, const char *address, bool busy, struct err *err);
void peer_unregister(const struct agent_tree *t);
void peer_list(const struct agent_tree *t, struct buf *out); /* sessions that live, for ListAgents */
