/* SPDX-License-Identifier: MIT
 * html_library.c - libxml2, on demand. */
#include "tools/web/html_library.h"
#include "lib/base/library.h"

static const char *const files[] = { "libxml2.so.2", NULL };

#define SYMBOL(name, member)                                \
	{                                                   \
		name, offsetof(struct html_library, member) \
	}

static const struct library_symbol symbols[] = {
	SYMBOL("htmlNewParserCtxt", new_context),
	SYMBOL("htmlFreeParserCtxt", free_context),
	SYMBOL("htmlCtxtReadMemory", read),
	SYMBOL("xmlStopParser", stop),
};

static const struct library library = { files, "libxml2", symbols, COUNT_OF(symbols) };

int html_library_load(struct html_library *ret_library, struct err *err)
{
	return library_load(&library, ret_library, err);
}
