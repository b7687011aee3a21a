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
void term_use_kitty(void);        /* the terminal has kitty's keys: Shift-Enter and the like are keys of their own */
bool term_has_kitty(void);
/* How the terminal was before it was taken, and what sets it back after a kill; borrowed */
const struct termios *term_outside(const char **ret_reset);
void term_size(unsigned *ret_columns, unsigned *ret_rows);
bool term_has_utf8(void);
