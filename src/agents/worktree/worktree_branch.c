/* SPDX-License-Identifier: MIT
 * worktree_branch.c - the branch of a worktree as a file: <common>/refs/heads/<branch>, a commit and a line end.
 *
 * git deletes a branch under packed-refs.lock, a lock of the whole repository. A git that is killed while it holds that
 * leaves the repository without a way to delete any branch, and a kill of this process kills its children. So the branch is
 * deleted here, under the lock of that branch alone, by the same rules: <ref>.lock is made exclusively, the value is
 * compared, the log goes, then the file. git does it only where the branch is not such a file: packed, or in a reftable. */
#include "agents/worktree/worktree_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include "lib/io/file.h"

enum { PACKED_LIMIT = 64 << 20 };

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

bool branch_commit(const struct worktree *w, struct buf *ret_commit)
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

/* The lock of a dead process is stale. */
static int open_lock(const char *path, bool owner_dead)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 && errno == EEXIST && owner_dead && unlink(path) == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd;
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
	AUTO_CLOSE int fd = open_lock(lock.p, owner_dead);
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
