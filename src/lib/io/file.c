/* SPDX-License-Identifier: MIT
 * file.c - whole files and directories, and paths as text. */
#include "lib/io/file.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "lib/base/id.h"
#include "lib/io/file_at.h"

enum { READ_STEP = 64 * 1024, MAX_LINKS = 40, LOCK_PAUSE_MS = 2, SETTLE_MS = 100 };
enum { STALE_S = 10, FIRST_PAUSE_MS = 5, LONGEST_PAUSE_MS = 100 }; /* of directory locks */

int file_explain(const char *verb, const char *path, struct err *err)
{
	return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "cannot %s %s: %m", verb,
		       path);
}

int file_read_fd(int fd, size_t limit_bytes, struct buf *out, struct err *err)
{
	size_t before = out->n;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		buf_reserve(out, MIN((size_t)st.st_size, limit_bytes) + 1); /* one more: to see the end */
	for (;;) {
		size_t room = out->cap > out->n + 1 ? out->cap - out->n - 1 : 0;
		if (!room) {
			buf_reserve(out, READ_STEP);
			room = out->cap - out->n - 1;
		}
		ssize_t n = read(fd, out->p + out->n, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "cannot read: %m");
		out->n += (size_t)n;
		out->p[out->n] = '\0';
		if (n == 0)
			return 0;
		if (out->n - before > limit_bytes)
			return err_set(err, ERR_LIMIT, "more than the limit of %zu bytes", limit_bytes);
	}
}

int file_read_known(int fd, const struct stat *st, size_t limit_bytes, struct buf *out, struct err *err)
{
	size_t size = (size_t)st->st_size;

	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_IO, "not a regular file");
	if (size > 0 && size <= limit_bytes) {
		buf_reserve(out, size + 1);
		ssize_t n = read(fd, out->p + out->n, size + 1);
		if (n == (ssize_t)size) {
			out->n += size;
			out->p[out->n] = '\0';
			return 0;
		}
		if (n < 0 || lseek(fd, 0, SEEK_SET) < 0)
			return err_set(err, ERR_IO, "cannot read: %m");
	}
	return file_read_fd(fd, limit_bytes, out, err);
}

/* A FIFO or a terminal in the place of a file would block. What a shell made for an option has a name in these places. */
static int open_regular(const char *path, struct err *err)
{
	static const char *const descriptors[] = { "/dev/stdin", "/dev/fd/", "/proc/self/fd/" };
	int wait = O_NONBLOCK;
	struct stat st;

	for (size_t i = 0; i < COUNT_OF(descriptors); i++)
		if (!strncmp(path, descriptors[i], strlen(descriptors[i])))
			wait = 0;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC | wait);
	if (fd < 0 || fstat(fd, &st) < 0)
		return file_explain("open", path, err);
	if (wait && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) /* of a directory, read tells */
		return err_set(err, ERR_IO, "%s is not a regular file", path);
	return TAKE_FD(fd);
}

int file_read(const char *path, size_t limit_bytes, struct buf *out, struct err *err)
{
	AUTO_CLOSE int fd = open_regular(path, err);
	if (fd < 0)
		return fd;
	if (file_read_fd(fd, limit_bytes, out, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

/* Root reads the files of those whom it serves, as in a container: a file that all can write belongs to no user. */
int file_check_own(const struct stat *st, const char *path, struct err *err)
{
	bool foreign = geteuid() != 0 && ((st->st_uid != geteuid() && st->st_uid != 0) ||
					  ((st->st_mode & S_IWGRP) && st->st_gid != getegid()));

	if (!foreign && !(st->st_mode & S_IWOTH))
		return 0;
	return err_set(err, ERR_DENIED, "%s is not used: other users can write to it or own it (chmod go-w, chown)",
		       path);
}

int file_read_own(const char *path, size_t limit_bytes, struct buf *out, struct err *err)
{
	struct stat st;
	AUTO_CLOSE int fd = open_regular(path, err);

	if (fd < 0 || fstat(fd, &st) < 0 || file_check_own(&st, path, err) < 0)
		return fd < 0 ? fd : -ERR_DENIED;
	return file_read_fd(fd, limit_bytes, out, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

int file_read_tail_fd(int fd, const char *path, size_t most_bytes, struct buf *out, uint64_t *ret_size, struct err *err)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return file_explain("open", path, err);
	size_t want = MIN((size_t)st.st_size, most_bytes), got = 0;
	off_t from = st.st_size - (off_t)want;
	buf_reserve(out, want);
	while (got < want) {
		ssize_t n = pread(fd, out->p + out->n + got, want - got, from + (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "cannot read %s: %m", path);
		if (n == 0)
			break; /* it was cut since */
		got += (size_t)n;
	}
	size_t skip = 0;
	while (from && skip < MIN(got, (size_t)3) && ((unsigned char)out->p[out->n + skip] & 0xc0) == 0x80)
		skip++;
	memmove(out->p + out->n, out->p + out->n + skip, got - skip);
	out->n += got - skip;
	out->p[out->n] = '\0';
	*ret_size = (uint64_t)from + got;
	return 0;
}

int file_read_tail(const char *path, size_t most_bytes, struct buf *out, uint64_t *ret_size, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a named pipe must not hold it up */

	return file_read_tail_fd(fd, path, most_bytes, out, ret_size, err);
}

/* SIGPIPE goes to the thread that writes, so it is blocked here and removed from the queue, unless one was pending
 * before. The host's signal handling is unchanged. */
ssize_t file_write_quiet(int fd, const void *p, size_t n)
{
	sigset_t pipe_only;
	sigset_t pending;
	sigset_t old;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	(void)sigpending(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
	ssize_t written = write(fd, p, n);
	int saved = errno;
	if (written < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_only, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
			;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return written;
}

int file_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = write(fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static size_t dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The directory is opened as any path; only the last name is not followed. */
static int replace_in_dir(const char *path, struct str bytes, const mode_t *mode, struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	AUTO_FREE char *dir = xstrndup(path, dir_len(path));

	int rc = file_at_find(*dir ? dir : ".", path + strlen(dir), 0, &at, err);
	return rc < 0 ? rc : file_at_replace(&at, bytes, mode, NULL, err);
}

int file_replace(const char *path, const void *p, size_t n, struct err *err)
{
	return replace_in_dir(path, (struct str){ p, n }, NULL, err);
}

int file_replace_mode(const char *path, struct str bytes, mode_t mode, struct err *err)
{
	return replace_in_dir(path, bytes, &mode, err);
}

int file_replace_linked(const char *path, struct str bytes, struct err *err)
{
	AUTO_BUF struct buf target = { 0 }; /* where the chain of links ends; it need not exist */
	char link[4096];

	buf_addstr(&target, path);
	for (int i = 0; i < MAX_LINKS; i++) {
		ssize_t n = readlink(target.p, link, sizeof link);
		if (n < 0) /* not a symlink, or missing: open() reports the error */
			return replace_in_dir(target.p, bytes, NULL, err);
		if ((size_t)n == sizeof link)
			break;
		target.n = link[0] == '/' ? 0 : dir_len(target.p);
		buf_add(&target, link, (size_t)n);
	}
	return err_set(err, ERR_IO, "cannot write %s: too many levels of symbolic links", path);
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool file_has_type(const char *path, mode_t type)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

struct read_stamp read_stamp_of(const struct stat *st)
{
	int64_t changed_ms = (int64_t)st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;

	return (struct read_stamp){ *st, id_wall_ms() - changed_ms >= SETTLE_MS };
}

bool stat_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool read_stamp_holds(const struct read_stamp *stamp, const struct stat *now)
{
	return stamp->settled && stat_same(&stamp->st, now);
}

void sha256_hex(struct str bytes, char out[SHA256_DIGITS + 1])
{
	unsigned char digest[SHA256_DIGITS / 2];

	if (EVP_Digest(bytes.p, bytes.n, digest, NULL, EVP_sha256(), NULL) != 1)
		base_oom(0);
	hex_encode(digest, sizeof digest, out);
}

/* true: the directory exists now; otherwise errno is that of mkdir. */
static bool make_dir(const char *path, unsigned mode)
{
	if (mkdir(path, mode) == 0)
		return true;
	int why = errno;
	bool exists = file_is_dir(path);
	errno = why;
	return exists;
}

int file_make_dirs(const char *path, unsigned mode, struct err *err)
{
	AUTO_FREE char *part = xstrdup(path);

	if (make_dir(path, mode))
		return 0;
	for (char *p = part; *p; p++) {
		if (p == part || *p != '/' || p[-1] == '/')
			continue;
		*p = '\0';
		if (!make_dir(part, mode))
			return err_set(err, ERR_IO, "cannot make the directory %s: %m", part);
		*p = '/';
	}
	return make_dir(part, mode) ? 0 : err_set(err, ERR_IO, "cannot make the directory %s: %m", part);
}

char *path_temporary(struct arena *a, const char *temp, const char *config_dir)
{
	char *usual = arena_printf(a, "%s/claude-%u", temp && temp[0] ? temp : "/tmp", (unsigned)getuid());
	struct stat st;

	/* Not if it is a link, belongs to another user, or others can write in it; it is made if it is missing. */
	bool there = lstat(usual, &st) == 0 || (file_make_dirs(usual, 0700, NULL) == 0 && lstat(usual, &st) == 0);
	if (there && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022))
		return usual;
	return arena_printf(a, "%s/tmp", config_dir);
}

int file_make_parents_mode(const char *path, unsigned mode, struct err *err)
{
	AUTO_FREE char *dir = xstrndup(path, dir_len(path));

	return *dir ? file_make_dirs(dir, mode, err) : 0;
}

static int lock_soon(int fd, struct flock *range, const char *path, unsigned wait_ms, struct err *err)
{
	for (unsigned waited = 0;;) {
		int rc = range ? fcntl(fd, F_OFD_SETLK, range) : flock(fd, LOCK_EX | LOCK_NB);
		if (rc == 0)
			return 0;
		if (errno != EINTR && errno != EAGAIN && errno != EACCES)
			return err_set(err, ERR_IO, "cannot lock %s: %m", path);
		if (errno == EINTR)
			continue;
		if (waited >= wait_ms)
			return err_set(err, ERR_BUSY, "another process keeps %s locked: try again", path);
		waited += LOCK_PAUSE_MS;
		(void)nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_MS * 1000000L }, NULL);
	}
}

int file_lock(int fd, const char *path, unsigned wait_ms, struct err *err)
{
	return lock_soon(fd, NULL, path, wait_ms, err);
}

int file_lock_byte(int fd, off_t byte, const char *path, unsigned wait_ms, struct err *err)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MAX(byte, 0), .l_len = byte >= 0 };

	return lock_soon(fd, &range, path, wait_ms, err);
}

/* The access time of a lock of ours says who has it: no other program looks at it. The second part tells it from a time, the upper
 * bits of the first one the space of process numbers. */
enum { LOCK_MARK_NS = 271828182, PID_BITS = 22, SPACE_MASK = 0x3ff };

static int64_t pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (int64_t)(st.st_ino & SPACE_MASK) << PID_BITS : -1;
}

/* Left by a process of ours that is dead, or not touched for long by one of another program */
static bool lock_is_stale(const struct stat *st)
{
	int64_t pid = st->st_atim.tv_sec & ((1 << PID_BITS) - 1), space = pid_space();

	if (time(NULL) - st->st_mtim.tv_sec > STALE_S)
		return true;
	return st->st_atim.tv_nsec == LOCK_MARK_NS && space >= 0 && st->st_atim.tv_sec == (pid | space) && pid > 0 &&
	       kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

int dir_lock_take(struct dir_lock *l, const char *path, unsigned wait_ms, const volatile bool *stop, struct err *err)
{
	unsigned waited = 0, pause = FIRST_PAUSE_MS;
	struct stat st;

	for (;;) {
		if (stop && *stop)
			return err_set(err, ERR_CANCELLED, "%s is not wanted any more", path);
		if (mkdir(path, 0700) == 0)
			break;
		if (errno != EEXIST)
			return err_set(err, ERR_IO, "cannot make %s: %m", path);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && lock_is_stale(&st)) {
			(void)rmdir(path);
			continue;
		}
		if (waited >= wait_ms)
			return err_set(err, ERR_BUSY, "another process holds %s", path);
		nanosleep(&(struct timespec){ .tv_nsec = pause * 1000000L }, NULL);
		waited += pause;
		pause = MIN(pause * 2, (unsigned)LONGEST_PAUSE_MS);
	}
	struct timespec times[] = { { .tv_sec = getpid() | pid_space(), .tv_nsec = LOCK_MARK_NS },
				    { .tv_nsec = UTIME_OMIT } };

	(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
	l->path = xstrdup(path);
	l->made = stat(path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
	return 0;
}

bool dir_lock_is_ours(const struct dir_lock *l)
{
	struct stat st;

	return l->path && lstat(l->path, &st) == 0 && st.st_mtim.tv_sec == l->made.tv_sec &&
	       st.st_mtim.tv_nsec == l->made.tv_nsec;
}

bool dir_lock_move(struct dir_lock *l, const char *path)
{
	struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
	struct stat st;

	if (!dir_lock_is_ours(l) || renameat2(AT_FDCWD, l->path, AT_FDCWD, path, RENAME_NOREPLACE) < 0)
		return false;
	(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW); /* held since now */
	free(l->path);
	l->path = xstrdup(path);
	l->made = stat(path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
	return true;
}

void dir_lock_leave(struct dir_lock *l)
{
	if (l->path && dir_lock_is_ours(l))
		(void)rmdir(l->path);
	free(l->path);
	*l = (struct dir_lock){ 0 };
}

char *path_join(struct arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir), name_n = strlen(name);

	if (name[0] == '/' || !n)
		return arena_dup(a, name, name_n);
	char *path = arena_alloc(a, n + 1 + name_n + 1);
	char *end = mempcpy(path, dir, n);
	if (end[-1] != '/')
		*end++ = '/';
	memcpy(end, name, name_n + 1);
	return path;
}

/* out holds an absolute path without a slash at its end ("" is the root). */
static void add_parts(struct buf *out, struct str path)
{
	while (path.p) {
		struct str part = str_cut(&path, '/');
		if (!part.n || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			while (out->n && out->p[--out->n] != '/')
				;
			continue;
		}
		buf_addch(out, '/');
		buf_append(out, part);
	}
}

char *path_absolute(struct arena *a, const char *cwd, struct str path)
{
	AUTO_BUF struct buf out = { 0 };
	const char *home = getenv("HOME");

	if (home && path.n && path.p[0] == '~' && (path.n == 1 || path.p[1] == '/')) {
		add_parts(&out, str_from(home));
		path = str_tail(path, 1);
	} else if (!path.n || path.p[0] != '/') {
		add_parts(&out, str_from(cwd));
	}
	if (path.n)
		add_parts(&out, path);
	return out.n ? arena_dup(a, out.p, out.n) : arena_strdup(a, "/");
}

bool path_is_inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return !strncmp(path, dir, n) && (path[n] == '\0' || path[n] == '/');
}
