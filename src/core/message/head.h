/* SPDX-License-Identifier: MIT
 * head.h - the part of a request before its messages (model, system, tools), interned by content: agents with the same
 * head share one copy, and so the same prefix bytes. */
#pragma once
#include "lib/base/map.h"
#include "core/message/translation.h"

struct head_pool {
	struct map heads; /* bytes -> struct head */
};

struct head {
	struct head_pool *pool; /* borrowed: outlives its heads */
	uint32_t refs;
	struct str bytes;                /* up to and including the bracket that opens the messages */
	struct translation *translation; /* owned; made at the first use by another API; NULL: none */
};

/* Copies the bytes if they are new. Returns a reference. */
struct head *head_intern(struct head_pool *pool, struct str bytes);
struct head *head_ref(struct head *h);
void head_unref(struct head *h);
void head_pool_release(struct head_pool *pool); /* all heads must be gone; asserted */
