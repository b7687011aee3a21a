/* SPDX-License-Identifier: MIT
 * arena.h - memory with one lifetime, freed together with its agent, turn or call. Nothing in an arena has a
 * destructor. A zeroed struct is an empty arena; it costs nothing until the first allocation. Blocks start small (an
 * idle agent must cost kilobytes) and double up to 64 KB. */
#pragma once
#include "lib/base/base.h"
#include "lib/base/str.h"

struct arena_block;
struct arena {
	struct arena_block *block; /* newest first */
	char *at;
	char *end;
};

void *arena_alloc(struct arena *a, size_t n);              /* 16-byte aligned, not zeroed, never NULL */
char *arena_dup(struct arena *a, const void *p, size_t n); /* appends a NUL */
static inline void *arena_calloc(struct arena *a, size_t n)
{
	return memset(arena_alloc(a, n), 0, n);
}

#define arena_new(arena, type, ...) /* as xnew() */              \
	__extension__({                                          \
		type *new_ = arena_alloc((arena), sizeof *new_); \
		*new_ = (type){ __VA_ARGS__ };                   \
		new_;                                            \
	})

/* A list with room for one more element; it moves when count is a power of two. All elements were added this way. */
void *arena_grow(struct arena *a, void *list, size_t count, size_t size);
#define arena_push(arena, list, count) /* as xpush() */ \
	((list) = arena_grow((arena), (list), (count), sizeof *(list)), &(list)[(count)++])
/* NULL stays NULL. */
static inline char *arena_strdup(struct arena *a, const char *s)
{
	return s ? arena_dup(a, s, strlen(s)) : NULL;
}

/* A list of texts that ends with NULL, or NULL for an empty one; the copy has room for so many more before its end. */
const char **arena_strdup_list(struct arena *a, const char *const *list, size_t more);

/* The copy is NUL-terminated as well. */
static inline struct str arena_str(struct arena *a, struct str s)
{
	return (struct str){ arena_dup(a, s.p, s.n), s.n };
}

struct str arena_lower(struct arena *a, struct str s); /* the same in small letters of ASCII */
char *arena_printf(struct arena *a, const char *fmt, ...) printf_like(2, 3);
void arena_reset(struct arena *a);   /* frees all but the oldest block, for reuse */
void arena_release(struct arena *a); /* frees all; the arena is empty and usable */

#define AUTO_ARENA CLEANUP(arena_release)
