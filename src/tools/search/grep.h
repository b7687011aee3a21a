/* SPDX-License-Identifier: MIT
 * grep.h - a search for a pattern in all files of a tree, or in one file. Blocks; meant for a worker. */
#pragma once
#include "lib/base/buf.h"
#include "tools/search/pattern.h"
#include "tools/search/walk.h"

enum grep_mode { GREP_FILES, GREP_CONTENT, GREP_COUNT };

struct grep_want {
	enum grep_mode mode;
	size_t before, after; /* lines of context */
	bool numbers;         /* line numbers */
	bool only_matching;   /* print or count each match, not its line */
	bool with_path;
	size_t max_lines; /* of one file, that the caller could use; 0: all */
};

/* Of one file */
struct grep_hits {
	struct buf text;  /* GREP_CONTENT: complete lines */
	size_t lines;     /* in text */
	uint64_t matches; /* lines that match, or matches with only_matching */
};

/* Everything is borrowed until grep_run returns */
struct grep_query {
	struct str pattern; /* in the syntax of ripgrep */
	unsigned flags;     /* enum regex_flags */
	struct grep_want want;
	const char *base;         /* paths inside this directory are shown relative to it */
	struct walk_options walk; /* root may be a file; globs_base, threads, visit and data are set by grep_run */
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

/* A file is read in pieces of 64 KB, so that it may have any size; with multiline it is read whole. Never mapped: a file that
 * shrinks while it is mapped would kill the process.
 *
 * Binary files as in ripgrep: a NUL in a piece ends the search of a file that was found by a walk; the hits of earlier pieces
 * stay, but a count is dropped. In a file that was named the search continues, and a match is only reported.
 *
 * Lines are printed as ripgrep prints them:
 *
 *     path:12:a line that matches
 *     path-13-a line of its context
 *     --                              between groups that do not touch */

struct grep_scanner; /* of one thread */

/* Borrows all of it. stop may be NULL. limit_ms: from now on, for all files; 0: none. */
struct grep_scanner *grep_scanner_new(const struct pattern *pattern, const struct grep_want *want,
				      const atomic_bool *stop, uint64_t limit_ms);
void grep_scanner_free(struct grep_scanner *s);

/* Searches the file; shown is its name in the output, named means that the user asked for this very file. Adds to *hits,
 * whose matches are 0 when nothing was found. ERR_IO when it cannot be read, ERR_LIMIT when the pattern is too
 * expensive, ERR_TIMEOUT when the time is over. */
int grep_scan_file(struct grep_scanner *s, int fd, const char *path, const char *shown, bool named,
		   struct grep_hits *hits, struct err *err);
