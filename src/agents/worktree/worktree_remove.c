/* SPDX-License-Identifier: MIT
 * worktree_remove.c - removes a worktree without work: its files, then its branch, then git's metadata.
 *
 *     empty -> unbranch -> remove -> job->after
 *
 * The record goes last, together with .git, the only proof that the directory belongs to it: so the next sweep can
 * finish after a crash. Emptying may take long and runs in parallel; the rest is short. */
#include "agents/worktree/worktree_int.h"

static const struct worktree_step step_unbranch;
static const struct worktree_step step_remove;

/* git was killed while it created or removed this, or it is not ours. */
static void scrub(struct worktree_job *job, struct str why)
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
		scrub(job, STR("its git metadata does not fit"));
		return;
	}
	const char *const args[] = { w->path, "-mindepth", "1",   "-maxdepth", "1",  "!", "-name", ".git",
				     "-exec", "rm",        "-rf", "--",        "{}", "+", NULL };
	job_git(job, &(struct git_command){ .program = "find", .args = args, .cwd = "/" });
}

static void empty_end(struct worktree_job *job)
{
	job_go(job, &step_unbranch);
}

const struct worktree_step step_empty = { .name = "empty", .begin = empty_begin, .end = empty_end };

static void remove_begin(struct worktree_job *job)
{
	/* Forced twice, because it is locked: by us. */
	const char *const args[] = { "worktree", "remove", "-f", "-f", job->w->path, NULL };

	job_git(job, &(struct git_command){ .args = args, .cwd = job->repo->root });
}

static void remove_end(struct worktree_job *job)
{
	if (git_ok(&job->git))
		job_go(job, job->after);
	else
		scrub(job, git_said(&job->git));
}

static const struct worktree_step step_remove = {
	.name = "remove", .exclusive = true, .begin = remove_begin, .end = remove_end
};

/* ---- the branch ---- */

/* One that is not where it began is left alone: update-ref refuses. */
static void delete_branch(struct worktree_job *job, const struct worktree_step *next)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);
	const char *const args[] = { "update-ref", "-d", ref, job->w->base, NULL };

	if (job->foreign_branch || branch_delete(job->w, job->swept != NULL))
		job_go(job, next);
	else
		job_git(job, &(struct git_command){ .args = args, .cwd = job->repo->root });
}

static void unbranch_begin(struct worktree_job *job)
{
	delete_branch(job, &step_remove);
}

static void unbranch_end(struct worktree_job *job)
{
	job_go(job, &step_remove);
}

static const struct worktree_step step_unbranch = { .name = "unbranch", .begin = unbranch_begin, .end = unbranch_end };

static void forget_begin(struct worktree_job *job)
{
	delete_branch(job, job->after);
}

static void forget_end(struct worktree_job *job)
{
	job_go(job, job->after);
}

const struct worktree_step step_forget = { .name = "forget", .begin = forget_begin, .end = forget_end };
