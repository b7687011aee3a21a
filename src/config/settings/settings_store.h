/* SPDX-License-Identifier: MIT
 * settings_store.h - writes a decision of the user to a settings file. */
#pragma once
#include "config/settings/settings_file.h"

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

/* The same for the state file (trust.h), which other programs share and which may be large. It is created with mode 0600. A
 * separate lock file serialises our writers. ret_changed may be NULL. */
int state_file_set(const char *state_file, const struct str *names, size_t count, struct str json, bool *ret_changed,
		   struct err *err);

/* The edit of settings_set_member() in the text of f: out gets the whole text, or nothing if there is nothing to change. */
int text_set_member(struct buf *out, const struct settings_file *f, const struct str *names, size_t count,
		    struct str json, struct err *err);
