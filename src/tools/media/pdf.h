/* SPDX-License-Identifier: MIT
 * pdf.h - PDF documents: which pages are meant, and the programs that count and draw them. */
#pragma once
#include "core/tool/tool.h"
#include "lib/base/str.h"
#include "lib/io/capture.h"

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

/* One run of a program of poppler (pdfinfo, pdftoppm) on a file of strangers: its memory, its time and its
 * output are limited, and it dies with the call. */

enum pdf_end {
	PDF_DONE,      /* run.out is what it printed */
	PDF_MISSING,   /* it is not installed */
	PDF_FAILED,    /* run.errors says why */
	PDF_CANCELLED, /* by pdf_program_cancel() */
};

/* In the call's arena; zeroed before the first run, may be run again when it is over */
struct pdf_program {
	struct tool_env *env; /* borrowed */
	int file;             /* what it reads: its standard input. Owned */
	struct capture run;
	bool cancelled;
	void (*done)(struct pdf_program *p, enum pdf_end end); /* once for each start, never from inside it */
	struct kick kick;                                      /* of a start that failed */
};

/* words: the program and its arguments, with "-" for the file, NULL-terminated, borrowed until return. */
void pdf_program_start(struct pdf_program *p, const char *const *words, size_t limit_bytes, uint64_t limit_ms);
void pdf_program_cancel(struct pdf_program *p); /* a request: done still comes; also when it does not run */
static inline void pdf_program_release(struct pdf_program *p)
{
	if (p->file >= 0)
		close(p->file);
	p->file = -1;
	buf_release(&p->run.out);
	buf_release(&p->run.errors);
}
