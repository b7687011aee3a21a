/* SPDX-License-Identifier: MIT
 * worktree_repo.c - one repository: its lock file and the place where worktrees stand.
 *
 * <common>/cadre-worktrees.lock keeps processes apart by locks on single bytes, which die with their owner. REPO_EDIT is
 * held for moments, around reading a file and writing it again; REPO_SWEEP during a sweep; REPO_LIST while the list of
 * worktrees changes. The file is never removed: removing it would let two processes lock two files of one name. */
#include "agents/worktree/worktree_int.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/io/file.h"

enum { EXCLUDE_LIMIT = 1 << 20 };

static int open_lock(const char *common, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };

	buf_addf(&path, "%s/cadre-worktrees.lock", common);
	int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	return fd < 0 ? err_set(err, ERR_IO, "cannot open %s: %m", path.p) : fd;
}

struct worktree_repo *repo_get(struct worktree_pool *pool, const char *common, const char *root, struct err *err)
{
	for (struct worktree_repo *r = pool->repos; r; r = r->next)
		if (!strcmp(r->common, common) && !strcmp(r->root, root))
			return r;
	int fd = open_lock(common, err);
	if (fd < 0)
		return NULL;
	struct worktree_repo *repo = xcalloc(1, sizeof *repo);
	repo->pool = pool;
	repo->common = xstrdup(common);
	repo->root = xstrdup(root);
	repo->lock_fd = fd;
	repo->next = pool->repos;
	pool->repos = repo;
	return repo;
}

void repo_free(struct worktree_repo *repo)
{
	for (size_t i = 0; i < repo->spare_count; i++)
		worktree_free(repo->spare[i]);
	close(repo->lock_fd);
	free(repo->common);
	free(repo->root);
	free(repo);
}

static int set_lock(const struct worktree_repo *repo, enum repo_lock which, short type)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)which, .l_len = 1 };
	int rc;

	do
		rc = fcntl(repo->lock_fd, F_OFD_SETLK, &range);
	while (rc < 0 && errno == EINTR);
	return rc;
}

bool repo_try_lock(struct worktree_repo *repo, enum repo_lock which)
{
	return set_lock(repo, which, F_WRLCK) == 0;
}

/* Where the file system has no locks, there is nothing to wait for. */
int repo_lock_soon(struct worktree_repo *repo, enum repo_lock which, struct err *err)
{
	return file_lock_byte(repo->lock_fd, (off_t)which, repo->root, err) == -ERR_BUSY ? -ERR_BUSY : 0;
}

void repo_unlock(struct worktree_repo *repo, enum repo_lock which)
{
	(void)set_lock(repo, which, F_UNLCK);
}

char *repo_place(struct arena *a, const struct worktree_repo *repo, const char *name)
{
	return arena_printf(a, "%s/.claude/worktrees/%s", repo->root, name);
}

/* ---- the directory ---- */

/* A link here would put checkouts, and their removal, where the user does not expect them. */
static int make_real_dir(const char *path, bool *ret_made, struct err *err)
{
	struct stat st;

	bool made = mkdir(path, 0777) == 0;
	if (!made && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot make the directory %s: %m", path);
	if (lstat(path, &st) < 0)
		return err_set(err, ERR_IO, "cannot stat %s: %m", path);
	if (S_ISLNK(st.st_mode))
		return err_set(err, ERR_DENIED, "%s is a symbolic link; worktrees are not made through links", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_DENIED, "%s is not a directory", path);
	if (ret_made)
		*ret_made = made;
	return 0;
}

static bool has_line(struct str text, const char *wanted)
{
	while (text.p)
		if (str_is(str_trim(str_cut(&text, '\n')), wanted))
			return true;
	return false;
}

static int add_exclude(const char *path, const char *line, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	int rc = file_read(path, EXCLUDE_LIMIT, &text, err);
	if (rc < 0 && rc != -ERR_NOT_FOUND)
		return rc;
	if (has_line(buf_str(&text), line))
		return 0;
	if (text.n && text.p[text.n - 1] != '\n')
		buf_addch(&text, '\n');
	buf_addf(&text, "%s\n", line);
	rc = file_make_parents(path, err);
	return rc < 0 ? rc : file_replace(path, text.p, text.n, err);
}

static int exclude_worktrees(struct worktree_repo *repo, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };

	buf_addf(&path, "%s/info/exclude", repo->common);
	int rc = repo_lock_soon(repo, REPO_EDIT, err);
	if (rc < 0)
		return rc;
	rc = add_exclude(path.p, ".claude/worktrees/", err);
	repo_unlock(repo, REPO_EDIT);
	return rc;
}

int repo_prepare(struct worktree_repo *repo, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };
	bool made = false;

	buf_addf(&path, "%s/.claude", repo->root);
	int rc = make_real_dir(path.p, &made, err);
	repo->made_claude |= made;
	if (rc == 0) {
		buf_addstr(&path, "/worktrees");
		rc = make_real_dir(path.p, NULL, err);
	}
	if (rc == 0 && !repo->prepared) {
		rc = exclude_worktrees(repo, err);
		repo->prepared = rc == 0;
	}
	return rc;
}

void repo_tidy(struct worktree_repo *repo)
{
	AUTO_BUF struct buf path = { 0 };

	buf_addf(&path, "%s/.claude/worktrees", repo->root);
	if (rmdir(path.p) < 0 || !repo->made_claude)
		return;
	path.n -= strlen("/worktrees");
	path.p[path.n] = '\0';
	(void)rmdir(path.p);
}
