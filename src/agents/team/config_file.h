/* SPDX-License-Identifier: MIT
 * config_file.h - config.json of a team, for the files of this room. */
#pragma once
#include <sys/stat.h>
#include "agents/team/team.h"

/* Where the files of a team are. All owned. */
struct team_dir {
	char *config_dir, *below; /* "teams/NAME" */
	char *session;
};

struct config_result {
	const volatile bool *stop; /* ends the wait for the lock; NULL: nothing does */
	struct map foreign;        /* members of other programs, as the file had them; owned */
	struct stat written;       /* what we made of it */
};

/* The whole text. alive: with the process of the lead. */
void config_write(const struct team *t, bool alive, struct buf *out);
/* The file becomes text and what others added to it, under its lock. Also on a thread. -ERR_BUSY: the lock is held for wait_ms. */
int config_replace(const struct team_dir *p, struct str text, unsigned wait_ms, struct config_result *ret,
		   struct err *err);
bool config_stat(const struct team_dir *p, struct stat *ret_st); /* false: it is not there */
/* Replaces a file; the directory must be there: one that was removed is not made again. */
int team_dir_write(const struct team_dir *p, const char *below, struct str text, struct stat *ret_st, struct err *err);
