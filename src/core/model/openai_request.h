/* SPDX-License-Identifier: MIT
 * openai_request.h - heads and blocks of the Messages API as text of a chat-completions request. The head's text ends inside
 * the list of messages, the tail's behind the last message: the end of the list, and what stands beside it, is the caller's.
 * A head and a shelf are translated once and keep their translation (docs/internals/openai.md). */
#pragma once
#include "core/message/head.h"
#include "core/message/transcript.h"

/* What is open at the end of a run */
enum chat_state {
	CHAT_FIRST,  /* nothing, and no message was written */
	CHAT_CLOSED, /* nothing */
	CHAT_USER,   /* the string of a user's message */
	CHAT_PARTS,  /* the list of parts of a user's message */
	CHAT_TEXT,   /* the string of the assistant's message */
	CHAT_CALLS,  /* its list of calls */
	CHAT_STATES
};

/* Of a head: translation.facts */
struct chat_head {
	struct str model; /* as it is sent */
	int64_t max_tokens;
	struct str effort; /* as reasoning_effort is spelled; empty: not wished */
	bool has_tools;
};

/* Pieces of a translation that an image begins and ends with, known by their addresses. */
extern const char chat_image_open[], chat_image_close[];

const struct chat_head *chat_head(struct head *h); /* translates it if it is not translated yet */
/* All shelves of the transcript are translated; returns what is open behind the last one. */
enum chat_state chat_shelves(const struct head *h, const struct transcript *t);
/* The tail up to block `count`, a reminder (with its comma, as body.h has it; may be empty), and the end of the last message.
 * Returns owned. */
struct translation *chat_tail(const struct transcript *t, uint32_t count, struct str reminder, enum chat_state before);
