/* SPDX-License-Identifier: MIT
 * sgr.c - the looks that a program of the user gives its output (SGR, and links of OSC 8), as ours. */
#include "face/screen/paint.h"

static unsigned next_parameter(struct str *rest)
{
	uint64_t value = 0;

	(void)str_to_u64(str_cut(rest, ';'), &value);
	return (unsigned)MIN(value, (uint64_t)255);
}

/* What follows 38 or 48: 5 and one of 256 colours, or 2 and its three parts. As the nearest of the terminal's own, which SGR numbers by a
 * bit for each part that is strong; 0: a grey */
static unsigned extended_colour(struct str *rest)
{
	unsigned kind = next_parameter(rest), rgb[3] = { 0 }, colour = 0;

	if (kind == 5) {
		unsigned n = next_parameter(rest);
		if (n < 16)
			return n % 8 == 7 ? 0 : n % 8;
		for (unsigned i = 3, cube = n - 16; i-- > 0 && n < 232; cube /= 6)
			rgb[i] = cube % 6 * 51;
	}
	for (unsigned i = 0; i < 3 && kind == 2; i++)
		rgb[i] = next_parameter(rest);
	unsigned most = MAX(MAX(rgb[0], rgb[1]), rgb[2]), least = MIN(MIN(rgb[0], rgb[1]), rgb[2]);
	for (unsigned i = 0; i < 3 && most - least > 40; i++)
		colour |= (unsigned)(rgb[i] * 2 > most + least) << i;
	return colour;
}

static unsigned apply_sgr(unsigned look, struct str parameters)
{
	static const unsigned looks[] = { LOOK_PLAIN, LOOK_BOLD, LOOK_DIM, LOOK_ITALIC, LOOK_UNDERLINE };
	static const unsigned ended[] = { LOOK_BOLD | LOOK_DIM, LOOK_ITALIC, LOOK_UNDERLINE };

	if (!parameters.n)
		return LOOK_PLAIN;
	for (struct str rest = parameters; rest.p;) {
		unsigned code = next_parameter(&rest), colour = code % 10;
		if (code == 38 || code == 48)
			colour = extended_colour(&rest);
		if (code == 0)
			look = LOOK_PLAIN;
		else if (code < COUNT_OF(looks))
			look |= looks[code];
		else if (code >= 22 && code <= 24)
			look &= ~ended[code - 22];
		else if ((code >= 30 && code <= 39) || (code >= 91 && code <= 97))
			look = (look & ~(unsigned)LOOK_COLOURS) | (colour < 7 ? colour << 4 : 0);
		else if (code == 90)
			look |= LOOK_DIM;
	}
	return look;
}

/* Where the sequence at p ends: CSI with a look, or OSC 8 around a link, whose text alone is shown. 0: another one */
static size_t passed_sequence(struct str line, size_t at, struct str *ret_look)
{
	size_t end = at + 2;

	if (str_starts(str_tail(line, at), STR("\033]8;"))) {
		while (end < line.n && line.p[end] != '\a' && line.p[end] != '\033')
			end++;
		size_t closed = end + (end < line.n && line.p[end] == '\033') + 1;
		return closed <= line.n && (line.p[end] == '\a' || line.p[end + 1] == '\\') ? closed : 0;
	}
	if (!str_starts(str_tail(line, at), STR("\033[")))
		return 0;
	while (end < line.n && (char_in(line.p[end], ";") || (line.p[end] >= '0' && line.p[end] <= '9')))
		end++;
	if (end == line.n || line.p[end] != 'm')
		return 0;
	*ret_look = (struct str){ line.p + at + 2, end - at - 2 };
	return end + 1;
}

void styled_add_with_looks(struct styled *row, struct str line)
{
	unsigned look = LOOK_PLAIN;
	size_t from = 0;

	for (size_t at = 0; at < line.n;) {
		struct str parameters = { 0 };
		size_t end = line.p[at] == '\033' ? passed_sequence(line, at, &parameters) : 0;
		if (!end) {
			at++;
			continue;
		}
		styled_add_foreign(row, look, (struct str){ line.p + from, at - from });
		look = parameters.p ? apply_sgr(look, parameters) : look;
		at = from = end;
	}
	styled_add_foreign(row, look, (struct str){ line.p + from, line.n - from });
}
