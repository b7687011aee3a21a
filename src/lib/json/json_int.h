/* SPDX-License-Identifier: MIT
 * json_int.h - internals: the scan that reader and writer share, and helpers of the accessors. */
#pragma once
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "lib/json/json.h"

#define JSON_EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* The byte a one-letter escape stands for, 0 where there is no such escape (\u is not in it). */
extern const char json_escapes[256];

/* True for 1, 1.0 and 10e-1, false for 1.5 and what is not a number. The size does not matter. */
bool json_is_whole(const struct json *v);

/* Quotes, backslashes and control characters end a run of plain text. */
static inline bool json_stops(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* True if one of the eight bytes ends a run. A borrow can only affect bytes above a real hit. */
static inline bool json_word_stops(uint64_t w)
{
	uint64_t quote = w ^ JSON_EACH_BYTE('"'), backslash = w ^ JSON_EACH_BYTE('\\');
	uint64_t hits = ((quote - JSON_EACH_BYTE(1)) & ~quote) | ((backslash - JSON_EACH_BYTE(1)) & ~backslash) |
			((w - JSON_EACH_BYTE(0x20)) & ~w);

	return hits & JSON_EACH_BYTE(0x80);
}

/* The end of the run of plain text at p. Sets *high if the run has bytes above 0x7f, which need UTF-8 validation. Never
 * reads at or after end. */
static inline const char *json_scan(const char *p, const char *end, bool *high)
{
	uint64_t seen = 0;

#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)),
					    _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
		unsigned stop = (unsigned)_mm_movemask_epi8(hits), above = (unsigned)_mm_movemask_epi8(v);
		if (stop) {
			*high |= (seen | (above & (stop ^ (stop - 1)))) != 0;
			return p + __builtin_ctz(stop);
		}
		seen |= above;
	}
#endif
	for (uint64_t w; end - p >= 8; p += 8) {
		memcpy(&w, p, sizeof w);
		if (json_word_stops(w))
			break;
		seen |= w & JSON_EACH_BYTE(0x80);
	}
	for (; p < end && !json_stops(*p); p++)
		seen |= *p & 0x80;
	*high |= seen != 0;
	return p;
}
