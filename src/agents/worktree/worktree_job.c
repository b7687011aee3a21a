/* SPDX-License-Identifier: MIT
 * worktree_job.c - the engine of all jobs: the pool's queue, one step at a time, git as a child process, one end. Steps are
 * const structs in the files of their subject; a step names the one that follows it. */
#include "agents/worktree/worktree_int.h"
#include <signal.h>
#include <sys/wait.h>
#include "lib/base/list.h"
#include "lib/git/git_config.h"

enum {
	FETCH_CAP_MS = 5000,
	LOCK_RETRY_MS = 3,
	EDIT_TRIES = 10000, /* 30 s; it is held for moments */
	GIT_CAP_MS = 10 * 60 * 1000,
	GIT_CANCELLED_MS = 2000, /* of one whose job was cancelled */
	GIT_ARGS_MAX = 128,
	GIT_OUT_LIMIT = 64 << 20,
};

/* Git: a clean environment, no hooks, no questions, no daemons. */

/* The repository decides nothing that runs: hooks, file system monitors and background maintenance stay off. git waits
 * for locks of refs, because several worktrees of one repository change at the same time. */
static const char *const git_options[] = {
	"git",
	"-c",
	"core.hooksPath=/dev/null",
	"-c",
	"core.fsmonitor=false",
	"-c",
	"maintenance.auto=false",
	"-c",
	"gc.auto=0",
	"-c",
	"core.filesRefLockTimeout=10000",
	"-c",
	"core.packedRefsTimeout=10000",
	"-c",
	"worktree.useRelativePaths=false",
};

static void on_git_done(struct capture *run)
{
	job_kick(CONTAINER_OF(run, struct worktree_job, git.run));
}

/* A command that cannot be started ends like one that failed, so that each step has one place for both. */
static void job_git_not_started(struct worktree_job *job, const char *why)
{
	buf_clear(&job->git.run.out);
	buf_clear(&job->git.run.errors);
	buf_addstr(&job->git.run.errors, why);
	job->git.run.status = 255 << 8;
	job_kick(job);
}

void job_git(struct worktree_job *job, const struct git_command *command)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *argv[COUNT_OF(git_options) + GIT_ARGS_MAX + 1];
	size_t n = command->program ? 1 : COUNT_OF(git_options);
	struct git *g = &job->git;
	struct err err = { 0 };

	memcpy(argv, git_options, sizeof git_options);
	if (command->program)
		argv[0] = command->program;
	for (const char *const *arg = command->args; *arg; arg++) {
		assert(n < COUNT_OF(argv) - 1);
		argv[n++] = *arg;
	}
	argv[n] = NULL;
	g->run.most = GIT_OUT_LIMIT;
	g->run.done = on_git_done;
	g->abortable = command->abortable;
	size_t at;
	const char **env = git_environment(&a, 3, &at);
	if (command->inside) {
		env[at++] = arena_printf(&a, "GIT_DIR=%s", command->inside->admin);
		env[at++] = arena_printf(&a, "GIT_COMMON_DIR=%s", command->inside->common);
		env[at++] = arena_printf(&a, "GIT_WORK_TREE=%s", command->inside->path);
	}
	const struct child_options options = {
		.argv = argv,
		.envp = env,
		.cwd = command->inside ? command->inside->path : command->cwd,
		.input = command->input,
		.landlock_fd = command->landlock_fd,
	};
	uint64_t cap_ms = command->cap_ms ? command->cap_ms : GIT_CAP_MS;
	if (capture_start(&g->run, job->pool->spawner, &options, job->cancelled ? GIT_CANCELLED_MS : cap_ms, &err) < 0)
		job_git_not_started(job, err.text);
}

/* The agent controls its directories, including links and git settings, so git runs there with the agent's rights.
 * Where the kernel cannot confine the agent, git is not confined either. */
void job_git_confined(struct worktree_job *job, const char *const *args, bool abortable)
{
	struct err err = { 0 };
	AUTO_CLOSE int ruleset = worktree_ruleset(job->w, true, NULL, &err);

	if (ruleset < 0 && ruleset != -ERR_LIMIT) {
		job_git_not_started(job, err.text);
		return;
	}
	job_git(job, &(struct git_command){
			     .args = args, .inside = job->w, .landlock_fd = MAX(ruleset, 0), .abortable = abortable });
}

/* The command of a step without begin */
static void job_git_step(struct worktree_job *job)
{
	const struct worktree_step *step = job->step;
	const struct worktree *w = job->w;
	const struct {
		const char *name, *value;
	} values[] = {
		{ "<path>", w ? w->path : NULL },
		{ "<ref>", w ? arena_printf(&job->memory, "refs/heads/%s", w->branch) : NULL },
		{ "<base>", w ? w->base : NULL },
		{ "<head>", job->head },
	};
	const char *args[GIT_ARGS_MAX + 1];
	size_t n = 0;

	for (; step->args[n]; n++) {
		assert(n < GIT_ARGS_MAX);
		args[n] = step->args[n];
		for (size_t i = 0; i < COUNT_OF(values); i++)
			if (!strcmp(step->args[n], values[i].name))
				args[n] = values[i].value;
	}
	args[n] = NULL;
	if (step->where == STEP_CONFINED)
		job_git_confined(job, args, step->abortable);
	else
		job_git(job, &(struct git_command){ .args = args,
						    .cwd = job->repo->root,
						    .inside = step->where == STEP_IN_WORKTREE ? w : NULL,
						    .abortable = step->abortable });
}

bool git_ok(const struct git *g)
{
	/* half an answer must not be taken for a whole one */
	return WIFEXITED(g->run.status) && WEXITSTATUS(g->run.status) == 0 && !g->run.flooded;
}

struct str git_said(const struct git *g)
{
	struct str rest = str_trim(buf_str(&g->run.errors));
	struct str first = { 0 };

	/* The reason is in the line that begins with "fatal:" or "error:"; hints follow. */
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (!first.n)
			first = line;
		if (str_starts(line, STR("fatal: ")) || str_starts(line, STR("error: ")))
			return (struct str){ line.p + 7, line.n - 7 };
	}
	if (first.n)
		return first;
	return g->run.late ? STR("it took too long") : STR("it was killed");
}

void job_git_failed(struct worktree_job *job, const char *what)
{
	if (!job->err.kind)
		err_set(&job->err, job->git.run.late ? ERR_TIMEOUT : ERR_IO, "%s: " STR_FMT, what,
			STR_ARG(git_said(&job->git)));
	job_fail(job);
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

void job_go_next(struct worktree_job *job)
{
	job_go(job, job->step->next ? job->step->next : job->after);
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

/* A cancel takes effect between two steps, because undo must know what a command has created. An exclusive step needs a
 * lock between processes, which jobs of one process share; between those it is the holder. */
static void on_job_kick(struct kick *kick)
{
	struct worktree_job *job = CONTAINER_OF(kick, struct worktree_job, kick);

	if (job->git.run.child || (job->fill && job->fill->running))
		return;
	if (job->begun) {
		struct worktree_repo *repo = job->repo;

		if (repo && repo->holder == job) {
			repo->holder = NULL;
			repo_unlock(repo, REPO_LIST);
			pool_kick_all(job->pool);
		}
		if (job->step->end)
			job->step->end(job);
		else if (job->step->failure && !git_ok(&job->git))
			job_git_failed(job, job->step->failure);
		else
			job_go_next(job);
		return;
	}
	if (job->cancelled && job->way_out) {
		job_fail(job);
		return;
	}
	if (job->step->exclusive) {
		if (job->repo->holder)
			return; /* it kicks all when it leaves */
		if (!repo_try_lock(job->repo, REPO_LIST)) {
			timer_start(job->pool->loop, &job->retry, LOCK_RETRY_MS);
			return;
		}
		job->repo->holder = job;
	}
	bool edits = job->step->edits;
	if (edits && !repo_try_lock(job->repo, REPO_EDIT)) {
		if (++job->edit_tries < EDIT_TRIES) {
			timer_start(job->pool->loop, &job->retry, LOCK_RETRY_MS);
			return;
		}
		err_set(&job->err, ERR_BUSY, "another process keeps %s/cadre-worktrees.lock locked: try again",
			job->repo->common);
		job_fail(job);
		return;
	}
	job->edit_tries = 0;
	job->begun = true;
	if (job->step->begin)
		job->step->begin(job);
	else
		job_git_step(job);
	if (edits)
		repo_unlock(job->repo, REPO_EDIT);
}

static void on_retry(struct timer *timer)
{
	job_kick(CONTAINER_OF(timer, struct worktree_job, retry));
}

struct worktree_job *job_new(struct worktree_pool *pool, const struct worktree_step *first, void *data)
{
	struct worktree_job *job = xnew(struct worktree_job, .pool = pool, .step = first, .data = data,
					.kick.step = on_job_kick, .retry.fire = on_retry);

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

void job_queue(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	list_append(&pool->waiting_end, job);
	loop_kick(pool->loop, &pool->kick);
}

void job_start_now(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	list_push(&pool->active, job);
	job_kick(job);
}

void worktree_job_cancel(struct worktree_job *job)
{
	job->cancelled = true;
	if (!job->way_out)
		return;
	if (job->git.run.child && job->git.abortable)
		child_kill(job->git.run.child, SIGTERM);
	else if (job->git.run.child) /* it changes the repository: it gets a little time to end by itself */
		timer_start(job->pool->loop, &job->git.run.limit, GIT_CANCELLED_MS);
	if (job->fill)
		atomic_store(&job->fill->stop, true);
	job_kick(job);
}

void job_done(struct worktree_job *job)
{
	struct worktree_pool *pool = job->pool;

	unlink_job(job);
	pool->active_count -= job->counted;
	timer_stop(pool->loop, &job->retry);
	kick_cancel(&job->kick);
	loop_kick(pool->loop, &pool->kick);
	if (job->taken) {
		job->taken(job->err.kind ? NULL : TAKE(job->w), &job->err, job->data);
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
	free(job->fill);
	if (!job->parked)
		worktree_free(job->w);
	buf_release(&job->git.run.out);
	buf_release(&job->git.run.errors);
	arena_release(&job->memory);
	free(job);
}

void pool_kick_all(struct worktree_pool *pool)
{
	for (struct worktree_job *job = pool->active; job; job = job->next)
		job_kick(job);
	loop_kick(pool->loop, &pool->kick);
}

static void on_pool_kick(struct kick *kick)
{
	struct worktree_pool *pool = CONTAINER_OF(kick, struct worktree_pool, kick);

	while (pool->waiting && pool->active_count < PARALLEL_JOBS) {
		struct worktree_job *job = pool->waiting;
		unlink_job(job);
		job->counted = true;
		pool->active_count++;
		job_start_now(job);
	}
	if (!pool->drained || pool->active || pool->waiting || pool->sweeps)
		return;
	for (struct worktree_repo *repo = pool->repos; repo; repo = repo->next)
		while (repo->spare_count) {
			struct worktree_job *job = job_new(pool, &step_empty, NULL);
			job->after = &step_ended;
			job->repo = repo;
			job->w = repo->spare[--repo->spare_count];
			job_queue(job);
		}
	if (pool->waiting)
		return;
	for (struct worktree_repo *repo = pool->repos; repo; repo = repo->next)
		repo_tidy(repo);
	worktree_drained_fn *done = TAKE(pool->drained);
	done(pool->drained_data); /* may free the pool */
}

struct worktree_pool *worktree_pool_new(struct loop *loop, struct spawner *spawner)
{
	struct worktree_pool *pool = xnew(struct worktree_pool, .loop = loop, .spawner = spawner, .self = owner_self(),
					  .fetch_cap_ms = FETCH_CAP_MS);

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
	for (struct worktree_repo *repo; (repo = list_pop(&pool->repos));) {
		for (size_t i = 0; i < repo->spare_count; i++)
			worktree_free(repo->spare[i]);
		close(repo->lock_fd);
		free(repo->common);
		free(repo->root);
		free(repo);
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
