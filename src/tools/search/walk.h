/* SPDX-License-Identifier: MIT
 * walk.h - all files below a directory that a search would look at, on several threads. Meant for a worker: it blocks.
 *
 * What is visited is what ripgrep visits: no ignored files, none whose name begins with a dot unless a rule with ! keeps
 * them, no symbolic links below the root, regular files only. The order is not defined. */
#pragma once
#include <limits.h>
#include <stdatomic.h>
#include "lib/base/base.h"
#include "lib/match/gitignore.h"
#include "guard/permission/permission.h"

/* All borrowed until walk_run returns */
struct walk_options {
	const char *root;   /* absolute; a directory */
	const char *target; /* where it leads, without links, as it was judged; NULL: where it leads now */
	bool hidden;        /* visit names that begin with a dot, too */
	bool no_ignore;     /* look at no ignore file */
	const struct gitignore
		*globs;         /* NULL, or only files that match; rules with ! are left out; beats ignore files */
	const char *globs_base; /* the directory that patterns with a slash are relative to */
	const struct gitignore *types;     /* NULL, or only files with such a name */
	const struct hidden_files *denied; /* neither visited nor entered; NULL: none */
	const char *home, *config_home;    /* for the configuration of git; may be NULL */
	unsigned threads;                  /* see walk_threads; more than one start only when there is work for them */
	const atomic_bool *stop;           /* looked at before each file and directory; may be NULL */
	uint64_t limit_ms;                 /* 0: no limit */
	/* Called from any of the threads; worker is below `threads`. False ends the walk, without an error. path is
	 * absolute, borrowed until return, and begins with root; NUL-terminated. */
	bool (*visit)(void *data, unsigned worker, struct str path);
	void *data;
};

/* Where a path of the walk is: below target instead of root. No name in it may be a link, so it is opened without following any: a
 * directory that is swapped for a link meanwhile is not entered. Returns path or real. */
const char *walk_real(const struct walk_options *o, const char *path, char real[static PATH_MAX]);

unsigned walk_threads(void); /* a good number of threads for this machine */
/* 0, also when visit ended it; ERR_CANCELLED, ERR_TIMEOUT; ERR_IO when the root cannot be read. Directories below it that
 * cannot be read are left out. */
int walk_run(const struct walk_options *options, struct err *err);

/* The order of paths by their components, so that the files of a directory stay together. */
int path_compare(const char *a, const char *b);

/* Adds the globs of a kind of files ("c", "py", "make") as ripgrep has them to list, which is then matched with file names.
 * False: no such type. */
bool file_type_add(struct str type, struct gitignore *list);
