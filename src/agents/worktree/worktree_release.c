/* SPDX-License-Identifier: MIT
 * worktree_release.c - the end of an agent's worktree.
 *
 *     inspect -> flags -+-> detach -> forget -> clean -> spare
 *        |         |    +-> (worktree_remove.c) -------> ended
 *        v         v                                       ^
 *       keep -> settle branch -> settle HEAD --------------+
 *
 * Only inspect and flags together may decide "no work here"; any doubt, including a failed command, leads to keep.
 * From that decision on the record is "spare", and any process may remove what a crash leaves. */
#include "agents/worktree/worktree_int.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

enum { LOG_LIMIT = 16 << 20 };

static const struct worktree_step step_flags;
static const struct worktree_step step_keep;
static const struct worktree_step step_settle_branch;
static const struct worktree_step step_settle_head;
static const struct worktree_step step_detach;
static const struct worktree_step step_clean;

static void keep_worktree(struct worktree_job *job, const char *why)
{
	job->why = why;
	job_go(job, TAKE(job->way_out));
}

/* ---- inspect: what git says about the files and about HEAD ---- */

static const char *unfinished(const struct worktree_job *job)
{
	static const char *const signs[] = { "BISECT_LOG", "rebase-merge",     "rebase-apply",
					     "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD" };

	for (size_t i = 0; i < COUNT_OF(signs); i++) {
		AUTO_BUF struct buf path = { 0 };
		buf_addf(&path, "%s/%s", job->w->admin, signs[i]);
		if (file_exists(path.p))
			return signs[i];
	}
	return NULL;
}

/* A rebase or a bisection has its own place for HEAD. */
static bool moves_head(const struct worktree_job *job)
{
	const char *sign = unfinished(job);

	return sign && (str_starts(str_from(sign), STR("rebase")) || !strcmp(sign, "BISECT_LOG"));
}

static void inspect_begin(struct worktree_job *job)
{
	if (worktree_verify(job->w, &job->err) < 0) {
		keep_worktree(job, job->err.text);
		return;
	}
	job_git_confined(job,
			 ARGS("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
			      "--ignore-submodules=none", "--no-renames"),
			 true);
}

/* The answer of git status, looked through */
struct findings {
	struct str head, branch;
	size_t files;
};

static struct findings read_status(const struct worktree_job *job)
{
	struct findings f = { .head = STR(""), .branch = STR("") };
	struct str rest = buf_str(&job->git.out);

	while (rest.p) {
		struct str entry = str_cut(&rest, '\0');
		if (str_starts(entry, STR("# branch.oid ")))
			f.head = (struct str){ entry.p + 13, entry.n - 13 };
		else if (str_starts(entry, STR("# branch.head ")))
			f.branch = (struct str){ entry.p + 14, entry.n - 14 };
		else if (str_starts(entry, STR("? ")))
			f.files += !worktree_has_copy(job->w, entry.p + 2);
		else if (entry.n && entry.p[0] != '#')
			f.files++;
	}
	return f;
}

/* Abandoned commits are only in the reflog of HEAD; they would be lost with the worktree. */
static bool head_was_elsewhere(const struct worktree *w)
{
	AUTO_BUF struct buf log = { 0 };
	size_t n = strlen(w->base);

	int rc = file_below_read(w->admin, "logs/HEAD", LOG_LIMIT, &log, NULL);
	if (rc < 0)
		return rc != -ERR_NOT_FOUND;
	struct str rest = buf_str(&log);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (line.n && (line.n < 2 * n + 1 || memcmp(line.p + n + 1, w->base, n) != 0))
			return true;
	}
	return false;
}

static const char *work_found(struct worktree_job *job, const struct findings *f)
{
	const struct worktree *w = job->w;
	const char *sign = unfinished(job);

	if (sign)
		return arena_printf(&job->memory, "something is unfinished in it (%s)", sign);
	if (f->files)
		return arena_printf(&job->memory, "%zu changed or untracked file%s", f->files, f->files > 1 ? "s" : "");
	if (!str_is(f->head, w->base))
		return "it has commits";
	if (!job->detached && !str_is(f->branch, w->branch))
		return "another branch is checked out in it";
	return head_was_elsewhere(w) ? "its HEAD was on other commits" : NULL;
}

static void inspect_end(struct worktree_job *job)
{
	if (!git_ok(&job->git)) {
		job_git_failed(job, "git status failed");
		return;
	}
	struct findings f = read_status(job);
	job->head = arena_str(&job->memory, f.head).p;
	job->detached = str_is(f.branch, "(detached)");
	const char *why = work_found(job, &f);
	if (moves_head(job))
		job->detached = false; /* it needs its HEAD as it is */
	if (why)
		keep_worktree(job, why);
	else
		job_go(job, &step_flags);
}

static const struct worktree_step step_inspect = { .name = "inspect", .begin = inspect_begin, .end = inspect_end };

/* ---- flags: files that git was told not to look at ---- */

static void flags_begin(struct worktree_job *job)
{
	job_git_confined(job, ARGS("ls-files", "-v", "-z"), true);
}

static bool hides_files(const struct worktree_job *job)
{
	struct str rest = buf_str(&job->git.out);

	while (rest.p) {
		struct str entry = str_cut(&rest, '\0');
		if (entry.n && entry.p[0] != 'H' && !(entry.p[0] == 'S' && job->w->sparse))
			return true;
	}
	return false;
}

static bool may_be_spare(const struct worktree_job *job)
{
	AUTO_BUF struct buf own_config = { 0 };

	buf_addf(&own_config, "%s/config.worktree", job->w->admin);
	return !job->no_spare && !job->pool->closed && !job->w->sparse && !file_exists(own_config.p) &&
	       job->repo->spare_count < SPARE_MAX;
}

static void flags_end(struct worktree_job *job)
{
	if (!git_ok(&job->git)) {
		job_git_failed(job, "git ls-files failed");
	} else if (hides_files(job)) {
		keep_worktree(job, "files in it are hidden from git status");
	} else if (worktree_record_as(job->w, RECORD_SPARE, &job->pool->self, &job->err) < 0) {
		job_fail(job);
	} else {
		job->way_out = NULL;
		job->after = &step_ended;
		job_go(job, may_be_spare(job) ? &step_detach : &step_empty);
	}
}

static const struct worktree_step step_flags = { .name = "flags", .begin = flags_begin, .end = flags_end };

/* ---- keep ---- */

static void keep_begin(struct worktree_job *job)
{
	if (!job->why)
		job->why = job->err.text;
	job_go(job, job->detached && job->head ? &step_settle_branch : &step_ended);
}

static const struct worktree_step step_keep = { .name = "keep", .begin = keep_begin };

/* A confined agent works on a detached HEAD. The branch follows it, and HEAD is put on the branch, so that a commit made there
 * later is on it, too; unless another process moved the branch meanwhile. */
static void settle_branch_begin(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);

	job_git(job,
		&(struct git_command){ .args = ARGS("update-ref", "-m", "agent ended", ref, job->head, job->w->base),
				       .cwd = job->repo->root });
}

static void settle_branch_end(struct worktree_job *job)
{
	if (git_ok(&job->git)) {
		job_go(job, &step_settle_head);
		return;
	}
	job->why = "its HEAD is detached, because its branch is elsewhere";
	job_go(job, &step_ended);
}

static const struct worktree_step step_settle_branch = { .name = "settle branch",
							 .begin = settle_branch_begin,
							 .end = settle_branch_end };

static void settle_head_begin(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);

	job_git_confined(job, ARGS("symbolic-ref", "HEAD", ref), false);
}

static void settle_head_end(struct worktree_job *job)
{
	job_go(job, &step_ended);
}

static const struct worktree_step step_settle_head = { .name = "settle HEAD",
						       .begin = settle_head_begin,
						       .end = settle_head_end };

static void ended_begin(struct worktree_job *job)
{
	if (job->why && job->w->admin)
		record_remove(job->w->admin);
	job_done(job);
}

const struct worktree_step step_ended = { .name = "ended", .begin = ended_begin };

/* ---- no work: spare ---- */

static void detach_begin(struct worktree_job *job)
{
	job_git_confined(job, ARGS("update-ref", "--no-deref", "HEAD", job->w->base), false);
}

static void detach_end(struct worktree_job *job)
{
	job->after = git_ok(&job->git) ? &step_clean : &step_ended;
	job_go(job, git_ok(&job->git) ? &step_forget : &step_empty);
}

static const struct worktree_step step_detach = { .name = "detach", .begin = detach_begin, .end = detach_end };

/* Ignored files of one agent (builds, copied secrets) are not for the next one. */
static void clean_begin(struct worktree_job *job)
{
	job_git_confined(job, ARGS("clean", "-ffdxq"), false);
}

static int park(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;
	struct worktree *w = job->w;
	const char *to;

	do
		to = repo_place(&w->memory, job->repo,
				arena_printf(&w->memory, "pool-%d-%u", (int)getpid(), ++pool->spare_names));
	while (file_exists(to));
	return worktree_move(w, to, NULL);
}

static void clean_end(struct worktree_job *job)
{
	struct worktree_repo *repo = job->repo;

	if (!git_ok(&job->git) || job->pool->closed || repo->spare_count == SPARE_MAX || park(job) < 0) {
		job->after = &step_ended;
		job_go(job, &step_empty);
		return;
	}
	repo->spare[repo->spare_count++] = job->w;
	job->parked = true;
	job_done(job);
}

static const struct worktree_step step_clean = { .name = "clean", .begin = clean_begin, .end = clean_end };

/* ---- starting ---- */

struct worktree_job *release_new(struct worktree_repo *repo, struct worktree *w, void *data)
{
	struct worktree_job *job = job_new(repo->pool, &step_inspect, data);

	job->repo = repo;
	job->w = w;
	job->way_out = &step_keep;
	return job;
}

static struct worktree_repo *repo_of(struct worktree_pool *pool, const struct worktree *w)
{
	struct worktree_repo *repo = pool->repos;

	while (repo && (strcmp(repo->common, w->common) != 0 || strcmp(repo->root, w->root) != 0))
		repo = repo->next;
	assert(repo); /* w was taken from this pool */
	return repo;
}

struct worktree_job *worktree_release(struct worktree_pool *pool, struct worktree *w, worktree_released_fn *done,
				      void *data)
{
	struct worktree_job *job = release_new(repo_of(pool, w), w, data);

	job->released = done;
	job_queue(job);
	return job;
}
