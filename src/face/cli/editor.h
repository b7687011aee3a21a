/* SPDX-License-Identifier: MIT
 * editor.h - a text that is being typed. The bytes of a terminal go in, text and cursor come out; it reads and writes
 * nothing. screen.h draws it, edit.h connects both with the terminal. A zeroed struct is an empty editor.
 *
 * A sequence or a character may come in any number of pieces. What is pasted (between ESC[200~ and ESC[201~) is text,
 * never a key: its line ends are kept. The locale decides which characters have no width of their own and therefore
 * belong to the one before. */
#pragma once
#include "lib/base/buf.h"

enum { EDITOR_LIMIT_BYTES = 4 << 20, EDITOR_HISTORY_LINES = 500, EDITOR_SEQUENCE_BYTES = 16 };

enum editor_event {
	EDITOR_MORE,   /* all bytes were used */
	EDITOR_ENTER,  /* the text is complete */
	EDITOR_END,    /* Ctrl-D, and there is no text */
	EDITOR_FULL,   /* what came does not fit and was left out */
	EDITOR_REDRAW, /* Ctrl-L */
};

struct editor {
	struct buf text; /* valid UTF-8 without NUL */
	size_t cursor;   /* offset of the character that it stands on, or text.n */
	struct buf killed;
	char **history;                       /* oldest first */
	size_t history_count, history_at;     /* at == count: the text is not from the history */
	struct buf draft;                     /* the text that was left for the history */
	char sequence[EDITOR_SEQUENCE_BYTES]; /* an unfinished escape sequence or character */
	size_t sequence_n;
	bool pasting, paste_too_long;
	size_t paste_end_n; /* bytes seen of the sequence that ends the paste */
	struct buf pasted;
};

void editor_release(struct editor *e);
void editor_clear(struct editor *e); /* an empty text; history and what was killed stay */
/* Returns how many bytes were used: all, or those up to the event. */
size_t editor_feed(struct editor *e, const char *p, size_t n, enum editor_event *ret_event);
/* No byte came for a while: an Esc that waits for the rest of a sequence was the key. */
void editor_settle(struct editor *e);
bool editor_insert(struct editor *e, struct str s); /* valid UTF-8; false: it does not fit */
void editor_add_history(struct editor *e, struct str text);
