/* SPDX-License-Identifier: MIT
 * worktree_guard.c - keeping an agent in its worktree: which paths file tools may write, what the kernel lets its child
 * processes write, and what counts as a copy of something in the main checkout. */
#include "agents/worktree/worktree_int.h"
#include <errno.h>
#include <limits.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/io/landlock.h"

enum { LINKS_MAX = 40, COPY_LIMIT = 1 << 20, DIRS_MAX = 64 };

/* ---- paths ---- */

static void cut_name(struct buf *path)
{
	while (path->n && path->p[--path->n] != '/')
		;
	if (path->p)
		path->p[path->n] = '\0';
}

/* A path on its way to where a write would end */
struct walk {
	struct buf real; /* without links so far */
	struct buf rest; /* still to go */
	unsigned links;
};

/* Takes the next name of rest; false: real did not become longer. */
static bool walk_name(struct walk *k)
{
	struct str rest = buf_str(&k->rest);
	struct str name = str_cut(&rest, '/');
	bool longer = name.n && !str_is(name, ".") && !str_is(name, "..");

	if (longer)
		buf_addf(&k->real, "/" STR_FMT, STR_ARG(name));
	else if (str_is(name, ".."))
		cut_name(&k->real);
	buf_drop(&k->rest, rest.p ? name.n + 1 : name.n);
	return longer;
}

/* The last name of real may be a link, also one to nothing; then its text takes its place. */
static bool walk_link(struct walk *k)
{
	AUTO_BUF struct buf rest = { 0 };
	char link[PATH_MAX];
	ssize_t n = readlink(k->real.p, link, sizeof link);

	if (n < 0)
		return errno == EINVAL || errno == ENOENT || errno == ENOTDIR;
	if ((size_t)n == sizeof link || ++k->links > LINKS_MAX)
		return false;
	buf_add(&rest, link, (size_t)n);
	buf_addf(&rest, "/" STR_FMT, STR_ARG(buf_str(&k->rest)));
	cut_name(&k->real);
	if (link[0] == '/')
		k->real.n = 0;
	buf_clear(&k->rest);
	buf_add(&k->rest, rest.p, rest.n);
	return true;
}

/* false: a loop, a relative path or one that cannot be looked at. */
static bool resolve(const char *path, struct buf *ret_real)
{
	struct walk k = { 0 };
	bool known = path[0] == '/';

	buf_addstr(&k.rest, path);
	while (known && k.rest.n)
		known = !walk_name(&k) || walk_link(&k);
	buf_add(ret_real, k.real.n ? k.real.p : "/", MAX(k.real.n, 1));
	buf_release(&k.real);
	buf_release(&k.rest);
	return known;
}

bool worktree_path_allowed(const struct worktree *w, const char *absolute_path)
{
	AUTO_BUF struct buf real = { 0 };
	AUTO_BUF struct buf pointer = { 0 };

	if (!resolve(absolute_path, &real))
		return false;
	buf_addf(&pointer, "%s/.git", w->path);
	if (path_is_inside(real.p, w->path))
		return !path_is_inside(real.p, pointer.p);
	return !path_is_inside(real.p, w->root) && !path_is_inside(real.p, w->origin) &&
	       !path_is_inside(real.p, w->common);
}

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
		return err_set(err, ERR_LIMIT, "HEAD of %s cannot be detached: it is " STR_FMT, w->path, STR_ARG(at));
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
