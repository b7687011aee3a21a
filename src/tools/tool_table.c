/* SPDX-License-Identifier: MIT
 * tool_table.c - the built-in tools, sorted by name. */
#include "tools/tools.h"
#include "tools/tools_int.h"

const struct tool *const tool_table[] = {
	&tool_bash, &tool_edit, &tool_glob, &tool_grep, &tool_read, &tool_write, NULL,
};
