/* SPDX-License-Identifier: MIT
 * state_file.h - changes in the state file (trust.h), which belongs to others as well and may be large.
 *
 * Writers of ours take turns by a lock on a file of its own beside it. Programs that do not know that lock are seen by the
 * stamp of the state file: if it has changed between reading and replacing it, all is done again. */
#pragma once
#include "lib/base/str.h"

/* The file is there afterwards, for its owner's eyes only if it is new, with its directories. The lock dies with its
 * descriptor, which the caller closes. */
int state_file_lock(const char *state_file, int *ret_fd, struct err *err);
/* One member, as settings_set_member() does. */
int state_file_set(const char *state_file, const struct str *names, size_t count, struct str json, struct err *err);
