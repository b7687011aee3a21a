/* SPDX-License-Identifier: MIT
 * pdf_program.h - one run of a program of poppler (pdfinfo, pdftoppm) on a file of strangers: its memory, its time and its
 * output are limited, and it dies with the call. */
#pragma once
#include "lib/io/spawn.h"
#include "core/tool/tool.h"

enum pdf_end {
	PDF_DONE,      /* out is what it printed */
	PDF_MISSING,   /* it is not installed */
	PDF_FAILED,    /* errors says why */
	PDF_CANCELLED, /* by pdf_program_cancel() */
};

/* In the call's arena; zeroed before the first run, may be run again when it is over */
struct pdf_program {
	struct tool_env *env; /* borrowed */
	struct child *child;  /* NULL: it does not run */
	struct timer timer;
	size_t limit_bytes;
	struct buf out, errors;
	bool cancelled, late, flooded;
	void (*done)(struct pdf_program *p, enum pdf_end end); /* once for each start, never from inside it */
	struct kick kick;                                      /* of a start that failed */
};

/* words: the program and its arguments, NULL-terminated, borrowed until return. */
void pdf_program_start(struct pdf_program *p, const char *const *words, size_t limit_bytes, uint64_t limit_ms);
void pdf_program_cancel(struct pdf_program *p); /* a request: done still comes; also when it does not run */
void pdf_program_release(struct pdf_program *p);
