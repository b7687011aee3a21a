/* SPDX-License-Identifier: MIT
 * keeper.c - the process that outlives a kill -9 of ours by a moment: it knows every process group that we
 * started, and ends them all when we are gone.
 *
 * It is a fork, once, before the first child, and not a program of its own, because libcadre may live in a
 * host that installs no second one. It notices our end twice: the socket closes (unless a fork of the host
 * holds a copy of it), and our pidfd becomes readable (where the kernel has one). */
#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/io/spawn_int.h"

enum {
	KEEPER_RECORD_MAX = 4096,
	KEEPER_PATIENCE_MS = 1000, /* ours, for a keeper that does not read */
	KEEPER_LATE_MS = 2000,     /* the keeper's, for a child that was being started when we died */
	KEEPER_SOCKET = 0,
	KEEPER_PARENT = 1,
};

/* The keeper's side: no malloc, no stdio. */

static void kill_groups(const struct pid_list *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		(void)kill(-groups->pids[i], SIGKILL);
}

/* false: the other side is closed. */
static bool take_record(struct pid_list *groups)
{
	int32_t record[KEEPER_RECORD_MAX];
	ssize_t n = recv(KEEPER_SOCKET, record, sizeof record, 0);

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	size_t count = (size_t)n / sizeof *record;
	for (size_t i = 0; i < count; i++) {
		if (record[i] == 0)
			_exit(0);
		if (record[i] < 0)
			pid_list_remove(groups, -record[i]);
		else if (!pid_list_add(groups, record[i]))
			(void)kill(-record[i], SIGKILL); /* a group that cannot be remembered must not run */
	}
	return true;
}

static noreturn_fn void keeper_main(const char *id)
{
	struct pid_list groups = { 0 };
	struct pollfd fds[] = {
		{ .fd = KEEPER_SOCKET, .events = POLLIN },
		{ .fd = KEEPER_PARENT, .events = POLLIN }, /* may be closed: POLLNVAL, see below */
	};

	for (;;) {
		if (poll(fds, COUNT_OF(fds), -1) < 0)
			continue;
		if (fds[1].revents & POLLNVAL)
			fds[1].fd = -1;
		if (fds[0].revents && !take_record(&groups))
			break;
		if (fds[1].revents & POLLIN)
			break;
	}
	/* A child between vfork and exec has its own copy of the socket and registers before it runs anything, so the
	 * end of the stream proves that no further registration follows. */
	struct pid_list killed = { 0 };
	struct pollfd late = { .fd = KEEPER_SOCKET, .events = POLLIN };
	kill_groups(&groups);
	while (poll(&late, 1, KEEPER_LATE_MS) > 0 && take_record(&groups))
		kill_groups(&groups);
	orphan_kill_marked(id, &killed);
	_exit(0);
	_exit(0);
}

static noreturn_fn void keeper_child(int fd, pid_t parent, const char *id)
{
	sigset_t all;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "cadre-keeper");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
	(void)chdir("/");
	(void)dup2(fd, KEEPER_SOCKET);
	(void)close(KEEPER_PARENT);
	int pidfd = (int)syscall(SYS_pidfd_open, parent, 0);
	if (pidfd >= 0 && pidfd != KEEPER_PARENT)
		(void)dup2(pidfd, KEEPER_PARENT);
	if (getppid() != parent) /* already gone, and the pid may be reused: the socket reports the end */
		(void)close(KEEPER_PARENT);
	(void)syscall(SYS_close_range, KEEPER_PARENT + 1, ~0U, 0);
	keeper_main(id);
}

/* Our side. */

int keeper_start(struct keeper *k, const char *id, struct err *err)
{
	int pair[2];
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_IO, "cannot start the keeper process: %m");
	pid_t pid = _Fork();
	if (pid == 0)
		keeper_child(pair[1], parent, id);
	close(pair[1]);
	if (pid < 0) {
		err_set(err, ERR_IO, "cannot start the keeper process: %m");
		close(pair[0]);
		return -ERR_IO;
	}
	*k = (struct keeper){ .pid = pid, .fd = pair[0] };
	return 0;
}

bool keeper_send(const struct keeper *k, const int32_t *record, size_t count)
{
	struct pollfd room = { .fd = k->fd, .events = POLLOUT };

	if (k->fd < 0)
		return false;
	for (size_t at = 0; at < count;) {
		size_t n = MIN(count - at, (size_t)KEEPER_RECORD_MAX);
		if (send(k->fd, record + at, n * sizeof *record, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
			at += n;
			continue;
		}
		if (errno != EINTR && (errno != EAGAIN || poll(&room, 1, KEEPER_PATIENCE_MS) <= 0))
			return false;
	}
	return true;
}

void keeper_stop(struct keeper *k, bool clean)
{
	int32_t bye = 0;

	if (k->fd < 0)
		return;
	if (!clean || !keeper_send(k, &bye, 1))
		(void)kill(k->pid, SIGKILL);
	close(k->fd);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*k = (struct keeper){ .fd = -1 };
}
