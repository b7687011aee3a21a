/* SPDX-License-Identifier: MIT
 * trust_int.h - how the state file is changed in place. */
#pragma once
#include "lib/base/buf.h"

/* The text of a state file with one answer put in: replaced where it stands, or added in the manner of the lines around it.
 * -ERR_USAGE if the text is not an object, or has something else where projects and folders are kept. *ret_changed is false
 * if the text says so already; out is then empty. path names the file in messages. */
int trust_edit(struct buf *out, const char *path, struct str text, struct str folder, bool trusted, bool *ret_changed,
	       struct err *err);
