/* SPDX-License-Identifier: MIT
 * worktree_int.h - what the worktree files share: a repository, a job and its steps, the record on disk, running git. */
#pragma once
#include <assert.h>
#include <stdatomic.h>
#include "lib/io/capture.h"
#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "agents/worktree/worktree.h"

/* worktree_place.c: who owns a worktree and what it is, as the text of its git lock. */

enum { COMMIT_MAX = 64 };

enum record_kind {
	RECORD_MAKING = 1, /* never used by an agent: may be removed */
	RECORD_AGENT,      /* may hold work */
	RECORD_SPARE,      /* holds no work: may be removed */
};

struct worktree_owner {
	uint64_t pid, start, space; /* start: clock ticks since boot; space: inode of the pid namespace */
};

struct worktree_record {
	enum record_kind kind;
	char agent_id[AGENT_ID_LEN + 1];
	char base[COMMIT_MAX + 1];
	struct worktree_owner owner;
};

bool record_commit_valid(struct str commit);
struct worktree_record record_of(const struct worktree *w, enum record_kind kind, const struct worktree_owner *owner);
void record_format(const struct worktree_record *r, struct buf *out);
bool record_parse(struct str text, struct worktree_record *ret_record); /* false: a lock of another program */
struct worktree_owner owner_self(void);
bool owner_alive(const struct worktree_owner *owner, const struct worktree_owner *self); /* true in doubt */
int record_read(const char *admin, struct worktree_record *ret_record, struct err *err); /* ERR_NOT_FOUND: not locked */
void record_remove(const char *admin);

/* worktree_job.c: one git command. */

struct git {
	struct capture run;
	bool abortable;
};

struct git_command {
	const char *program;           /* NULL: git */
	const char *const *args;       /* behind the program and its options, ends with NULL */
	const char *cwd;               /* for the whole repository, or */
	const struct worktree *inside; /* in this worktree, with explicit git directories */
	struct str input;
	int landlock_fd; /* 0: none */
	unsigned cap_ms; /* 0: ten minutes */
	bool abortable;  /* a cancel kills it; other commands are short */
};

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

bool git_ok(const struct git *g);
struct str git_said(const struct git *g); /* its error message */

/* worktree_repo.c: one repository. */

enum { SPARE_MAX = 4, PARALLEL_JOBS = 4 };
enum repo_lock { REPO_EDIT, REPO_SWEEP, REPO_LIST }; /* bytes of the lock file */
enum sweep_state { SWEEP_DUE, SWEEP_RUNS, SWEEP_OVER };

struct worktree_repo {
	struct worktree_pool *pool;
	struct worktree_repo *next;
	char *common, *root;
	int lock_fd;
	const struct worktree_job *holder; /* of REPO_LIST in this process */
	enum sweep_state sweep;
	bool prepared, made_claude;
	struct worktree *spare[SPARE_MAX];
	size_t spare_count;
};

struct worktree_repo *repo_get(struct worktree_pool *pool, const char *common, const char *root, struct err *err);
bool repo_try_lock(struct worktree_repo *repo, enum repo_lock which);
void repo_unlock(struct worktree_repo *repo, enum repo_lock which);
/* Ensures that .claude/worktrees exists, is not a symlink and is excluded from the main checkout's status. Under REPO_EDIT. */
int repo_prepare(struct worktree_repo *repo, struct err *err);
void repo_tidy(struct worktree_repo *repo); /* removes the directories that it created, if they are empty */
char *repo_worktree_path(struct arena *a, const struct worktree_repo *repo, const char *name);

/* worktree_place.c: a worktree on disk. */

struct worktree *worktree_new(const struct worktree_repo *repo, const char *agent_id, const char *base);
/* Finds w->admin through the .git file and checks the metadata: the directory is not a symlink, .git points into
 * <common>/worktrees, and that points back here and to the common directory. ERR_DENIED otherwise. */
int worktree_verify(struct worktree *w, struct err *err);
int worktree_move(struct worktree *w, const char *to, struct err *err);
int worktree_record_as(const struct worktree *w, enum record_kind kind, const struct worktree_owner *self,
		       struct err *err);
/* Takes the worktree unless a live process has it, and sets w->base from the old record, if there is one. ERR_BUSY
 * otherwise. Under REPO_EDIT. */
int worktree_claim(struct worktree_repo *repo, struct worktree *w, enum record_kind *ret_kind, struct err *err);
bool worktree_is_tied(const struct worktree *w); /* directory and admin directory point to each other */
/* Removes what git left when it was killed and cannot remove itself: a worktree without files, and its admin directory.
 * false: it has files. */
bool worktree_scrub(const struct worktree *w);
void orphan_remove(const char *path); /* a directory without files and without an admin directory */
bool gitdir_read(const char *admin, struct buf *ret_path); /* the recorded path of the worktree */
int gitdir_write(const char *admin, const char *path, struct err *err);
bool admin_of(const char *path, struct buf *ret_admin);  /* the target of the .git file at path */
bool admin_is_of(const char *admin, const char *common); /* right below <common>/worktrees, not deeper, not above */

/* worktree_repo.c: the branch as a file, and the rules for an agent's processes. */

/* Deletes it if it is at w->base, leaves it otherwise. false: packed, locked or in a reftable; git must do it. */
bool branch_delete(const struct worktree *w, bool owner_dead);
int worktree_ruleset(const struct worktree *w, bool own_objects, const char *const *dirs, struct err *err);

/* worktree_job.c: the engine. */

/* begin does something or starts a git command; end runs when that command is over. Each leads to job_go or job_fail. */
enum step_where {
	STEP_IN_REPO,     /* in the main checkout */
	STEP_IN_WORKTREE, /* in job->w, with explicit git directories */
	STEP_CONFINED,    /* the same, under the agent's Landlock rules */
};

struct worktree_step {
	const char *name;
	bool exclusive; /* git reads all worktrees of the repository, and fails on an incomplete one */
	bool edits;     /* begin holds REPO_EDIT, and is over when it returns */
	void (*begin)(struct worktree_job *job);
	/* Without begin: a git command. <path>, <ref> (of the branch), <base> and <head> stand for those of the job. */
	const char *const *args;
	enum step_where where;
	bool abortable;
	/* Without end: the job fails with failure if that is set and the command failed, or continues with next, or without
	 * next with job->after. */
	void (*end)(struct worktree_job *job);
	const char *failure;
	const struct worktree_step *next;
};

/* Files to copy into the worktree; all that the worker may access */
struct fill {
	uv_work_t work;
	struct worktree_job *job;
	bool running;
	atomic_bool stop;
	const char *from, *to;
	struct str names; /* relative paths, each ended by NUL; in job->memory */
	struct err err;
};

struct worktree_job {
	struct worktree_pool *pool;
	struct worktree_job *next, **prev; /* in pool->waiting or pool->active */
	struct kick kick;
	struct timer retry;
	unsigned edit_tries; /* for REPO_EDIT, in this step */
	const struct worktree_step *step;
	const struct worktree_step *after;   /* the step after removal */
	const struct worktree_step *way_out; /* the step after a failure or a cancel; NULL: cannot be cancelled */
	bool begun, cancelled, counted;
	struct err err; /* the first failure */
	struct git git;
	struct worktree_repo *repo; /* borrowed from the pool; NULL until known */
	struct worktree *w;         /* owned until done */
	bool foreign_branch;        /* not created by this job: never deleted */
	struct arena memory;
	/* take and adopt */
	const char *agent_id, *cwd, *base, *top;
	const char **symlink_dirs, **sparse_paths;
	bool fresh, adopt, base_given;
	const char *may_run; /* why git may run a program of the repository; NULL: it does not */
	bool has_branch;     /* adopt: the branch exists, check it out */
	bool registered;     /* undo removes the worktree */
	bool claimed;        /* undo unlocks it */
	bool without_spare, retry_place;
	struct fill *fill; /* copies files in a worker */
	worktree_taken_fn *taken;
	/* release */
	bool detached, parked;  /* parked: w belongs to repo->spare now */
	const char *why, *head; /* why it is kept; where its HEAD is */
	worktree_released_fn *released;
	void (*swept)(struct worktree_job *job); /* for the sweep, in place of released */
	void *data;
};

struct worktree_pool {
	struct loop *loop;
	struct spawner *spawner;
	struct worktree_owner self;
	struct worktree_repo *repos;
	struct worktree_job *waiting, **waiting_end;
	struct worktree_job *active;
	unsigned active_count; /* count against PARALLEL_JOBS */
	unsigned sweeps;
	unsigned spare_names;
	unsigned fetch_cap_ms;
	struct kick kick;
	bool closed;
	worktree_drained_fn *drained;
	void *drained_data;
};

struct worktree_job *job_new(struct worktree_pool *pool, const struct worktree_step *first, void *data);
void job_queue(struct worktree_job *job);     /* starts when a job slot is free */
void job_start_now(struct worktree_job *job); /* outside the limit: for the sweep, which others wait for */
void job_go(struct worktree_job *job, const struct worktree_step *step);
void job_fail(struct worktree_job *job); /* job->err is set */
void job_git(struct worktree_job *job, const struct git_command *command);
/* In job->w; after use by an agent, under that agent's Landlock rules */
void job_git_confined(struct worktree_job *job, const char *const *args, bool abortable);
void job_go_next(struct worktree_job *job);                      /* to the next step of a step that names it */
void job_git_failed(struct worktree_job *job, const char *what); /* sets job->err from git's output, then job_fail */
void job_kick(struct worktree_job *job);
void job_done(struct worktree_job *job); /* reports, frees, starts the next job */
void pool_kick_all(struct worktree_pool *pool);

/* worktree_release.c: steps and the sweep, for other files. */

extern const struct worktree_step step_ended; /* kept if there is a reason, else removed */
extern const struct worktree_step step_empty; /* w holds no work; continues with job->after */
void sweep_start(struct worktree_repo *repo); /* leads to SWEEP_OVER and pool_kick_all */
