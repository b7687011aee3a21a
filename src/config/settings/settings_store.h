/* SPDX-License-Identifier: MIT
 * settings_store.h - writes a decision of the user to a settings file. */
#pragma once
#include "lib/base/str.h"

/* Adds a rule to permissions.LIST ("allow", ...) of the file, which is created if missing; a symlink is followed. All
 * other bytes stay; the file is replaced atomically. An existing rule is not added twice. A lock serialises our
 * writers; -ERR_BUSY: another program keeps changing the file. A file that is not a settings file, or whose LIST is not
 * a list, is -ERR_USAGE and stays unchanged. */
int settings_add_rule(const char *path, const char *list, struct str rule, struct err *err);
int settings_add_text(const char *path, const char *list, struct str text,
		      struct err *err); /* the same for LIST itself */
/* The same for one member: names is its path from the outside in, and missing objects are created. json is its new
 * value, on one line; p == NULL removes the member. */
int settings_set_member(const char *path, const struct str *names, size_t count, struct str json, struct err *err);
int settings_set_member_up_to(const char *path, size_t limit_bytes, const struct str *names, size_t count,
			      struct str json, struct err *err);
