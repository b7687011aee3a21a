/* SPDX-License-Identifier: MIT
 * worktree_repo.c - one repository: its lock file, the directory of its worktrees, and the branch of a worktree.
 *
 * <common>/cadre-worktrees.lock keeps processes apart by locks on single bytes, which die with their owner. REPO_EDIT is
 * held for moments, around reading a file and writing it again; REPO_SWEEP during a sweep; REPO_LIST while the list of
 * worktrees changes. The file is never removed: removing it would let two processes lock two files of one name. */
#include "agents/worktree/worktree_int.h"
#include <limits.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/confine/landlock.h"

enum { EXCLUDE_LIMIT = 1 << 20, PACKED_LIMIT = 64 << 20, DIRS_MAX = 64 };

struct worktree_repo *repo_get(struct worktree_pool *pool, const char *common, const char *root, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };

	for (struct worktree_repo *r = pool->repos; r; r = r->next)
		if (!strcmp(r->common, common) && !strcmp(r->root, root))
			return r;
	buf_addf(&path, "%s/cadre-worktrees.lock", common);
	int fd = open(path.p, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0) {
		err_set(err, ERR_IO, "cannot open %s: %m", path.p);
		return NULL;
	}
	struct worktree_repo *repo = xnew(struct worktree_repo, .pool = pool, .common = xstrdup(common),
					  .root = xstrdup(root), .lock_fd = fd, .next = pool->repos);
	pool->repos = repo;
	return repo;
}

/* Where the file system has no locks, there is nothing to wait for. */
bool repo_try_lock(struct worktree_repo *repo, enum repo_lock which)
{
	return file_lock_byte(repo->lock_fd, (off_t)which, repo->common, 0, NULL) != -ERR_BUSY;
}

void repo_unlock(struct worktree_repo *repo, enum repo_lock which)
{
	struct flock range = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)which, .l_len = 1 };

	(void)fcntl(repo->lock_fd, F_OFD_SETLK, &range);
}

char *repo_worktree_path(struct arena *a, const struct worktree_repo *repo, const char *name)
{
	return arena_printf(a, "%s/.claude/worktrees/%s", repo->root, name);
}

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

static int exclude_worktrees(const struct worktree_repo *repo, struct err *err)
{
	static const char line[] = ".claude/worktrees/";
	static const char path[] = "info/exclude";
	AUTO_BUF struct buf text = { 0 };

	/* A repository, or a command in it, may have made a link of it. */
	int rc = file_below_read(repo->common, path, EXCLUDE_LIMIT, &text, err);
	if (rc < 0 && rc != -ERR_NOT_FOUND)
		return rc;
	for (struct str rest = buf_str(&text); rest.p;)
		if (str_is(str_trim(str_cut(&rest, '\n')), line))
			return 0;
	if (text.n && text.p[text.n - 1] != '\n')
		buf_addch(&text, '\n');
	buf_addf(&text, "%s\n", line);
	return file_below_replace(repo->common, path, buf_str(&text), err);
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

/* The branch of a worktree as a file: <common>/refs/heads/<branch>, a commit and a line end.
 *
 * git deletes a branch under packed-refs.lock, a lock of the whole repository. A git that is killed while it holds that
 * leaves the repository without a way to delete any branch, and a kill of this process kills its children. So the branch is
 * deleted here, under the lock of that branch alone, by the same rules: <ref>.lock is made exclusively, the value is
 * compared, the log goes, then the file. git does it only where the branch is not such a file: packed, or in a reftable. ---- */

/* true: packed-refs has a line for it; *ret_commit points into text. */
static bool find_packed(const struct worktree *w, struct buf *text, struct str *ret_commit)
{
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf ending = { 0 };

	buf_addf(&path, "%s/packed-refs", w->common);
	buf_addf(&ending, " refs/heads/%s", w->branch);
	int rc = file_read(path.p, PACKED_LIMIT, text, NULL);
	if (rc < 0)
		return rc != -ERR_NOT_FOUND;
	struct str rest = buf_str(text);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (str_ends(line, buf_str(&ending))) {
			*ret_commit = (struct str){ line.p, line.n - ending.n };
			return true;
		}
	}
	return false;
}

static void branch_path(const struct worktree *w, const char *before, const char *after, struct buf *out)
{
	buf_addf(out, "%s/%srefs/heads/%s%s", w->common, before, w->branch, after);
}

/* Appends it, with a line end; false: not found. */
static bool branch_commit(const struct worktree *w, struct buf *ret_commit)
{
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct str packed = STR("");

	branch_path(w, "", "", &path);
	if (file_read(path.p, PATH_MAX, &text, NULL) == 0)
		packed = str_trim(buf_str(&text));
	else if (!find_packed(w, &text, &packed))
		return false;
	if (!record_commit_valid(packed))
		return false;
	buf_addf(ret_commit, STR_FMT "\n", STR_ARG(packed));
	return true;
}

bool branch_delete(const struct worktree *w, bool owner_dead)
{
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf lock = { 0 };
	AUTO_BUF struct buf log = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct str packed;

	if (find_packed(w, &text, &packed))
		return false;
	branch_path(w, "", "", &path);
	branch_path(w, "", ".lock", &lock);
	branch_path(w, "logs/", "", &log);
	AUTO_CLOSE int fd = open(lock.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST && owner_dead && unlink(lock.p) == 0) /* the lock of a dead process is stale */
		fd = open(lock.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	buf_clear(&text);
	if (file_read(path.p, PATH_MAX, &text, NULL) == 0 && str_is(str_trim(buf_str(&text)), w->base)) {
		(void)unlink(log.p);
		(void)unlink(path.p);
	}
	(void)unlink(lock.p);
	return true;
}

/* Confines an agent to its worktree: the write paths of its child processes, and detection of copies
 * of files in the main checkout. (File tools are judged by guard/permission/evaluate_file.c.)  */

int worktree_ruleset(const struct worktree *w, bool own_objects, const char *const *dirs, struct err *err)
{
	static const char *const terminals[] = { "/dev/null", "/dev/tty", NULL };
	AUTO_BUF struct buf objects = { 0 };
	AUTO_BUF struct buf large = { 0 };
	const char *all[DIRS_MAX + 5];
	size_t n = 0;

	buf_addf(&objects, "%s/objects", own_objects ? w->admin : w->common);
	buf_addf(&large, "%s/lfs", w->common); /* the object store of git-lfs, without which add fails */
	all[n++] = w->path;
	all[n++] = w->admin;
	if (!own_objects || file_exists(objects.p))
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

int worktree_landlock(const struct worktree *w, bool own_objects, const char *const *dirs, struct err *err)
{
	int fd = worktree_ruleset(w, own_objects, dirs, err);
	if (fd < 0)
		return fd;
	int rc = detach_head(w, err);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}
