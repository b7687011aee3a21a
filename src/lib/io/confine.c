/* SPDX-License-Identifier: MIT
 * confine.c - the steps of a confined child, on its parent's memory: plain system calls, no allocation, no locks. */
#include "lib/io/confine.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "lib/io/cell_int.h"

/* Binds source over target; source is a path of the view that the child is in. */
static int bind_over(const char *source, const char *target, const struct mount_attr *change, bool deep)
{
	unsigned recursive = deep ? AT_RECURSIVE : 0;
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | O_CLOEXEC | recursive);

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
		rc = syscall(SYS_move_mount, fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
	int saved = errno;
	(void)syscall(SYS_close, fd);
	errno = saved;
	return (int)rc;
}

/* The directories between one that was emptied and what comes back in it. */
static void make_way(const char *path)
{
	char part[4096];
	size_t n = strlen(path);

	for (size_t i = 1; i < n && i < sizeof part; i++) {
		part[i - 1] = path[i - 1];
		if (path[i] != '/')
			continue;
		part[i] = '\0';
		(void)syscall(SYS_mkdirat, AT_FDCWD, part, 0111);
	}
}

static int bring_back(const struct confine_mount *m, int tree)
{
	make_way(m->path);
	if (m->is_dir)
		(void)syscall(SYS_mkdirat, AT_FDCWD, m->path, 0111);
	else
		(void)syscall(SYS_mknodat, AT_FDCWD, m->path, S_IFREG, 0);
	return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, m->path, MOVE_MOUNT_F_EMPTY_PATH);
}

static int confine_mount(const struct confine_mount *m)
{
	static const struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
	static const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

	switch (m->kind) {
	case CONFINE_WRITABLE:
		return bind_over(m->path, m->path, &writable, m->is_dir);
	case CONFINE_READ_ONLY:
		return bind_over(m->path, m->path, &read_only, m->is_dir);
	case CONFINE_EMPTIED:
		return (int)syscall(SYS_mount, "cadre", m->path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0111,size=64k");
	default:
		return bind_over(m->is_dir ? CELL_EMPTY_DIR : CELL_EMPTY_FILE, m->path, NULL, false);
	}
}

/* What comes back is taken hold of before it is covered; what was emptied becomes read-only when all is back. */
static int confine_mounts(const struct confine *c, size_t *ret_at)
{
	static const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	int trees[CONFINE_BACK_MAX];
	size_t back = 0;

	for (size_t i = 0; i < c->count && back < CONFINE_BACK_MAX; i++)
		if (c->list[i].kind == CONFINE_BACK)
			trees[back++] = (int)syscall(SYS_open_tree, AT_FDCWD, c->list[i].path,
						     OPEN_TREE_CLONE | O_CLOEXEC | AT_RECURSIVE);
	back = 0;
	for (size_t i = 0; i < c->count; i++) {
		*ret_at = i;
		bool comes_back = c->list[i].kind == CONFINE_BACK && back < CONFINE_BACK_MAX;
		int tree = comes_back ? trees[back++] : -1;
		if (comes_back ? tree >= 0 && bring_back(&c->list[i], tree) < 0 : confine_mount(&c->list[i]) < 0)
			if (errno != ENOENT) /* a file that is gone by now need not be hidden or protected */
				return -1;
	}
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].kind == CONFINE_EMPTIED &&
		    syscall(SYS_mount_setattr, AT_FDCWD, c->list[i].path, 0, &read_only, sizeof read_only) < 0 &&
		    errno != ENOENT)
			return -1;
	return 0;
}

int confine_enter_cell(const struct confine *c, size_t *ret_at)
{
	static const int kinds[CELL_NAMESPACES] = { CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
						    CLONE_NEWNS };

	*ret_at = c->count;
	for (size_t i = 0; i < CELL_NAMESPACES; i++)
		if (c->cell->namespaces[i] >= 0 && syscall(SYS_setns, c->cell->namespaces[i], kinds[i]) < 0)
			return -1;
	return syscall(SYS_unshare, CLONE_NEWNS) < 0 ? -1 : confine_mounts(c, ret_at);
}

/* With no_new_privs, which spawn.c sets first, execve gives none of them back. */
static int drop_capabilities(bool keep_some)
{
	static const uint32_t kept = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER | 1U << CAP_FSETID |
				     1U << CAP_SETGID | 1U << CAP_SETUID;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint32_t set = keep_some ? kept : 0;
	struct __user_cap_data_struct data[2] = { { .effective = set, .permitted = set, .inheritable = 0 }, { 0 } };

	return (int)syscall(SYS_capset, &head, data);
}

int confine_restrict(const struct confine *c)
{
	static const struct rlimit small = { 1, 1 }; /* 0 would not stop a core handler that is a program */

	if (drop_capabilities(c->keep_capabilities) < 0)
		return -1;
	if (c->no_cores && syscall(SYS_prlimit64, 0, RLIMIT_CORE, &small, NULL) < 0)
		return -1;
	if (c->landlock_fd > 0 && syscall(SYS_landlock_restrict_self, c->landlock_fd, 0) < 0)
		return -1;
	return c->filter ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, c->filter) : 0;
}
