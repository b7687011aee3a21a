/* SPDX-License-Identifier: MIT
 * compact_int.h - between query.c and the files of compaction: query_compact.c (its steps), compact_history.c (what is sent),
 * context_size.c (when it is due). */
#pragma once
#include "agents/query/query_int.h"

/* ---- context_size.c: tokens of the conversation in the next request */
int64_t context_tokens(const struct query *q);
void context_measured(struct query *q, const struct usage *usage); /* records the server's token count of an answer */
bool context_is_full(const struct query *q);                       /* near the window */

/* ---- compact_history.c */
enum { MOST_SHORTNESS = 2 };
/* Writes the conversation of t, shortened according to shortness, and the request for a summary to *out, which must be
 * empty. Packs t. */
void compact_history(struct transcript *t, unsigned shortness, struct str instructions, struct transcript *out);

/* ---- query_compact.c */
bool compact_is_due(struct query *q);           /* before a request; starts a compaction if one is due */
bool compact_can_rescue(const struct query *q); /* too long for the server */
enum step compact_rescue(struct query *q, const struct failure *refusal);
enum step step_compact(struct query *q);
enum step compact_stream(struct query *q);                          /* while the summary request runs, and after it */
enum step compact_failed(struct query *q, const struct failure *f); /* and does not retry */
void compact_end(struct query *q);                                  /* also when there is none */
