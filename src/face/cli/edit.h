/* SPDX-License-Identifier: MIT
 * edit.h - the input line at the bottom of the terminal: the terminal's mode, what is typed (editor.h) and how it looks
 * (screen.h).
 *
 * There are two texts: the draft of a prompt, which stays while questions come and go, and the answer to a question, which
 * begins empty each time. What was typed before a question could be read belongs to the draft: while a line of the kind
 * EDIT_WAITING is shown, keys change the draft, and Enter sends nothing. */
#pragma once
#include <termios.h>
#include "lib/base/base.h"
#include "face/cli/editor.h"
#include "face/cli/screen.h"
#include "lib/base/buf.h"

enum edit_kind { EDIT_PROMPT, EDIT_WAITING, EDIT_ANSWER };

/* Gets the line, borrowed until it returns, or NULL when the input ended (Ctrl-D on an empty line). The
 * line is hidden already. */
typedef void edit_line_fn(const char *line, void *data);

struct edit {
	struct editor draft, answer;
	struct screen screen;
	enum edit_kind kind;
	struct buf prompt; /* of the line that is shown */
	edit_line_fn *done;
	void *data;
	struct buf unread;      /* what came behind the end of a line */
	int64_t read_ms;        /* monotonic time of the last byte */
	size_t held_line_ends;  /* at the end of the draft, by Enter while it waits */
	struct termios outside; /* the terminal's mode before */
	bool raw, shown, full_said;
};

void edit_init(struct edit *e);
void edit_release(struct edit *e); /* the terminal is as it was */
/* prompt is plain text; done is NULL for EDIT_WAITING */
void edit_show(struct edit *e, enum edit_kind kind, const char *prompt, edit_line_fn *done, void *data);
void edit_hide(struct edit *e);      /* keeps the draft; the terminal stays ours */
void edit_leave(struct edit *e);     /* hides it, and gives the terminal back until edit_show() */
bool edit_read(struct edit *e);      /* standard input is readable. False: it is over */
void edit_read_kept(struct edit *e); /* what is in unread, as if it came now */
void edit_resize(struct edit *e);    /* the window has another size */
void edit_suspend(struct edit *e);   /* gives the terminal back until edit_resume(), also if nothing is shown */
void edit_resume(struct edit *e);
int64_t edit_now_ms(void); /* of the monotonic clock */

/* What a person types to a question with numbered answers. */
struct choices {
	char **labels; /* owned */
	size_t count;
	bool several; /* may be chosen together */
};

/* Appends the answer to out: the labels of "2" or "1, 3" with commas between, in the order typed, or any other text as it
 * is. False: nothing was typed, or a number that is out of range. */
bool choice_read(const struct choices *c, struct str typed, struct buf *out);
static inline void choices_release(struct choices *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->labels[i]);
	free(c->labels);
	*c = (struct choices){ 0 };
}
