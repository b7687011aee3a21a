/* SPDX-License-Identifier: MIT
 * settings_store.h - adds to a settings file what the user decided while working. */
#pragma once
#include "base/str.h"

/* Adds a rule to permissions.LIST ("allow", ...) of the file, which is made if it is not there; a link is followed.
 * Everything else in it stays as it is, byte for byte; it is replaced whole or not at all. A rule that stands there already
 * changes nothing. Writers of ours take turns; -ERR_BUSY: another program did not stop changing the file. A file that is no
 * settings file, or has something else where the list should be, is -ERR_USAGE and left alone. */
int settings_add_rule(const char *path, const char *list, struct str rule, struct err *err);
