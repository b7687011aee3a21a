/* SPDX-License-Identifier: MIT
 * worktree_stage.h - a temporary repository, a pool, and takes and releases that wait for their end. */
#pragma once
#include "unit.h"
#include "agents/worktree/worktree_int.h"

struct stage {
	char dir[FOLDER_MAX]; /* everything of the test is below it; HOME too */
	char repo[80];        /* dir/repo: files a, b, sub/c; one commit; *.log and .env ignored */
	struct loop *loop;
	struct spawner *spawner;
	struct worktree_pool *pool;
	/* of the last take */
	struct worktree *w;
	struct err err;
	/* of the last release */
	bool kept;
	char *path, *branch, *why;
	unsigned dones;
	/* cancel when this step runs */
	struct worktree_job *job;
	const char *cancel_at;
	struct buf out; /* what the last script said */
};

void stage_init(struct stage *st);
void stage_release(struct stage *st); /* fails when something is left behind */
void stage_reopen(struct stage *st);  /* another pool, as in another process; the old one is freed */
int stage_sh(struct stage *st, const char *fmt, ...) printf_like(2, 3); /* in repo; exit code; output in st->out */
void stage_must(struct stage *st, const char *fmt, ...) printf_like(2, 3);
struct str stage_says(struct stage *st, const char *script); /* its trimmed output */

char *stage_snapshot(struct stage *st);          /* returns owned: all names outside .git, all worktrees, all refs */
void stage_check_nothing_left(struct stage *st); /* no worktree but the main one, no branch of agents */
/* git becomes one that does effect (shell) when one of its arguments is command, and is the real one otherwise. */
void stage_break_git(struct stage *st, const char *command, const char *effect);
void stage_mend_git(void);

struct worktree *stage_take(struct stage *st, const char *id); /* in repo, HEAD; NULL: st->err */
struct worktree *stage_take_as(struct stage *st, const struct worktree_spec *spec);
struct worktree *stage_adopt(struct stage *st, const char *id, const char *base);
void stage_give_back(struct stage *st, struct worktree *w);
void stage_drain(struct stage *st);
void stage_on_taken(struct worktree *w, const struct err *err, void *data);

#define ID_1 "a0000000000000001"
#define ID_2 "a0000000000000002"
#define ID_3 "a0000000000000003"
