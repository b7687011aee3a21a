/* SPDX-License-Identifier: MIT
 * worktree_release.c - the end of an agent's worktree, and the sweep of what dead processes left.
 *
 *     inspect -> flags -+-> detach -> forget -> clean -> spare
 *        |         |    +-> empty -> unbranch -> remove -> ended
 *        v         v                                         ^
 *       keep -> settle branch -> settle HEAD ----------------+
 *
 * Only inspect and flags together may decide "no work here"; any doubt, including a failed command, leads to keep.
 * From that decision on the record is "spare", and any process may remove what a crash leaves. */
#include "lib/git/git_objects.h"
#include "agents/worktree/worktree_int.h"
#include <limits.h>
#include <sys/stat.h>
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"

enum {
	LOG_LIMIT = 16 << 20,
	COPY_LIMIT = 1 << 20,
	HEAD_LIMIT = 4096,
	SWEEP_RETRY_MS = 10,
	SWEEP_TRIES = 3000,
};

static const struct worktree_step step_flags, step_settle_branch, step_settle_head, step_detach, step_clean,
	step_forget, step_unbranch, step_remove;

static void keep_worktree(struct worktree_job *job, const char *why)
{
	job->why = why;
	job_go(job, TAKE(job->way_out));
}

/* Inspect: what git says about the files and about HEAD. */

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

static void inspect_begin(struct worktree_job *job)
{
	if (worktree_verify(job->w, &job->err) < 0) {
		keep_worktree(job, job->err.text);
		return;
	}
	/* Commits of a process that was killed may be in its own store still. */
	AUTO_ARENA struct arena a = { 0 };
	git_objects_move(&(struct git_objects){ .admin = job->w->admin,
						.shared = arena_printf(&a, "%s/objects", job->w->common) });
	job_git_confined(job,
			 ARGS("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
			      "--ignore-submodules=none", "--no-renames"),
			 true);
}

/* Whether an untracked file links to the main checkout's file, or equals it */
static bool is_copy(const struct worktree *w, const char *name)
{
	AUTO_BUF struct buf here = { 0 };
	AUTO_BUF struct buf there = { 0 };
	AUTO_BUF struct buf mine = { 0 };
	AUTO_BUF struct buf theirs = { 0 };
	char link[PATH_MAX];

	buf_addf(&here, "%s/%s", w->path, name);
	buf_addf(&there, "%s/%s", w->root, name);
	ssize_t n = readlink(here.p, link, sizeof link);
	if (n > 0 && (size_t)n < sizeof link && str_eq((struct str){ link, (size_t)n }, buf_str(&there)))
		return true;
	return file_below_read(w->path, name, COPY_LIMIT, &mine, NULL) == 0 &&
	       file_below_read(w->root, name, COPY_LIMIT, &theirs, NULL) == 0 &&
	       str_eq(buf_str(&mine), buf_str(&theirs));
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

static void inspect_end(struct worktree_job *job)
{
	const struct worktree *w = job->w;
	struct str head = STR("");
	struct str branch = STR("");
	size_t files = 0;

	if (!git_ok(&job->git)) {
		job_git_failed(job, "git status failed");
		return;
	}
	for (struct str rest = buf_str(&job->git.run.out); rest.p;) {
		struct str entry = str_cut(&rest, '\0');
		if (str_starts(entry, STR("# branch.oid ")))
			head = (struct str){ entry.p + 13, entry.n - 13 };
		else if (str_starts(entry, STR("# branch.head ")))
			branch = (struct str){ entry.p + 14, entry.n - 14 };
		else if (str_starts(entry, STR("? ")))
			files += !is_copy(w, entry.p + 2);
		else if (entry.n && entry.p[0] != '#')
			files++;
	}
	const char *sign = unfinished(job);
	bool detached = str_is(branch, "(detached)");
	/* A rebase or a bisection needs its HEAD as it is. */
	bool moves_head = sign && (str_starts(str_from(sign), STR("rebase")) || !strcmp(sign, "BISECT_LOG"));
	job->head = arena_str(&job->memory, head).p;
	job->detached = detached && !moves_head;
	if (sign)
		keep_worktree(job, arena_printf(&job->memory, "something is unfinished in it (%s)", sign));
	else if (files)
		keep_worktree(job, arena_printf(&job->memory, "%zu changed or untracked file%s", files,
						files > 1 ? "s" : ""));
	else if (!str_is(head, w->base))
		keep_worktree(job, "it has commits");
	else if (!detached && !str_is(branch, w->branch))
		keep_worktree(job, "another branch is checked out in it");
	else if (head_was_elsewhere(w))
		keep_worktree(job, "its HEAD was on other commits");
	else
		job_go(job, &step_flags);
}

static const struct worktree_step step_inspect = { .name = "inspect", .begin = inspect_begin, .end = inspect_end };

/* Flags: files that git does not look at. */

static void flags_end(struct worktree_job *job)
{
	AUTO_BUF struct buf own_config = { 0 };
	bool hidden = false;

	if (!git_ok(&job->git)) {
		job_git_failed(job, "git ls-files failed");
		return;
	}
	for (struct str rest = buf_str(&job->git.run.out); rest.p && !hidden;) {
		struct str entry = str_cut(&rest, '\0');
		hidden = entry.n && entry.p[0] != 'H' && !(entry.p[0] == 'S' && job->w->sparse);
	}
	if (hidden) {
		keep_worktree(job, "files in it are hidden from git status");
		return;
	}
	if (worktree_record_as(job->w, RECORD_SPARE, &job->pool->self, &job->err) < 0) {
		job_fail(job);
		return;
	}
	job->way_out = NULL;
	job->after = &step_ended;
	buf_addf(&own_config, "%s/config.worktree", job->w->admin);
	bool spare = !job->swept && !job->pool->closed && !job->w->sparse && !file_exists(own_config.p) &&
		     job->repo->spare_count < SPARE_MAX;
	job_go(job, spare ? &step_detach : &step_empty);
}

static const struct worktree_step step_flags = { .name = "flags",
						 .args = ARGS("ls-files", "-v", "-z"),
						 .where = STEP_CONFINED,
						 .abortable = true,
						 .end = flags_end };

static void keep_begin(struct worktree_job *job)
{
	if (!job->why)
		job->why = job->err.text;
	job_go(job, job->detached && job->head ? &step_settle_branch : &step_ended);
}

static const struct worktree_step step_keep = { .name = "keep", .begin = keep_begin };

/* A confined agent works on a detached HEAD. The branch follows it, and HEAD is put on the branch, so that a commit made there
 * later is on it, too; unless another process moved the branch meanwhile. */
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
							 .args = ARGS("update-ref", "-m", "agent ended", "<ref>",
								      "<head>", "<base>"),
							 .end = settle_branch_end };

static const struct worktree_step step_settle_head = { .name = "settle HEAD",
						       .args = ARGS("symbolic-ref", "HEAD", "<ref>"),
						       .where = STEP_CONFINED,
						       .next = &step_ended };

static void ended_begin(struct worktree_job *job)
{
	if (job->why && job->w->admin)
		record_remove(job->w->admin);
	job_done(job);
}

const struct worktree_step step_ended = { .name = "ended", .begin = ended_begin };

/* No work: spare. */

static void detach_end(struct worktree_job *job)
{
	job->after = git_ok(&job->git) ? &step_clean : &step_ended;
	job_go(job, git_ok(&job->git) ? &step_forget : &step_empty);
}

static const struct worktree_step step_detach = { .name = "detach",
						  .args = ARGS("update-ref", "--no-deref", "HEAD", "<base>"),
						  .where = STEP_CONFINED,
						  .end = detach_end };

static void clean_end(struct worktree_job *job)
{
	struct worktree_repo *repo = job->repo;
	struct worktree_pool *pool = job->pool;
	struct arena *a = &job->w->memory;
	const char *to;

	do
		to = repo_worktree_path(a, repo, arena_printf(a, "pool-%d-%u", (int)getpid(), ++pool->spare_names));
	while (file_exists(to));
	if (!git_ok(&job->git) || pool->closed || repo->spare_count == SPARE_MAX ||
	    worktree_move(job->w, to, NULL) < 0) {
		job->after = &step_ended;
		job_go(job, &step_empty);
		return;
	}
	repo->spare[repo->spare_count++] = job->w;
	job->parked = true;
	job_done(job);
}

static const struct worktree_step step_clean = {
	.name = "clean", .args = ARGS("clean", "-ffdxq"), .where = STEP_CONFINED, .end = clean_end
};

struct worktree_job *worktree_release(struct worktree_pool *pool, struct worktree *w, worktree_released_fn *done,
				      void *data)
{
	struct worktree_job *job = job_new(pool, &step_inspect, data);

	job->repo = repo_get(pool, w->common, w->root, NULL);
	assert(job->repo); /* w was taken from this pool */
	job->w = w;
	job->way_out = &step_keep;
	job->released = done;
	job_queue(job);
	return job;
}

/* Removal of a worktree without work: its files, then its branch, then git's metadata.
 *
 *     empty -> unbranch -> remove -> job->after
 *
 * The record goes last, together with .git, the only proof that the directory belongs to it: so the next sweep can
 * finish after a crash. Emptying may take long and runs in parallel; the rest is short. ---- */

/* git was killed while it created or removed this, or it is not ours. */
static void job_scrub(struct worktree_job *job, struct str why)
{
	if (worktree_scrub(job->w)) {
		job_go(job, &step_forget);
		return;
	}
	job->why = arena_printf(&job->memory, "it holds no work, but cannot be removed: " STR_FMT, STR_ARG(why));
	job_go(job, job->after);
}

static void empty_begin(struct worktree_job *job)
{
	struct worktree *w = job->w;

	if (!worktree_is_tied(w)) {
		job_scrub(job, STR("its git metadata does not fit"));
		return;
	}
	const char *const args[] = { w->path, "-mindepth", "1",   "-maxdepth", "1",  "!", "-name", ".git",
				     "-exec", "rm",        "-rf", "--",        "{}", "+", NULL };
	job_git(job, &(struct git_command){ .program = "find", .args = args, .cwd = "/" });
}

const struct worktree_step step_empty = { .name = "empty", .begin = empty_begin, .next = &step_unbranch };

static void remove_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, job->after);
	else
		job_scrub(job, git_said(&job->git));
}

static const struct worktree_step step_remove = { .name = "remove",
						  .exclusive = true,
						  .args = ARGS("worktree", "remove", "-f", "-f", "<path>"),
						  /* twice: it is locked by us */ .end = remove_end };

/* One that is not where it began is left alone: update-ref refuses. */
static void delete_branch(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);

	if (job->foreign_branch || branch_delete(job->w, job->swept != NULL))
		job_go_next(job);
	else
		job_git(job, &(struct git_command){ .args = ARGS("update-ref", "-d", ref, job->w->base),
						    .cwd = job->repo->root });
}

static const struct worktree_step step_unbranch = { .name = "unbranch", .begin = delete_branch, .next = &step_remove };

static const struct worktree_step step_forget = { .name = "forget", .begin = delete_branch };

/* Sweep: at the first use of a repository, cleans up after dead processes of ours: unfinished and spare
 * worktrees are removed, agents' worktrees are released. Worktrees without our record, or with a live owner, are not
 * touched. One process sweeps at a time; the others wait for it, at most half a minute. ---- */

struct sweep {
	struct worktree_repo *repo;
	struct kick kick;
	struct timer retry;
	unsigned tries;
	struct arena memory;
	const char **admins; /* candidates: <common>/worktrees/NAME */
	size_t count, at, cap;
	bool locked, job_runs;
};

/* A process that died between the two writes of worktree_move left a worktree that its admin directory does not find. */
static void repair_pointer(struct sweep *s, const char *path)
{
	AUTO_BUF struct buf admin = { 0 };
	AUTO_BUF struct buf said = { 0 };
	struct worktree_record r;

	if (!admin_of(path, &admin) || !admin_is_of(admin.p, s->repo->common))
		return;
	if (record_read(admin.p, &r, NULL) < 0 || owner_alive(&r.owner, &s->repo->pool->self))
		return;
	struct stat st;
	if (gitdir_read(admin.p, &said) && strcmp(said.p, path) != 0 && lstat(said.p, &st) < 0)
		(void)gitdir_write(admin.p, path, NULL);
}

/* Repairs what it can, then lists all admin directories. */
static void find_candidates(struct sweep *s)
{
	char *dir = repo_worktree_path(&s->memory, s->repo, "");
	AUTO_DIR DIR *trees = opendir(dir);

	for (struct dirent *e; (e = dir_next(trees));) {
		if (strncmp(e->d_name, "agent-", 6) != 0 && strncmp(e->d_name, "pool-", 5) != 0)
			continue;
		const char *path = arena_printf(&s->memory, "%s%s", dir, e->d_name);
		orphan_remove(path);
		repair_pointer(s, path);
	}
	dir = arena_printf(&s->memory, "%s/worktrees", s->repo->common);
	AUTO_DIR DIR *admins = opendir(dir);
	for (struct dirent *e; (e = dir_next(admins));)
		if (e->d_name[0] != '.')
			*xpush(s->admins, s->count, s->cap) = arena_printf(&s->memory, "%s/%s", dir, e->d_name);
}

static void on_swept(struct worktree_job *job)
{
	struct sweep *s = job->data;

	s->job_runs = false;
	loop_kick(s->repo->pool->loop, &s->kick);
}

/* NULL: not one of ours. An agent could have written to its admin directory, so the path in it must fit: the directory of
 * the agent in the record, or a spare one. */
static struct worktree *worktree_from(struct sweep *s, const char *admin, const struct worktree_record *r)
{
	AUTO_BUF struct buf path = { 0 };
	struct worktree *w = worktree_new(s->repo, r->agent_id, r->base);
	size_t home = (size_t)(strrchr(w->path, '/') - w->path) + 1;

	w->admin = arena_strdup(&w->memory, admin);
	if (!gitdir_read(admin, &path))
		return w;
	if (strcmp(path.p, w->path) != 0 && (strncmp(path.p, w->path, home) != 0 ||
					     strncmp(path.p + home, "pool-", 5) != 0 || strchr(path.p + home, '/'))) {
		worktree_free(w);
		return NULL;
	}
	w->path = arena_dup(&w->memory, path.p, path.n);
	return w;
}

/* The directory of an agent was deleted. Its commits are on its branch, unless HEAD is detached elsewhere. */
static bool gone_without_work(const struct worktree *w)
{
	AUTO_BUF struct buf head = { 0 };
	AUTO_BUF struct buf branch = { 0 };
	struct stat st;

	if (lstat(w->path, &st) == 0)
		return false;
	buf_addf(&branch, "ref: refs/heads/%s", w->branch);
	if (file_below_read(w->admin, "HEAD", HEAD_LIMIT, &head, NULL) < 0)
		return false;
	struct str at = str_trim(buf_str(&head));
	return str_eq(at, buf_str(&branch)) || str_is(at, w->base);
}

/* Starts a job for it, unless it is not one to sweep. */
static void sweep_one(struct sweep *s, const char *admin)
{
	struct worktree_pool *pool = s->repo->pool;
	struct worktree_record r;
	enum record_kind kind;

	if (record_read(admin, &r, NULL) < 0 || owner_alive(&r.owner, &pool->self))
		return;
	struct worktree *w = worktree_from(s, admin, &r);
	if (!w)
		return;
	if (worktree_claim(s->repo, w, &kind, NULL) < 0) {
		worktree_free(w);
		return;
	}
	bool removes = kind != RECORD_AGENT || gone_without_work(w);
	struct worktree_job *job = job_new(pool, removes ? &step_empty : &step_inspect, s);
	job->repo = s->repo;
	job->w = w;
	job->after = removes ? &step_ended : NULL;
	job->way_out = removes ? NULL : &step_keep;
	job->swept = on_swept;
	s->job_runs = true;
	job_start_now(job);
}

/* false: try again later. While REPO_LIST is held no worktree is being created, so an unfinished one is abandoned. */
static bool sweep_enter(struct sweep *s)
{
	struct worktree_repo *repo = s->repo;

	if (repo_try_lock(repo, REPO_SWEEP)) {
		s->locked = !repo->holder && repo_try_lock(repo, REPO_LIST);
		if (!s->locked)
			repo_unlock(repo, REPO_SWEEP);
	}
	if (!s->locked && ++s->tries < SWEEP_TRIES) {
		timer_start(repo->pool->loop, &s->retry, SWEEP_RETRY_MS);
		return false;
	}
	if (s->locked) {
		find_candidates(s);
		repo_unlock(repo, REPO_LIST);
	}
	return true;
}

static void sweep_step(struct kick *kick)
{
	struct sweep *s = CONTAINER_OF(kick, struct sweep, kick);
	struct worktree_pool *pool = s->repo->pool;

	if (s->job_runs || (!s->locked && !sweep_enter(s)))
		return;
	bool edits = s->at < s->count && repo_try_lock(s->repo, REPO_EDIT);
	if (s->at < s->count && !edits && ++s->tries < SWEEP_TRIES) {
		timer_start(pool->loop, &s->retry, SWEEP_RETRY_MS);
		return;
	}
	while (edits && s->at < s->count && !s->job_runs)
		sweep_one(s, s->admins[s->at++]);
	if (edits)
		repo_unlock(s->repo, REPO_EDIT);
	if (s->job_runs)
		return;
	if (s->locked)
		repo_unlock(s->repo, REPO_SWEEP);
	timer_stop(pool->loop, &s->retry);
	kick_cancel(&s->kick);
	s->repo->sweep = SWEEP_OVER;
	pool->sweeps--;
	pool_kick_all(pool);
	arena_release(&s->memory);
	free(s->admins);
	free(s);
}

static void on_sweep_retry(struct timer *timer)
{
	sweep_step(&CONTAINER_OF(timer, struct sweep, retry)->kick);
}

void sweep_start(struct worktree_repo *repo)
{
	struct sweep *s = xnew(struct sweep, .repo = repo, .kick.step = sweep_step, .retry.fire = on_sweep_retry);

	repo->sweep = SWEEP_RUNS;
	repo->pool->sweeps++;
	loop_kick(repo->pool->loop, &s->kick);
}
