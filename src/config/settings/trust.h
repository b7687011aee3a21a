/* SPDX-License-Identifier: MIT
 * trust.h - which folders the user trusts. Stored in the state file that other programs use too (~/.claude.json, or
 * $CLAUDE_CONFIG_DIR/.claude.json):
 *
 *     { ..., "projects": { "/home/me/project": { ..., "hasTrustDialogAccepted": true } } }
 *
 * A folder is named by its real path. Trust does not extend to parent or child folders. */
#pragma once
#include "lib/base/arena.h"

/* A zeroed struct trusts nothing; texts are in the arena */
struct trust {
	const char **folders; /* in the order of the file */
	size_t count;
	struct arena arena;
};

enum { TRUST_FILE_LIMIT = 64 << 20 }; /* other programs keep histories and caches in the file */

/* A missing file trusts nothing. Invalid JSON is -ERR_USAGE with file and line. trust need not be initialised; on
 * failure it is empty. */
int trust_read(struct trust *trust, const char *state_file, struct err *err);
void trust_release(struct trust *trust);
#define AUTO_TRUST CLEANUP(trust_release)

bool trust_has(const struct trust *trust, const char *folder); /* this very folder */

/* The folder whose trust applies to dir: the root of its repository, of a linked worktree that of the main checkout.
 * Without a repository, and if the root is the home directory, dir itself. In the arena. */
const char *trust_folder(struct arena *a, const char *dir);

/* Where the folder of cwd is trusted: whether a file in a .claude directory is, too. A repository in it is another project. */
bool trust_covers(const char *cwd, const char *state_file, const char *file);

/* Records that a folder is trusted or not. All other bytes stay; an invalid file stays unchanged. Safe against
 * concurrent processes. folder must be a directory; *ret_folder is its real path, in the arena. *ret_changed: the file
 * was changed. */
int trust_record(struct arena *a, const char *state_file, const char *folder, bool trusted, const char **ret_folder,
		 bool *ret_changed, struct err *err);

/* Local settings of a project that were made here by a decision of the user: an archive can bring a file of that name, and not
 * this note about it. `<config>/local-settings` has a path a line, and the identity of its directory, so that a note does not
 * outlive the project that it is about. Call it before the file is written: it makes the directory. A file that is there already
 * is not noted, other files neither. */
void trust_note_local(const char *config_dir, const char *file);
bool trust_made_local(const char *config_dir, const char *file);
