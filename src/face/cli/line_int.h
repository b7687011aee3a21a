/* SPDX-License-Identifier: MIT
 * line_int.h - the line loop, for line.c and line_ask.c only. */
#pragma once
#include <cadre.h>
#include <termios.h>
#include "face/cli/flag.h"
#include "face/cli/edit.h"
#include "face/cli/view.h"

enum line_state {
	LINE_READING,   /* the input line is shown */
	LINE_WORKING,   /* a turn runs and has the terminal */
	LINE_ASKING,    /* the first of asks waits for an answer */
	LINE_SWITCHING, /* the loop is left for a moment to open the wanted session */
	LINE_LEAVING,   /* the program ends when the turn has ended */
};

enum line_wanted { LINE_FIRST /* by the command line */, LINE_NEW, LINE_OLD, LINE_LATEST };

struct ask; /* line_ask.c */

struct line {
	const struct args *args;
	struct cadre *c;
	struct cadre_session *session;
	struct view view;
	enum line_state state;
	struct ask *asks; /* oldest first, owned */
	enum line_wanted wanted;
	char *wanted_id;        /* LINE_OLD: of which session; owned */
	int64_t interrupted_ms; /* monotonic time of the last Ctrl-C; 0: none */
	bool in_turn;           /* a turn of the main agent runs; children may work without one */
	bool worked;            /* a turn was run: there is something to resume */
	bool over;              /* the loop has been stopped */
	int code;               /* of the program */
	struct edit edit;
	int hint_fd;           /* when an agent has been waited for so long that Ctrl-B is worth a line */
	char waited_agent[64]; /* the first of those that the turn waits for; "": none */
	bool hinted;           /* once is enough */
	int progress_fd;       /* without a live view: when a turn that takes long is worth a line */
	int64_t turn_ms;       /* when it began; 0: none */
	int timer_fd;          /* when a question takes answers, or kept input is read */
	cc_t quit_key;         /* of the terminal, while key_bound */
	bool key_bound;
};

static inline void line_say(struct line *l, const char *text) /* one or more lines of ours */
{
	view_end_line(&l->view);
	view_write(&l->view, str_from(text));
	view_write(&l->view, STR("\n"));
}
/* The input line; done gets what was typed. Hiding it any number of times. */
void line_show(struct line *l, enum edit_kind kind, const char *prompt, edit_line_fn *done);
void line_hide(struct line *l);
/* Below a question: the prompt's line, until no key came for a moment. Then line_ask_open(). */
void line_wait(struct line *l);
void line_continue(struct line *l); /* after a question: the next one, the turn, or the next line */

/* line_ask.c */
void line_ask_add(struct line *l, const struct cadre_event *e); /* shown when it is its turn */
void line_ask_next(struct line *l);                             /* shows the first; there is one */
void line_ask_open(struct line *l);                             /* and now it takes an answer */
void line_ask_refuse(struct line *l);                           /* the one that is shown: no */
void line_ask_forget(struct line *l, const char *agent);        /* drops its questions: it has ended */
void line_ask_release(struct line *l);
