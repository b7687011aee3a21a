/* SPDX-License-Identifier: MIT
 * term.h - the terminal is ours and is always given back: at the end, on a stop (Ctrl-Z), on a signal, on a crash. One terminal a
 * process: standard input and output. */
#pragma once
#include <stdbool.h>

struct termios;

bool term_fits(void); /* standard input and output are a terminal that can move its cursor, in a UTF-8 locale or not */
bool term_take(void); /* raw mode, bracketed paste; false: there is no terminal any more. Any number of times */
void term_give_back(void);
void term_use_no_sequences(void); /* before it is taken */
/* What comes and goes while the terminal is ours. It is given back with it, and set again when it is taken again. */
enum term_mode {
	TERM_KITTY,    /* kitty's keys: Shift-Enter and the like are keys of their own */
	TERM_FOCUS,    /* it says whether it has the focus */
	TERM_PROGRESS, /* it shows that something runs */
	TERM_TITLE,    /* it has a title of ours */
	TERM_MODES
};
const char *term_set(enum term_mode mode,
		     bool on); /* the bytes that do it, for the caller to write; "": it is so already */
const char *term_set_title(const char *sequence); /* the same for another title: the whole sequence, harmless */
bool term_has(enum term_mode mode);
/* How the terminal was before it was taken, and what sets it back after a kill; borrowed. modes: 1 << each that may be on then */
const struct termios *term_outside(unsigned modes, const char **ret_reset);
void term_size(unsigned *ret_columns, unsigned *ret_rows);
bool term_has_utf8(void);
