/* SPDX-License-Identifier: MIT
 * keeper.c - the process that outlives a kill -9 of ours by a moment: it knows every process group that we
 * started, and ends them all when we are gone. Descendants outside of these groups are found in /proc, by their environment.
 *
 * It is a fork, once, before the first child, and not a program of its own, because libcadre may live in a
 * host that installs no second one. It notices our end twice: the socket closes (unless a fork of the host
 * holds a copy of it), and our pidfd becomes readable (where the kernel has one). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/io/file_at.h"
#include "lib/io/spawn_int.h"

enum {
	KEEPER_RECORD_MAX = 4096,
	KEEPER_PATIENCE_MS = 1000, /* ours, for a keeper that does not read */
	KEEPER_LATE_MS = 2000,     /* the keeper's, for a child that was being started when we died */
	TERMINAL_TRIES = 50,       /* to write to a terminal that another program writes to */
	TERMINAL_PAUSE_MS = 10,
	REMOVE_TRIES = 100,
	KEPT_PATHS_MAX = 1024,
	KEEPER_SOCKET = 0,
	KEEPER_PARENT = 1,
};

/* In the keeper: no malloc, no stdio. */

static void kill_groups(const struct pid_list *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		(void)kill(-groups->pids[i], SIGKILL);
}

/* Paths to remove, on raw pages; an empty one is free. */
struct kept_paths {
	char (*list)[KEEPER_PATH_MAX];
};

static void keep_path(struct kept_paths *paths, const char *path, bool forget)
{
	if (!paths->list) {
		void *p = mmap(NULL, (size_t)KEPT_PATHS_MAX * KEEPER_PATH_MAX, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return;
		paths->list = p;
	}
	for (size_t i = 0; i < KEPT_PATHS_MAX; i++)
		if (!strcmp(paths->list[i], forget ? path : "")) {
			memcpy(paths->list[i], forget ? "" : path, forget ? 1 : strlen(path) + 1);
			return;
		}
}

/* false: the other side is closed. */
static bool keeper_read_record(struct pid_list *groups, struct kept_paths *paths)
{
	int32_t record[KEEPER_RECORD_MAX];
	ssize_t n = recv(KEEPER_SOCKET, record, sizeof record, 0);

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	size_t count = (size_t)n / sizeof *record;
	if (n > (ssize_t)sizeof *record && n <= (ssize_t)(sizeof *record + KEEPER_PATH_MAX) &&
	    (record[0] == KEEPER_PATH || record[0] == KEEPER_NO_PATH)) {
		((char *)record)[n - 1] = '\0';
		keep_path(paths, (const char *)(record + 1), record[0] == KEEPER_NO_PATH);
		return true;
	}
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

/* The terminal is opened while we live: behind our death its name may be that of another one. With an open file of its own, which does
 * not block; -1: none. */
static int open_terminal(const struct keeper_terminal *t)
{
	return t->path[0] ? open(t->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
}

/* Modes only while output is raw, as we leave it: a shell may have been quicker, and has set its own; it knows nothing of what else was
 * on. The keeper has no terminal of its own, so it gets no signal for what it does to one in the background. */
static void give_back(int fd, const struct keeper_terminal *t)
{
	struct termios now;

	if (fd >= 0 && t->reset[0]) {
		if (tcgetattr(fd, &now) == 0 && !(now.c_oflag & OPOST))
			(void)tcsetattr(fd, TCSANOW, &t->modes);
		/* The shell may be writing that we were killed: then it has the terminal's lock, and a write fails at once. */
		for (int tries = 0;
		     tries < TERMINAL_TRIES && write(fd, t->reset, strlen(t->reset)) < 0 && errno == EAGAIN; tries++)
			(void)poll(NULL, 0, TERMINAL_PAUSE_MS);
	}
	if (fd >= 0)
		close(fd);
}

static noreturn_fn void keeper_main(int fd, pid_t parent, const char *id, const struct keeper_terminal *terminal)
{
	struct pid_list groups = { 0 };
	struct kept_paths paths = { 0 };
	struct pollfd fds[] = {
		{ .fd = KEEPER_SOCKET, .events = POLLIN },
		{ .fd = KEEPER_PARENT, .events = POLLIN }, /* may be closed: POLLNVAL, see below */
	};

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
	int tty = open_terminal(terminal);

	for (;;) {
		if (poll(fds, COUNT_OF(fds), -1) < 0)
			continue;
		if (fds[1].revents & POLLNVAL)
			fds[1].fd = -1;
		if (fds[0].revents && !keeper_read_record(&groups, &paths))
			break;
		if (fds[1].revents & POLLIN)
			break;
	}
	/* A child between vfork and exec has its own copy of the socket and registers before it runs anything, so the
	 * end of the stream proves that no further registration follows. */
	struct pid_list killed = { 0 };
	give_back(tty, terminal);
	struct pollfd late = { .fd = KEEPER_SOCKET, .events = POLLIN };
	kill_groups(&groups);
	while (poll(&late, 1, KEEPER_LATE_MS) > 0 && keeper_read_record(&groups, &paths))
		kill_groups(&groups);
	orphan_kill_marked(id, &killed);
	/* What is being ended may still write: then it is tried again. */
	for (size_t i = 0; paths.list && i < KEPT_PATHS_MAX; i++)
		for (int tries = 0; paths.list[i][0] && tries < REMOVE_TRIES && file_remove_raw(paths.list[i]) < 0;
		     tries++)
			(void)poll(NULL, 0, TERMINAL_PAUSE_MS);
	_exit(0);
}

int keeper_start(struct keeper *k, const char *id, struct err *err)
{
	int pair[2];
	pid_t parent = getpid();
	sigset_t all, old;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_IO, "cannot start the keeper process: %m");
	/* The keeper never unblocks signals. A handler of ours that ran in it would report the signal to us a second time, through
	 * the descriptors that both have: one Ctrl-C would count as two. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t pid = _Fork();
	if (pid == 0)
		keeper_main(pair[1], parent, id, &k->terminal);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(pair[1]);
	if (pid < 0) {
		int rc = err_set(err, ERR_IO, "cannot start the keeper process: %m");
		close(pair[0]);
		return rc;
	}
	k->pid = pid;
	k->fd = pair[0];
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

bool keeper_send_path(const struct keeper *k, int32_t what, const char *path)
{
	int32_t record[1 + KEEPER_PATH_MAX / sizeof(int32_t)] = { what };
	size_t n = strlen(path) + 1;

	if (n > KEEPER_PATH_MAX)
		return true;
	memcpy(record + 1, path, n);
	return keeper_send(k, record, 1 + (n + sizeof *record - 1) / sizeof *record);
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
	k->fd = -1;
}

enum { PID_LIST_FIRST = 1024, SCAN_ROUNDS = 20, EXEC_TRIES = 400, EXEC_PAUSE_MS = 1 };

bool pid_list_has(const struct pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid)
			return true;
	return false;
}

bool pid_list_add(struct pid_list *list, pid_t pid)
{
	if (pid_list_has(list, pid))
		return true;
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : PID_LIST_FIRST;
		size_t n = cap * sizeof(pid_t);
		void *p = list->pids ? mremap(list->pids, list->cap * sizeof(pid_t), n, MREMAP_MAYMOVE)
				     : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return false;
		list->pids = p;
		list->cap = cap;
	}
	list->pids[list->count++] = pid;
	return true;
}

void pid_list_remove(struct pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid) {
			list->pids[i] = list->pids[--list->count];
			return;
		}
}

void pid_list_release(struct pid_list *list)
{
	if (list->pids)
		(void)munmap(list->pids, list->cap * sizeof(pid_t));
	*list = (struct pid_list){ 0 };
}

static pid_t parse_pid(const char *p)
{
	pid_t pid = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		pid = pid * 10 + (*p - '0');
	return *p ? 0 : pid;
}

static int open_of_process(pid_t pid, const char *name)
{
	char path[] = "/proc/0000000000/environ";

	/* /proc has no names with leading zeros, so the digits move to the slash. Not snprintf: it is not
	 * async-signal-safe. */
	char *digit = path + sizeof "/proc/0000000000" - 1;
	for (pid_t rest = pid; rest; rest /= 10)
		*--digit = (char)('0' + rest % 10);
	memcpy(path + sizeof "/proc/0000000000/" - 1, name, strlen(name) + 1);
	memmove(path + sizeof "/proc/" - 1, digit, strlen(digit) + 1);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads the environment in pieces; an entry that does not fit in one piece is not ours. The value may name several
 * spawners, outer ones first. */
static bool environment_is_marked(pid_t pid, const char *id, bool *ret_empty)
{
	const size_t mark = sizeof SPAWN_MARK - 1;
	char piece[4096];
	size_t have = 0;
	bool skipping = false;
	bool found = false;

	*ret_empty = true;
	int fd = open_of_process(pid, "environ");
	if (fd < 0)
		return false;
	while (!found) {
		ssize_t n = read(fd, piece + have, sizeof piece - have);
		if (n <= 0)
			break;
		*ret_empty = false;
		have += (size_t)n;
		char *entry = piece;
		char *end;
		while (!found && (end = memchr(entry, '\0', have - (size_t)(entry - piece)))) {
			size_t n_entry = (size_t)(end - entry);
			found = !skipping && n_entry > mark && !memcmp(entry, SPAWN_MARK, mark) &&
				memmem(entry + mark, n_entry - mark, id, SPAWN_ID_LEN);
			skipping = false;
			entry = end + 1;
		}
		have -= (size_t)(entry - piece);
		memmove(piece, entry, have);
		if (have == sizeof piece) {
			skipping = true;
			have = 0;
		}
	}
	close(fd);
	return found;
}

/* Inside execve a process has new memory, but no auxiliary vector and no environment yet. */
static bool is_in_exec(pid_t pid)
{
	unsigned long first = 1;
	int fd = open_of_process(pid, "auxv");

	if (fd < 0)
		return false;
	bool in_exec = read(fd, &first, sizeof first) == sizeof first && first == AT_NULL;
	close(fd);
	return in_exec;
}

bool orphan_is_marked(pid_t pid, const char *id)
{
	bool empty;
	bool marked = environment_is_marked(pid, id, &empty);

	for (int tries = 0; empty && tries < EXEC_TRIES; tries++) {
		bool in_exec = is_in_exec(pid);
		if (in_exec)
			(void)poll(NULL, 0, EXEC_PAUSE_MS);
		marked = environment_is_marked(pid, id, &empty);
		if (!in_exec)
			break;
	}
	return marked;
}

void orphan_kill_marked(const char *id, struct pid_list *killed)
{
	_Alignas(struct dirent64) char entries[8192];
	bool found = true;
	ssize_t n;

	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return;
	/* Again until nothing new is found: a process may fork while the list is read. */
	for (int round = 0; round < SCAN_ROUNDS && found; round++) {
		found = false;
		(void)lseek(proc, 0, SEEK_SET);
		while ((n = getdents64(proc, entries, sizeof entries)) > 0)
			for (ssize_t at = 0; at < n;) {
				const struct dirent64 *entry = (const void *)(entries + at);
				pid_t pid = parse_pid(entry->d_name);
				at += entry->d_reclen;
				if (pid > 1 && pid != getpid() && orphan_is_marked(pid, id) &&
				    kill(pid, SIGKILL) == 0 && !pid_list_has(killed, pid))
					found |= pid_list_add(killed, pid);
			}
	}
	close(proc);
}

/* The file has one line: pids with a space behind each. */
static bool add_children_of_thread(int tasks, const char *tid, struct pid_list *pids)
{
	char path[32];
	char text[4096];
	size_t tid_len = strlen(tid);
	pid_t pid = 0;
	ssize_t n;

	if (tid_len > 16)
		return false;
	memcpy(path, tid, tid_len);
	memcpy(path + tid_len, "/children", sizeof "/children");
	int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else if (pid) {
				(void)pid_list_add(pids, pid);
				pid = 0;
			}
		}
	close(fd);
	return true;
}

bool orphan_children(struct pid_list *ret_pids)
{
	_Alignas(struct dirent64) char entries[4096];
	bool known = false;
	ssize_t n;

	int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks < 0)
		return false;
	while ((n = getdents64(tasks, entries, sizeof entries)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);
			if (parse_pid(entry->d_name))
				known |= add_children_of_thread(tasks, entry->d_name, ret_pids);
			at += entry->d_reclen;
		}
	close(tasks);
	return known;
}
