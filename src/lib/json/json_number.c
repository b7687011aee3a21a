/* SPDX-License-Identifier: MIT
 * json_number.c - numbers are text until somebody asks. Whole numbers are found exactly, without a detour
 * over double: 1.0 and 25e2 are whole, as JSON Schema has it. */
#include <locale.h>
#include "lib/json/json.h"
#include "lib/json/json_int.h"

struct decimal {
	bool minus;
	struct str mantissa; /* digits, perhaps with a point */
	int64_t exponent;
};

/* More than any text we read has digits, so that a larger exponent makes no difference. */
#define EXPONENT_MAX INT64_C(1000000000000)
#define ALL_ZERO     INT64_MAX

static int64_t read_exponent(struct str s)
{
	bool minus = s.n && s.p[0] == '-';
	int64_t v = 0;

	for (size_t i = s.n && (minus || s.p[0] == '+'); i < s.n; i++)
		v = MIN(v * 10 + (s.p[i] - '0'), EXPONENT_MAX);
	return minus ? -v : v;
}

static struct decimal split(const struct json *v)
{
	struct str s = { v->text, v->len };
	struct decimal d = { .minus = s.p[0] == '-' };

	s.p += d.minus;
	s.n -= d.minus;
	size_t n = 0;
	while (n < s.n && s.p[n] != 'e' && s.p[n] != 'E')
		n++;
	d.mantissa = (struct str){ s.p, n };
	if (n < s.n)
		d.exponent = read_exponent((struct str){ s.p + n + 1, s.n - n - 1 });
	return d;
}

/* The power of ten that the last digit other than 0 stands for; ALL_ZERO if there is none. */
static int64_t lowest_power(const struct decimal *d)
{
	const char *point = memchr(d->mantissa.p, '.', d->mantissa.n);
	size_t whole = point ? (size_t)(point - d->mantissa.p) : d->mantissa.n;

	for (size_t i = d->mantissa.n; i-- > 0;) {
		if (d->mantissa.p[i] != '0' && d->mantissa.p[i] != '.')
			return d->exponent + (i < whole ? (int64_t)(whole - 1 - i) : (int64_t)whole - (int64_t)i);
	}
	return ALL_ZERO;
}

bool json_is_whole(const struct json *v)
{
	if (!json_is(v, JSON_NUMBER))
		return false;
	struct decimal d = split(v);
	return lowest_power(&d) >= 0;
}

static bool times_ten_plus(uint64_t *v, uint64_t digit)
{
	return !__builtin_mul_overflow(*v, 10, v) && !__builtin_add_overflow(*v, digit, v);
}

/* The absolute value, if it is whole and fits. */
static bool magnitude(const struct decimal *d, uint64_t *ret)
{
	int64_t power = lowest_power(d);
	uint64_t v = 0;
	size_t zeros = 0; /* pending: those at the end of the mantissa are part of the power */

	if (power < 0)
		return false;
	if (power == ALL_ZERO) {
		*ret = 0;
		return true;
	}
	for (size_t i = 0; i < d->mantissa.n; i++) {
		char c = d->mantissa.p[i];
		if (c == '.')
			continue;
		if (c == '0') {
			zeros += v != 0;
			continue;
		}
		for (; zeros; zeros--) {
			if (!times_ten_plus(&v, 0))
				return false;
		}
		if (!times_ten_plus(&v, (uint64_t)(c - '0')))
			return false;
	}
	for (; power; power--) {
		if (!times_ten_plus(&v, 0))
			return false;
	}
	*ret = v;
	return true;
}

bool json_u64(const struct json *v, uint64_t *ret)
{
	uint64_t n;

	if (!json_is(v, JSON_NUMBER))
		return false;
	struct decimal d = split(v);
	if (!magnitude(&d, &n) || (d.minus && n))
		return false;
	*ret = n;
	return true;
}

bool json_i64(const struct json *v, int64_t *ret)
{
	uint64_t n;

	if (!json_is(v, JSON_NUMBER))
		return false;
	struct decimal d = split(v);
	if (!magnitude(&d, &n) || n > (uint64_t)INT64_MAX + d.minus)
		return false;
	*ret = d.minus ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

double json_double(const struct json *v)
{
	if (!json_is(v, JSON_NUMBER))
		return 0;
	char small[64];
	AUTO_FREE char *big = v->len < sizeof small ? NULL : xmalloc((size_t)v->len + 1);
	char *text = big ? big : small;
	memcpy(text, v->text, v->len);
	text[v->len] = '\0';

	/* The host may have set a locale with a decimal comma. The C locale is a constant of the C library:
	 * nothing to free. */
	return strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}
