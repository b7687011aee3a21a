/* SPDX-License-Identifier: MIT
 * chat_request.h - converts a chat-completions request to the Messages API. */
#pragma once
#include "lib/json/json.h"

/* Appends it to out, which is undefined after a failure (-ERR_PARSE: the text of a 400). *ret_usage: the client asked
 * for usage. Borrows body and reader until return; arena is for scratch. */
int chat_request(struct json_reader *reader, struct arena *arena, struct str body, struct buf *out, bool *ret_usage,
		 struct err *err);
