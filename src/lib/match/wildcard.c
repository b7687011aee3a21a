/* SPDX-License-Identifier: MIT
 * wildcard.c - texts in which * stands for any characters. Only the last * needs to be tried again: what stands before it
 * is matched at its first possible place, which leaves the most for the rest. */
#include "lib/match/wildcard.h"

static bool is_escape(struct str pattern, size_t at)
{
	return pattern.p[at] == '\\' && at + 1 < pattern.n && (pattern.p[at + 1] == '*' || pattern.p[at + 1] == '\\');
}

bool wildcard_match(struct str pattern, struct str text)
{
	size_t p = 0;
	size_t t = 0;
	size_t star = SIZE_MAX; /* behind the last *, in the pattern */
	size_t again = 0;       /* what that * has taken ends here, in the text */

	for (;;) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = ++p;
			again = t;
			continue;
		}
		if (p == pattern.n && t == text.n)
			return true;
		size_t escape = p < pattern.n && is_escape(pattern, p);
		if (p < pattern.n && t < text.n && pattern.p[p + escape] == text.p[t]) {
			p += escape + 1;
			t++;
		} else if (star != SIZE_MAX && again < text.n) {
			p = star;
			t = ++again;
		} else {
			return false;
		}
	}
}

bool wildcard_is_plain(struct str pattern)
{
	for (size_t i = 0; i < pattern.n; i++)
		if (pattern.p[i] == '*' || is_escape(pattern, i))
			return false;
	return true;
}
