/* SPDX-License-Identifier: MIT
 * worktree_sweep.c - at the first use of a repository, cleans up after dead processes of ours: unfinished and spare
 * worktrees are removed, agents' worktrees are released. Worktrees without our record, or with a live owner, are not
 * touched. One process sweeps at a time; the others wait for it, at most half a minute. */
#include "agents/worktree/worktree_int.h"
#include <dirent.h>
#include <sys/stat.h>
#include "lib/io/file_at.h"

enum { BUSY_RETRY_MS = 10, BUSY_TRIES = 3000, HEAD_LIMIT = 4096 };

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

static void sweep_end(struct sweep *s)
{
	struct worktree_pool *pool = s->repo->pool;

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

/* ---- finding ---- */

/* A process that died between the two writes of worktree_move left a worktree that its admin directory does not find. */
static void repair(struct sweep *s, const char *path)
{
	AUTO_BUF struct buf admin = { 0 };
	AUTO_BUF struct buf said = { 0 };
	struct worktree_record r;

	if (!admin_of(path, &admin) || !admin_is_of(admin.p, s->repo->common))
		return;
	if (record_read(admin.p, &r, NULL) < 0 || owner_alive(&r.owner, &s->repo->pool->self))
		return;
	struct stat st;
	if (gitdir_read(admin.p, &said, NULL) == 0 && strcmp(said.p, path) != 0 && lstat(said.p, &st) < 0)
		(void)gitdir_write(admin.p, path, NULL);
}

static void repair_all(struct sweep *s)
{
	char *dir = repo_place(&s->memory, s->repo, "");
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, "agent-", 6) != 0 && strncmp(e->d_name, "pool-", 5) != 0)
			continue;
		const char *path = arena_printf(&s->memory, "%s%s", dir, e->d_name);
		orphan_remove(path);
		repair(s, path);
	}
	if (d)
		closedir(d);
}

static void find_candidates(struct sweep *s)
{
	char *dir = arena_printf(&s->memory, "%s/worktrees", s->repo->common);
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (s->count == s->cap) {
			s->cap = s->cap ? 2 * s->cap : 16;
			s->admins = xrealloc(s->admins, s->cap * sizeof *s->admins);
		}
		s->admins[s->count++] = arena_printf(&s->memory, "%s/%s", dir, e->d_name);
	}
	if (d)
		closedir(d);
}

/* ---- one worktree ---- */

static void on_swept(struct worktree_job *job)
{
	struct sweep *s = job->data;

	s->job_runs = false;
	loop_kick(s->repo->pool->loop, &s->kick);
}

/* An agent could have written to its admin directory, so what that says must fit: the directory of the agent in the
 * record, or a spare one. */
static bool is_place_of(const struct worktree *w, const char *path)
{
	size_t home = (size_t)(strrchr(w->path, '/') - w->path) + 1;

	return !strcmp(path, w->path) ||
	       (!strncmp(path, w->path, home) && !strncmp(path + home, "pool-", 5) && !strchr(path + home, '/'));
}

/* NULL: not one of ours. */
static struct worktree *worktree_from(struct sweep *s, const char *admin, const struct worktree_record *r)
{
	AUTO_BUF struct buf path = { 0 };
	struct worktree *w = worktree_new(s->repo, r->agent_id, r->base);

	w->admin = arena_strdup(&w->memory, admin);
	if (gitdir_read(admin, &path, NULL) < 0)
		return w;
	if (!is_place_of(w, path.p)) {
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

/* false: not one to sweep. */
static bool sweep_one(struct sweep *s, const char *admin)
{
	struct worktree_pool *pool = s->repo->pool;
	struct worktree_record r;
	enum record_kind kind;

	if (record_read(admin, &r, NULL) < 0 || owner_alive(&r.owner, &pool->self))
		return false;
	struct worktree *w = worktree_from(s, admin, &r);
	if (!w)
		return false;
	if (worktree_claim(s->repo, w, &kind, NULL) < 0) {
		worktree_free(w);
		return false;
	}
	struct worktree_job *job = release_new(s->repo, w, s);
	if (kind != RECORD_AGENT || gone_without_work(w)) {
		job->step = &step_empty;
		job->after = &step_ended;
		job->way_out = NULL;
	}
	job->no_spare = true;
	job->swept = on_swept;
	s->job_runs = true;
	job_start_now(job);
	return true;
}

/* ---- stepping ---- */

/* While REPO_LIST is held no worktree is being created, so an unfinished one is abandoned. */
static bool lock_all(struct worktree_repo *repo)
{
	if (!repo_try_lock(repo, REPO_SWEEP))
		return false;
	if (!repo->holder && repo_try_lock(repo, REPO_LIST))
		return true;
	repo_unlock(repo, REPO_SWEEP);
	return false;
}

static bool enter(struct sweep *s)
{
	struct worktree_repo *repo = s->repo;

	s->locked = lock_all(repo);
	if (!s->locked && ++s->tries < BUSY_TRIES) {
		timer_start(repo->pool->loop, &s->retry, BUSY_RETRY_MS);
		return false;
	}
	if (s->locked) {
		repair_all(s);
		find_candidates(s);
		repo_unlock(repo, REPO_LIST);
	}
	return true;
}

static void sweep_step(struct kick *kick)
{
	struct sweep *s = CONTAINER_OF(kick, struct sweep, kick);

	if (s->job_runs || (!s->locked && !enter(s)))
		return;
	while (s->at < s->count)
		if (sweep_one(s, s->admins[s->at++]))
			return;
	sweep_end(s);
}

static void on_retry(struct timer *timer)
{
	sweep_step(&CONTAINER_OF(timer, struct sweep, retry)->kick);
}

void sweep_start(struct worktree_repo *repo)
{
	struct sweep *s = xcalloc(1, sizeof *s);

	s->repo = repo;
	s->kick.step = sweep_step;
	s->retry.fire = on_retry;
	repo->sweep = SWEEP_RUNS;
	repo->pool->sweeps++;
	loop_kick(repo->pool->loop, &s->kick);
}
