/* SPDX-License-Identifier: MIT
 * worktree_remove.c - a worktree that holds no work goes: its files, then what git knows of it, then its branch.
 *
 *     empty -> remove -> forget -> job->after
 *
 * .git goes last, because it alone proves that the directory belongs to the record: a crash in between leaves something that
 * the next sweep can finish. Emptying may take long and many can do it at a time; the rest is short and exclusive. */
#include "subagent/worktree_int.h"

static const struct worktree_step step_remove;

/* git was killed while it made or removed this, or it is somebody else's. */
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
	job_go(job, &step_remove);
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
		job_go(job, &step_forget);
	else
		scrub(job, git_said(&job->git));
}

static const struct worktree_step step_remove = {
	.name = "remove", .exclusive = true, .begin = remove_begin, .end = remove_end
};

/* A branch that is not where it began is left alone: update-ref refuses. */
static void forget_begin(struct worktree_job *job)
{
	const char *ref = arena_printf(&job->memory, "refs/heads/%s", job->w->branch);
	const char *const args[] = { "update-ref", "-d", ref, job->w->base, NULL };

	if (job->foreign_branch || branch_delete(job->w, job->swept != NULL))
		job_go(job, job->after);
	else
		job_git(job, &(struct git_command){ .args = args, .cwd = job->repo->root });
}

static void forget_end(struct worktree_job *job)
{
	job_go(job, job->after);
}

const struct worktree_step step_forget = { .name = "forget", .begin = forget_begin, .end = forget_end };
