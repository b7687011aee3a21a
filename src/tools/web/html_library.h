/* SPDX-License-Identifier: MIT
 * html_library.h - what we use of libxml2, which is loaded when the first page comes. */
#pragma once
#include <libxml/HTMLparser.h>
#include "lib/base/base.h"

struct html_library {
	__typeof__(htmlNewParserCtxt) *new_context;
	__typeof__(htmlFreeParserCtxt) *free_context;
	__typeof__(htmlCtxtReadMemory) *read;
	__typeof__(xmlStopParser) *stop;
};

/* On any thread. -ERR_NOT_FOUND: it is not installed. */
int html_library_load(struct html_library *ret_library, struct err *err);
