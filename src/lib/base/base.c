/* SPDX-License-Identifier: MIT
 * base.c - errors and the one place where running out of memory ends. */
#include "lib/base/base.h"

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	if (err) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof err->text, fmt, ap);
		va_end(ap);
		err->kind = kind;
	}
	return -(int)kind;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	if (!err)
		return -ERR_IO;

	char old[sizeof err->text];
	memcpy(old, err->text, sizeof old);
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof err->text)
		snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", old);
	return -(int)err->kind;
}

void base_oom(size_t wanted)
{
	fprintf(stderr, "cadre: out of memory (%zu bytes wanted)\n", wanted);
	abort();
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	if (!p)
		base_oom(n);
	return p;
}

void *xcalloc(size_t count, size_t n)
{
	void *p = calloc(count ? count : 1, n ? n : 1);
	if (!p)
		base_oom(count * n);
	return p;
}

void *xrealloc(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);
	if (!q)
		base_oom(n);
	return q;
}

void *xgrow(void *list, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 8;
	return xrealloc(list, *cap * size);
}

char *xstrndup(const char *s, size_t n)
{
	char *p = xmalloc(n + 1);
	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}
