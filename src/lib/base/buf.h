/* SPDX-License-Identifier: MIT
 * buf.h - a growable byte buffer, NUL-terminated after the first addition. A zeroed struct is an empty buffer. */
#pragma once
#include "lib/base/base.h"
#include "lib/base/str.h"

struct buf {
	char *p;
	size_t n;
	size_t cap;
};

/* frees; the buffer is empty and usable again */
static inline void buf_release(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

/* keeps the memory */
static inline void buf_clear(struct buf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = '\0';
}

void buf_reserve(struct buf *b, size_t more); /* room for more bytes and the NUL */
void buf_add(struct buf *b, const void *p, size_t n);

static inline void buf_append(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.n);
}
static inline void buf_addstr(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

static inline void buf_addch(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
void buf_addsize(struct buf *b, uint64_t n_bytes);  /* for people: 86.8KB, 1.2MB, 3.0GB */
void buf_addcount(struct buf *b, int64_t n);        /* the same for a count: 950, 1.2 k, 3.4 M */
void buf_addspan(struct buf *b, int64_t ms);        /* and for a time: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min */
void buf_addfolded(struct buf *b, struct str text); /* on one line: blanks and control characters become one blank */
void buf_drop(struct buf *b, size_t n);             /* removes n bytes from the front */
char *buf_take(struct buf *b, size_t *ret_n);       /* returns owned, never NULL; the buffer is empty afterwards */

static inline struct str buf_str(const struct buf *b)
{
	return (struct str){ b->n ? b->p : "", b->n };
}

#define AUTO_BUF CLEANUP(buf_release)
