/* SPDX-License-Identifier: MIT
 * choice.c - answers by number, or in words. */
#include "face/cli/edit.h"
#include <ctype.h>
#include "lib/base/utf8.h"

bool choice_read(const struct choices *c, struct str typed, struct buf *out)
{
	AUTO_BUF struct buf labels = { 0 };
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
		fits = fits && number && number <= c->count && (!chosen || c->several);
		if (fits)
			buf_addf(&labels, "%s%s", chosen ? ", " : "", c->labels[number - 1]);
	}
	if (fits)
		buf_add(out, labels.p, labels.n);
	return fits;
}
