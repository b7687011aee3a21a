/* SPDX-License-Identifier: MIT
 * draft.h - the text that is being typed: cursor, undo, what was killed, pastes as one mark, history. It reads and writes nothing.
 * A mark is one character of a private plane (U+F0000 + its place in marks) in the text, so that it is moved over and deleted as one.
 * Marks last as long as the draft: what was killed, put aside or sent may come back. */
#pragma once
#include "face/draft/keymap.h"
#include "lib/base/buf.h"

enum {
	DRAFT_KILLS = 10,
	DRAFT_CHANGES = 200,
	DRAFT_MARK_LINES = 3,
	DRAFT_MARK_BYTES = 800,
	DRAFT_LIMIT_BYTES = 32 << 20,
	DRAFT_HISTORY_LINE = 64 << 10,
	DRAFT_INDENT = 2, /* columns before all rows but the first */
};

struct draft_change;
struct json_out;

struct draft_mark {
	char *label;        /* "paste 1: 23 lines, 1.2KB" */
	size_t number;      /* in the label */
	struct buf content; /* sent in its place */
	char *block;        /* of a file: a content block of the prompt, as JSON; NULL: none */
};

struct draft {
	struct buf text; /* valid UTF-8 without NUL */
	size_t cursor;
	char *kills[DRAFT_KILLS];      /* the newest first; owned */
	size_t yanked_from, yanked_at; /* what the last yank put in; equal: none */
	unsigned yank;                 /* which kill that was */
	bool killing;                  /* the last key killed: the next kill joins it */
	struct draft_change *changes;  /* the newest first; owned */
	size_t change_count;
	bool typing;    /* the last change was typed text: more of it joins */
	unsigned group; /* of the changes to come: those of one group are undone together; 0: each alone */
	struct draft_mark *marks;
	size_t mark_count;
	char **history; /* those of other projects, then of this one; each oldest first, with marks; owned */
	size_t history_first, history_count, history_at; /* first: of this project */
	struct buf left;                                 /* the text that was left for the history */
	struct buf stash;
};

enum draft_move {
	MOVE_LEFT,
	MOVE_RIGHT,
	MOVE_WORD_LEFT,
	MOVE_WORD_RIGHT,
	MOVE_BLANK_LEFT, /* as a word, but only blanks end it */
	MOVE_LINE_START,
	MOVE_LINE_END,
	MOVE_START,
	MOVE_END,
};

void draft_release(struct draft *d);
void draft_clear(struct draft *d);                  /* text and undo; history, kills and marks stay */
bool draft_type(struct draft *d, struct str text);  /* false: it does not fit */
bool draft_paste(struct draft *d, struct str text); /* as text, or as a mark if it is long */
size_t draft_next_number(const struct draft *d);    /* of a mark that is added to the text */
bool draft_attach(struct draft *d, struct str label,
		  struct str block); /* a file as a mark; false: there are too many */
void draft_move(struct draft *d, enum draft_move move);
/* As it is shown: in rows of so many columns, the first of which has an indent. */
struct draft_row {
	size_t from, to;
	size_t next;     /* where the next one begins; SIZE_MAX: there is none */
	unsigned column; /* of its text */
	bool has_cursor;
};
struct draft_row draft_row_at(const struct draft *d, size_t from, unsigned indent, unsigned columns);
unsigned draft_cursor_column(const struct draft *d, const struct draft_row *row); /* in the row that has it */
/* To the row above or below; false: there is none */
bool draft_move_row(struct draft *d, bool up, unsigned indent, unsigned columns);
void draft_delete(struct draft *d, enum draft_move until); /* not killed */
void draft_kill(struct draft *d, enum draft_move until);
void draft_yank(struct draft *d);
void draft_yank_older(struct draft *d); /* right after a yank */
void draft_undo(struct draft *d);
/* What an action of the editor does; false: the action is another one. readline: Ctrl-W cuts to a blank */
bool draft_edit(struct draft *d, enum action action, bool readline);
void draft_replace(struct draft *d, size_t from, size_t to, struct str with); /* the cursor is behind it */
void draft_set(struct draft *d, struct str text);                             /* in place of all; can be undone */
/* Its label if a mark stands at this offset; NULL: none */
const char *draft_mark_at(const struct draft *d, size_t at);
void draft_show(const struct draft *d, struct str text, struct buf *out); /* marks by their labels */
struct str draft_mark_text(const struct draft *d, size_t at); /* what was pasted there; "": no mark of a paste */
void draft_expand(const struct draft *d, struct buf *out);    /* the text with what its marks stand for */
void draft_blocks(const struct draft *d,
		  struct buf *out); /* of files whose marks are in the text, as a JSON array; "": none */

void draft_keep(struct draft *d, struct buf *kept);  /* moves the text there, in place of what is there */
void draft_bring(struct draft *d, struct buf *kept); /* and back, in place of the text */
bool draft_stash(struct draft *d); /* puts the text aside; an empty draft gets it back. false: there is nothing */

void draft_add_history(struct draft *d, struct str text);
/* A text as one line of history.jsonl begins: {"display":..., "pastedContents":{"1":{"id":1,"type":"text","content":...}} */
void draft_write_history(const struct draft *d, struct str text, struct json_out *w);
/* Lines of history.jsonl, oldest first; they come before what was typed so far. */
void draft_read_history(struct draft *d, struct str jsonl, const char *project);
bool draft_older(struct draft *d); /* of this project; false: there is none */
bool draft_newer(struct draft *d);
