/* SPDX-License-Identifier: MIT
 * file_at.h - safe file access in directories that others can write: an agent, a repository (docs/internals/files.md).
 *
 * A path has two parts. The root is trusted and opened like any path. Below it no symlink is followed, ".." is refused,
 * and all operations use the descriptor of the last directory, so that a concurrent rename cannot redirect them.
 * Failures: ERR_NOT_FOUND; ERR_DENIED for a link or ".."; ERR_USAGE for anything but a regular file; ERR_IO. */
#pragma once
#include <dirent.h>
#include <sys/stat.h>
#include "lib/base/buf.h"

struct file_at {
	int dir;          /* O_PATH */
	char *path;       /* owned; for messages */
	const char *name; /* in dir; points into path */
};

/* below is relative to root (leading slashes are ignored). make: the mode for creating missing directories; 0: create
 * none. On failure *ret_at needs no release. */
int file_at_find(const char *root, const char *below, mode_t make, struct file_at *ret_at, struct err *err);
void file_at_release(struct file_at *at);
#define AUTO_FILE_AT CLEANUP(file_at_release)

/* A regular file that is below root when all links are resolved; what was found then is opened without following any. Never waits.
 * ERR_DENIED: it leads out of root. */
int file_read_inside(const char *root, const char *path, size_t limit_bytes, struct buf *out, struct err *err);

/* Writes a temporary file and renames it. mode: NULL keeps mode and owner of an existing file. A symlink is replaced,
 * not followed. A failure leaves the old file and no temporary file. ret_st: the file that was written, whatever stands under its name by
 * now; NULL: not wanted. */
int file_at_replace(const struct file_at *at, struct str bytes, const mode_t *mode, struct stat *ret_st,
		    struct err *err);

/* A directory and all below it; symlinks are removed, not followed. A missing one is not an error. */
int file_at_remove_tree(const struct file_at *at, struct err *err);
int file_remove_raw(const char *path); /* the same for a trusted path; -1: errno. It neither allocates nor locks */

/* The same in one call */
/* A descriptor for reading and the state of the file. Never blocks on a pipe. */
int file_below_open(const char *root, const char *below, struct stat *ret_st, struct err *err);
DIR *dir_open_unlinked(const char *path); /* absolute, without any link in it; NULL: errno says why */
int file_below_read(const char *root, const char *below, size_t limit_bytes, struct buf *out,
		    struct err *err); /* appends */
int file_below_read_own(const char *root, const char *below, size_t limit_bytes, struct buf *out,
			struct err *err);                                                       /* file_check_own() */
int file_below_replace(const char *root, const char *below, struct str bytes, struct err *err); /* makes directories */
int file_below_remove(const char *root, const char *below, struct err *err);
int file_below_make_dir(const char *root, const char *below, mode_t mode, struct err *err); /* and missing parents */
