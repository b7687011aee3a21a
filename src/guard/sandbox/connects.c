/* SPDX-License-Identifier: MIT
 * connects.c - connect(2) of what runs inside is answered here, by a seccomp listener: UNIX sockets are judged by who listens.
 * One that was bound in the cell may be reached, one outside only if the settings name it. Address and socket are taken once and
 * used by us, so nothing that was looked at can be swapped; the call itself never continues.
 *
 * Each command brings a listener: it comes through a socket pair whose other end the child inherits (lib/confine/confine.h), and lives as long
 * as a process that has its filter. A connect that would block waits on a timer, not on the loop. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include "lib/base/list.h"
#include "lib/io/file.h"
#include "guard/permission/resolved_path.h"
#include "guard/sandbox/sandbox_int.h"

#ifndef SO_PEERPIDFD /* Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

enum { RETRY_MS = 5, PATIENCE_MS = 30 * 1000, PIDFD_OF_THREAD = O_EXCL };

/* Who bound the socket that a path names */
enum bound { BOUND_ELSEWHERE, BOUND_PERHAPS /* only the peer of a connection can tell */, BOUND_INSIDE };

/* A listener of one command */
struct watch {
	struct connects *all;
	struct watch *next, **prev;
	uv_poll_t poll;
	int fd;
};

/* A blocking connect that waits */
struct pending {
	struct connects *all;
	struct pending *next, **prev;
	struct timer timer;
	uint64_t id;
	pid_t pid;                /* of the caller */
	int listener, fd, target; /* target: the socket's file, -1: none */
	bool must_be_inside;      /* its peer, when there is one */
	unsigned waited_ms;
	struct sockaddr_storage address;
	socklen_t length;
};

struct connects {
	struct sandbox *sandbox; /* NULL: it is gone, and we close */
	struct loop *loop;
	int pair[2]; /* ours, the children's */
	uv_poll_t inbox;
	int diag; /* asks the cell's kernel for bound sockets; borrowed */
	struct watch *watches;
	struct pending *pending;
};

static void connects_maybe_free(struct connects *c)
{
	if (!c->sandbox && !c->watches && !c->inbox.data)
		free(c);
}

static void on_watch_closed(uv_handle_t *handle)
{
	struct watch *w = handle->data;
	struct connects *c = w->all;

	close(w->fd);
	list_remove(w);
	free(w);
	connects_maybe_free(c);
}

static void answer(int listener, uint64_t id, int error)
{
	struct seccomp_notif_resp resp = { .id = id, .error = -error };

	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* ENOENT: the caller is gone */
}

static int try_connect(int fd, int target, const struct sockaddr_storage *address, socklen_t length)
{
	struct sockaddr_un through = { .sun_family = AF_UNIX };

	if (target < 0)
		return connect(fd, (const struct sockaddr *)address, length) < 0 ? errno : 0;
	snprintf(through.sun_path, sizeof through.sun_path, "/proc/self/fd/%d", target);
	return connect(fd, (struct sockaddr *)&through, sizeof through) < 0 ? errno : 0;
}

/* The process that listens lives, and in the same PID namespace as the caller, which is the cell's. */
static bool peer_is_inside(int fd, pid_t caller)
{
	int peer = -1;
	socklen_t n = sizeof peer;
	char path[64];
	AUTO_BUF struct buf text = { 0 };
	struct stat ours;
	struct stat theirs;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer, &n) < 0)
		return false;
	AUTO_CLOSE int pidfd = peer;
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	const char *line = file_read(path, 4096, &text, NULL) < 0 ? NULL : strstr(text.p, "\nPid:");
	int pid = line ? atoi(line + 5) : -1;
	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	bool found = pid > 0 && stat(path, &theirs) == 0;
	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)caller);
	found = found && stat(path, &ours) == 0 && ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
	/* The number may belong to another process by now, unless this one still lives. */
	return found && poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) == 0;
}

/* The error for the caller, of a connection that may be one to the outside. */
static int check_peer(int fd, pid_t caller, int error)
{
	if (error || peer_is_inside(fd, caller))
		return error;
	(void)shutdown(fd, SHUT_RDWR);
	return EACCES;
}

static void pending_end(struct pending *p, int error)
{
	int flags = fcntl(p->fd, F_GETFL);

	if (p->must_be_inside)
		error = check_peer(p->fd, p->pid, error);
	timer_stop(p->all->loop, &p->timer);
	(void)fcntl(p->fd, F_SETFL, flags & ~O_NONBLOCK);
	answer(p->listener, p->id, error);
	list_remove(p);
	close(p->fd);
	close(p->listener);
	if (p->target >= 0)
		close(p->target);
	free(p);
}

static bool must_wait(int error)
{
	return error == EAGAIN || error == EINPROGRESS || error == EALREADY;
}

static void on_retry(struct timer *timer)
{
	struct pending *p = CONTAINER_OF(timer, struct pending, timer);
	int error = try_connect(p->fd, p->target, &p->address, p->length);

	p->waited_ms += RETRY_MS;
	if (must_wait(error) && p->waited_ms < PATIENCE_MS &&
	    ioctl(p->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &p->id) == 0)
		timer_start(p->all->loop, &p->timer, RETRY_MS);
	else
		pending_end(p, must_wait(error) ? ETIMEDOUT : error == EISCONN ? 0 : error);
}

/* Whether a socket that was bound in the cell's network namespace has this file. The kernel names it by the device of its file
 * system and 32 bits of the inode here: where stat(2) says more (large inodes, btrfs, overlayfs), the peer must tell. */
static enum bound find_bound(int diag, const struct stat *st)
{
	const struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} question = { { .nlmsg_len = sizeof question,
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		       { .sdiag_family = AF_UNIX, .udiag_states = ~0U, .udiag_show = UDIAG_SHOW_VFS } };
	uint32_t device = (uint32_t)(major(st->st_dev) << 20 | minor(st->st_dev));
	char answers[32 * 1024] __attribute__((aligned(8)));
	enum bound found = BOUND_ELSEWHERE;
	bool over = diag < 0 || send(diag, &question, sizeof question, 0) < 0;

	while (!over) {
		ssize_t got = recv(diag, answers, sizeof answers, MSG_DONTWAIT);
		unsigned left = got > 0 ? (unsigned)got : 0;
		over = got <= 0;
		for (const struct nlmsghdr *m = (void *)answers; !over && NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
			if (m->nlmsg_type != SOCK_DIAG_BY_FAMILY) {
				over = true; /* done, or an error */
				break;
			}
			const struct unix_diag_msg *d = NLMSG_DATA(m);
			unsigned room = NLMSG_PAYLOAD(m, sizeof *d);
			for (const struct rtattr *r = (const void *)(d + 1); RTA_OK(r, room); r = RTA_NEXT(r, room)) {
				const struct unix_diag_vfs *v = RTA_DATA(r);
				if (r->rta_type != UNIX_DIAG_VFS || v->udiag_vfs_ino != (uint32_t)st->st_ino)
					continue;
				bool same = st->st_ino <= UINT32_MAX && v->udiag_vfs_dev == device;
				found = same ? BOUND_INSIDE : MAX(found, BOUND_PERHAPS);
			}
		}
	}
	return found;
}

/* The socket's file as the caller sees it. named: its path, of PATH_MAX bytes. */
static int open_target(pid_t pid, const char *path, char *named)
{
	char link[64];
	char cwd[PATH_MAX] = "";
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
	ssize_t n = path[0] == '/' ? 0 : readlink(link, cwd, sizeof cwd - 1);
	if (n < 0 || (size_t)n + strlen(path) + 2 > PATH_MAX)
		return -1;
	cwd[n] = '\0';
	snprintf(named, PATH_MAX, "%s%s%s", cwd, n ? "/" : "", path);
	snprintf(link, sizeof link, "/proc/%d/root", (int)pid);
	AUTO_CLOSE int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -1 : (int)syscall(SYS_openat2, root, named, &how, sizeof how);
}

bool sandbox_may_connect(const struct sandbox_policy *p, const char *path)
{
	AUTO_ARENA struct arena a = { 0 };
	struct resolved_path file = resolved_path_find(&a, "/", str_from(path));

	if (p && p->all_unix_sockets)
		return true;
	for (const char *const *u = p ? p->unix_sockets : NULL; u && *u; u++)
		if (!strcmp(*u, path) && file.target && !strcmp(*u, file.target))
			return true;
	return false;
}

/* 0 and *ret_target, or an error for the caller. *ret_check: the peer of the connection must be inside. */
static int judge_unix(struct connects *c, pid_t pid, const struct sockaddr_un *at, socklen_t length, int *ret_target,
		      bool *ret_check)
{
	char path[sizeof at->sun_path + 1] = "";
	char named[PATH_MAX];
	char found[PATH_MAX] = "";
	char link[64];
	struct stat st;
	socklen_t head = offsetof(struct sockaddr_un, sun_path);

	if (length <= head || !at->sun_path[0])
		return 0; /* no name, or an abstract one, which ends at the cell's network */
	memcpy(path, at->sun_path, MIN((size_t)(length - head), sizeof at->sun_path));
	int fd = open_target(pid, path, named);
	if (fd < 0)
		return errno;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		close(fd);
		return ECONNREFUSED;
	}
	ssize_t n = readlink(link, found, sizeof found - 1);
	bool allowed = (n > 0 && !strcmp(found, named) && sandbox_may_connect(c->sandbox->policy, named)) ||
		       (c->sandbox->policy && c->sandbox->policy->all_unix_sockets);
	enum bound bound = allowed ? BOUND_INSIDE : find_bound(c->diag, &st);
	*ret_check = bound == BOUND_PERHAPS;
	if (bound == BOUND_ELSEWHERE) {
		sandbox_note_refusal(c->sandbox, "blocked: socket %s (it belongs to a process outside)", named);
		close(fd);
		return EACCES;
	}
	*ret_target = fd;
	return 0;
}

static int take_socket(pid_t pid, int fd)
{
	AUTO_CLOSE int process = (int)syscall(SYS_pidfd_open, pid, PIDFD_OF_THREAD);

	if (process < 0) { /* before 6.9: by the leader of the thread, which shares its descriptors */
		char path[64];
		AUTO_BUF struct buf text = { 0 };
		snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
		const char *line = file_read(path, 64 * 1024, &text, NULL) < 0 ? NULL : strstr(text.p, "\nTgid:");
		AUTO_CLOSE int leader = line ? (int)syscall(SYS_pidfd_open, atoi(line + 6), 0) : -1;
		return leader < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, leader, fd, 0);
	}
	return (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

static void serve(struct connects *c, int listener, const struct seccomp_notif *req)
{
	struct sockaddr_storage at = { 0 };
	pid_t pid = (pid_t)req->pid;
	int domain = 0;
	socklen_t n = sizeof domain;
	uint64_t id = req->id;
	socklen_t length = (socklen_t)req->data.args[2];
	struct iovec here = { &at, length };
	struct iovec there = { (void *)(uintptr_t)req->data.args[1],
			       length }; /* NOLINT: an address of another process */

	if (length > sizeof at || process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)length) {
		answer(listener, id, length > sizeof at ? EINVAL : EFAULT);
		return;
	}
	AUTO_CLOSE int fd = take_socket(pid, (int)req->data.args[0]);
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0) {
		answer(listener, id, errno == ENOTSOCK ? ENOTSOCK : errno == EBADF ? EBADF : EACCES);
		return;
	}
	int target = -1;
	bool check = false;
	int error = domain == AF_UNIX && at.ss_family == AF_UNIX
			    ? judge_unix(c, pid, (struct sockaddr_un *)&at, length, &target, &check)
			    : 0;
	/* All that was read was read of this very caller: it still waits. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		error = EINTR;
	int flags = fcntl(fd, F_GETFL);
	bool blocks = !(flags & O_NONBLOCK);
	if (!error && blocks)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	if (!error)
		error = try_connect(fd, target, &at, length);
	if (blocks && error == EINPROGRESS) { /* on loopback it is connected by now */
		int again = try_connect(fd, target, &at, length);
		error = again == EISCONN ? 0 : again;
	}
	if (blocks && must_wait(error)) {
		struct pending *p = xcalloc(1, sizeof *p);
		*p = (struct pending){ .all = c,
				       .timer.fire = on_retry,
				       .id = id,
				       .pid = pid,
				       .must_be_inside = check,
				       .listener = fcntl(listener, F_DUPFD_CLOEXEC, 3),
				       .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
				       .target = target,
				       .address = at,
				       .length = length };
		list_push(&c->pending, p);
		timer_start(c->loop, &p->timer, RETRY_MS);
		return;
	}
	if (check)
		error = check_peer(fd, pid, error);
	if (blocks)
		(void)fcntl(fd, F_SETFL, flags);
	if (target >= 0)
		close(target);
	answer(listener, id, error);
}

static void on_call(uv_poll_t *handle, int status, int events)
{
	struct watch *w = handle->data;
	struct seccomp_notif req = { 0 };
	struct pollfd now = { .fd = w->fd, .events = POLLIN };

	(void)events;
	/* Asked again: libuv says readable at a hang-up too, and to receive would block for ever then. */
	(void)poll(&now, 1, 0);
	if (status == 0 && now.revents & POLLIN) {
		struct sandbox *s = w->all->sandbox;
		if (ioctl(w->fd, SECCOMP_IOCTL_NOTIF_RECV, &req) == 0 && s) {
			bool connects =
				req.data.nr == SYS_connect && seccomp_error(req.data.arch, req.data.nr) == EPERM;
			if (s->trace && !connects)
				trace_serve(s, w->fd, &req);
			else
				serve(w->all, w->fd, &req);
		}
	} else if (status < 0 || now.revents & (POLLHUP | POLLERR | POLLNVAL)) {
		uv_close((uv_handle_t *)handle, on_watch_closed); /* no process has this filter any more */
	}
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct connects *c = poll->data;
	char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };

	(void)status;
	(void)events;
	while (recvmsg(c->pair[0], &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1) {
		struct cmsghdr *head = CMSG_FIRSTHDR(&m);
		if (head && head->cmsg_type == SCM_RIGHTS) {
			struct watch *w = xcalloc(1, sizeof *w);
			memcpy(&w->fd, CMSG_DATA(head), sizeof w->fd);
			w->all = c;
			list_push(&c->watches, w);
			uv_poll_init(loop_uv(c->loop), &w->poll, w->fd);
			w->poll.data = w;
			uv_poll_start(&w->poll, UV_READABLE | UV_DISCONNECT, on_call);
			uv_unref((uv_handle_t *)&w->poll);
		}
		m.msg_controllen = sizeof space;
	}
}

struct connects *connects_new(struct sandbox *s, int diag_fd)
{
	struct connects *c = xcalloc(1, sizeof *c);

	c->sandbox = s;
	c->loop = s->loop;
	c->diag = diag_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, c->pair) < 0) {
		free(c);
		return NULL;
	}
	uv_poll_init(loop_uv(c->loop), &c->inbox, c->pair[0]);
	c->inbox.data = c;
	uv_poll_start(&c->inbox, UV_READABLE, on_listener);
	uv_unref((uv_handle_t *)&c->inbox);
	return c;
}

int connects_fd(const struct connects *c)
{
	return c ? c->pair[1] : 0;
}

static void on_inbox_closed(uv_handle_t *handle)
{
	struct connects *c = handle->data;

	close(c->pair[0]);
	close(c->pair[1]);
	handle->data = NULL;
	connects_maybe_free(c);
}

void connects_free(struct connects *c)
{
	if (!c)
		return;
	while (c->pending)
		pending_end(c->pending, EINTR);
	c->sandbox = NULL;
	for (struct watch *w = c->watches; w; w = w->next)
		if (!uv_is_closing((uv_handle_t *)&w->poll))
			uv_close((uv_handle_t *)&w->poll, on_watch_closed);
	uv_close((uv_handle_t *)&c->inbox, on_inbox_closed);
}
