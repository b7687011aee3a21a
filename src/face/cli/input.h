/* SPDX-License-Identifier: MIT
 * input.h - text that the program is given besides flags: standard input and files. */
#pragma once
#include "lib/base/buf.h"

enum { INPUT_LIMIT_BYTES = 10 * 1024 * 1024, INPUT_PATIENCE_MS = 3000 };

/* Appends everything up to the end of input. patience_ms: how long the first byte may take; when it is
 * over nothing is appended and *ret_silent is true. -1 waits for ever. A descriptor that is not open is
 * empty input. */
int input_read(int fd, int patience_ms, struct buf *out, bool *ret_silent, struct err *err);
int input_read_file(const char *path, struct buf *out, struct err *err);

/* The prompt of `-p`: the argument (may be NULL), then what is piped in, valid UTF-8. Empty if there is
 * neither. optional: the run makes sense without piped text, so an open pipe without data is waited
 * for with patience only. */
int input_prompt(const char *argument, bool optional, struct buf *out, struct err *err);
