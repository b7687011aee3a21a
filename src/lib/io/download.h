/* SPDX-License-Identifier: MIT
 * download.h - one file from an address, waited for: for the start of a program, before anything else runs. It has a loop of its
 * own. Only https, or http on this machine; so must be whatever it is redirected to, five times at most. */
#pragma once
#include "lib/base/buf.h"

/* Appends what is there. -ERR_USAGE: not such an address; -ERR_NOT_FOUND: the server says so; -ERR_LIMIT: it is larger;
 * -ERR_IO: anything else, with the reason. */
int download(const char *url, size_t limit_bytes, struct buf *out, struct err *err);
