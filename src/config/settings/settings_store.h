/* SPDX-License-Identifier: MIT
 * settings_store.h - changes in a settings file what the user decided. */
#pragma once
#include "lib/base/str.h"

/* Adds a rule to permissions.LIST ("allow", ...) of the file, which is made if it is not there; a link is followed.
 * Everything else in it stays as it is, byte for byte; it is replaced whole or not at all. A rule that stands there already
 * changes nothing. Writers of ours take turns; -ERR_BUSY: another program did not stop changing the file. A file that is no
 * settings file, or has something else where the list should be, is -ERR_USAGE and left alone. */
int settings_add_rule(const char *path, const char *list, struct str rule, struct err *err);
int settings_add_text(const char *path, const char *list, struct str text,
		      struct err *err); /* the same for LIST itself */
/* The same for one member: names lead to it from the outside in, and what is missing on the way is made. json is its new
 * value, on one line; with p == NULL the member is removed, if it is there. */
int settings_set_member(const char *path, const struct str *names, size_t count, struct str json, struct err *err);
int settings_set_member_up_to(const char *path, size_t limit_bytes, const struct str *names, size_t count,
			      struct str json, struct err *err);
