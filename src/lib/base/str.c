/* SPDX-License-Identifier: MIT
 * str.c - borrowed text. */
#include "lib/base/str.h"
#include <locale.h>
#include <math.h>
#include <strings.h>

bool str_is_name(struct str s, const char *more)
{
	size_t n = 0;

	while (n < s.n && (char_is_alnum(s.p[n]) || char_in(s.p[n], more)))
		n++;
	return n && n == s.n;
}

void hex_encode(const unsigned char *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

bool str_is_hex(struct str s)
{
	size_t n = 0;

	while (n < s.n && char_in(s.p[n], "0123456789abcdef"))
		n++;
	return n == s.n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
	while (s.n && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct str str_cut_word(struct str *rest)
{
	struct str word = str_trim(*rest);
	size_t n = 0;

	while (n < word.n && !char_in(word.p[n], " \t\r\n"))
		n++;
	*rest = str_trim(str_tail(word, n));
	return (struct str){ word.p, n };
}

struct str str_cut(struct str *rest, char c)
{
	struct str part = *rest;
	const char *hit = rest->n ? memchr(rest->p, c, rest->n) : NULL;

	if (!hit) {
		*rest = (struct str){ 0 };
		return part;
	}
	part.n = (size_t)(hit - rest->p);
	rest->p = hit + 1;
	rest->n -= part.n + 1;
	return part;
}

bool str_is_one_of(struct str s, const char *list)
{
	struct str rest = str_from(list);

	while (rest.n)
		if (str_eq(s, str_cut(&rest, '|')))
			return true;
	return false;
}

bool str_fits_one_of(struct str s, const char *list)
{
	for (struct str rest = str_from(list); rest.n;) {
		struct str one = str_cut(&rest, '|');
		if (one.p[one.n - 1] == '*' ? str_starts(s, (struct str){ one.p, one.n - 1 }) : str_eq(s, one))
			return true;
	}
	return false;
}

bool str_is_one_of_nocase(struct str s, const char *list)
{
	for (struct str rest = str_from(list); rest.n;) {
		struct str one = str_cut(&rest, '|');
		if (one.n == s.n && !strncasecmp(one.p, s.p, s.n))
			return true;
	}
	return false;
}

bool env_is_on(const char *value)
{
	struct str s = str_trim(str_from(value ? value : ""));

	return s.n && !str_is_one_of_nocase(s, "0|false|no|off");
}

bool str_starts_with_one_of(struct str s, const char *list)
{
	struct str rest = str_from(list);

	while (rest.n)
		if (str_starts(s, str_cut(&rest, '|')))
			return true;
	return false;
}

bool str_to_u64(struct str s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (!s.n)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return false;
	}
	*ret_value = v;
	return true;
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
	bool minus = s.n && s.p[0] == '-';
	uint64_t v;

	if (minus) {
		s.p++;
		s.n--;
	}
	if (!str_to_u64(s, &v) || v > (uint64_t)INT64_MAX + minus)
		return false;
	*ret_value = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

/* Eight bytes at a time: heads of requests are keys too, and they have tens of kilobytes. */
uint64_t str_hash(struct str s)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u;
	uint64_t h = s.n * odd;
	uint64_t word;

	for (; s.n >= sizeof word; s.p += sizeof word, s.n -= sizeof word) {
		memcpy(&word, s.p, sizeof word);
		h = (h ^ word) * odd;
		h ^= h >> 32;
	}
	word = 0;
	if (s.n)
		memcpy(&word, s.p, s.n);
	h = (h ^ word) * odd;
	return h ^ (h >> 32);
}

const char *env_get(const char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *e = envp ? envp : (const char *const *)environ; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

size_t str_count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

size_t str_distance(struct str a, struct str b)
{
	enum { LONGEST = 64 };
	size_t rows[3][LONGEST + 1];

	if (a.n > LONGEST || b.n > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *now = rows[i % 3];
		const size_t *up = rows[(i + 2) % 3];
		const size_t *upper = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			now[j] = MIN(MIN(now[j - 1], up[j]) + 1, up[j - 1] + (a.p[i - 1] != b.p[j - 1]));
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				now[j] = MIN(now[j], upper[j - 2] + 1);
		}
	}
	return rows[a.n % 3][b.n];
}

bool str_to_double(struct str s, double *ret_value)
{
	char text[64], *end;

	if (!s.n || s.n >= sizeof text)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!char_in(s.p[i], "+-.0123456789eE"))
			return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	/* The C locale is a constant of the C library: nothing to free. */
	double value = strtod_l(text, &end, newlocale(LC_ALL_MASK, "C", (locale_t)0));
	if (*end || !isfinite(value))
		return false;
	*ret_value = value;
	return true;
}
