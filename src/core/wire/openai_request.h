/* SPDX-License-Identifier: MIT
 * openai_request.h - translates heads and blocks of the Messages API to the body of a chat-completions request, which is
 * read like a struct body. The translation of a head or shelf is cached in it (docs/internals/openai.md). */
#pragma once
#include "core/message/body.h"

/* Parameters that a server rejects or names differently */
enum chat_quirk {
	CHAT_COMPLETION_TOKENS = 1 << 0, /* the output limit is called max_completion_tokens */
	CHAT_NO_LIMIT = 1 << 1,
	CHAT_NO_STREAM_OPTIONS = 1 << 2,
	CHAT_NO_PARALLEL_CALLS = 1 << 3,
	CHAT_NO_EFFORT = 1 << 4,
	CHAT_NO_IMAGES = 1 << 5,      /* replaced by a line of text */
	CHAT_EFFORT_NONE = 1 << 6,    /* takes tools only with reasoning_effort "none" */
	CHAT_ANSWER_BETWEEN = 1 << 7, /* needs an assistant message between a tool message and a user message */
	CHAT_SHORT_IDS = 1 << 8,      /* call ids have nine letters and digits */
	CHAT_SESSION_KEY = 1 << 9,    /* takes prompt_cache_key */
	CHAT_ECHO = 1 << 10,          /* wants its reasoning back, in reasoning_content of every answer */
};

/* Limits and quirks of one model at one server */
struct chat_model {
	unsigned quirks;
	int64_t limit;       /* most output tokens; 0: not known */
	const char *session; /* for CHAT_SESSION_KEY; borrowed */
};

/* A tool name that the API does not accept, and its replacement */
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
	const struct chat_name *names; /* NULL: no name was replaced */
};

struct chat_body {
	const struct body *body;  /* borrowed, with its head and transcript */
	struct translation *tail; /* owned */
	uint64_t size;
	unsigned quirks;
	char short_id[12]; /* the id that is being read */
	uint32_t part;     /* read position: 0 the head, then the packed_chunks, then the tail */
	size_t piece, offset;
};

enum { CHAT_LONGEST_ID = 40 }; /* the limit of OpenAI */

const struct chat_head *chat_head(struct head *h); /* translates it on first use */
void chat_body_init(struct chat_body *b, const struct body *body, const struct chat_model *model);
void chat_body_release(struct chat_body *b);
size_t chat_body_read(struct chat_body *b, char *out, size_t room); /* 0 at the end */
void chat_body_rewind(struct chat_body *b);
