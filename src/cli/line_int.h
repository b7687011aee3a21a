/* SPDX-License-Identifier: MIT
 * line_int.h - the line loop, for line.c and line_command.c only. */
#pragma once
#include <cadre.h>
#include "cli/view.h"

enum line_state {
	LINE_READING, /* the input line is shown */
	LINE_WORKING, /* a turn runs, the terminal is its */
	LINE_ASKING,  /* a turn runs and waits for an answer to the first of asks */
	LINE_LEAVING, /* the program ends when the turn has ended */
};

struct ask {
	char *id;
	char *text;
	struct ask *next;
};

struct line {
	struct cadre *c;
	struct cadre_session *session;
	struct view view;
	enum line_state state;
	struct ask *asks;          /* oldest first, owned */
	int64_t interrupted_ms;    /* monotonic time of the last Ctrl-C; 0: none */
	bool worked;               /* a turn was run ... */
	bool kept;                 /* ... and is on disk: there is something to resume */
	bool over;                 /* the loop was told to stop */
	int code;                  /* of the program */
};

void line_say(struct line *l, const char *text); /* one or more lines of ours */
void line_leave(struct line *l, int code);
/* Another session takes the place of the current one, which is closed. On failure the current one stays. */
int line_open_new(struct line *l, struct err *err);
int line_open_old(struct line *l, struct str id, struct err *err); /* empty: the latest */

/* Runs the command of a line that starts with a slash. */
void line_command(struct line *l, struct str text);
