/* SPDX-License-Identifier: MIT
 * pdf_pages.h - which pages of a document are wanted, and how many there are. */
#pragma once
#include "lib/base/str.h"

struct pdf_pages {
	uint32_t first, last; /* from 1 */
};

enum {
	PDF_PAGES_AT_ONCE = 20, /* as images */
	PDF_WHOLE_PAGES = 10,   /* as a document, when the number is known */
	PDF_MOST_PAGES = 100,   /* as a document; above it the API refuses the request */
};

/* "7" or "3-5". -ERR_USAGE says what is expected. */
int pdf_pages_parse(struct str text, struct pdf_pages *ret_pages, struct err *err);
/* What pdfinfo printed. 0: it does not say. */
uint32_t pdf_info_pages(struct str output);
/* For machines without pdfinfo: pages that are described in the open. Others may be in compressed parts. */
size_t pdf_least_pages(struct str bytes);
