/* SPDX-License-Identifier: MIT
 * head_json.h - the head of a Messages API request: everything before its messages, with a cache mark at its end. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/json/json.h"
#include "core/message/message.h"

struct head_spec {
	const char *model; /* as it is sent: without its provider */
	int64_t max_tokens;
	struct str system;        /* may be empty */
	const char *const *tools; /* definitions, JSON; NULL-terminated */
	enum cache_marks marks;   /* also of the head that is made of it */
	const char *effort;       /* low .. max; NULL: the model's default */
	int64_t task_budget;      /* token budget reported to the model; 0: none */
	const char *thinking;     /* "adaptive", "disabled", or a number of tokens; NULL: the model's default */
	const char *display;      /* of thinking: "summarized" or "omitted"; NULL: the model's default */
};

/* Facts parsed back from a stored head */
struct head_texts {
	struct str system;  /* may be empty */
	const char *effort; /* NULL: the model's default */
};

void head_write(struct buf *out, const struct head_spec *spec);
/* In the arena */
struct head_texts head_read(struct arena *a, struct str bytes);
const char *head_effort(struct arena *a, struct str bytes); /* the same member alone, without reading all of a head */
