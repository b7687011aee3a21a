/* SPDX-License-Identifier: MIT
 * worktree.h - a git worktree for each isolated agent (docs/internals/worktree.md).
 *
 *     worktree_take  --> the agent works in w->path --> worktree_release  --> removed, or kept and reported
 *                                                                         \-> spare, for the next worktree_take
 *
 * Everything is asynchronous: git runs in child processes, done is called exactly once for each job, on a later loop
 * turn, also after a cancel. At most four jobs run at a time, the others wait in order. A worktree is removed only
 * after git has confirmed that it holds no work; in doubt it stays, and the end gives the reason. */
#pragma once
#include "lib/base/arena.h"
#include "lib/io/spawn.h"

struct worktree_pool; /* one per process: repositories in use and their spare worktrees */
struct worktree_job;

/* Borrowed until return. Lists end with NULL or are NULL. */
struct worktree_spec {
	const char *agent_id; /* a and 16 hexadecimal digits */
	const char *cwd;      /* of the spawning agent: anywhere in the repository, also in a linked worktree */
	bool fresh;   /* start at origin/HEAD, fetched if older than a day; else, and without it, at HEAD of cwd */
	bool checked; /* refused if git may run a program that its configuration names (lib/git/git_config.h) */
	bool trusted; /* but for the repository of session_root, which the user trusts */
	const char *session_root;
	const char *const *symlink_dirs; /* relative to the main checkout; linked, not copied */
	const char *const *sparse_paths; /* directories to check out; NULL: all */
};

/* Constant once taken; all text is in the arena */
struct worktree {
	struct arena memory;
	const char *agent_id;
	const char *path;   /* <root>/.claude/worktrees/agent-<id>, links resolved */
	const char *branch; /* worktree-agent-<id> */
	const char *base;   /* commit at the start; changes are measured against it */
	const char *root;   /* main checkout */
	const char *origin; /* checkout that the spawning agent is in; often the same */
	const char *common; /* git directory that all worktrees share */
	const char *admin;  /* <common>/worktrees/<name>: this worktree's own part of it */
	bool sparse;
	bool by_hook; /* not a git worktree: branch and base are "", common and admin NULL (agents/life/worktree_hook.c) */
};

/* Borrowed until return */
struct worktree_end {
	bool kept;
	const char *path, *branch; /* kept: where it is; else NULL */
	const char *why;           /* kept: the reason */
};

/* w: returns owned, give it to worktree_release. NULL: err says why; nothing is left on disk. Kinds: ERR_NOT_FOUND (no
 * repository, no commit), ERR_DENIED (a symlink where a directory must be), ERR_BUSY (another process has it),
 * ERR_CANCELLED, ERR_USAGE, ERR_IO. */
typedef void worktree_taken_fn(struct worktree *w, const struct err *err, void *data);
typedef void worktree_released_fn(const struct worktree_end *end, void *data);
typedef void worktree_drained_fn(void *data);

struct worktree_pool *worktree_pool_new(struct loop *loop, struct spawner *spawner); /* borrows both */
void worktree_pool_free(struct worktree_pool *pool); /* no job may be left; spare ones stay for the next sweep */
/* The end of a session: waits for running jobs, then removes all spare worktrees. Later releases make no spare ones. */
void worktree_pool_drain(struct worktree_pool *pool, worktree_drained_fn *done, void *data);

/* The returned job is borrowed until done is called. */
struct worktree_job *worktree_take(struct worktree_pool *pool, const struct worktree_spec *spec,
				   worktree_taken_fn *done, void *data);
/* An agent is resumed. base: the commit that was recorded when it started, or NULL. Its worktree is locked again; a
 * missing one is recreated from its branch, or else from base. */
struct worktree_job *worktree_adopt(struct worktree_pool *pool, const struct worktree_spec *spec, const char *base,
				    worktree_taken_fn *done, void *data);
/* Takes w. No process of the agent may be left. */
struct worktree_job *worktree_release(struct worktree_pool *pool, struct worktree *w, worktree_released_fn *done,
				      void *data);
/* A take is undone. A release that has not decided yet keeps the worktree; one that has decided completes. */
void worktree_job_cancel(struct worktree_job *job);

/* Forgets w and leaves everything on disk as it is, locked: for hosts that end without a release. Takes NULL too. */
void worktree_free(struct worktree *w);

/* This process is its owner from now on: the one that took it is gone, and another process may sweep what it left. */
void worktree_hold(const struct worktree *w);

/* Returns a ruleset for the agent's child processes (lib/io/spawn.h), which the caller closes: writes only in the worktree,
 * its part of the git directory, the object store (own_objects: that of <admin> in its place), dirs (ends with NULL, or NULL) and /dev/null and /dev/tty. ERR_LIMIT
 * where that cannot be enforced. git updates a branch by renaming a new file over it, which no ruleset can allow for
 * one branch alone. So HEAD is detached here, commits go to it, and the release sets the branch. */
int worktree_landlock(const struct worktree *w, bool own_objects, const char *const *dirs, struct err *err);
