/* SPDX-License-Identifier: MIT
 * trace.c - the observer of `cadre sandbox run --trace`: it sees each call that names a file, says of those that the profile
 * refuses which file it was, and lets them continue: the kernel decides. A call that the filter refuses gets its error from here.
 *
 * A file is reported if the kernel would get as far as the wall: what does not exist is not refused. execve(2) is not among the calls:
 * no wall knows it, and the first one comes while this process still waits for its child (lib/io/spawn.c). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "guard/sandbox/sandbox_int.h"
#include "lib/io/file.h"

enum { TRACE_MAX = 1000 };

/* What a call does to the file that it names */
enum traced_act {
	ACT_OPEN, /* the flags stand behind the path */
	ACT_OPEN_HOW,
	ACT_READ,
	ACT_WRITE,     /* of a file that exists; a link is followed */
	ACT_ATTRIBUTE, /* the same; a command that reads is refused by the filter */
	ACT_ASK,       /* access(2): the mode stands behind the path */
	ACT_MAKE,      /* a name that does not exist */
	ACT_TAKE,      /* one that does */
	ACT_PUT,       /* either */
};

enum { HERE = 9 /* no directory: where the caller is */ };

static const struct traced_call {
	int call;
	unsigned char dir, path; /* arguments */
	enum traced_act act;
} traced_calls[] = {
	{ SYS_openat, 0, 1, ACT_OPEN },
	{ SYS_openat2, 0, 1, ACT_OPEN_HOW },
	{ SYS_truncate, HERE, 0, ACT_WRITE },
	{ SYS_faccessat, 0, 1, ACT_ASK },
	{ 439 /* faccessat2 */, 0, 1, ACT_ASK },
	{ SYS_mkdirat, 0, 1, ACT_MAKE },
	{ SYS_mknodat, 0, 1, ACT_MAKE },
	{ SYS_symlinkat, 1, 2, ACT_MAKE },
	{ SYS_linkat, 2, 3, ACT_MAKE },
	{ SYS_unlinkat, 0, 1, ACT_TAKE },
	{ SYS_renameat, 0, 1, ACT_TAKE },
	{ SYS_renameat, 2, 3, ACT_PUT },
	{ SYS_renameat2, 0, 1, ACT_TAKE },
	{ SYS_renameat2, 2, 3, ACT_PUT },
	{ SYS_fchmodat, 0, 1, ACT_ATTRIBUTE },
	{ 452 /* fchmodat2 */, 0, 1, ACT_ATTRIBUTE },
	{ SYS_fchownat, 0, 1, ACT_ATTRIBUTE },
	{ SYS_utimensat, 0, 1, ACT_ATTRIBUTE },
	{ SYS_setxattr, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_lsetxattr, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_removexattr, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_lremovexattr, HERE, 0, ACT_ATTRIBUTE },
#ifdef SYS_open
	{ SYS_open, HERE, 0, ACT_OPEN },
	{ SYS_creat, HERE, 0, ACT_PUT },
	{ SYS_access, HERE, 0, ACT_ASK },
	{ SYS_mkdir, HERE, 0, ACT_MAKE },
	{ SYS_mknod, HERE, 0, ACT_MAKE },
	{ SYS_symlink, HERE, 1, ACT_MAKE },
	{ SYS_link, HERE, 1, ACT_MAKE },
	{ SYS_unlink, HERE, 0, ACT_TAKE },
	{ SYS_rmdir, HERE, 0, ACT_TAKE },
	{ SYS_rename, HERE, 0, ACT_TAKE },
	{ SYS_rename, HERE, 1, ACT_PUT },
	{ SYS_chmod, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_chown, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_lchown, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_utime, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_utimes, HERE, 0, ACT_ATTRIBUTE },
	{ SYS_futimesat, 0, 1, ACT_ATTRIBUTE },
#endif
};

struct trace {
	struct arena arena;
	struct sandbox_refused *list;
	size_t count, more;
	int calls[COUNT_OF(traced_calls)];
};

void sandbox_trace(struct sandbox *s)
{
	s->trace = xcalloc(1, sizeof *s->trace);
	s->trace->list = arena_alloc(&s->trace->arena, TRACE_MAX * sizeof *s->trace->list);
	for (size_t i = 0; i < COUNT_OF(traced_calls); i++)
		s->trace->calls[i] = traced_calls[i].call;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	arena_release(&t->arena);
	free(t);
}

const int *trace_calls(const struct trace *t, size_t *ret_count)
{
	*ret_count = COUNT_OF(t->calls);
	return t->calls;
}

const struct sandbox_refused *sandbox_traced(const struct sandbox *s, size_t *ret_count, size_t *ret_more)
{
	*ret_count = s->trace->count;
	*ret_more = s->trace->more;
	return s->trace->list;
}

void trace_add(struct trace *t, const char *kind, const char *what)
{
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(t->list[i].kind, kind) && !strcmp(t->list[i].what, what)) {
			t->list[i].times++;
			return;
		}
	if (t->count == TRACE_MAX)
		t->more++;
	else
		t->list[t->count++] = (struct sandbox_refused){ kind, arena_strdup(&t->arena, what), 1 };
}

static bool read_memory(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec here = { to, n };
	struct iovec there = { (void *)(uintptr_t)at, n }; /* NOLINT: an address of another process */

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* A text of at most PATH_MAX bytes; the page behind its end may not be there. */
static bool read_text(pid_t pid, uint64_t at, char *to)
{
	enum { PAGE = 4096 };
	size_t have = 0;

	while (at && have < PATH_MAX) {
		size_t n = MIN((size_t)(PAGE - (at + have) % PAGE), PATH_MAX - have);
		if (!read_memory(pid, at + have, to + have, n))
			return false;
		if (memchr(to + have, '\0', n))
			return true;
		have += n;
	}
	return false;
}

static const char *named_path(struct arena *a, const struct seccomp_notif *req, const struct traced_call *c)
{
	char text[PATH_MAX];
	char dir[PATH_MAX];
	char link[64];
	pid_t pid = (pid_t)req->pid;
	int fd = c->dir == HERE ? AT_FDCWD : (int)req->data.args[c->dir];

	if (!read_text(pid, req->data.args[c->path], text) || !text[0])
		return NULL;
	if (fd == AT_FDCWD)
		snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
	else
		snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t n = text[0] == '/' ? 0 : readlink(link, dir, sizeof dir - 1);
	if (n < 0)
		return NULL;
	dir[n] = '\0';
	return path_absolute(a, n ? dir : "/", str_from(text));
}

static bool may_change_name(const struct profile *p, struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *up = slash > path ? arena_dup(a, path, (size_t)(slash - path)) : "/";
	struct stat st;

	for (size_t i = 0; i < p->pins.count; i++)
		if (!strcmp(p->pins.list[i], path))
			return false;
	return profile_may_write(p, up) && (lstat(path, &st) < 0 || S_ISLNK(st.st_mode) ||
					    (profile_may_write(p, path) && profile_may_read(p, path)));
}

/* "read", "write" or NULL: it is not refused. */
static const char *refused_act(const struct profile *p, struct arena *a, enum traced_act act, uint64_t flags,
			       const char *path)
{
	struct stat st;
	char real[PATH_MAX];
	bool exists = stat(path, &st) == 0;
	const char *slash = strrchr(path, '/');
	bool has_place = slash == path || file_exists(arena_dup(a, path, (size_t)(slash - path)));
	bool writes = act == ACT_WRITE || act == ACT_ATTRIBUTE;

	if (path_is_inside(path, "/dev") && path[4]) /* of its own */
		return NULL;
	if (act == ACT_OPEN) {
		if (flags & O_PATH)
			return NULL;
		writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
		act = !exists && flags & O_CREAT ? ACT_MAKE : writes ? ACT_WRITE : ACT_READ;
		if ((flags & O_TMPFILE) == O_TMPFILE)
			act = ACT_WRITE;
	}
	if (act == ACT_ASK)
		writes = flags & W_OK;
	switch (act) {
	case ACT_MAKE:
	case ACT_PUT:
		return has_place && !(act == ACT_MAKE && exists) && !may_change_name(p, a, path) ? "write" : NULL;
	case ACT_TAKE:
		return lstat(path, &st) == 0 && !may_change_name(p, a, path) ? "write" : NULL;
	default:
		if (!exists || !realpath(path, real)) /* the walls stand where links lead */
			return NULL;
		return !profile_may_read(p, real) ? "read" : writes && !profile_may_write(p, real) ? "write" : NULL;
	}
}

static void trace_file(struct trace *t, const struct profile *p, int listener, const struct seccomp_notif *req,
		       const struct traced_call *c)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *path = named_path(&a, req, c);
	uint64_t flags = c->path < 5 ? req->data.args[c->path + 1] : 0;
	struct open_how how = { 0 };
	enum traced_act act = c->act;

	if (act == ACT_OPEN_HOW && read_memory((pid_t)req->pid, flags, &how, sizeof how)) {
		act = ACT_OPEN;
		flags = how.flags;
	}
	const char *kind = path ? refused_act(p, &a, act, flags, path) : NULL;
	/* All that was read was read of this very caller: it still waits. */
	if (kind && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &req->id) == 0)
		trace_add(t, kind, path);
}

void trace_serve(struct sandbox *s, int listener, const struct seccomp_notif *req)
{
	struct seccomp_notif_resp resp = { .id = req->id, .error = -seccomp_error(req->data.arch, req->data.nr) };
	const struct profile *p = s->held ? &s->held->profile : NULL;
	bool native = seccomp_error(req->data.arch, 0) == EPERM;
	bool named = false;

	for (size_t i = 0; native && p && i < COUNT_OF(traced_calls); i++) {
		const struct traced_call *c = &traced_calls[i];
		if (c->call != req->data.nr)
			continue;
		trace_file(s->trace, p, listener, req, c);
		named = true;
		if (p->hold == HOLD_READS && c->act == ACT_ATTRIBUTE)
			continue;
		resp.error = 0;
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	}
	if (!named && req->data.nr != SYS_clone3) { /* glibc tries it, and does without */
		char what[64];
		snprintf(what, sizeof what, "socket of family %d", (int)req->data.args[0]);
		trace_add(s->trace, "call",
			  !native                      ? "of another architecture"
			  : req->data.nr == SYS_socket ? what
						       : seccomp_call_name(req->data.nr));
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}
