/* SPDX-License-Identifier: MIT
 * pdf_pages.c - which pages of a document are wanted, and how many there are. */
#include "tools/media/pdf_pages.h"

static bool page_number(struct str text, uint32_t *ret)
{
	uint64_t n;

	if (!str_to_u64(str_trim(text), &n) || !n || n > INT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

int pdf_pages_parse(struct str text, struct pdf_pages *ret_pages, struct err *err)
{
	struct str rest = text;
	struct pdf_pages pages;

	bool good = page_number(str_cut(&rest, '-'), &pages.first);
	pages.last = pages.first;
	if (good && rest.p)
		good = page_number(rest, &pages.last);
	if (!good || pages.last < pages.first)
		return err_set(err, ERR_USAGE,
			       "pages must be the number of a page or a range of them, such as \"3\" or \"1-5\".");
	if (pages.last - pages.first >= PDF_PAGES_AT_ONCE)
		return err_set(err, ERR_USAGE, "pages: at most %d pages can be read at once.", PDF_PAGES_AT_ONCE);
	*ret_pages = pages;
	return 0;
}

uint32_t pdf_info_pages(struct str output)
{
	uint32_t pages = 0;

	/* The last such line: titles, which are the author's, are printed above it. */
	while (output.p) {
		struct str line = str_cut(&output, '\n');
		if (str_starts(line, STR("Pages:")))
			(void)page_number((struct str){ line.p + 6, line.n - 6 }, &pages);
	}
	return pages;
}

static struct str skip_blanks(struct str s)
{
	while (s.n && memchr(" \t\r\n", s.p[0], 4))
		s = (struct str){ s.p + 1, s.n - 1 };
	return s;
}

size_t pdf_least_pages(struct str bytes)
{
	size_t pages = 0;
	const char *at;

	while (bytes.n && (at = memmem(bytes.p, bytes.n, "/Type", 5))) {
		bytes.n -= (size_t)(at + 5 - bytes.p);
		bytes.p = at + 5;
		struct str value = skip_blanks(bytes);
		pages += str_starts(value, STR("/Page")) && (value.n == 5 || value.p[5] != 's');
	}
	return pages;
}
