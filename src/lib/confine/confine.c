/* SPDX-License-Identifier: MIT
 * confine.c - what a child does to be held: it enters a cell, makes its view of files, and gives its rights away. On its parent's
 * memory: plain system calls, no allocation, no locks. */
#include "lib/confine/confine.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/confine/cell.h"

/* The plan's paths have no links: one that stands there now was put there to lead elsewhere. */
static int open_place(const char *path)
{
	static const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static int open_tree_at(const char *path, unsigned flags)
{
	int place = open_place(path);
	int tree =
		place < 0 ? -1
			  : (int)syscall(SYS_open_tree, place, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | O_CLOEXEC | flags);
	int saved = errno;

	(void)syscall(SYS_close, place);
	errno = saved;
	return tree;
}

static int move_tree_to(int tree, const char *path)
{
	int place = open_place(path);
	int rc = place < 0 ? -1
			   : (int)syscall(SYS_move_mount, tree, "", place, "",
					  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	int saved = errno;

	(void)syscall(SYS_close, place);
	errno = saved;
	return rc;
}

/* Binds source over target; source is a path of the view that the child is in. */
static int bind_over(const char *source, const char *target, const struct mount_attr *change, bool deep)
{
	unsigned recursive = deep ? AT_RECURSIVE : 0;
	int fd = open_tree_at(source, recursive);

	if (fd < 0)
		return -1;
	long rc = 0;
	if (change) {
		rc = syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | recursive, change, sizeof *change);
		/* A mount below that the host has made read-only stays so; the place itself is what was asked for. */
		if (rc < 0 && errno == EPERM && deep)
			rc = syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, change, sizeof *change);
	}
	if (rc == 0)
		rc = move_tree_to(fd, target);
	int saved = errno;
	(void)syscall(SYS_close, fd);
	errno = saved;
	return (int)rc;
}

/* Mounts a saved tree in a directory that was emptied; makes the directories between them. */
static int bring_back(const struct confine_mount *m, int tree)
{
	char part[4096];
	size_t n = strlen(m->path);

	for (size_t i = 1; i < n && i < sizeof part; i++) {
		part[i - 1] = m->path[i - 1];
		if (m->path[i] != '/')
			continue;
		part[i] = '\0';
		(void)syscall(SYS_mkdirat, AT_FDCWD, part, 0111);
	}
	if (m->is_dir)
		(void)syscall(SYS_mkdirat, AT_FDCWD, m->path, 0111);
	else
		(void)syscall(SYS_mknodat, AT_FDCWD, m->path, S_IFREG, 0);
	return move_tree_to(tree, m->path);
}

/* An empty directory over this one. */
static int mount_empty(const char *path)
{
	static const char *const options[][2] = { { "source", "cadre" }, { "mode", "0111" }, { "size", "64k" } };
	int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	int rc = fs < 0 ? -1 : 0;

	for (size_t i = 0; i < COUNT_OF(options) && rc == 0; i++)
		rc = (int)syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0);
	if (rc == 0)
		rc = (int)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int tree = rc < 0 ? -1 : (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	rc = tree < 0 ? -1 : move_tree_to(tree, path);
	int saved = errno;
	(void)syscall(SYS_close, tree);
	(void)syscall(SYS_close, fs);
	errno = saved;
	return rc;
}

static int confine_mount(const struct confine *c, const struct confine_mount *m)
{
	const char *file = c->empty_file ? c->empty_file : CELL_EMPTY_FILE;
	const char *dir = c->empty_dir ? c->empty_dir : CELL_EMPTY_DIR;
	static const struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
	static const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

	switch (m->kind) {
	case CONFINE_WRITABLE:
		return bind_over(m->path, m->path, &writable, m->is_dir);
	case CONFINE_READ_ONLY:
		return bind_over(m->path, m->path, &read_only, m->is_dir);
	case CONFINE_EMPTIED:
		return mount_empty(m->path);
	default:
		if (bind_over(m->is_dir ? dir : file, m->path, &read_only, false) == 0)
			return 0;
		/* ENOENT is for a place that is gone, which need not be hidden; not for one that has nothing to stand in it. */
		if (errno == ENOENT && syscall(SYS_faccessat, AT_FDCWD, m->is_dir ? dir : file, F_OK) < 0)
			errno = ENXIO;
		return -1;
	}
}

/* CONFINE_BACK trees are opened before they are covered; an emptied directory becomes read-only when all are back. */
int confine_enter_cell(const struct confine *c, size_t *ret_at)
{
	static const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	static const struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
	size_t back = 0;

	*ret_at = c->count;
	if (cell_enter(c->cell) < 0)
		return -1;
	/* Before anything else is writable, so that what is seen elsewhere is read-only. */
	int covered = c->cover ? (int)syscall(SYS_open_tree, AT_FDCWD, c->covered, OPEN_TREE_CLONE | O_CLOEXEC) : -1;
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].kind == CONFINE_BACK)
			c->trees[back++] = open_tree_at(c->list[i].path, AT_RECURSIVE);
	back = 0;
	for (size_t i = 0; i < c->count; i++) {
		*ret_at = i;
		bool comes_back = c->list[i].kind == CONFINE_BACK;
		int tree = comes_back ? c->trees[back++] : -1;
		if (comes_back ? tree >= 0 && bring_back(&c->list[i], tree) < 0 : confine_mount(c, &c->list[i]) < 0)
			if (errno != ENOENT) /* a file that is gone by now need not be hidden or protected */
				return -1;
	}
	for (size_t i = 0; i < c->count; i++) {
		int place = c->list[i].kind == CONFINE_EMPTIED ? open_place(c->list[i].path) : -1;
		if (c->list[i].kind != CONFINE_EMPTIED || (place < 0 && errno == ENOENT))
			continue;
		if (place < 0 || syscall(SYS_mount_setattr, place, "", AT_EMPTY_PATH, &read_only, sizeof read_only) < 0)
			return -1;
		(void)syscall(SYS_close, place);
	}
	*ret_at = c->count;
	if (!c->cover)
		return 0;
	if (covered < 0 || syscall(SYS_move_mount, covered, "", AT_FDCWD, c->covered_at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	return bind_over(c->cover, c->covered, &writable, false);
}

/* The listener goes to our parent, and is closed with all others before anything runs. */
static int confine_send_listener(const struct confine *c)
{
	enum { NEW_LISTENER = 1 << 3, WAIT_KILLABLE = 1 << 5 };
	char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	char byte = 'l';
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);

	/* Without WAIT_KILLABLE (5.19) a signal would restart the call. */
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER | WAIT_KILLABLE, c->filter);
	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, c->filter);
	if (fd < 0)
		return -1;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof fd);
	*(int *)CMSG_DATA(head) = fd;
	return syscall(SYS_sendmsg, c->listener_to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int confine_restrict(const struct confine *c)
{
	static const struct rlimit small = { 1, 1 }; /* 0 would not stop a core handler that is a program */
	static const uint32_t kept = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER | 1U << CAP_FSETID |
				     1U << CAP_SETGID | 1U << CAP_SETUID;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint32_t set = c->keep_capabilities ? kept : 0;
	struct __user_cap_data_struct data[2] = { { .effective = set, .permitted = set, .inheritable = 0 }, { 0 } };

	/* With no_new_privs, which lib/io/spawn.c sets first, execve gives none of them back. */
	if (syscall(SYS_capset, &head, data) < 0)
		return -1;
	if (c->no_cores && syscall(SYS_prlimit64, 0, RLIMIT_CORE, &small, NULL) < 0)
		return -1;
	if (c->landlock_fd > 0 && syscall(SYS_landlock_restrict_self, c->landlock_fd, 0) < 0)
		return -1;
	if (c->listener_to > 0)
		return confine_send_listener(c);
	return c->filter ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, c->filter) : 0;
}
