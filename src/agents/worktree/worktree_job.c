/* SPDX-License-Identifier: MIT
 * worktree_job.c - the engine of all jobs: a queue, one step at a time, one end. Steps are const structs in the files that
 * have their subject; a step names the one that follows it. */
#include "agents/worktree/worktree_int.h"

enum { FETCH_CAP_MS = 5000, LIST_RETRY_MS = 3 };

static void on_job_kick(struct kick *kick);

static void on_retry(struct timer *timer)
{
	job_kick(CONTAINER_OF(timer, struct worktree_job, retry));
}

struct worktree_job *job_new(struct worktree_pool *pool, const struct worktree_step *first, void *data)
{
	struct worktree_job *job = xcalloc(1, sizeof *job);

	job->pool = pool;
	job->step = first;
	job->data = data;
	job->kick.step = on_job_kick;
	job->retry.fire = on_retry;
	job->git = (struct git){ .loop = pool->loop, .spawner = pool->spawner, .kick = &job->kick };
	return job;
}

static void unlink_job(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	*job->prev = job->next;
	if (job->next)
		job->next->prev = job->prev;
	else if (pool->waiting_end == &job->next)
		pool->waiting_end = job->prev;
}

static void make_active(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	job->next = pool->active;
	job->prev = &pool->active;
	if (job->next)
		job->next->prev = &job->next;
	pool->active = job;
	job_kick(job);
}

void job_queue(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	job->prev = pool->waiting_end;
	*pool->waiting_end = job;
	pool->waiting_end = &job->next;
	loop_kick(pool->loop, &pool->kick);
}

void job_start_now(struct worktree_job *job)
{
	make_active(job);
}

void job_kick(struct worktree_job *job)
{
	loop_kick(job->pool->loop, &job->kick);
}

void job_go(struct worktree_job *job, const struct worktree_step *step)
{
	job->step = step;
	job->begun = false;
	job_kick(job);
}

void job_fail(struct worktree_job *job)
{
	assert(job->way_out);
	if (job->cancelled) {
		job->err = (struct err){ 0 }; /* a command that was killed for it has complained */
		err_set(&job->err, ERR_CANCELLED, "cancelled");
	}
	job_go(job, TAKE(job->way_out));
}

/* A command that cannot be started ends like one that failed, so that each step has one place for both. */
void job_git(struct worktree_job *job, const struct git_command *command)
{
	struct err err = { 0 };

	if (git_start(&job->git, command, &err) == 0)
		return;
	buf_addstr(&job->git.said, err.text);
	job->git.status = 255 << 8;
	job_kick(job);
}

/* The agent controls its directories, including links and git settings, so git runs there with the agent's rights.
 * Where the kernel cannot confine the agent, git is not confined either. */
void job_git_confined(struct worktree_job *job, const char *const *args, bool abortable)
{
	struct err err = { 0 };
	AUTO_CLOSE int ruleset = worktree_ruleset(job->w, NULL, &err);

	if (ruleset >= 0 || ruleset == -ERR_LIMIT) {
		job_git(job, &(struct git_command){ .args = args,
						    .inside = job->w,
						    .landlock_fd = MAX(ruleset, 0),
						    .abortable = abortable });
		return;
	}
	buf_clear(&job->git.out);
	buf_clear(&job->git.said);
	buf_addstr(&job->git.said, err.text);
	job->git.status = 255 << 8;
	job_kick(job);
}

void job_git_failed(struct worktree_job *job, const char *what)
{
	if (!job->err.kind)
		err_set(&job->err, job->git.timed_out ? ERR_TIMEOUT : ERR_IO, "%s: " STR_FMT, what,
			STR_ARG(git_said(&job->git)));
	job_fail(job);
}

/* ---- exclusive steps ---- */

/* Between processes it is a lock, which jobs of one process share; between those it is the holder. */
static bool enter(struct worktree_job *job)
{
	struct worktree_repo *repo = job->repo;

	if (repo->holder)
		return false; /* it kicks all when it leaves */
	if (!repo_try_lock(repo, REPO_LIST)) {
		timer_start(job->pool->loop, &job->retry, LIST_RETRY_MS);
		return false;
	}
	repo->holder = job;
	return true;
}

/* A cancel takes effect between two steps, because undo must know what a command has created. */
static void on_job_kick(struct kick *kick)
{
	struct worktree_job *job = CONTAINER_OF(kick, struct worktree_job, kick);

	if (job->git.child || (job->fill && job->fill->running))
		return;
	if (job->begun) {
		struct worktree_repo *repo = job->repo;
		if (repo && repo->holder == job) {
			repo->holder = NULL;
			repo_unlock(repo, REPO_LIST);
			pool_kick_all(job->pool);
		}
		job->step->end(job);
		return;
	}
	if (job->cancelled && job->way_out) {
		job_fail(job);
		return;
	}
	if (job->step->exclusive && !enter(job))
		return;
	job->begun = true;
	job->step->begin(job);
}

void worktree_job_cancel(struct worktree_job *job)
{
	job->cancelled = true;
	if (!job->way_out)
		return;
	git_abort(&job->git);
	fill_abort(job);
	job_kick(job);
}

/* ---- the end of a job ---- */

static void report(struct worktree_job *job)
{
	if (job->taken) {
		bool failed = job->err.kind != 0;
		job->taken(failed ? NULL : TAKE(job->w), &job->err, job->data);
	} else if (job->released) {
		const struct worktree_end end = {
			.kept = job->why != NULL,
			.path = job->why ? job->w->path : NULL,
			.branch = job->why ? job->w->branch : NULL,
			.why = job->why,
		};
		job->released(&end, job->data);
	} else if (job->swept) {
		job->swept(job);
	}
}

void job_done(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	unlink_job(job);
	pool->active_count -= job->counted;
	timer_stop(pool->loop, &job->retry);
	kick_cancel(&job->kick);
	loop_kick(pool->loop, &pool->kick);
	report(job);
	fill_free(job);
	if (!job->parked)
		worktree_free(job->w);
	git_release(&job->git);
	arena_release(&job->memory);
	free(job);
}

/* ---- the pool ---- */

void pool_kick_all(struct worktree_pool *pool)
{
	for (struct worktree_job *job = pool->active; job; job = job->next)
		job_kick(job);
	loop_kick(pool->loop, &pool->kick);
}

static bool remove_spare(struct worktree_pool *pool)
{
	bool any = false;

	for (struct worktree_repo *repo = pool->repos; repo; repo = repo->next)
		while (repo->spare_count) {
			struct worktree_job *job = job_new(pool, &step_empty, NULL);
			job->after = &step_ended;
			job->repo = repo;
			job->w = repo->spare[--repo->spare_count];
			job_queue(job);
			any = true;
		}
	return any;
}

static void on_pool_kick(struct kick *kick)
{
	struct worktree_pool *pool = CONTAINER_OF(kick, struct worktree_pool, kick);

	while (pool->waiting && pool->active_count < PARALLEL_JOBS) {
		struct worktree_job *job = pool->waiting;
		unlink_job(job);
		job->counted = true;
		pool->active_count++;
		make_active(job);
	}
	if (!pool->drained || pool->active || pool->waiting || pool->sweeps || remove_spare(pool))
		return;
	for (struct worktree_repo *repo = pool->repos; repo; repo = repo->next)
		repo_tidy(repo);
	worktree_drained_fn *done = TAKE(pool->drained);
	done(pool->drained_data); /* may free the pool */
}

struct worktree_pool *worktree_pool_new(struct loop *loop, struct spawner *spawner)
{
	struct worktree_pool *pool = xcalloc(1, sizeof *pool);

	pool->loop = loop;
	pool->spawner = spawner;
	pool->self = owner_self();
	pool->fetch_cap_ms = FETCH_CAP_MS;
	pool->waiting_end = &pool->waiting;
	pool->kick.step = on_pool_kick;
	return pool;
}

void worktree_pool_free(struct worktree_pool *pool)
{
	if (!pool)
		return;
	assert(!pool->active && !pool->waiting && !pool->sweeps);
	kick_cancel(&pool->kick);
	while (pool->repos) {
		struct worktree_repo *repo = pool->repos;
		pool->repos = repo->next;
		repo_free(repo);
	}
	free(pool);
}

void worktree_pool_drain(struct worktree_pool *pool, worktree_drained_fn *done, void *data)
{
	assert(!pool->drained);
	pool->closed = true;
	pool->drained = done;
	pool->drained_data = data;
	loop_kick(pool->loop, &pool->kick);
}
