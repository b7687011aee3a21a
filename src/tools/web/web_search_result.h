/* SPDX-License-Identifier: MIT
 * web_search_result.h - what a model and its server found, as the result of a call. */
#pragma once
#include "core/tool/tool.h"

/* blocks: the JSON array of the blocks of an answer. Writes text and object of the call's result. *ret_searches: how many were
 * made. -ERR_PROTOCOL: nothing can be made of it. */
int web_search_read(struct tool_call *call, struct str blocks, unsigned *ret_searches, struct err *err);
