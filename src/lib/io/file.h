/* SPDX-License-Identifier: MIT
 * file.h - whole files and directories, blocking; for small files on the loop and anything inside a worker. */
#pragma once
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"

int file_explain(const char *verb, const char *path, struct err *err); /* what errno says: ERR_NOT_FOUND or ERR_IO */
/* Appends; ERR_LIMIT above it. Never waits: what is not a regular file is ERR_IO, unless it is a descriptor of this process by its name. */
int file_read(const char *path, size_t limit_bytes, struct buf *out, struct err *err);
/* Records of the user: a file that others can write, or that another user made, is ERR_DENIED. Group: that of this process may. */
int file_check_own(const struct stat *st, const char *path, struct err *err);
int file_read_own(const char *path, size_t limit_bytes, struct buf *out, struct err *err);
int file_read_fd(int fd, size_t limit_bytes, struct buf *out, struct err *err);
/* The same for a regular file with a known stat: one read(2) if its size is unchanged. */
int file_read_known(int fd, const struct stat *st, size_t limit_bytes, struct buf *out, struct err *err);
/* Appends the last bytes of a file, at most so many, from the beginning of a character on; *ret_size is that of all of it. */
int file_read_tail(const char *path, size_t most_bytes, struct buf *out, uint64_t *ret_size, struct err *err);
int file_read_tail_fd(int fd, const char *path, size_t most_bytes, struct buf *out, uint64_t *ret_size,
		      struct err *err);
/* Writes a temporary file and renames it; keeps mode and owner of an existing file. A symlink at path is replaced, not
 * followed. A failure leaves the old file. For directories that others can write: file_at.h. */
int file_replace(const char *path, const void *p, size_t n, struct err *err);
int file_replace_mode(const char *path, struct str bytes, mode_t mode, struct err *err); /* the same, with this mode */
/* Follows symlinks: for files that users link to (settings, logins). */
int file_replace_linked(const char *path, struct str bytes, struct err *err);
ssize_t file_write_quiet(int fd, const void *p, size_t n); /* write(2) that never raises SIGPIPE; EPIPE only */
int file_write_all(int fd, const void *p, size_t n);       /* blocking; -1 with errno */
int file_make_dirs(const char *path, unsigned mode, struct err *err); /* all missing parents and the directory itself */
int file_make_parents_mode(const char *path, unsigned mode, struct err *err);
static inline int file_make_parents(const char *path,
				    struct err *err) /* for its owner alone: state, records, credentials */
{
	return file_make_parents_mode(path, 0700, err);
}
/* Take a lock that others hold for moments only, while they change a file. They try again for wait_ms, because a stopped
 * process must not stop us: -ERR_BUSY. The lock dies with the descriptor. path is for the error's text. On the loop: 0, and
 * change_queue.h; a command may wait LOCK_WAIT_MS. */
enum { LOCK_WAIT_MS = 200 };
int file_lock(int fd, const char *path, unsigned wait_ms, struct err *err); /* flock(2): also of directories */
/* Of the open file description; byte -1: all. */
int file_lock_byte(int fd, off_t byte, const char *path, unsigned wait_ms, struct err *err);
bool file_exists(const char *path);
bool file_has_type(const char *path, mode_t type); /* S_IFDIR, ...: of what a link leads to */
static inline bool file_is_dir(const char *path)
{
	return file_has_type(path, S_IFDIR);
}
static inline bool file_is_regular(const char *path)
{
	return file_has_type(path, S_IFREG);
}
/* What a file was when it was read, to see later whether it has changed; all zero: it was missing. The clock of files ticks in
 * milliseconds: a file that was written a moment before can change again without showing it, so its stamp does not hold. */
struct read_stamp {
	struct stat st;
	bool settled;
};
struct read_stamp read_stamp_of(const struct stat *st);
bool read_stamp_holds(const struct read_stamp *stamp, const struct stat *now);
bool stat_same(const struct stat *a, const struct stat *b); /* inode, size and time of change */
enum { SHA256_DIGITS = 64 };
void sha256_hex(struct str bytes, char out[SHA256_DIGITS + 1]);
char *path_join(struct arena *a, const char *dir, const char *name); /* name absolute: name alone */
/* Lexical: removes ".", "..", doubled slashes; relative paths are taken from cwd, "~/" from home. Never NULL. */
char *path_absolute(struct arena *a, const char *cwd, struct str path);
static inline size_t path_depth(const char *path) /* its slashes */
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}
bool path_is_inside(const char *path, const char *dir); /* lexical, both absolute; a directory is inside itself */
/* Where this user's sessions have temporary files: claude-UID in temp (NULL or "": /tmp); <config_dir>/tmp if another user was there
 * first. */
char *path_temporary(struct arena *a, const char *temp, const char *config_dir);

/* A lock that is a directory F.lock, as other programs make it for a file F: the maker has the lock, its time says since
 * when, and one that is older than 10 s, or of a process of ours that is dead, is taken over. Blocking: only on a thread, or for moments. A zeroed
 * struct holds nothing. */
struct dir_lock {
	char *path; /* owned; NULL: not held */
	struct timespec made;
};

/* Tries for wait_ms; *stop true ends it earlier (may be NULL). -ERR_BUSY: another process has it. */
int dir_lock_take(struct dir_lock *l, const char *path, unsigned wait_ms, const volatile bool *stop, struct err *err);
bool dir_lock_is_ours(const struct dir_lock *l); /* not taken over since */
/* The directory of a lock becomes that of another path: removing one and making one is many times as slow. False: that path is
 * taken, or the lock is lost; it is as it was. */
bool dir_lock_move(struct dir_lock *l, const char *path);
void dir_lock_leave(struct dir_lock *l); /* also of one that is not held */
