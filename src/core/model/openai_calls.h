/* SPDX-License-Identifier: MIT
 * openai_calls.h - the calls of a chat-completions answer, assembled from pieces that may interleave. */
#pragma once
#include "core/message/transcript.h"

struct chat_call {
	int64_t index; /* -1: the server gave none */
	struct buf id, name, arguments;
};

/* A zeroed struct is empty. */
struct chat_calls {
	struct chat_call *list;
	uint32_t count, cap;
};

/* piece: one element of tool_calls. *ret_bytes: size of its arguments. -ERR_LIMIT: too many calls for one answer. */
int chat_calls_add(struct chat_calls *c, const struct json *piece, struct arena *scratch, size_t *ret_bytes);
/* Replaces ids that are missing, too long, duplicate or already in the history. history may be NULL. */
void chat_calls_settle_ids(struct chat_calls *c, const struct transcript *history);
void chat_calls_release(struct chat_calls *c);
