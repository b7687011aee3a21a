/* SPDX-License-Identifier: MIT
 * read.h - Read of media, one function for each kind of file. It leads to the end of the call, at once or later. args is in the call's arena. */
#pragma once
#include "core/tool/tool.h"

struct read_args {
	char *path;         /* absolute */
	const char *target; /* what is opened: path without links */
	uint64_t first;     /* line or cell, from 1 */
	uint64_t limit;     /* how many; 0: to the end */
	bool ranged;        /* one of the two was given */
	bool allow_large;
	struct str pages; /* p == NULL: not given */
	size_t cap_bytes; /* of the text that is shown */
};

enum { READ_BYTES_PER_TOKEN = 4 }; /* an estimate: text of programs has 3 to 4 */

void read_image(struct tool_call *call, const struct read_args *args);
void read_pdf(struct tool_call *call, const struct read_args *args);
void read_notebook(struct tool_call *call, const struct read_args *args);
