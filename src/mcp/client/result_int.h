/* SPDX-License-Identifier: MIT
 * result_int.h - binary content of results, for result*.c. */
#pragma once
#include "mcp/client/result.h"

bool mcp_is_base64(struct str s); /* whole groups of 4, padded, nothing else in it */
/* Decodes data and writes it beside the results of the session; *count numbers the files of a call. The path is in the call's
 * arena; NULL: not base64, results are not kept, or it cannot be written. */
char *mcp_result_save(struct tool_call *call, struct str mime, struct str data, unsigned *count);
