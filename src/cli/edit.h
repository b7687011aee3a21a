/* SPDX-License-Identifier: MIT
 * edit.h - one editable input line at the bottom of the terminal, by libedit. The library is loaded when
 * the first line is wanted, so that `cadre -p` pays nothing for it. libedit keeps its state in globals; so
 * does edit.c, and there is one line per process.
 *
 * While the line is shown the terminal is in libedit's mode; while it is hidden it is as the shell left
 * it, and Ctrl-C, Ctrl-Z and what is typed ahead behave as everywhere. */
#pragma once
#include "base/base.h"

/* Gets the line, borrowed until it returns, or NULL when the input ended (Ctrl-D on an empty line). The
 * line is hidden already. */
typedef void edit_line_fn(const char *line, void *data);

int edit_load(struct err *err);                                     /* must succeed before anything else here */
void edit_show(const char *prompt, edit_line_fn *done, void *data); /* prompt is copied; plain text */
void edit_hide(void);                                               /* keeps what was typed for the next edit_show() */
void edit_forget(void);                                             /* drops what was typed; hides the line too */
void edit_read(void);                                               /* standard input is readable */
void edit_resize(void);                                             /* the terminal has another size */
void edit_add_history(const char *line);                            /* for the arrow keys; in memory only */
