/* SPDX-License-Identifier: MIT
 * worktree_fill.c - the files of a worktree: the commit's, or a sparse set of them; then symlinks to shared directories
 * and the ignored files that .worktreeinclude names.
 *
 *     fill (sparse set) -> populate -> branch, attach -> extra (links) -> include -> ignored -> copy (in a worker) ->
 * taken */
#include "agents/worktree/worktree_int.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum { COPY_STEP = 1 << 20 };

static const struct worktree_step step_populate;
static const struct worktree_step step_include;
static const struct worktree_step step_ignored;
static const struct worktree_step step_copy;

/* ---- paths inside the worktree ---- */

/* Paths come from the checkout, so no symlink is followed; missing directories are created. */
static int find_place(const char *root, const char *path, struct file_at *ret_at, struct err *err)
{
	for (struct str rest = str_from(path); rest.p;) {
		struct str name = str_cut(&rest, '/');
		if (!name.n || str_is(name, ".") || str_is(name, "..") || str_is(name, ".git"))
			return err_set(err, ERR_USAGE, "not a path inside the worktree: %s", path);
	}
	return file_at_find(root, path, 0777, ret_at, err);
}

/* ---- files of the commit ---- */

static void fill_begin(struct worktree_job *job)
{
	AUTO_BUF struct buf input = { 0 };
	static const char *const args[] = { "sparse-checkout", "set", "--cone", "--stdin", NULL };

	if (!job->w->sparse) {
		job_go(job, &step_populate);
		return;
	}
	for (char **path = job->sparse_paths; *path; path++)
		buf_addf(&input, "%s\n", *path);
	job_git(job, &(struct git_command){ .args = args, .inside = job->w, .input = buf_str(&input) });
}

static void fill_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, &step_populate);
	else
		job_git_failed(job, "cannot set the sparse paths of the worktree");
}

const struct worktree_step step_fill = { .name = "fill", .begin = fill_begin, .end = fill_end };

static void populate_begin(struct worktree_job *job)
{
	static const char *const args[] = { "reset", "-q", "--hard", "--no-recurse-submodules", NULL };

	job_git(job, &(struct git_command){ .args = args, .inside = job->w, .abortable = true });
}

static void populate_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, &step_branch);
	else
		job_git_failed(job, "cannot check out the files of the worktree");
}

static const struct worktree_step step_populate = { .name = "populate", .begin = populate_begin, .end = populate_end };

/* ---- links ---- */

static int make_link(const struct worktree *w, const char *dir, struct err *err)
{
	AUTO_BUF struct buf source = { 0 };
	AUTO_FILE_AT struct file_at at = { 0 };

	buf_addf(&source, "%s/%s", w->root, dir);
	if (!file_exists(source.p))
		return 0; /* nothing to share yet */
	if (find_place(w->path, dir, &at, err) < 0)
		return err_wrap(err, "cannot link %s into the worktree", dir);
	if (symlinkat(source.p, at.dir, at.name) < 0 && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot link %s into the worktree: %m", dir);
	return 0;
}

static int make_links(struct worktree_job *job)
{
	for (char **dir = job->symlink_dirs; *dir; dir++) {
		size_t n = strlen(*dir);
		while (n && (*dir)[n - 1] == '/')
			(*dir)[--n] = '\0';
		int rc = make_link(job->w, *dir, &job->err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void extra_begin(struct worktree_job *job)
{
	AUTO_BUF struct buf path = { 0 };

	if (make_links(job) < 0) {
		job_fail(job);
		return;
	}
	buf_addf(&path, "%s/.worktreeinclude", job->repo->root);
	job_go(job, file_exists(path.p) ? &step_include : &step_taken);
}

const struct worktree_step step_extra = { .name = "extra", .begin = extra_begin };

/* ---- .worktreeinclude: files that it names and that are ignored ---- */

static void include_begin(struct worktree_job *job)
{
	static const char *const args[] = {
		"ls-files", "-z", "--others", "--ignored", "--exclude-from=.worktreeinclude", NULL
	};

	job_git(job, &(struct git_command){ .args = args, .cwd = job->repo->root, .abortable = true });
}

static void include_end(struct worktree_job *job)
{
	if (!git_ok(&job->git))
		job_git_failed(job, "cannot list the files of .worktreeinclude");
	else
		job_go(job, job->git.out.n ? &step_ignored : &step_taken);
}

static const struct worktree_step step_include = { .name = "include", .begin = include_begin, .end = include_end };

static void ignored_begin(struct worktree_job *job)
{
	static const char *const args[] = { "check-ignore", "-z", "--stdin", NULL };
	struct str listed = arena_str(&job->memory, buf_str(&job->git.out));

	job_git(job, &(struct git_command){ .args = args, .cwd = job->repo->root, .input = listed, .abortable = true });
}

/* check-ignore ends with 1 when none is ignored. */
static void ignored_end(struct worktree_job *job)
{
	if (!git_ok(&job->git) && job->git.said.n)
		job_git_failed(job, "cannot tell which files of .worktreeinclude are ignored");
	else
		job_go(job, git_ok(&job->git) ? &step_copy : &step_taken);
}

static const struct worktree_step step_ignored = { .name = "ignored", .begin = ignored_begin, .end = ignored_end };

/* ---- copying, in a worker ---- */

static int copy_bytes(int from, int to)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, COPY_STEP);
	while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -1 : 0;
}

/* Regular files only: a symlink could lead out of the worktree. Existing files are not replaced. */
static int copy_file(const struct fill *f, const char *name, struct err *err)
{
	AUTO_BUF struct buf source = { 0 };
	AUTO_FILE_AT struct file_at at = { 0 };
	struct stat st;

	buf_addf(&source, "%s/%s", f->from, name);
	AUTO_CLOSE int from = open(source.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 && (errno == ELOOP || errno == ENOENT))
		return 0;
	if (from < 0)
		return err_set(err, ERR_IO, "cannot copy %s into the worktree: %m", name);
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (find_place(f->to, name, &at, err) < 0)
		return err_wrap(err, "cannot copy %s into the worktree", name);
	AUTO_CLOSE int to = openat(at.dir, at.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
	if (to < 0 && errno == EEXIST)
		return 0;
	if (to < 0 || copy_bytes(from, to) < 0)
		return err_set(err, ERR_IO, "cannot copy %s into the worktree: %m", name);
	return 0;
}

static void on_copy(uv_work_t *work)
{
	struct fill *f = CONTAINER_OF(work, struct fill, work);
	struct str rest = f->names;

	while (rest.n && !atomic_load(&f->stop)) {
		const char *name = rest.p;
		size_t n = strlen(name);
		rest.p += n + 1;
		rest.n -= n + 1;
		if (n && name[n - 1] != '/' && copy_file(f, name, &f->err) < 0)
			return;
	}
}

static void on_copied(uv_work_t *work, int status)
{
	struct fill *f = CONTAINER_OF(work, struct fill, work);

	(void)status;
	f->running = false;
	job_kick(f->job);
}

static void copy_begin(struct worktree_job *job)
{
	struct fill *f = xcalloc(1, sizeof *f);

	job->fill = f;
	f->job = job;
	f->running = true;
	f->from = job->repo->root;
	f->to = job->w->path;
	f->names = arena_str(&job->memory, buf_str(&job->git.out));
	/* libuv refuses only work without a function to run. */
	(void)uv_queue_work(loop_uv(job->pool->loop), &f->work, on_copy, on_copied);
}

static void copy_end(struct worktree_job *job)
{
	if (!job->fill->err.kind) {
		job_go(job, &step_taken);
		return;
	}
	job->err = job->fill->err;
	job_fail(job);
}

static const struct worktree_step step_copy = { .name = "copy", .begin = copy_begin, .end = copy_end };

void fill_abort(struct worktree_job *job)
{
	if (job->fill)
		atomic_store(&job->fill->stop, true);
}

void fill_free(struct worktree_job *job)
{
	free(job->fill);
}
