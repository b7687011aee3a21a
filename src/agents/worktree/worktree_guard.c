/* SPDX-License-Identifier: MIT
 * worktree_guard.c - confines an agent to its worktree: the write paths of its child processes, and detection of copies
 * of files in the main checkout. (File tools are judged by guard/permission/evaluate_file.c.) */
#include "agents/worktree/worktree_int.h"
#include <errno.h>
#include <limits.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/landlock.h"

enum { COPY_LIMIT = 1 << 20, DIRS_MAX = 64 };

/* ---- copies ---- */

static bool is_link_to(const char *path, const char *target)
{
	char link[PATH_MAX];
	ssize_t n = readlink(path, link, sizeof link);

	return n > 0 && (size_t)n < sizeof link && (size_t)n == strlen(target) && !memcmp(link, target, (size_t)n);
}

bool worktree_has_copy(const struct worktree *w, const char *name)
{
	AUTO_BUF struct buf here = { 0 };
	AUTO_BUF struct buf there = { 0 };
	AUTO_BUF struct buf mine = { 0 };
	AUTO_BUF struct buf theirs = { 0 };

	buf_addf(&here, "%s/%s", w->path, name);
	buf_addf(&there, "%s/%s", w->root, name);
	if (is_link_to(here.p, there.p))
		return true;
	return file_below_read(w->path, name, COPY_LIMIT, &mine, NULL) == 0 &&
	       file_below_read(w->root, name, COPY_LIMIT, &theirs, NULL) == 0 &&
	       str_eq(buf_str(&mine), buf_str(&theirs));
}

/* ---- Landlock ---- */

int worktree_ruleset(const struct worktree *w, const char *const *dirs, struct err *err)
{
	static const char *const terminals[] = { "/dev/null", "/dev/tty", NULL };
	AUTO_BUF struct buf objects = { 0 };
	AUTO_BUF struct buf large = { 0 };
	const char *all[DIRS_MAX + 5];
	size_t n = 0;

	buf_addf(&objects, "%s/objects", w->common);
	buf_addf(&large, "%s/lfs", w->common); /* the object store of git-lfs, without which add fails */
	all[n++] = w->path;
	all[n++] = w->admin;
	all[n++] = objects.p;
	if (file_exists(large.p))
		all[n++] = large.p;
	for (; dirs && *dirs; dirs++) {
		if (n == DIRS_MAX + 4)
			return err_set(err, ERR_LIMIT, "more than %d directories to write to", DIRS_MAX);
		all[n++] = *dirs;
	}
	all[n] = NULL;
	return landlock_new(&(struct landlock_rules){ .dirs = all, .files = terminals }, err);
}

/* Blocking: HEAD must not move meanwhile. */
static int detach_head(const struct worktree *w, struct err *err)
{
	AUTO_BUF struct buf branch = { 0 };
	AUTO_BUF struct buf head = { 0 };
	AUTO_BUF struct buf commit = { 0 };

	buf_addf(&branch, "ref: refs/heads/%s", w->branch);
	int rc = file_below_read(w->admin, "HEAD", PATH_MAX, &head, err);
	if (rc < 0)
		return rc;
	struct str at = str_trim(buf_str(&head));
	if (record_commit_valid(at))
		return 0; /* it was confined before */
	if (!str_eq(at, buf_str(&branch)) || !branch_commit(w, &commit))
		return err_set(err, ERR_LIMIT, "cannot detach HEAD of %s: it is " STR_FMT, w->path, STR_ARG(at));
	return file_below_replace(w->admin, "HEAD", buf_str(&commit), err);
}

int worktree_landlock(const struct worktree *w, const char *const *dirs, struct err *err)
{
	int fd = worktree_ruleset(w, dirs, err);
	if (fd < 0)
		return fd;
	int rc = detach_head(w, err);
	if (rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}
