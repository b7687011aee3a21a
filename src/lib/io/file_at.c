/* SPDX-License-Identifier: MIT
 * file_at.c - files below a trusted directory, without following links. The kernel resolves a path at once where it has
 * openat2 (5.6); elsewhere, and where directories must be made, each name is opened from the one before. */
#include "lib/io/dir.h"
#include "lib/io/file_at.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include "lib/base/crash.h"
#include "lib/base/id.h"
#include "lib/io/file.h"

enum { TEMP_RANDOM = 12, TEMP_MAX = 32, DEPTH_MAX = 256 };

static int file_at_explain(const struct file_at *at, const char *verb, struct err *err)
{
	if (errno == ELOOP)
		return err_set(err, ERR_DENIED, "cannot %s %s: it is or leads through a symbolic link", verb, at->path);
	if (errno == EXDEV)
		return err_set(err, ERR_DENIED, "cannot %s %s: it leads out of its directory", verb, at->path);
	return file_explain(verb, at->path, err);
}

/* Opens one directory of a path, made if it is missing. A link that takes its place is ELOOP, as from openat2. */
static int open_next(int dir, const char *name, mode_t make)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;

	int fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOENT && make && (mkdirat(dir, name, make) == 0 || errno == EEXIST))
		fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOTDIR)
		errno = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
	return fd;
}

/* AT_FDCWD: path is absolute, and was checked. */
static int open_without_links(int root, const char *path, uint64_t flags)
{
	uint64_t beneath = root == AT_FDCWD ? 0 : RESOLVE_BENEATH;
	const struct open_how how = { .flags = flags | O_CLOEXEC,
				      .resolve = beneath | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* Or a filter of a container does not know the call. */
static bool lacks_openat2(void)
{
	return errno == ENOSYS || errno == EPERM;
}

/* dirs is cut to pieces. */
static int open_below(int root, char *dirs, mode_t make)
{
	int dir = open_without_links(root, dirs, O_PATH | O_DIRECTORY);
	if (dir >= 0 || (!lacks_openat2() && (errno != ENOENT || !make)))
		return dir;
	dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char *rest = dirs;
	for (char *name; dir >= 0 && (name = strsep(&rest, "/"));) {
		if (!*name)
			continue;
		int next = open_next(dir, name, make);
		int saved = errno;
		close(dir);
		errno = saved;
		dir = next;
	}
	return dir;
}

/* Neither ".." nor a last part that is not the name of a file. */
static bool is_below(const char *below)
{
	struct str rest = str_from(below);
	struct str name = STR("");

	while (rest.p) {
		name = str_cut(&rest, '/');
		if (str_is(name, ".."))
			return false;
	}
	return name.n && !str_is(name, ".");
}

void file_at_release(struct file_at *at)
{
	if (at->path)
		close(at->dir);
	free(at->path);
	*at = (struct file_at){ 0 };
}

int file_at_find(const char *root, const char *below, mode_t make, struct file_at *ret_at, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };
	const char *verb = make ? "write" : "open";
	size_t n = strlen(root);

	while (*below == '/')
		below++;
	buf_addf(&path, "%s%s%s", root, n && root[n - 1] == '/' ? "" : "/", below);
	struct file_at at = { .path = path.p, .name = strrchr(path.p, '/') + 1 };
	*ret_at = (struct file_at){ 0 };
	AUTO_CLOSE int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return file_at_explain(&at, verb, err);
	AUTO_FREE char *dirs = xstrndup(below, strlen(below) - strlen(at.name));
	errno = EXDEV;
	at.dir = !is_below(below) ? -1 : *dirs ? open_below(top, dirs, make) : top;
	if (at.dir < 0)
		return file_at_explain(&at, verb, err);
	if (at.dir == top)
		top = -1;
	path = (struct buf){ 0 };
	*ret_at = at;
	return 0;
}

enum { READ_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* Takes fd, -1 with errno included. */
static int check_opened(int opened_fd, const struct file_at *at, struct stat *ret_st, struct err *err)
{
	AUTO_CLOSE int fd = opened_fd;

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return file_at_explain(at, "open", err);
	if (S_ISDIR(ret_st->st_mode))
		return err_set(err, ERR_USAGE, "EISDIR: illegal operation on a directory, read '%s'", at->path);
	if (!S_ISREG(ret_st->st_mode))
		return err_set(err, ERR_USAGE, "%s is a device, pipe or socket, not a regular file", at->path);
	return TAKE_FD(fd);
}

int file_read_inside(const char *root, const char *path, size_t limit_bytes, struct buf *out, struct err *err)
{
	/* Most of the files that are looked for do not exist, and resolving costs a call for each part of both paths. */
	bool missing = access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
	AUTO_FREE char *real_root = missing ? NULL : realpath(root, NULL);
	AUTO_FREE char *real = real_root ? realpath(path, NULL) : NULL;
	struct stat st;

	if (!real)
		return file_explain("open", path, err);
	if (!path_is_inside(real, real_root) || !strcmp(real, real_root))
		return err_set(err, ERR_DENIED, "%s leads out of %s", path, root);
	AUTO_CLOSE int fd = file_below_open(real_root, real + (real_root[1] ? strlen(real_root) : 0), &st, err);
	if (fd < 0)
		return fd;
	return file_read_known(fd, &st, limit_bytes, out, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

/* like: whose owner and mode it gets; NULL: those of any new file. */
static int write_and_rename(const struct file_at *at, const char *temp, const struct stat *like, struct str bytes,
			    struct stat *ret_st)
{
	AUTO_CLOSE int fd = openat(at->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, like ? 0600 : 0666);

	if (fd < 0 || file_write_all(fd, bytes.p, bytes.n) < 0)
		return -1;
	/* Only root may give a file away, and a group may be foreign: then the file becomes ours, as with any
	 * editor. The owner comes first, because changing it clears set-user-id bits. */
	if (like && (like->st_uid != geteuid() || like->st_gid != getegid()))
		if (fchown(fd, like->st_uid, like->st_gid) < 0 && errno != EPERM)
			return -1;
	if (like && fchmod(fd, like->st_mode & 07777) < 0)
		return -1;
	crash_point(replace_before);
	if (renameat(at->dir, temp, at->dir, at->name) < 0)
		return -1;
	crash_point(replace_after);
	return ret_st ? fstat(fd, ret_st) : 0;
}

int file_at_replace(const struct file_at *at, struct str bytes, const mode_t *mode, struct stat *ret_st,
		    struct err *err)
{
	struct stat like;
	char random[TEMP_RANDOM + 1];
	char temp[TEMP_MAX];

	bool exists = fstatat(at->dir, at->name, &like, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(like.st_mode);
	if (exists && !S_ISREG(like.st_mode))
		return err_set(err, ERR_USAGE, "cannot write %s: not a regular file", at->path);
	if (!exists)
		like = (struct stat){ .st_uid = geteuid(), .st_gid = getegid() };
	if (mode)
		like.st_mode = *mode;
	id_random(random, TEMP_RANDOM, "0123456789abcdefghijklmnopqrstuvwxyz");
	snprintf(temp, sizeof temp, ".cadre-%s.tmp", random);
	if (write_and_rename(at, temp, exists || mode ? &like : NULL, bytes, ret_st) == 0)
		return 0;
	int rc = file_at_explain(at, "write", err);
	(void)unlinkat(at->dir, temp, 0);
	return rc;
}

static int remove_entry(int dir, const char *name, unsigned depth);

/* No malloc: the keeper uses it too. */
static int remove_entries(int dir, unsigned depth)
{
	_Alignas(struct dirent64) char entries[2048];
	ssize_t n;

	while ((n = getdents64(dir, entries, sizeof entries)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(entries + at);
			at += e->d_reclen;
			bool named = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
			if (named && remove_entry(dir, e->d_name, depth + 1) < 0)
				return -1;
		}
	return (int)n;
}

/* Programs leave directories that their owner may not list or empty, as caches of modules are. False: this one is none. */
static bool make_removable(int dir, const char *name)
{
	AUTO_CLOSE int at = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", at);
	return at >= 0 && fstat(at, &st) == 0 && (st.st_mode & 0700) != 0700 && chmod(path, 0700) == 0;
}

/* Stays in the directories that it has opened: one that is swapped for a link meanwhile is not entered. */
static int remove_entry(int dir, const char *name, unsigned depth)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM) /* POSIX says EPERM for a directory */
		return -1;
	if (depth == DEPTH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (bool again = false;; again = true) {
		AUTO_CLOSE int below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0 && remove_entries(below, depth) == 0)
			return unlinkat(dir, name, AT_REMOVEDIR);
		if (again || errno != EACCES || !make_removable(dir, name))
			return -1;
	}
}

int file_remove_raw(const char *path)
{
	return remove_entry(AT_FDCWD, path, 0);
}

int file_at_remove_tree(const struct file_at *at, struct err *err)
{
	return remove_entry(at->dir, at->name, 0) < 0 ? file_at_explain(at, "remove", err) : 0;
}

/* With the file system's root and openat2 it is one call of the kernel. */
int file_below_open(const char *root, const char *below, struct stat *ret_st, struct err *err)
{
	if (!strcmp(root, "/") && below[0] == '/' && is_below(below)) {
		int fd = open_without_links(AT_FDCWD, below, READ_FLAGS);
		const struct file_at whole = { .path = (char *)(uintptr_t)below };
		if (fd >= 0 || !lacks_openat2())
			return check_opened(fd, &whole, ret_st, err);
	}
	AUTO_FILE_AT struct file_at at = { 0 };
	int rc = file_at_find(root, below, 0, &at, err);
	return rc < 0 ? rc : check_opened(openat(at.dir, at.name, READ_FLAGS), &at, ret_st, err);
}

DIR *dir_open_unlinked(const char *path)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	int fd = open_without_links(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	if (fd < 0 && lacks_openat2())
		return !path[1]                                    ? opendir(path)
		       : file_at_find("/", path, 0, &at, NULL) < 0 ? NULL
								   : dir_open_at(at.dir, at.name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

int file_below_read(const char *root, const char *below, size_t limit_bytes, struct buf *out, struct err *err)
{
	struct stat st;
	AUTO_CLOSE int fd = file_below_open(root, below, &st, err);

	if (fd < 0)
		return fd;
	return file_read_known(fd, &st, limit_bytes, out, err) < 0 ? err_wrap(err, "%s/%s", root, below) : 0;
}

int file_below_read_own(const char *root, const char *below, size_t limit_bytes, struct buf *out, struct err *err)
{
	struct stat st;
	AUTO_CLOSE int fd = file_below_open(root, below, &st, err);

	if (fd < 0)
		return fd;
	int status = file_check_own(&st, below, err);
	return status < 0 ? status : file_read_known(fd, &st, limit_bytes, out, err);
}

int file_below_replace(const char *root, const char *below, struct str bytes, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };

	int rc = file_at_find(root, below, 0777, &at, err);
	return rc < 0 ? rc : file_at_replace(&at, bytes, NULL, NULL, err);
}

int file_below_remove(const char *root, const char *below, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };

	int rc = file_at_find(root, below, 0, &at, err);
	if (rc == -ERR_NOT_FOUND)
		return 0;
	if (rc == 0 && unlinkat(at.dir, at.name, 0) < 0 && errno != ENOENT)
		return file_at_explain(&at, "remove", err);
	return rc;
}

int file_below_make_dir(const char *root, const char *below, mode_t mode, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };

	int rc = file_at_find(root, below, mode, &at, err);
	if (rc < 0)
		return rc;
	AUTO_CLOSE int fd = open_next(at.dir, at.name, mode);
	return fd < 0 ? file_at_explain(&at, "make the directory", err) : 0;
}
