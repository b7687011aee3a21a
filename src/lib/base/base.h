/* SPDX-License-Identifier: MIT
 * base.h - what every room may use: errors, scope cleanup, allocation. Includes nothing of ours but banned.h. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/base/banned.h"

/* A function that can fail for more than one reason returns 0 or a negative kind, and says why in *err. On success
 * *err is untouched. The text is for people and for the model; code branches on the kind only, and a kind exists
 * only because some caller behaves differently for it. */
enum err_kind {
	ERR_IO = 1, /* the system refused: file, socket, process */
	ERR_USAGE,  /* the caller or the user gave something that cannot be meant: exit 2 */
	ERR_PARSE,  /* foreign bytes that are not what they should be */
	ERR_LIMIT,  /* a size, depth or count limit was passed */
	ERR_NOT_FOUND,
	ERR_DENIED,
	ERR_CANCELLED,
	ERR_TIMEOUT,
	ERR_PROTOCOL, /* the peer broke its protocol */
	ERR_BUSY,     /* somebody else holds the lock */
};

struct err {
	enum err_kind kind;
	char text[240]; /* inline: reporting an error never allocates and never needs freeing */
};

#define printf_like(f, a) __attribute__((format(printf, f, a)))
#define noreturn_fn       __attribute__((noreturn))

/* Both return -kind, so that "return err_set(err, ...)" is the whole failure path. err may be NULL. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...) printf_like(3, 4);
int err_wrap(struct err *err, const char *fmt, ...) printf_like(2, 3); /* prepends "fmt: " */

#define CLEANUP(fn) __attribute__((cleanup(fn)))
static inline void cleanup_freep(void *p)
{
	free(*(void **)p);
}
static inline void cleanup_closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define AUTO_FREE  CLEANUP(cleanup_freep)
#define AUTO_CLOSE CLEANUP(cleanup_closep)
#define TAKE(p)                            \
	__extension__({                    \
		__typeof__(p) take_ = (p); \
		(p) = NULL;                \
		take_;                     \
	})

#define COUNT_OF(a)                   (sizeof(a) / sizeof *(a))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))
#define MIN(a, b)                     ((a) < (b) ? (a) : (b))
#define MAX(a, b)                     ((a) > (b) ? (a) : (b))

/* Allocation never returns NULL: out of memory aborts. Limits on input come first, so this is never how a hostile file is
 * handled. */
noreturn_fn void base_oom(size_t wanted);
void *xmalloc(size_t n) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *xcalloc(size_t count, size_t n) __attribute__((malloc, alloc_size(1, 2), returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((alloc_size(2), returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
