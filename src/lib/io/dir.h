/* SPDX-License-Identifier: MIT
 * dir.h - the entries of a directory:
 *
 *     AUTO_DIR DIR *d = opendir(path);
 *     for (struct dirent *e; (e = dir_next(d));) ... */
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include "lib/base/base.h"

static inline void cleanup_closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}
#define AUTO_DIR CLEANUP(cleanup_closedirp)

/* Without "." and ".."; NULL at the end, and for a directory that is NULL. */
static inline struct dirent *dir_next(DIR *dir)
{
	struct dirent *e = dir ? readdir(dir) : NULL;

	while (e && e->d_name[0] == '.' && (!e->d_name[1] || !strcmp(e->d_name, "..")))
		e = readdir(dir);
	return e;
}

/* A directory below an open one; no link. NULL: errno says why. */
static inline DIR *dir_open_at(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* For scandir(). */
static inline int dir_by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}
