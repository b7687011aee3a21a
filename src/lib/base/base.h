/* SPDX-License-Identifier: MIT
 * base.h - errors, scope cleanup, allocation: for all rooms. Includes banned.h only. */
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

/* A function that can fail for more than one reason returns 0 or a negative kind, and the reason in *err. On success
 * *err is untouched. The text is for people and the model; code branches on the kind only, and a kind exists only if a
 * caller handles it differently. */
enum err_kind {
	ERR_IO = 1, /* the system refused: file, socket, process */
	ERR_USAGE,  /* invalid argument of the caller or the user: exit 2 */
	ERR_PARSE,  /* malformed input */
	ERR_LIMIT,  /* a size, depth or count limit was exceeded */
	ERR_NOT_FOUND,
	ERR_DENIED,
	ERR_CANCELLED,
	ERR_TIMEOUT,
	ERR_PROTOCOL, /* the peer broke its protocol */
	ERR_BUSY,     /* locked by another process */
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
#define TAKE_FD(fd)             \
	__extension__({         \
		int fd_ = (fd); \
		(fd) = -1;      \
		fd_;            \
	})

/* In a function with a variable number of arguments: prints those behind fmt into the array text. */
#define PRINT_ARGS(text, fmt)                                   \
	do {                                                    \
		va_list args_;                                  \
		va_start(args_, fmt);                           \
		(void)vsnprintf(text, sizeof text, fmt, args_); \
		va_end(args_);                                  \
	} while (0)

/* The same into new memory; text: a pointer, which owns it. */
#define PRINT_ARGS_NEW(text, fmt)                       \
	do {                                            \
		va_list args_;                          \
		va_start(args_, fmt);                   \
		if (vasprintf(&(text), fmt, args_) < 0) \
			base_oom(0);                    \
		va_end(args_);                          \
	} while (0)

#define COUNT_OF(a)                   (sizeof(a) / sizeof *(a))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))
#define MIN(a, b)                     ((a) < (b) ? (a) : (b))
#define MAX(a, b)                     ((a) > (b) ? (a) : (b))

/* Allocation never returns NULL: out of memory aborts. Input has size limits, so hostile files do not reach this. */
noreturn_fn void base_oom(size_t wanted);
void *xmalloc(size_t n) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *xcalloc(size_t count, size_t n) __attribute__((malloc, alloc_size(1, 2), returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((alloc_size(2), returns_nonnull));
/* A new object with these members, the others zeroed: struct x *x = xnew(struct x, .a = 1, .b = b); */
#define xnew(type, ...)                             \
	__extension__({                             \
		type *new_ = xmalloc(sizeof *new_); \
		*new_ = (type){ __VA_ARGS__ };      \
		new_;                               \
	})
/* Returns list, moved if need be, with room for one more element of this size than count. */
void *xgrow(void *list, size_t count, size_t *cap, size_t size) __attribute__((returns_nonnull));
/* The place of one more element at the end of a list: *xpush(o->list, o->count, o->cap) = value; */
#define xpush(list, count, cap) ((list) = xgrow((list), (count), &(cap), sizeof *(list)), &(list)[(count)++])

char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));

static inline char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}
