/* SPDX-License-Identifier: MIT
 * choice.c - answers by number, or in words. */
#include "face/cli/choice.h"
#include <ctype.h>
#include "lib/base/utf8.h"

static bool is_number(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isdigit((unsigned char)s.p[i]))
			return false;
	return s.n > 0;
}

static bool is_list_of_numbers(struct str s)
{
	while (s.p)
		if (!is_number(str_trim(str_cut(&s, ','))))
			return false;
	return true;
}

static size_t number(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n < 1000; i++)
		n = n * 10 + (size_t)(s.p[i] - '0');
	return n;
}

bool choice_read(const struct choices *c, struct str typed, struct buf *out)
{
	AUTO_BUF struct buf labels = { 0 };
	struct str rest = str_trim(typed);
	size_t chosen = 0;

	if (!rest.n)
		return false;
	if (!is_list_of_numbers(rest)) {
		utf8_add_repaired(out, rest);
		return true;
	}
	for (; rest.p; chosen++) {
		size_t n = number(str_trim(str_cut(&rest, ',')));
		if (!n || n > c->count || (chosen && !c->several))
			return false;
		buf_addf(&labels, "%s%s", chosen ? ", " : "", c->labels[n - 1]);
	}
	buf_add(out, labels.p, labels.n);
	return true;
}

void choices_release(struct choices *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->labels[i]);
	free(c->labels);
	*c = (struct choices){ 0 };
}
