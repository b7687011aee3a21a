/* SPDX-License-Identifier: MIT
 * json.c - values: numbers, strings, comparison, looking up members. */
#include "lib/json/json.h"
#include <locale.h>
#include "lib/json/json_int.h"
#include "lib/base/utf8.h"

const struct json *json_get_str(const struct json *object, struct str key)
{
	const struct json *found = NULL;
	char last = key.n ? key.p[key.n - 1] : '\0';

	/* most differ in length or in the last letter */
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		const struct json *k = m.key;
		if (k->escaped ? json_str_eq(k, key)
			       : k->len == key.n &&
					 (!key.n || (k->text[key.n - 1] == last && !memcmp(k->text, key.p, key.n))))
			found = m.value;
	}
	return found;
}

/* Numbers: text until a value is needed. Whole ones are found exactly, without a detour over double: 1.0 and 25e2 are whole, as JSON
 * Schema has it. */

/* digits * 10^power; the last digit is not 0, unless it is the only one. */
struct decimal {
	bool minus, too_large; /* too_large: the digits do not fit */
	uint64_t digits;
	int64_t power;
};

/* More than any text we read has digits, so that a larger exponent makes no difference. */
#define EXPONENT_MAX INT64_C(1000000000000)

static void add_digit(struct decimal *d, char digit)
{
	d->too_large = d->too_large || __builtin_mul_overflow(d->digits, 10, &d->digits) ||
		       __builtin_add_overflow(d->digits, digit - '0', &d->digits);
}

static struct decimal decimal_of(const struct json *number)
{
	const char *p = number->text, *end = p + number->len;
	struct decimal d = { .minus = *p == '-' };
	int64_t exponent = 0;
	size_t zeros = 0; /* pending: those at the end are part of the power */
	bool fraction = false;

	for (p += d.minus; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		d.power -= fraction;
		zeros += *p == '0';
		for (; zeros && *p != '0'; zeros--)
			add_digit(&d, '0');
		if (*p != '0')
			add_digit(&d, *p);
	}
	bool below = p < end && *++p == '-';
	for (p += p < end && (below || *p == '+'); p < end; p++)
		exponent = MIN(exponent * 10 + (*p - '0'), EXPONENT_MAX);
	bool zero = !d.digits && !d.too_large;
	d.power = zero ? 0 : d.power + (int64_t)zeros + (below ? -exponent : exponent);
	return d;
}

bool json_is_whole(const struct json *v)
{
	return json_is(v, JSON_NUMBER) && decimal_of(v).power >= 0;
}

/* Sign and absolute value of a number that is whole and fits. */
static bool whole_number(const struct json *v, bool *ret_minus, uint64_t *ret)
{
	if (!json_is(v, JSON_NUMBER))
		return false;
	struct decimal d = decimal_of(v);
	for (; d.power > 0 && !d.too_large; d.power--)
		add_digit(&d, '0');
	*ret_minus = d.minus;
	*ret = d.digits;
	return d.power == 0 && !d.too_large;
}

bool json_u64(const struct json *v, uint64_t *ret)
{
	uint64_t n;
	bool minus;

	if (!whole_number(v, &minus, &n) || (minus && n))
		return false;
	*ret = n;
	return true;
}

bool json_i64(const struct json *v, int64_t *ret)
{
	uint64_t n;
	bool minus;

	if (!whole_number(v, &minus, &n) || n > (uint64_t)INT64_MAX + minus)
		return false;
	*ret = minus ? (int64_t)(0 - n) : (int64_t)n;
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

/* The parser has checked every escape, so nothing here can fail. A decoded text is never longer than its escaped form. */

enum { REPLACEMENT = 0xfffd };

const char json_escapes[256] = {
	['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
};

static uint32_t hex4(const char *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) /* '0' is 0x30, 'a' is 0x61, 'A' is 0x41 */
		v = v << 4 | (uint32_t)((p[i] & 0xf) + 9 * (p[i] >> 6));
	return v;
}

/* The character of the \u escape at *at and, if it is the first half of a pair, of the next one too. */
static uint32_t code_point(const char **at, const char *end)
{
	uint32_t cp = hex4(*at + 2);

	*at += 6;
	if (cp < 0xd800 || cp > 0xdfff)
		return cp;
	if (cp < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
		uint32_t low = hex4(*at + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			*at += 6;
			return 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return REPLACEMENT;
}

/* Decodes the escape at *at into out, moves behind it and returns the number of bytes. */
static size_t unescape_char(const char **at, const char *end, char out[4])
{
	char letter = (*at)[1];

	if (letter == 'u')
		return utf8_encode(code_point(at, end), out);
	out[0] = json_escapes[(unsigned char)letter];
	*at += 2;
	return 1;
}

/* Copies up to the next backslash and returns the length. Whole blocks are stored before they are looked at,
 * which is safe as long as out has the room of the rest of the source. */
static size_t copy_plain(char *out, const char *p, const char *end)
{
	const char *start = p;

#ifdef __SSE2__
	const __m128i backslash = _mm_set1_epi8('\\');
	for (; end - p >= 16; p += 16, out += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		_mm_storeu_si128((__m128i *)(void *)out, v);
		unsigned stop = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, backslash));
		if (stop)
			return (size_t)(p - start) + (size_t)__builtin_ctz(stop);
	}
#endif
	for (uint64_t w; end - p >= 8; p += 8, out += 8) {
		memcpy(&w, p, sizeof w);
		uint64_t other = w ^ JSON_EACH_BYTE('\\');
		if ((other - JSON_EACH_BYTE(1)) & ~other & JSON_EACH_BYTE(0x80))
			break;
		memcpy(out, &w, sizeof w);
	}
	while (p < end && *p != '\\')
		*out++ = *p++;
	return (size_t)(p - start);
}

/* out has room for v->len bytes. */
static size_t decode_string(const struct json *v, char *out)
{
	const char *p = v->text, *end = p + v->len;
	size_t n = 0;

	for (;;) {
		size_t run = copy_plain(out + n, p, end);
		n += run;
		p += run;
		if (p == end)
			return n;
		n += unescape_char(&p, end, out + n);
	}
}

struct str json_str(const struct json *v, struct arena *arena)
{
	if (!json_is(v, JSON_STRING))
		return STR("");
	if (!v->escaped)
		return (struct str){ v->text, v->len };
	char *out = arena_alloc(arena, v->len);
	return (struct str){ out, decode_string(v, out) };
}

char *json_cstr(const struct json *v, struct arena *arena)
{
	if (!json_is(v, JSON_STRING))
		return NULL;
	if (!v->escaped)
		return arena_dup(arena, v->text, v->len);
	char *out = arena_alloc(arena, (size_t)v->len + 1);
	size_t n = decode_string(v, out);
	out[n] = '\0';
	return memchr(out, '\0', n) ? NULL : out;
}

bool json_str_eq(const struct json *v, struct str s)
{
	if (!json_is(v, JSON_STRING))
		return false;
	if (!v->escaped)
		return str_eq((struct str){ v->text, v->len }, s);
	for (const char *p = v->text, *end = p + v->len; p < end;) {
		char out[4] = { *p };
		size_t n = 1;
		if (*p == '\\')
			n = unescape_char(&p, end, out);
		else
			p++;
		if (s.n < n || memcmp(s.p, out, n))
			return false;
		s.p += n;
		s.n -= n;
	}
	return !s.n;
}

static bool equal_numbers(const struct json *a, const struct json *b)
{
	int64_t ia, ib;
	uint64_t ua, ub;

	if (str_eq(json_raw(a), json_raw(b)))
		return true;
	if (json_i64(a, &ia) && json_i64(b, &ib))
		return ia == ib;
	if (json_u64(a, &ua) && json_u64(b, &ub))
		return ua == ub;
	return json_is_whole(a) == json_is_whole(b) && json_double(a) == json_double(b);
}

/* Recursion is bounded by the depth limit of the reader. */
static bool equal_values(const struct json *a, const struct json *b, struct arena *arena)
{
	if (!a || !b || a->type != b->type)
		return a == b;
	switch ((enum json_type)a->type) {
	case JSON_NUMBER:
		return equal_numbers(a, b);
	case JSON_STRING:
		return json_str_eq(a, json_str(b, arena));
	case JSON_ARRAY:
		if (a->count != b->count)
			return false;
		for (const struct json *x = json_first(a), *y = json_first(b); x;
		     x = json_next(a, x), y = json_next(b, y))
			if (!equal_values(x, y, arena))
				return false;
		return true;
	case JSON_OBJECT:
		/* Of several members with one key only the last counts. */
		for (struct json_member m = json_members(a); m.key; m = json_member_next(a, m)) {
			struct str key = json_str(m.key, arena);
			if (json_get_str(a, key) == m.value && !equal_values(m.value, json_get_str(b, key), arena))
				return false;
		}
		for (struct json_member m = json_members(b); m.key; m = json_member_next(b, m))
			if (!json_get_str(a, json_str(m.key, arena)))
				return false;
		return true;
	default:
		return true;
	}
}

bool json_same(const struct json *a, const struct json *b)
{
	AUTO_ARENA struct arena arena = { 0 };

	return equal_values(a, b, &arena);
}
