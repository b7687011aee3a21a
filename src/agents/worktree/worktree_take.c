/* SPDX-License-Identifier: MIT
 * worktree_take.c - from a directory of the spawning agent to a worktree of the new one.
 *
 *     probe -> sweep -> base -> place -+-> add -> fill -> populate -+-> branch -> attach -> extra -> taken
 *                                      +-> reuse (a spare) ---------+                                  ^
 *                 (adopt)              +-> claim ------------------------------------------------------+
 *                                      +-> gone -> find branch -> add (again)
 *
 * base may go through fetch and origin, extra through include, ignored and copy. A failure or a cancel anywhere leads to
 * undo, which removes what this job has made and nothing else. */
#include "agents/worktree/worktree_int.h"
#include "lib/git/git_config.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum { ADD_CAP_MS = 60 * 1000, FETCH_AGE_MS = 24 * 60 * 60 * 1000, COPY_STEP = 1 << 20 };

static const struct worktree_step step_sweep, step_base, step_fetch, step_origin, step_place, step_gone,
	step_find_branch, step_add, step_fill, step_populate, step_reuse, step_branch, step_attach, step_extra,
	step_include, step_ignored, step_copy, step_taken, step_undone;

/* Probe: which repository, which commit. */

static void probe_begin(struct worktree_job *job)
{
	if (!id_is_agent(str_from(job->agent_id)) ||
	    (job->adopt && job->base && !record_commit_valid(str_from(job->base)))) {
		err_set(&job->err, ERR_USAGE, "not an agent id with a commit: %s", job->agent_id);
		job_fail(job);
		return;
	}
	if (job->may_run) { /* filters, commands to reach a server */
		err_set(&job->err, ERR_DENIED,
			"git may run a program here, and this folder is not trusted (`cadre trust`): %.120s",
			job->may_run);
		job_fail(job);
		return;
	}
	job_git(job, &(struct git_command){ .args = ARGS("rev-parse", "--path-format=absolute", "--git-common-dir",
							 "--git-dir", "--show-toplevel", "HEAD"),
					    .cwd = job->cwd });
}

static char *next_real_path(struct arena *a, struct str *rest)
{
	struct str line = rest->p ? str_cut(rest, '\n') : STR("");
	AUTO_FREE char *real = line.n ? realpath(arena_str(a, line).p, NULL) : NULL;

	return real ? arena_strdup(a, real) : NULL;
}

static int read_probe(struct worktree_job *job)
{
	struct arena *a = &job->memory;
	struct str rest = buf_str(&job->git.run.out);
	const char *common = next_real_path(a, &rest);
	const char *git_dir = next_real_path(a, &rest);

	job->top = next_real_path(a, &rest);
	if (!common || !git_dir || !job->top) {
		struct str said = git_said(&job->git);
		if (str_has(said, STR("not a git repository")))
			return err_set(&job->err, ERR_NOT_FOUND,
				       "%s is not in a git repository; an isolated agent needs one for its worktree",
				       job->cwd);
		return err_set(&job->err, ERR_IO, "cannot find the repository of %s: " STR_FMT, job->cwd,
			       STR_ARG(said));
	}
	struct str head = rest.p ? str_cut(&rest, '\n') : STR("");
	if (!git_ok(&job->git) || !record_commit_valid(head))
		return err_set(&job->err, ERR_NOT_FOUND,
			       "the repository %s has no commit yet; a worktree starts from one", job->top);
	if (!job->base)
		job->base = arena_str(a, head).p;
	/* The main checkout of a linked one contains the common directory. Where that is not ".git" (bare repositories,
	 * submodules) the agent's checkout is used instead. */
	const char *main_checkout = job->top;
	if (strcmp(common, git_dir) != 0 && str_ends(str_from(common), STR("/.git")))
		main_checkout = arena_dup(a, common, strlen(common) - strlen("/.git"));
	job->repo = repo_get(job->pool, common, main_checkout, &job->err);
	return job->repo ? 0 : -(int)job->err.kind;
}

static void probe_end(struct worktree_job *job)
{
	if (read_probe(job) < 0)
		job_fail(job);
	else
		job_go(job, &step_sweep);
}

static const struct worktree_step step_probe = { .name = "probe", .begin = probe_begin, .end = probe_end };

/* Sweep: what dead processes left in this repository. */

static void wait_for_sweep(struct worktree_job *job)
{
	if (job->repo->sweep == SWEEP_DUE)
		sweep_start(job->repo);
	if (job->cancelled)
		job_fail(job);
	else if (job->repo->sweep == SWEEP_OVER)
		job_go(job, &step_base);
}

static const struct worktree_step step_sweep = { .name = "sweep", .begin = wait_for_sweep, .end = wait_for_sweep };

/* Base: HEAD of the spawning checkout, which the probe has read, or the server's default branch. */

static void base_begin(struct worktree_job *job)
{
	AUTO_BUF struct buf path = { 0 };
	struct stat st;

	if (!job->fresh) {
		job_go(job, &step_place);
		return;
	}
	buf_addf(&path, "%s/FETCH_HEAD", job->repo->common);
	bool recent = stat(path.p, &st) == 0 && id_wall_ms() - (int64_t)st.st_mtime * 1000 < FETCH_AGE_MS;
	job_go(job, recent ? &step_origin : &step_fetch);
}

static const struct worktree_step step_base = { .name = "base", .begin = base_begin };

/* In the main checkout, so that FETCH_HEAD is in one place for all. */
static void fetch_begin(struct worktree_job *job)
{
	job_git(job, &(struct git_command){ .args = ARGS("fetch", "-q", "--no-recurse-submodules", "origin"),
					    .cwd = job->repo->root,
					    .cap_ms = job->pool->fetch_cap_ms,
					    .abortable = true });
}

/* An unreachable server is not an error. */
static const struct worktree_step step_fetch = { .name = "fetch", .begin = fetch_begin, .next = &step_origin };

static void origin_end(struct worktree_job *job)
{
	struct str commit = str_trim(buf_str(&job->git.run.out));

	if (git_ok(&job->git) && record_commit_valid(commit))
		job->base = arena_str(&job->memory, commit).p;
	job_go(job, &step_place);
}

static const struct worktree_step step_origin = { .name = "origin",
						  .args = ARGS("rev-parse", "--verify", "-q",
							       "refs/remotes/origin/HEAD^{commit}"),
						  .end = origin_end };

/* Place: a name that is free, and the way to fill it. */

/* Resumes an agent in its existing worktree. */
static int claim_existing(struct worktree_job *job)
{
	struct worktree *w = job->w;
	const char *recorded = w->base;
	enum record_kind kind;

	int rc = worktree_verify(w, &job->err);
	if (rc == 0)
		rc = worktree_claim(job->repo, w, &kind, &job->err);
	job->claimed = rc == 0;
	if (rc == 0 && job->base_given)
		w->base = recorded;
	return rc;
}

/* Takes the spare one at once: several jobs may be here. */
static int move_spare(struct worktree_job *job)
{
	struct worktree_repo *repo = job->repo;
	struct worktree *spare = repo->spare[--repo->spare_count];
	struct worktree *w = job->w;
	const char *target = w->path;

	w->path = arena_strdup(&w->memory, spare->path);
	w->admin = arena_strdup(&w->memory, spare->admin);
	worktree_free(spare);
	job->registered = true;
	int rc = worktree_verify(w, &job->err);
	if (rc == 0)
		rc = worktree_record_as(w, RECORD_MAKING, &job->pool->self, &job->err);
	if (rc == 0)
		rc = worktree_move(w, target, &job->err);
	/* Clears the old reflog of HEAD: a release reads the agent's work from it. */
	return rc < 0 ? rc : file_below_remove(w->admin, "logs/HEAD", &job->err);
}

/* A spare that cannot be used costs a checkout, not the agent. */
static void retry_without_spare(struct worktree_job *job)
{
	job->without_spare = true;
	job->retry_place = true;
	job_fail(job);
}

static void place_begin(struct worktree_job *job)
{
	struct stat st;

	if (repo_prepare(job->repo, &job->err) < 0) {
		job_fail(job);
		return;
	}
	struct worktree *w = worktree_new(job->repo, job->agent_id, job->base);
	w->origin = arena_strdup(&w->memory, job->top);
	w->sparse = job->sparse_paths[0] != NULL;
	job->w = w;
	bool there = lstat(w->path, &st) == 0;
	if (there && S_ISLNK(st.st_mode)) {
		err_set(&job->err, ERR_DENIED, "%s is a symbolic link", w->path);
		job_fail(job);
	} else if (there && !job->adopt) {
		err_set(&job->err, ERR_BUSY, "%s exists already", w->path);
		job_fail(job);
	} else if (there && claim_existing(job) < 0) {
		job_fail(job);
	} else if (there) {
		job_go(job, &step_taken);
	} else if (job->adopt) {
		job_go(job, &step_gone);
	} else if (!job->repo->spare_count || job->without_spare || w->sparse) {
		job_go(job, &step_add);
	} else if (move_spare(job) < 0) {
		retry_without_spare(job);
	} else {
		job_go(job, &step_reuse);
	}
}

static const struct worktree_step step_place = { .name = "place", .edits = true, .begin = place_begin };

/* Gone: the directory of an adopted worktree was deleted; git may still know it, and forgets it unless locked. */

static const struct worktree_step step_gone = {
	.name = "gone", .exclusive = true, .args = ARGS("worktree", "remove", "-f", "<path>"), .next = &step_find_branch
};

static void find_branch_end(struct worktree_job *job)
{
	struct str commit = str_trim(buf_str(&job->git.run.out));

	job->has_branch = git_ok(&job->git) && record_commit_valid(commit);
	if (job->has_branch && !job->base_given)
		job->w->base = arena_str(&job->w->memory, commit).p;
	job_go(job, &step_add);
}

static const struct worktree_step step_find_branch = { .name = "find branch",
						       .args = ARGS("rev-parse", "--verify", "-q", "<ref>"),
						       .end = find_branch_end };

/* Add: a directory that git knows, without files yet. */

static void add_begin(struct worktree_job *job)
{
	struct worktree *w = job->w;
	struct worktree_record r = record_of(w, RECORD_MAKING, &job->pool->self);
	AUTO_BUF struct buf reason = { 0 };

	record_format(&r, &reason);
	job->registered = true;
	job_git(job, &(struct git_command){
			     .args = ARGS("worktree", "add", "-q", "--no-checkout",
					  job->has_branch ? "--no-guess-remote" : "--detach", "--lock", "--reason",
					  reason.p, w->path, job->has_branch ? w->branch : w->base),
			     .cwd = job->repo->root,
			     .cap_ms = ADD_CAP_MS,
		     });
}

static void add_end(struct worktree_job *job)
{
	if (!git_ok(&job->git))
		job_git_failed(job, "cannot make a worktree");
	else if (worktree_verify(job->w, &job->err) < 0)
		job_fail(job);
	else
		job_go(job, &step_fill);
}

static const struct worktree_step step_add = { .name = "add", .exclusive = true, .begin = add_begin, .end = add_end };

/* Fill and populate: the files of the commit, or a sparse set of them. */

static void fill_begin(struct worktree_job *job)
{
	AUTO_BUF struct buf input = { 0 };

	if (!job->w->sparse) {
		job_go(job, &step_populate);
		return;
	}
	for (const char **path = job->sparse_paths; *path; path++)
		buf_addf(&input, "%s\n", *path);
	job_git(job, &(struct git_command){ .args = ARGS("sparse-checkout", "set", "--cone", "--stdin"),
					    .inside = job->w,
					    .input = buf_str(&input) });
}

static const struct worktree_step step_fill = { .name = "fill",
						.begin = fill_begin,
						.failure = "cannot set the sparse paths of the worktree",
						.next = &step_populate };

static const struct worktree_step step_populate = { .name = "populate",
						    .args = ARGS("reset", "-q", "--hard", "--no-recurse-submodules"),
						    .where = STEP_IN_WORKTREE,
						    .abortable = true,
						    .failure = "cannot check out the files of the worktree",
						    .next = &step_branch };

/* Reuse: a spare worktree becomes this agent's; only files that differ are written. */

static void reuse_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, &step_branch);
	else
		retry_without_spare(job);
}

static const struct worktree_step step_reuse = { .name = "reuse",
						 .args = ARGS("reset", "-q", "--hard", "--no-recurse-submodules",
							      "<base>"),
						 .where = STEP_CONFINED,
						 .abortable = true,
						 .end = reuse_end };

/* Branch: created here and nowhere else, then HEAD. After the worktree, so that a later sweep knows from its record
 * that the branch may exist. ---- */

static void branch_begin(struct worktree_job *job)
{
	if (job->has_branch) {
		job_go(job, &step_extra);
		return;
	}
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);
	/* The empty old value means that the branch must not exist. */
	job_git(job, &(struct git_command){ .args = ARGS("update-ref", "-m", "agent started", ref, job->w->base, ""),
					    .cwd = job->repo->root });
}

static void branch_end(struct worktree_job *job)
{
	if (!git_ok(&job->git)) {
		job_git_failed(job, "cannot make the branch of the worktree");
		return;
	}
	job->foreign_branch = false;
	job_go(job, &step_attach);
}

static const struct worktree_step step_branch = { .name = "branch", .begin = branch_begin, .end = branch_end };
static const struct worktree_step step_attach = { .name = "attach",
						  .args = ARGS("symbolic-ref", "HEAD", "<ref>"),
						  .where = STEP_CONFINED,
						  .failure = "cannot check out the branch of the worktree",
						  .next = &step_extra };

/* Extra: symlinks to shared directories, then the ignored files that .worktreeinclude names. */

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

static int link_dir(const struct worktree *w, const char *path, struct err *err)
{
	AUTO_FREE char *dir = xstrdup(path);
	AUTO_BUF struct buf source = { 0 };
	AUTO_FILE_AT struct file_at at = { 0 };

	for (size_t n = strlen(dir); n && dir[n - 1] == '/';)
		dir[--n] = '\0';
	buf_addf(&source, "%s/%s", w->root, dir);
	if (!file_exists(source.p))
		return 0; /* nothing to share yet */
	if (find_place(w->path, dir, &at, err) < 0)
		return err_wrap(err, "cannot link %s into the worktree", dir);
	if (symlinkat(source.p, at.dir, at.name) < 0 && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot link %s into the worktree: %m", dir);
	return 0;
}

static void extra_begin(struct worktree_job *job)
{
	AUTO_BUF struct buf path = { 0 };

	for (const char **dir = job->symlink_dirs; *dir; dir++)
		if (link_dir(job->w, *dir, &job->err) < 0) {
			job_fail(job);
			return;
		}
	buf_addf(&path, "%s/.worktreeinclude", job->repo->root);
	job_go(job, file_exists(path.p) ? &step_include : &step_taken);
}

static const struct worktree_step step_extra = { .name = "extra", .begin = extra_begin };

static void include_end(struct worktree_job *job)
{
	if (!git_ok(&job->git))
		job_git_failed(job, "cannot list the files of .worktreeinclude");
	else
		job_go(job, job->git.run.out.n ? &step_ignored : &step_taken);
}

static const struct worktree_step step_include = { .name = "include",
						   .args = ARGS("ls-files", "-z", "--others", "--ignored",
								"--exclude-from=.worktreeinclude"),
						   .abortable = true,
						   .end = include_end };

static void ignored_begin(struct worktree_job *job)
{
	struct str listed = arena_str(&job->memory, buf_str(&job->git.run.out));

	job_git(job, &(struct git_command){ .args = ARGS("check-ignore", "-z", "--stdin"),
					    .cwd = job->repo->root,
					    .input = listed,
					    .abortable = true });
}

/* check-ignore ends with 1 when none is ignored. */
static void ignored_end(struct worktree_job *job)
{
	if (!git_ok(&job->git) && job->git.run.errors.n)
		job_git_failed(job, "cannot tell which files of .worktreeinclude are ignored");
	else
		job_go(job, git_ok(&job->git) ? &step_copy : &step_taken);
}

static const struct worktree_step step_ignored = { .name = "ignored", .begin = ignored_begin, .end = ignored_end };

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
	ssize_t n = -1;
	if (to >= 0)
		do
			n = sendfile(to, from, NULL, COPY_STEP);
		while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? err_set(err, ERR_IO, "cannot copy %s into the worktree: %m", name) : 0;
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
	f->names = arena_str(&job->memory, buf_str(&job->git.run.out));
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

static void taken_begin(struct worktree_job *job)
{
	if (worktree_record_as(job->w, RECORD_AGENT, &job->pool->self, &job->err) < 0) {
		job_fail(job);
		return;
	}
	job->way_out = NULL;
	job_done(job);
}

static const struct worktree_step step_taken = { .name = "taken", .begin = taken_begin };

static void undo_begin(struct worktree_job *job)
{
	if (job->registered && !job->w->admin) {
		/* A git that was killed while it added has not printed where. It names its directory after the
		 * worktree's. */
		struct worktree *w = job->w;
		struct worktree_record r;
		const char *admin = arena_printf(&w->memory, "%s/worktrees/agent-%s", w->common, w->agent_id);
		if (record_read(admin, &r, NULL) == 0 && r.kind == RECORD_MAKING && !strcmp(r.agent_id, w->agent_id) &&
		    r.owner.pid == job->pool->self.pid)
			w->admin = admin;
	}
	job->after = &step_undone;
	job_go(job, job->registered ? &step_empty : &step_undone);
}

static const struct worktree_step step_undo = { .name = "undo", .begin = undo_begin };

static void undone_begin(struct worktree_job *job)
{
	if (job->claimed)
		record_remove(job->w->admin);
	if (!job->retry_place || job->cancelled) {
		job_done(job);
		return;
	}
	worktree_free(TAKE(job->w));
	job->err = (struct err){ 0 };
	job->retry_place = job->registered = false;
	job->foreign_branch = true;
	job->way_out = &step_undo;
	job_go(job, &step_place);
}

static const struct worktree_step step_undone = { .name = "undone", .begin = undone_begin };

struct worktree_job *worktree_take(struct worktree_pool *pool, const struct worktree_spec *spec,
				   worktree_taken_fn *done, void *data)
{
	struct worktree_job *job = job_new(pool, &step_probe, data);
	struct arena *a = &job->memory;

	job->agent_id = arena_strdup(a, spec->agent_id);
	job->cwd = arena_strdup(a, spec->cwd);
	job->fresh = spec->fresh;
	if (spec->checked)
		job->may_run = git_config_runs(&job->memory, spec->cwd, spec->session_root, spec->trusted);
	job->symlink_dirs = arena_strdup_list(a, spec->symlink_dirs, 0);
	job->sparse_paths = arena_strdup_list(a, spec->sparse_paths, 0);
	job->taken = done;
	job->way_out = &step_undo;
	job->foreign_branch = true;
	job_queue(job);
	return job;
}

struct worktree_job *worktree_adopt(struct worktree_pool *pool, const struct worktree_spec *spec, const char *base,
				    worktree_taken_fn *done, void *data)
{
	struct worktree_job *job = worktree_take(pool, spec, done, data); /* its first step is later */

	job->adopt = true;
	job->base_given = base != NULL;
	job->base = arena_strdup(&job->memory, base);
	job->fresh &= !base;
	return job;
}
