/* SPDX-License-Identifier: MIT
 * fake_model.h - a provider that plays one reply per request, event by event, on the loop's clock. Each request is checked
 * against the rules of the API before it is answered. */
#pragma once
#include "core/model/provider.h"

struct reply {
	const char *stream;      /* events, or the body of an error status */
	int status;              /* 0: 200 */
	const char *retry_after; /* header; NULL: none */
	uint64_t after_ms;       /* before the first byte */
	uint64_t gap_ms;         /* between two events */
	enum failure_kind end;   /* of the transport behind the last byte */
	bool never;              /* does not end by itself */
	bool refused;            /* start() fails */
};

struct fake_model {
	struct endpoint endpoint;
	struct loop *loop;
	const struct reply *replies;
	size_t count, asked;
	struct arena arena;
	char *bodies[40]; /* of the requests, in the arena */
	uint64_t asked_ms[40];
	unsigned playing, paused;
};

void fake_model_init(struct fake_model *m, struct loop *loop, const struct reply *replies, size_t count);
void fake_model_release(struct fake_model *m);
/* Fails the test unless the text is a body that the API accepts: roles alternate, every call is answered at once and in
 * order, at most four marks. */
void check_request(const char *text);

/* clang-format off */
#define EVENT(type, rest) "data: {\"type\":\"" type "\"" rest "}\n\n"
#define START(id) \
	EVENT("message_start", ",\"message\":{\"id\":\"" \
	id "\",\"model\":\"m\",\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}")
#define BLOCK(json) EVENT("content_block_start", ",\"content_block\":" json) EVENT("content_block_stop", "")
#define TEXT(text) BLOCK("{\"type\":\"text\",\"text\":\"" text "\"}")
#define THINKING BLOCK("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}")
#define NEXT EVENT("content_block_start", ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
#define CALL(id, name, input) \
	BLOCK("{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}")
#define END(reason) \
	EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" reason "\"},\"usage\":{\"output_tokens\":5}") \
	EVENT("message_stop", "")
#define ANSWER(id, blocks, reason) START(id) blocks END(reason)
#define SAYS(id, text) ANSWER(id, TEXT(text), "end_turn")
/* clang-format on */
