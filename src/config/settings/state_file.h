/* SPDX-License-Identifier: MIT
 * state_file.h - edits the state file (trust.h), which other programs share and which may be large.
 *
 * A separate lock file serialises our writers. Writes of programs without that lock are detected by the stamp of the
 * state file: if it changed between reading and replacing, the edit is repeated. */
#pragma once
#include "lib/base/str.h"

/* Creates the file (mode 0600) and its directories if missing. Closing the returned descriptor releases the lock. */
int state_file_lock(const char *state_file, int *ret_fd, struct err *err);
/* One member, as settings_set_member() does. */
int state_file_set(const char *state_file, const struct str *names, size_t count, struct str json, struct err *err);
