/* SPDX-License-Identifier: MIT
 * buf.c - a growing run of bytes. */
#include "lib/base/buf.h"

void buf_reserve(struct buf *b, size_t more)
{
	size_t want = b->n + more + 1;

	if (want <= b->cap)
		return;
	if (want < more)
		base_oom(more);
	size_t cap = b->cap ? b->cap + b->cap / 2 : 64;
	b->cap = MAX(cap, want);
	b->p = xrealloc(b->p, b->cap);
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	buf_reserve(b, 64);
	size_t room = b->cap - b->n;
	int n = vsnprintf(b->p + b->n, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n >= room) {
		buf_reserve(b, (size_t)n);
		vsnprintf(b->p + b->n, b->cap - b->n, fmt, again);
	}
	va_end(again);
	if (n > 0)
		b->n += (size_t)n;
}

void buf_addsize(struct buf *b, uint64_t n_bytes)
{
	static const char *const units[] = { "KB", "MB", "GB", "TB" };
	double n = (double)n_bytes / 1024;
	size_t i = 0;

	for (; n >= 1024 && i + 1 < COUNT_OF(units); i++)
		n /= 1024;
	buf_addf(b, "%.1f%s", n, units[i]);
}

void buf_addcount(struct buf *b, int64_t n)
{
	if (n < 1000)
		buf_addf(b, "%lld", (long long)n);
	else if (n < 999950)
		buf_addf(b, "%.1f k", (double)n / 1e3);
	else
		buf_addf(b, "%.1f M", (double)n / 1e6);
}

void buf_addspan(struct buf *b, int64_t ms)
{
	long long s = (long long)(ms + 500) / 1000;

	if (ms < 9950)
		buf_addf(b, "%.1f s", (double)ms / 1e3);
	else if (s < 60)
		buf_addf(b, "%lld s", s);
	else if (s < 3600)
		buf_addf(b, "%lld min %lld s", s / 60, s % 60);
	else
		buf_addf(b, "%lld h %lld min", s / 3600, s / 60 % 60);
}

void buf_drop(struct buf *b, size_t n)
{
	if (n >= b->n) {
		buf_clear(b);
		return;
	}
	memmove(b->p, b->p + n, b->n - n + 1);
	b->n -= n;
}

char *buf_take(struct buf *b, size_t *ret_n)
{
	buf_reserve(b, 0);
	b->p[b->n] = '\0';
	if (ret_n)
		*ret_n = b->n;
	char *p = b->p;
	*b = (struct buf){ 0 };
	return p;
}

void buf_addfolded(struct buf *b, struct str text)
{
	size_t start = b->n;
	bool space = false;

	text = str_trim(text);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c <= ' ' || c == 0x7f) {
			space = true;
			continue;
		}
		if (space && b->n > start)
			buf_addch(b, ' ');
		space = false;
		buf_addch(b, (char)c);
	}
}
