/* SPDX-License-Identifier: MIT
 * width.c - how wide a cluster of several code points is. */
#include "face/screen/width.h"
#include "lib/base/base.h"

const char *const width_probes[WIDTH_PROBES] = {
	"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd",
	"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f\x91\xa6",
	"\xe2\x9d\xa4\xef\xb8\x8f",
};

static struct {
	bool narrow;  /* an emoji has one column */
	bool joins;   /* what a ZWJ joins has the width of its first part */
	bool tones;   /* a skin tone has columns of its own */
	bool widened; /* VS16 makes a narrow character wide */
} model = { .tones = true };

bool width_learn(const unsigned answers[WIDTH_PROBES])
{
	unsigned thumb = answers[0], family = answers[1], heart = answers[2];

	if ((thumb != 2 && thumb != 4) || (family != 2 && family != 4 && family != 8) || heart < 1 || heart > 2)
		return false;
	if ((family == 8 && thumb != 4) || (family == 4 && thumb != 2))
		return false;
	model.narrow = family == 4;
	model.joins = family == 2;
	model.tones = thumb == 4 || model.narrow;
	model.widened = heart == 2;
	return true;
}

static bool is_pictograph(uint32_t cp)
{
	return (cp >= 0x1f000 && cp < 0x20000) || (cp >= 0x231a && cp <= 0x2b55);
}

unsigned width_add(unsigned so_far, uint32_t previous, uint32_t cp, unsigned own)
{
	bool tone = cp >= 0x1f3fb && cp <= 0x1f3ff, flag = cp >= 0x1f1e6 && cp <= 0x1f1ff;

	if (model.narrow && own == 2 && is_pictograph(cp))
		own = 1;
	if (!so_far)
		return own;
	if (cp == 0xfe0f)
		return model.widened && so_far == 1 ? 2 : so_far;
	if (model.joins && (previous == 0x200d || flag))
		return MAX(so_far, flag ? 2u : so_far);
	return tone && !model.tones ? so_far : so_far + own;
}

bool width_is_sure(uint32_t cp, bool single)
{
	return single && !is_pictograph(cp);
}
