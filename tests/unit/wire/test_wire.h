/* SPDX-License-Identifier: MIT
 * test_wire.h - the test groups of the wire room. Each returns the number of its failed tests. */
#pragma once
#include "core/wire/wire.h"

int test_answer(void);
int test_failure(void);
int test_refusals(void);
int test_chat_request(void);
int test_chat_stream(void);
int test_forms(void);

enum { MOST_BLOCKS = 10 };
#define TEST_ORIGIN "0123456789abcdef" /* of requests and streams */

struct stage {
	struct head_pool pool;
	struct head *head;
	struct transcript base, t; /* t may share what base has */
};

struct head *make_head(struct head_pool *pool, const char *const *tools, struct str system, const char *effort);
/* block: 'u' or 'a', then its JSON */
void add_block(struct transcript *t, const char *block);
/* The first `packed` blocks are on a shelf. */
void stage_init(struct stage *s, const char *const *blocks, size_t packed);
void stage_release(struct stage *s);
/* The body of a request, read in pieces of `room` */
void read_all(struct buf *out, const struct wire_form *form, struct head *head, const struct transcript *t,
	      struct str reminder, unsigned quirks, size_t room);
/* Writes deltas and blocks into a struct buf */
extern const struct answer_sink note_sink;
void note_answer_end(struct buf *seen, const struct answer *a);
/* Deltas, blocks and the end that a stream gives: its first `split` bytes at once, then `step` at a time */
char *play_stream(struct buf *seen, const struct wire_form *form, const char *stream, size_t split, size_t step);
