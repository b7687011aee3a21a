/* SPDX-License-Identifier: MIT
 * json_string.c - the values of strings. The parser has checked every escape, so nothing here can fail. A
 * decoded text is never longer than its escaped form. */
#include "lib/base/utf8.h"
#include "lib/json/json.h"
#include "lib/json/json_int.h"

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
static size_t unescape(const char **at, const char *end, char out[4])
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
static size_t decode(const struct json *v, char *out)
{
	const char *p = v->text, *end = p + v->len;
	size_t n = 0;

	for (;;) {
		size_t run = copy_plain(out + n, p, end);
		n += run;
		p += run;
		if (p == end)
			return n;
		n += unescape(&p, end, out + n);
	}
}

struct str json_str(const struct json *v, struct arena *arena)
{
	if (!json_is(v, JSON_STRING))
		return STR("");
	if (!v->escaped)
		return (struct str){ v->text, v->len };
	char *out = arena_alloc(arena, v->len);
	return (struct str){ out, decode(v, out) };
}

char *json_cstr(const struct json *v, struct arena *arena)
{
	if (!json_is(v, JSON_STRING))
		return NULL;
	if (!v->escaped)
		return arena_dup(arena, v->text, v->len);
	char *out = arena_alloc(arena, (size_t)v->len + 1);
	size_t n = decode(v, out);
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
			n = unescape(&p, end, out);
		else
			p++;
		if (s.n < n || memcmp(s.p, out, n))
			return false;
		s.p += n;
		s.n -= n;
	}
	return !s.n;
}

bool json_str_is(const struct json *v, const char *text)
{
	return json_str_eq(v, str_from(text));
}
