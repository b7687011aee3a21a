/* SPDX-License-Identifier: MIT
 * openai_request.h - translates heads and blocks of the Messages API to a chat-completions request. The head's text
 * ends inside the list of messages, the tail's after the last message; the caller writes the end of the list and the
 * remaining members. The translation of a head or shelf is cached in it (docs/internals/openai.md). */
#pragma once
#include "core/message/head.h"
#include "core/message/transcript.h"

/* The open element at the end of a part */
enum chat_state {
	CHAT_FIRST,  /* none, and no message was written */
	CHAT_CLOSED, /* nothing */
	CHAT_USER,   /* the string of a user's message */
	CHAT_PARTS,  /* the list of parts of a user's message */
	CHAT_TEXT,   /* the string of the assistant's message */
	CHAT_CALLS,  /* its list of calls */
	CHAT_RESULT, /* nothing, and the last message is a tool's */
	CHAT_STATES
};

/* A tool whose name the API does not take */
struct chat_name {
	struct str sent, own;
	const struct chat_name *next;
};

/* Of a head: translation.facts */
struct chat_head {
	struct str model; /* as it is sent */
	int64_t max_tokens;
	struct str effort; /* reasoning_effort; empty: not set */
	bool has_tools;
	const struct chat_name *names; /* NULL: all are sent as they are */
};

/* Pieces that are compared by address: they begin and end an image, stand before an id, stand between a tool's message and a
 * user's. */
extern const char chat_image_open[], chat_image_close[], chat_call_open[], chat_result_open[], chat_between[],
	chat_thought_open[], chat_thought_close[];

const struct chat_head *chat_head(struct head *h); /* translates it on first use */
/* Translates all shelves of the transcript; returns the open element after the last one. */
enum chat_state chat_shelves(const struct head *h, const struct transcript *t);
/* Translates the tail up to block `count`, a reminder (with its comma, see body.h; may be empty), and the end of the
 * last message. Returns owned. */
struct translation *chat_tail(const struct transcript *t, uint32_t count, struct str reminder, enum chat_state before);
