/* SPDX-License-Identifier: MIT
 * settings_store.h - writes a decision of the user to a settings file. */
#pragma once
#include "config/settings/settings_file.h"
#include "lib/io/change_queue.h"

/* A change of a file, which is created if missing; a symlink is followed. All other bytes stay; the file is replaced atomically.
 * A lock serialises our writers; -ERR_BUSY: another process keeps it, or another program keeps changing the file. A file that is
 * not a settings file, or whose list is not a list, is -ERR_USAGE and stays unchanged. */
struct settings_change {
	const char *path;
	const struct str *names; /* of the member, from the outside in; missing objects are created */
	size_t count;
	enum { SETTINGS_SET, SETTINGS_LIST_ADD, SETTINGS_LIST_REMOVE, SETTINGS_LIST_REPLACE } edit;
	struct str value;      /* to set: JSON, on one line; p == NULL: the member is removed */
	const char *list_kind; /* of a list, for errors: "a list of rules" */
	const char *const *items;
	size_t item_count;  /* of a list. Texts that are there are not added twice */
	size_t limit_bytes; /* of the file; 0: SETTINGS_FILE_LIMIT */
};

/* For commands: waits up to LOCK_WAIT_MS for the lock. */
int settings_set_member(const char *path, const struct str *names, size_t count, struct str json, struct err *err);
/* While agents run: a change is made at once, or later if another process holds the lock (CHANGE_LATER). Then done comes from the
 * loop; err->kind 0: it was made. */
typedef void settings_done_fn(void *data, const struct err *err);
int settings_store(struct change_queue *q, const struct settings_change *c, settings_done_fn *done, void *data,
		   struct err *err);

/* The same for the state file (trust.h), which other programs share and which may be large. It is created with mode 0600. A
 * separate lock file serialises our writers. ret_changed may be NULL. */
int state_file_set(const char *state_file, const struct str *names, size_t count, struct str json, bool *ret_changed,
		   struct err *err);

/* The edit of settings_set_member() in the text of f: out gets the whole text, or nothing if there is nothing to change. */
int text_set_member(struct buf *out, const struct settings_file *f, const struct str *names, size_t count,
		    struct str json, struct err *err);
