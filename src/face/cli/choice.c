/* SPDX-License-Identifier: MIT
 * choice.c - answers by number, or in words. */
#include "face/cli/choice.h"
#include <ctype.h>
#include "lib/base/utf8.h"

bool choice_read(const char *const *labels, size_t count, bool several, struct str typed, struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	struct str rest = str_trim(typed);
	size_t chosen = 0;
	bool fits = true;

	if (!rest.n)
		return false;
	for (struct str all = rest; all.p; chosen++) {
		struct str item = str_trim(str_cut(&all, ','));
		size_t number = 0, i = 0;
		for (; i < item.n && isdigit((unsigned char)item.p[i]); i++)
			number = number < 1000 ? number * 10 + (size_t)(item.p[i] - '0') : number;
		if (!item.n || i < item.n) { /* not a list of numbers */
			utf8_add_repaired(out, rest);
			return true;
		}
		fits = fits && number && number <= count && (!chosen || several);
		if (fits)
			buf_addf(&text, "%s%s", chosen ? ", " : "", labels[number - 1]);
	}
	if (fits)
		buf_add(out, text.p, text.n);
	return fits;
}
