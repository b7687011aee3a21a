/* SPDX-License-Identifier: MIT
 * trust_int.h - edits trust in the text of the state file. */
#pragma once
#include "lib/base/buf.h"

/* Sets the trust of one folder in the text of a state file. -ERR_USAGE if the text or its projects are not objects.
 * *ret_changed is false if nothing changes; out is then empty. path names the file in messages. */
int trust_edit(struct buf *out, const char *path, struct str text, struct str folder, bool trusted, bool *ret_changed,
	       struct err *err);
