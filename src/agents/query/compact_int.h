/* SPDX-License-Identifier: MIT
 * compact_int.h - between query.c and the files of compaction: query_compact.c (its steps), compact_history.c (what is sent),
 * context_size.c (when it is due). */
#pragma once
#include "agents/query/query_int.h"

/* ---- context_size.c: tokens of the conversation as the next request would send it */
int64_t context_tokens(const struct query *q);
void context_measured(struct query *q, const struct usage *usage); /* an answer came: the server has counted */
bool context_is_full(const struct query *q);                       /* near the window */

/* ---- compact_history.c */
enum { MOST_SHORTNESS = 2 };
/* The conversation of t, with blocks left out or cut as shortness says, and the request to sum it up. *out must be empty.
 * Packs t. */
void compact_history(struct transcript *t, unsigned shortness, struct str instructions, struct transcript *out);

/* ---- query_compact.c */
bool compact_is_due(struct query *q);           /* before a request; begins one if it is */
bool compact_can_rescue(const struct query *q); /* a request that the server does not take, or an answer without room */
enum step compact_rescue(struct query *q, const struct failure *refusal);
enum step step_compact(struct query *q);
enum step compact_stream(struct query *q);                          /* the request is under way, or over */
enum step compact_failed(struct query *q, const struct failure *f); /* and is not tried again */
void compact_end(struct query *q);                                  /* also when there is none */
