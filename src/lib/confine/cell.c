/* SPDX-License-Identifier: MIT
 * cell.c - making a cell, and how a child enters it. Process 1 is a fork, because libcadre may
 * live in a host that installs no second program; it cannot be traced or read by processes in the cell, because its memory
 * belongs to the user namespace outside. */
#include "lib/confine/cell.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/confine/confine.h"

/* They are entered in this order: the first gives the right to enter the others. */
enum { END_MS = 2000 };
enum cell_namespace { CELL_USER, CELL_PID, CELL_NET, CELL_IPC, CELL_MOUNT, CELL_NAMESPACES };

/* Descriptors that process 1 sends to us: the listening socket, and directories whose inodes differ inside */
enum cell_gift {
	CELL_PROXY,
	CELL_PROC_DIR,
	CELL_DIAG,
	CELL_DNS, /* UDP, and TCP; then both for IPv6 */
	CELL_DNS_LAST = CELL_DNS + 3,
	CELL_PTS_DIR,
	CELL_SHM_DIR,
	CELL_PORTS,
	CELL_SPARES = CELL_PORTS + CELL_PORTS_MAX,
	CELL_GIFTS = CELL_SPARES + CELL_SPARES_MAX
};

struct cell {
	pid_t init;
	int life; /* our end of the pipe that process 1 reads */
	int gifts[CELL_GIFTS];
	char paths[CELL_PORTS][32];
	int namespaces[CELL_NAMESPACES];
};

/* How far process 1 came; sent to us with errno. */
enum cell_step {
	CELL_READY,
	CELL_PRIVATE,
	CELL_PROC,
	CELL_DEVICES,
	CELL_RUN,
	CELL_READ_ONLY,
	CELL_NETWORK,
	CELL_STEPS
};

static const char *const step_names[CELL_STEPS] = {
	"ready",       "taking the mounts over", "mounting /proc",          "making /dev",
	"making /run", "making all read-only",   "bringing up the loopback"
};

struct cell_report {
	int step, error;
};

/* In process 1: no malloc, no stdio. */

/* A tree from outside in the new /dev, with the directories above it. */
static int cell_add_device(const char *path, int tree)
{
	char part[PATH_MAX];
	struct stat st;
	size_t n = strlen(path);

	for (size_t i = 5; i < n && i < sizeof part - 1; i++) {
		memcpy(part, path, i);
		part[i] = '\0';
		if (path[i] == '/')
			(void)mkdir(part, 0755);
	}
	if (fstat(tree, &st) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		(void)mkdir(path, 0755);
	else
		(void)mknod(path, S_IFREG | 0600, 0);
	return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Files of processes stay writable, all else in /proc is bound onto itself, and so becomes read-only with the rest. */
static void cell_pin_proc(void)
{
	struct {
		uint64_t inode, offset;
		uint16_t length;
		uint8_t type;
		char name[];
	} * e;
	char entries[8192] __attribute__((aligned(8)));
	char path[300];
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	while ((n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
		for (long at = 0; at < n; at += e->length) {
			e = (void *)(entries + at);
			if (e->type == DT_LNK || e->name[0] == '.' || (e->name[0] >= '0' && e->name[0] <= '9'))
				continue;
			snprintf(path, sizeof path, "/proc/%s", e->name);
			(void)mount(path, path, NULL, MS_BIND, NULL);
		}
	(void)close(fd);
}

static int cell_make_devices(const char *const *devices)
{
	static const char *const names[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					     "/dev/random", "/dev/urandom", "/dev/tty" };
	static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
						{ "/proc/self/fd/0", "/dev/stdin" },
						{ "/proc/self/fd/1", "/dev/stdout" },
						{ "/proc/self/fd/2", "/dev/stderr" },
						{ "pts/ptmx", "/dev/ptmx" } };
	int trees[COUNT_OF(names)];
	int more[CELL_DEVICES_MAX];
	size_t more_count = 0;

	for (; devices && devices[more_count] && more_count < CELL_DEVICES_MAX; more_count++)
		more[more_count] = (int)syscall(SYS_open_tree, AT_FDCWD, devices[more_count],
						OPEN_TREE_CLONE | AT_RECURSIVE | O_CLOEXEC);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		trees[i] = (int)syscall(SYS_open_tree, AT_FDCWD, names[i], OPEN_TREE_CLONE | O_CLOEXEC);
	if (mount("cadre", "/dev", "tmpfs", MS_NOSUID, "mode=755,size=1m") < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (trees[i] < 0)
			continue;
		int fd = open(names[i], O_CREAT | O_CLOEXEC | O_WRONLY, 0666);
		if (fd < 0 || syscall(SYS_move_mount, trees[i], "", AT_FDCWD, names[i], MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -1;
		(void)close(fd);
		(void)close(trees[i]);
	}
	for (size_t i = 0; i < more_count; i++)
		if (more[i] >= 0 && cell_add_device(devices[i], more[i]) < 0)
			return -1;
	for (size_t i = 0; i < COUNT_OF(links); i++)
		(void)symlink(links[i][0], links[i][1]);
	int empty = open(CELL_EMPTY_FILE, O_CREAT | O_CLOEXEC | O_WRONLY, 0);
	if (empty < 0 || mkdir(CELL_EMPTY_DIR, 0111) < 0 || mkdir("/dev/shm", 0777) < 0 || mkdir("/dev/pts", 0755) < 0)
		return -1;
	(void)close(empty);
	(void)mount("cadre", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
	return 0;
}

static int cell_listen_at(int type, const struct sockaddr *at, socklen_t size)
{
	int fd = socket(at->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	static const int no;

	if (at->sa_family == AF_INET6) /* on all addresses it serves both families */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	if (fd < 0 || bind(fd, at, size) < 0 || (type == SOCK_STREAM && listen(fd, 128) < 0)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static int cell_listen(int type, bool six, bool loopback, uint16_t port)
{
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY) };
	struct sockaddr_in6 wide = { .sin6_family = AF_INET6,
				     .sin6_port = htons(port),
				     .sin6_addr = loopback ? in6addr_loopback : in6addr_any };

	return six ? cell_listen_at(type, (struct sockaddr *)&wide, sizeof wide)
		   : cell_listen_at(type, (struct sockaddr *)&four, sizeof four);
}

/* `ip route add local default dev lo`: every address ends at the sockets of the inside. */
static int cell_route_all(int family)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr to;
		uint32_t device;
	} ask = { { .nlmsg_len = sizeof ask,
		    .nlmsg_type = RTM_NEWROUTE,
		    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK },
		  { .rtm_family = (unsigned char)family,
		    .rtm_table = RT_TABLE_LOCAL,
		    .rtm_protocol = RTPROT_BOOT,
		    .rtm_scope = RT_SCOPE_HOST,
		    .rtm_type = RTN_LOCAL },
		  { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF },
		  1 }; /* lo is the first device of a network namespace */
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool done = fd >= 0 && send(fd, &ask, sizeof ask, 0) == sizeof ask && recv(fd, &answer, sizeof answer, 0) > 0 &&
		    answer.head.nlmsg_type == NLMSG_ERROR && answer.error.error == 0;

	(void)close(fd);
	return done ? 0 : -1;
}

/* Programs look names up at 127.0.0.1. In a /run that is empty now, the file is made where the link leads. */
static void cell_name_server(const char *resolv)
{
	static const char text[] = "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";
	char part[128];
	bool in_run = !strncmp(resolv, "/run/", 5);
	const char *path = in_run ? resolv : "/dev/.resolv.conf";

	if (!resolv[0])
		return; /* none: that is where they look then */
	for (size_t i = 1; in_run && resolv[i] && i < sizeof part - 1; i++) {
		part[i - 1] = resolv[i - 1];
		part[i] = '\0';
		if (resolv[i] == '/')
			(void)mkdir(part, 0755);
	}
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0444);
	if (fd >= 0)
		(void)!write(fd, text, sizeof text - 1);
	(void)close(fd);
	if (!in_run)
		(void)mount(path, resolv, NULL, MS_BIND, NULL);
}

static int cell_prepare(const struct cell_options *o, struct cell_report *r, int gifts[CELL_GIFTS])
{
	static const struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
	static const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(CELL_PROXY_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	bool whole = o->kind == CELL_WHOLE;
	const uint16_t *ports = o->ports;

	char resolv[PATH_MAX] = "";
	(void)!realpath("/etc/resolv.conf", resolv);
	r->step = CELL_PRIVATE;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	r->step = CELL_PROC;
	if (whole && mount("cadre", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 && !o->keep_proc)
		return -1;
	if (whole && o->own_proc)
		cell_pin_proc();
	r->step = CELL_DEVICES;
	if (whole && cell_make_devices(o->devices) < 0)
		return -1;
	r->step = CELL_RUN;
	if (whole && mount("cadre", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0 && errno != ENOENT)
		return -1;
	if (whole)
		cell_name_server(resolv);
	r->step = CELL_READ_ONLY;
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) < 0)
		return -1;
	if (whole && o->own_proc && syscall(SYS_mount_setattr, AT_FDCWD, "/proc", 0, &writable, sizeof writable) < 0)
		return -1;
	/* Processes in the cell may share memory. */
	if (whole && mount("cadre", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		return -1;
	r->step = CELL_NETWORK;
	if (whole) {
		int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (listener < 0 || ioctl(listener, SIOCSIFFLAGS, &lo) < 0 ||
		    bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 128) < 0)
			return -1;
		gifts[CELL_PROXY] = listener;
		for (int i = 0; i < 4; i++)
			gifts[CELL_DNS + i] = cell_listen(i & 1 ? SOCK_STREAM : SOCK_DGRAM, i & 2, true, 53);
		(void)cell_route_all(AF_INET6); /* without IPv6 there is none to lead anywhere */
		bool routed = cell_route_all(AF_INET) == 0;
		for (size_t i = 0; routed && ports && ports[i] && i < CELL_PORTS_MAX; i++) {
			int fd = cell_listen(SOCK_STREAM, true, false, ports[i]);
			gifts[CELL_PORTS + i] = fd < 0 ? cell_listen(SOCK_STREAM, false, false, ports[i]) : fd;
		}
		for (size_t i = 0; o->spares && i < CELL_SPARES_MAX; i++)
			gifts[CELL_SPARES + i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		gifts[CELL_DIAG] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		if (gifts[CELL_DIAG] < 0) /* no unix_diag: nothing is found with it */
			gifts[CELL_DIAG] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		gifts[CELL_PROC_DIR] = open("/proc", O_PATH | O_CLOEXEC);
		gifts[CELL_PTS_DIR] = open("/dev/pts", O_PATH | O_CLOEXEC);
		gifts[CELL_SHM_DIR] = open("/dev/shm", O_PATH | O_CLOEXEC);
		if (gifts[CELL_PROC_DIR] < 0 || gifts[CELL_SHM_DIR] < 0)
			return -1;
	}
	r->step = CELL_READY;
	return 0;
}

static void cell_send_report(int to, const struct cell_report *r, const int gifts[CELL_GIFTS])
{
	char space[CMSG_SPACE(CELL_GIFTS * sizeof *gifts)] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { (void *)(uintptr_t)r, sizeof *r };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	/* All of them, or none: holes are filled with a descriptor that is there anyway. */
	int all[CELL_GIFTS];
	for (size_t i = 0; i < CELL_GIFTS; i++)
		all[i] = gifts[i] >= 0 ? gifts[i] : to;
	if (gifts[CELL_SHM_DIR] >= 0) {
		m.msg_control = space;
		m.msg_controllen = sizeof space;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(CELL_GIFTS * sizeof *gifts);
		memcpy(CMSG_DATA(c), all, sizeof all);
	}
	(void)sendmsg(to, &m, MSG_NOSIGNAL);
}

static noreturn_fn void cell_init(const struct cell_options *o, int talk, int life)
{
	struct cell_report r = { 0 };
	int gifts[CELL_GIFTS];
	char byte;
	sigset_t all;

	memset(gifts, -1, sizeof gifts);
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	/* A member of a team in a pane lets no process of its user look at it: then the files of this one in /proc would be root's,
	 * and its maps could not be written. Only until it is ready. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	(void)signal(SIGCHLD, SIG_IGN); /* the kernel reaps what is left to us */
	(void)setsid();
	(void)prctl(PR_SET_NAME, "cadre-cell");
	if (write(talk, "d", 1) != 1 || read(talk, &byte, 1) != 1) /* the maps are written */
		_exit(1);
	if (cell_prepare(o, &r, gifts) < 0)
		r.error = errno;
	cell_send_report(talk, &r, gifts);
	if (r.error || read(talk, &byte, 1) != 1) /* our namespaces have been opened */
		_exit(1);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)chdir("/");
	(void)dup2(life, 0);
	(void)syscall(SYS_close_range, 1, ~0U, 0);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static int write_proc_file(pid_t pid, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);
	return fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

/* Users keep their ids. Root keeps all ids but one (CELL_NOBODY), so that it sees the owners of files and has no power over the
 * one that owns what stands in hidden places. */
static int cell_map_users(pid_t pid)
{
	char users[64];
	char groups[64];

	if (geteuid() == 0 && write_proc_file(pid, "uid_map", "0 0 4294967294") == 0 &&
	    write_proc_file(pid, "gid_map", "0 0 4294967294") == 0)
		return 0;
	snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
	snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
	(void)write_proc_file(pid, "setgroups", "deny");
	return write_proc_file(pid, "uid_map", users) < 0 ? -1 : write_proc_file(pid, "gid_map", groups);
}

static int cell_receive_report(int from, struct cell_report *r, struct cell *cell)
{
	char space[CMSG_SPACE(sizeof cell->gifts)] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { r, sizeof *r };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	ssize_t n;

	while ((n = recvmsg(from, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	struct cmsghdr *c = n == sizeof *r ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof cell->gifts))
		memcpy(cell->gifts, CMSG_DATA(c), sizeof cell->gifts);
	for (size_t i = 0; i < CELL_GIFTS; i++) {
		int type = 0;
		int domain = 0;
		socklen_t size = sizeof type;
		(void)getsockopt(cell->gifts[i], SOL_SOCKET, SO_DOMAIN, &domain, &size);
		(void)getsockopt(cell->gifts[i], SOL_SOCKET, SO_TYPE, &type, &size);
		if (domain == AF_UNIX && type == SOCK_SEQPACKET) { /* a hole: see cell_send_report */
			close(cell->gifts[i]);
			cell->gifts[i] = -1;
		}
	}
	for (size_t i = 0; i < CELL_PORTS; i++)
		snprintf(cell->paths[i], sizeof cell->paths[i], "/proc/self/fd/%d", cell->gifts[i]);
	return n == sizeof *r ? 0 : -1;
}

/* Leads process 1 to its end state, where we hold its namespaces. */
static int cell_handshake(enum cell_kind kind, struct cell *cell, int talk, struct err *err)
{
	static const char *const names[CELL_NAMESPACES] = { "user", "pid", "net", "ipc", "mnt" };
	struct cell_report r = { 0 };
	char path[64];
	char byte;

	if (read(talk, &byte, 1) != 1)
		return err_set(err, ERR_LIMIT, "the first process of the namespaces ended");
	if (cell_map_users(cell->init) < 0)
		return err_set(err, ERR_LIMIT, "mapping the user into a namespace: %m");
	if (send(talk, "m", 1, MSG_NOSIGNAL) < 0 || cell_receive_report(talk, &r, cell) < 0)
		return err_set(err, ERR_LIMIT, "the first process of the namespaces ended");
	if (r.error) {
		errno = r.error;
		return err_set(err, ERR_LIMIT, "%s: %m", step_names[r.step]);
	}
	for (size_t i = 0; i < CELL_NAMESPACES; i++) {
		if (kind == CELL_VIEW && i != CELL_USER && i != CELL_MOUNT)
			continue;
		snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)cell->init, names[i]);
		cell->namespaces[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (cell->namespaces[i] < 0)
			return err_set(err, ERR_LIMIT, "opening the namespaces: %m");
	}
	return send(talk, "g", 1, MSG_NOSIGNAL) < 0 ? err_set(err, ERR_LIMIT, "the namespaces are gone: %m") : 0;
}

int cell_new(const struct cell_options *o, struct cell **ret_cell, struct err *err)
{
	int others = o->kind == CELL_WHOLE ? CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC : 0;
	int talk[2];
	int life[2];
	struct cell *cell = xnew(struct cell, .life = -1, .namespaces = { -1, -1, -1, -1, -1 });

	memset(cell->gifts, -1, sizeof cell->gifts);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk) < 0 || pipe2(life, O_CLOEXEC) < 0) {
		free(cell);
		return err_set(err, ERR_IO, "cannot make a cell: %m");
	}
	cell->life = life[1];
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | others | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		(void)close(talk[0]);
		(void)close(life[1]);
		cell_init(o, talk[1], life[0]);
	}
	cell->init = pid;
	int rc = pid < 0 ? err_set(err, ERR_LIMIT, "making namespaces: %m") : 0;
	close(talk[1]);
	close(life[0]);
	if (rc == 0)
		rc = cell_handshake(o->kind, cell, talk[0], err);
	close(talk[0]);
	if (rc < 0) {
		cell_free(cell, NULL, NULL);
		return rc;
	}
	*ret_cell = cell;
	return 0;
}

void cell_free(struct cell *cell, void (*reap)(void *data), void *data)
{
	if (!cell)
		return;
	if (cell->life >= 0)
		close(cell->life);
	/* All that is in it dies with process 1, but that ends only when each of them was waited for. */
	if (cell->init > 0 && kill(cell->init, SIGKILL) == 0) {
		for (int ms = 0; ms < END_MS && waitpid(cell->init, NULL, WNOHANG) == 0; ms++) {
			if (reap)
				reap(data);
			(void)poll(NULL, 0, 1);
		}
	}
	for (size_t i = 0; i < CELL_NAMESPACES; i++)
		if (cell->namespaces[i] >= 0)
			close(cell->namespaces[i]);
	for (size_t i = 0; i < CELL_GIFTS; i++)
		if (cell->gifts[i] >= 0)
			close(cell->gifts[i]);
	free(cell);
}

int cell_fd(const struct cell *cell, enum cell_socket kind, size_t n)
{
	static const struct {
		enum cell_gift first;
		size_t count;
	} kinds[] = { [CELL_SOCKET_PROXY] = { CELL_PROXY, 1 },
		      [CELL_SOCKET_DIAG] = { CELL_DIAG, 1 },
		      [CELL_SOCKET_DNS] = { CELL_DNS, CELL_DNS_LAST - CELL_DNS + 1 },
		      [CELL_SOCKET_PORT] = { CELL_PORTS, CELL_PORTS_MAX },
		      [CELL_SOCKET_SPARE] = { CELL_SPARES, CELL_SPARES_MAX } };

	return n < kinds[kind].count ? cell->gifts[kinds[kind].first + n] : -1;
}

const char *cell_dir(const struct cell *cell, enum cell_dir dir)
{
	static const enum cell_gift gifts[] = { CELL_PROC_DIR, CELL_PTS_DIR, CELL_SHM_DIR };

	return cell->gifts[gifts[dir]] < 0 ? NULL : cell->paths[gifts[dir]];
}

int cell_enter(const struct cell *cell)
{
	static const int kinds[CELL_NAMESPACES] = { CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
						    CLONE_NEWNS };

	for (size_t i = 0; i < CELL_NAMESPACES; i++)
		if (cell->namespaces[i] >= 0 && syscall(SYS_setns, cell->namespaces[i], kinds[i]) < 0)
			return -1;
	return (int)syscall(SYS_unshare, CLONE_NEWNS);
}
