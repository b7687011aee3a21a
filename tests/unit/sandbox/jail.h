/* SPDX-License-Identifier: MIT
 * jail.h - a home, a working directory and a place outside, with files that must not change and secrets that must not be
 * seen; someone who listens, and a process that must live. Commands run there as the Bash tool runs them. */
#pragma once
#include "unit.h"
#include "lib/io/spawn.h"
#include "guard/sandbox/sandbox.h"

#define JAIL_SECRET "CANARY-7f3a" /* where a command that reads has nothing to look for */
#define JAIL_HIDDEN "CANARY-91c2" /* what a deny rule hides, from commands that edit too */

struct jail {
	struct arena arena;
	struct loop *loop;
	struct spawner *spawner;
	struct sandbox *sandbox;
	struct permission permission; /* with the deny rule Read(.env) */
	struct tool_env env;
	char dir[FOLDER_MAX];
	const char *home, *work, *out;
	const char *dirs[2];
	const char *envp[10];
	int listener, unix_listener;
	pid_t victim;
	char *victim_was; /* its limits and priority */
	int memory;       /* that processes outside share */
	struct timer timer;
	struct child *child;
	struct buf output;
	int status;
	bool late;             /* the last command had to be ended */
	enum tool_where where; /* WHERE_IN: as the settings of its sandbox say */
};

void jail_open(struct jail *j);
void jail_close(struct jail *j);
/* What the command said on both streams is in j->output. False: it was not started or did not end, and why is there. */
bool jail_run(struct jail *j, const char *command, enum tool_belief belief);
/* What a command may have changed in the working directory is as it was. */
void jail_tidy(struct jail *j);
/* A text that is another when a file, a mode or a time of the tree is another; work: its ordinary files count too. */
char *jail_snapshot(struct jail *j, bool work);
unsigned jail_visits(struct jail *j);         /* connections since the last time */
bool jail_victim_lives(const struct jail *j); /* as it was, and the memory is there */
void jail_add_rule(struct jail *j, enum rule_list list, const char *text);
/* What a command may touch: in this directory, or ls in the working directory */
void jail_profile_in(struct jail *j, enum sandbox_hold hold, const struct sandbox_policy *policy, const char *cwd,
		     const char *command, struct profile *ret);
void jail_profile(struct jail *j, enum sandbox_hold hold, const struct sandbox_policy *policy, struct profile *ret);
