/* SPDX-License-Identifier: MIT
 * arena.c - a chain of blocks with a bump pointer. */
#include "lib/base/arena.h"

enum { FIRST_BLOCK = 480, LARGEST_BLOCK = 64 * 1024, ALIGN = 16 };

struct arena_block {
	struct arena_block *older;
	size_t size;
	_Alignas(ALIGN) char bytes[];
};

void *arena_alloc(struct arena *a, size_t n)
{
	if (n > SIZE_MAX / 2)
		base_oom(n);
	n = (MAX(n, (size_t)1) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if ((size_t)(a->end - a->at) < n) {
		size_t size = a->block ? MIN(a->block->size * 2, (size_t)LARGEST_BLOCK) : FIRST_BLOCK;
		size = MAX(size, n);
		struct arena_block *b = xmalloc(sizeof *b + size);
		b->older = a->block;
		b->size = size;
		a->block = b;
		a->at = b->bytes;
		a->end = b->bytes + size;
	}

	void *p = a->at;
	a->at += n;
	return p;
}

char *arena_dup(struct arena *a, const void *p, size_t n)
{
	char *s = arena_alloc(a, n + 1);

	if (n)
		memcpy(s, p, n);
	s[n] = '\0';
	return s;
}

struct str arena_lower(struct arena *a, struct str s)
{
	char *copy = arena_dup(a, s.p, s.n);

	for (size_t i = 0; i < s.n; i++)
		copy[i] = (char)(copy[i] >= 'A' && copy[i] <= 'Z' ? copy[i] | 0x20 : copy[i]);
	return (struct str){ copy, s.n };
}

void *arena_grow(struct arena *a, void *list, size_t count, size_t size)
{
	if (count & (count - 1))
		return list;
	void *bigger = arena_alloc(a, (count ? 2 * count : 1) * size);
	if (count)
		memcpy(bigger, list, count * size);
	return bigger;
}

const char **arena_strdup_list(struct arena *a, const char *const *list, size_t more)
{
	size_t n = str_count(list);
	const char **copy = arena_calloc(a, (n + more + 1) * sizeof *copy);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_strdup(a, list[i]);
	return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *s = arena_alloc(a, (size_t)MAX(n, 0) + 1);
	vsnprintf(s, (size_t)MAX(n, 0) + 1, fmt, again);
	va_end(again);
	return s;
}

void arena_reset(struct arena *a)
{
	while (a->block && a->block->older) {
		struct arena_block *b = a->block;
		a->block = b->older;
		free(b);
	}
	if (a->block) {
		a->at = a->block->bytes;
		a->end = a->at + a->block->size;
	}
}

void arena_release(struct arena *a)
{
	while (a->block) {
		struct arena_block *b = a->block;
		a->block = b->older;
		free(b);
	}
	*a = (struct arena){ 0 };
}
