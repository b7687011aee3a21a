/* SPDX-License-Identifier: MIT
 * download.h - blocking download of one file, for the start of a program. It has its own loop. Only https, or http on
 * loopback, also for redirects, of which it follows five. */
#pragma once
#include "lib/base/buf.h"

/* Appends the content. -ERR_USAGE: URL not allowed; -ERR_NOT_FOUND: 404; -ERR_LIMIT: too large; -ERR_IO:
 * anything else, with the reason. */
int download(const char *url, size_t limit_bytes, struct buf *out, struct err *err);
