/* SPDX-License-Identifier: MIT
 * head_json.h - the head of a request as the Messages API has it: everything before its messages, marked for the cache at its
 * end. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/json/json.h"

struct head_spec {
	const char *model; /* sent without the name of its provider */
	int64_t max_tokens;
	struct str system;        /* may be empty */
	const char *const *tools; /* definitions, JSON; NULL-terminated */
	const char *effort;       /* low .. max; NULL: the model's own */
	int64_t task_budget;      /* tokens that the model is told it may use for the task; 0: it is told nothing */
	const char *thinking;     /* "adaptive", "disabled", or a number of tokens; NULL: the model's own */
	const char *display;      /* of thinking: "summarized" or "omitted"; NULL: the model's own */
};

/* What of a written head may be nowhere else */
struct head_texts {
	struct str system;  /* empty: it has none */
	const char *effort; /* NULL: the model's own */
};

void head_write(struct buf *out, const struct head_spec *spec);
struct head_texts head_read(struct arena *a, struct str bytes); /* in the arena */
/* A head ends inside its list of messages: closed in a copy in the arena, it is JSON. NULL: it is none. */
const struct json *head_parse(struct json_reader *reader, struct arena *a, struct str bytes);
