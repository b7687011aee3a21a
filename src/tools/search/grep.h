/* SPDX-License-Identifier: MIT
 * grep.h - a search for a pattern in all files of a tree, or in one file. Blocks; meant for a worker. */
#pragma once
#include "tools/search/grep_scan.h"
#include "tools/search/walk.h"

/* Everything is borrowed until grep_run returns */
struct grep_query {
	struct str pattern; /* in the syntax of ripgrep */
	unsigned flags;     /* enum regex_flags */
	struct grep_want want;
	const char *path;              /* absolute: a file or a directory */
	const char *base;              /* paths inside this directory are shown relative to it */
	const struct gitignore *globs; /* see walk.h; may be NULL */
	const struct gitignore *types;
	const struct hidden_files *denied;
	bool no_ignore; /* see walk.h */
	const char *home, *config_home;
	unsigned threads; /* 0: as many as the machine has */
	uint64_t limit_ms;
	const atomic_bool *stop; /* may be NULL */
};

struct grep_file {
	char *path; /* as shown; owned */
	struct grep_hits hits;
	int64_t mtime_ns; /* GREP_FILES only */
};

struct grep_results {
	struct grep_file *files; /* GREP_FILES: newest first; otherwise by path, component by component */
	size_t count, cap;
	size_t lines; /* of all texts */
};

/* With want.max_lines in GREP_CONTENT only files that can be among the first max_lines lines are kept (and searched).
 * ERR_PARSE or ERR_LIMIT: the pattern; ERR_NOT_FOUND, ERR_IO: the path; ERR_CANCELLED, ERR_TIMEOUT. */
int grep_run(const struct grep_query *query, struct grep_results *ret_results, struct err *err);
void grep_results_release(struct grep_results *results);
