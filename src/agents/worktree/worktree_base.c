/* SPDX-License-Identifier: MIT
 * worktree_base.c - the commit that a worktree starts from: HEAD of the spawning checkout, which the probe has read, or
 * the server's default branch. An unreachable server is not an error. */
#include "agents/worktree/worktree_int.h"
#include <sys/stat.h>
#include "lib/base/id.h"

enum { FETCH_AGE_MS = 24 * 60 * 60 * 1000 };

static const struct worktree_step step_fetch;
static const struct worktree_step step_origin;

static bool recently_fetched(const char *dir)
{
	AUTO_BUF struct buf path = { 0 };
	struct stat st;

	buf_addf(&path, "%s/FETCH_HEAD", dir);
	return stat(path.p, &st) == 0 && id_wall_ms() - (int64_t)st.st_mtime * 1000 < FETCH_AGE_MS;
}

static void base_begin(struct worktree_job *job)
{
	if (!job->fresh)
		job_go(job, &step_place);
	else if (recently_fetched(job->repo->common))
		job_go(job, &step_origin);
	else
		job_go(job, &step_fetch);
}

const struct worktree_step step_base = { .name = "base", .begin = base_begin };

/* In the main checkout, so that FETCH_HEAD is in one place for all. */
static void fetch_begin(struct worktree_job *job)
{
	static const char *const args[] = { "fetch", "-q", "--no-recurse-submodules", "origin", NULL };

	job_git(job,
		&(struct git_command){
			.args = args, .cwd = job->repo->root, .cap_ms = job->pool->fetch_cap_ms, .abortable = true });
}

static void fetch_end(struct worktree_job *job)
{
	job_go(job, &step_origin);
}

static const struct worktree_step step_fetch = { .name = "fetch", .begin = fetch_begin, .end = fetch_end };

static void origin_begin(struct worktree_job *job)
{
	static const char *const args[] = { "rev-parse", "--verify", "-q", "refs/remotes/origin/HEAD^{commit}", NULL };

	job_git(job, &(struct git_command){ .args = args, .cwd = job->repo->root });
}

static void origin_end(struct worktree_job *job)
{
	struct str commit = str_trim(buf_str(&job->git.out));

	if (git_ok(&job->git) && record_commit_valid(commit))
		job->base = arena_str(&job->memory, commit).p;
	job_go(job, &step_place);
}

static const struct worktree_step step_origin = { .name = "origin", .begin = origin_begin, .end = origin_end };
