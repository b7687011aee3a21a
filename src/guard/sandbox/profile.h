/* SPDX-License-Identifier: MIT
 * profile.h - what one command may touch, as lists of paths, made from the belief about it or from the settings. The kernel
 * is only asked which files exist. */
#pragma once
#include "core/tool/tool.h"
#include "guard/sandbox/policy.h"

struct find_tree;

enum sandbox_hold {
	HOLD_NONE,   /* it runs free */
	HOLD_READS,  /* it was believed to change nothing */
	HOLD_EDITS,  /* it was believed to change files in the working directories */
	HOLD_INSIDE, /* the settings want it in the sandbox */
	HOLD_CONVERTS, /* it reads, and writes nothing but its temporary directory; it was not asked about and needs no more */
	HOLD_WORKTREE, /* its agent writes in a worktree only */
};

/* Which file a path leads to; zero: none. */
struct file_id {
	dev_t dev;
	ino_t ino;
};

struct profile {
	enum sandbox_hold hold;
	struct paths writes;  /* directories and files, without links in their paths */
	struct paths reads;   /* only with limits_reads; begins with the programs */
	size_t program_count; /* of these */
	size_t linked_reads;  /* of these: behind them is what rules name, without links in its path */
	const struct file_id *read_ids;
	struct paths protects; /* in writes, but not to be written: they exist */
	struct paths lifts;    /* names that a custom protects and a setting of the user's opens */
	struct paths links;    /* those of protects that are links */
	struct paths pins;     /* directories between writes and what is in them: they cannot be moved away */
	struct paths hides;    /* they exist */
	struct paths emptied;  /* hidden directories of which a part comes back */
	struct paths back;     /* those parts */
	struct paths roots;    /* of writes: directories whose protected names are watched */
	const char *temp_dir;
	bool limits_reads;
	bool git_config; /* of the roots is writable, and looked at when the command has ended */
	bool network;    /* through the proxy */
};

/* What it is made from. All borrowed. */
struct profile_facts {
	enum sandbox_hold hold;
	const struct tool_env *env;
	const struct sandbox_policy *policy; /* NULL: nothing is set */
	const char *cwd;
	const char *command;               /* text: whether git is in it */
	const char *temp_dir;              /* it exists, and has no links in its path */
	const char *cwd_file;              /* NULL: none */
	const struct paths *programs;      /* as profile_programs() found them */
	const struct file_id *program_ids; /* as profile_identify() found them */
	struct find_tree **trees;          /* what walks found before, for the next one */
	const char *home;                  /* NULL: unknown */
	const char *config_dir;
	bool lasts; /* see struct sandbox_request */
};

/* What programs need to run at all: they, their libraries, what those look up. In the arena. home may be NULL. */
void profile_programs(struct paths *ret, struct arena *a, const char *path, const char *home, const char *shell);
/* Looks which files they are now; ids has room for all. True: others than before. A Landlock ruleset names files, so what was
 * found when it was made holds as long as it is used. */
bool profile_identify(const struct paths *programs, struct file_id *ids);
/* Everything is in the arena. -ERR_LIMIT: more is to be hidden than can be found; err says so. */
int profile_make(struct profile *ret, struct arena *a, const struct profile_facts *facts, struct err *err);
bool profile_may_read(const struct profile *p, const char *path);
bool profile_may_write(const struct profile *p, const char *path);
