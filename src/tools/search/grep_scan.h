/* SPDX-License-Identifier: MIT
 * grep_scan.h - the search in one file. A file is read in pieces of 64 KB, so that it may have any size; with multiline
 * it is read whole. Never mapped: a file that shrinks while it is mapped would kill the process.
 *
 * Binary files as in ripgrep: a NUL in a piece ends the search of a file that was found by a walk; what the pieces
 * before it gave stays, but a count is dropped. A file that was named is searched on, and a match is only reported. */
#pragma once
#include <stdatomic.h>
#include "tools/search/grep_print.h"

struct grep_scanner; /* of one thread */

/* Borrows all of it. stop may be NULL. */
struct grep_scanner *grep_scanner_new(const struct pattern *pattern, const struct grep_want *want,
				      const atomic_bool *stop);
void grep_scanner_free(struct grep_scanner *s);

/* Searches the file; shown is its name in the output, named means that the user asked for this very file. Adds to *hits,
 * whose matches are 0 when nothing was found. ERR_IO when it cannot be read, ERR_LIMIT when the pattern is too
 * expensive. */
int grep_scan_file(struct grep_scanner *s, const char *path, const char *shown, bool named, struct grep_hits *hits,
		   struct err *err);
