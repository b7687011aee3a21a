/* SPDX-License-Identifier: MIT
 * request_int.h - internals of a check: request_check.c checks the whole, request_block.c one block. */
#pragma once
#include "lib/base/map.h"
#include "core/scenario/digest.h"
#include "core/scenario/request.h"

enum block_home { HOME_USER = 1 << 0, HOME_ASSISTANT = 1 << 1, HOME_RESULT = 1 << 2, HOME_SYSTEM = 1 << 3 };

/* A tool_use that the next message has to answer */
struct pending_call {
	struct str id;
	bool answered;
};

struct checker {
	struct json_reader reader;
	struct arena arena;    /* decoded texts, of one check */
	struct map tools, ids; /* names offered; ids of tool_use blocks so far */
	struct prefix *prefixes;
	size_t prefix_count, prefix_cap;
	uint64_t beside;            /* goes into the hash of the next block */
	struct pending_call *calls; /* of the assistant message before */
	size_t call_count, call_cap;

	unsigned flags;
	struct request *request; /* being filled */
	struct err *err;
	unsigned marks;       /* seen so far, may pass the limit */
	size_t last_markable; /* position of an automatic mark: block + 1, 0 = none */

	const char *list; /* position for messages: "tools", "system", "messages" or NULL */
	size_t item, block;
	bool in_block;
};

/* Collected from the blocks of one message */
struct message_facts {
	bool has_result, has_other; /* user: a tool_result; anything else */
	bool has_thinking;
	size_t answered;
};

int check_fail(const struct checker *c, const char *fmt, ...)
	printf_like(2, 3); /* -ERR_PARSE, with the position in front */
int check_block(struct checker *c, const struct json *block, enum block_home home, struct message_facts *facts);
int check_mark(struct checker *c, const struct json *cache_control); /* NULL: nothing to check */
bool is_tool_name(struct str name);
bool has_ink(const struct json *string); /* something else than white space */
