/* SPDX-License-Identifier: MIT
 * grep_print.h - the lines that a search found in one file, as ripgrep prints them:
 *
 *     path:12:a line that matches
 *     path-13-a line of its context
 *     --                              between groups that do not touch
 *
 * The printer sees a window of the file that moves forward; positions are offsets into it. */
#pragma once
#include "lib/base/buf.h"
#include "tools/search/pattern.h"

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

enum { GREP_MAX_LINE = 10000 }; /* bytes of a line that are printed */

struct grep_printer {
	const struct grep_want *want;
	struct str path; /* as it is shown; borrowed */
	struct grep_hits *hits;
	const char *window;
	size_t printed; /* everything before this is printed or left out */
	size_t counted; /* line is the number of the line that begins here */
	uint64_t line;
	size_t after_left; /* lines of context still wanted after a match */
	bool gap;          /* lines before `printed` were left out since the last printed line */
};

struct grep_printer grep_printer(const struct grep_want *want, const char *path, struct grep_hits *hits);
/* Lines from..to match; before them, up to from, none does. */
void grep_print_match(struct grep_printer *p, struct span lines);
/* One match of only_matching; its lines are printed apart. */
void grep_print_part(struct grep_printer *p, struct span match);
void grep_print_after(struct grep_printer *p, size_t to); /* context after the last match, not beyond `to` */
void grep_print_note(struct grep_printer *p, const char *text);
bool grep_print_full(const struct grep_printer *p);               /* more would be of no use */
size_t grep_print_keep(const struct grep_printer *p, size_t end); /* from where the window is still needed */
void grep_print_move(struct grep_printer *p, size_t drop); /* so many bytes are gone from the front of the window */
