/* SPDX-License-Identifier: MIT
 * todo_book.h - the task list as one session has it open. The files stay the truth; the book saves work while many agents use
 * the list at once: an item whose file has not changed is not read again, and the locks of a change are kept for a few
 * milliseconds, because the next change mostly follows (docs/internals/todo.md). */
#pragma once
#include "tools/tasks/todo_list.h"

/* The book of the agent's session; NULL: it has none. Made when first wanted. */
struct todo_book *todo_book_of(const struct tool_env *env);
void todo_book_free(struct todo_book *b); /* gives the locks back; NULL is allowed */

/* A list is opened and closed with the book. Texts of items that it knows hold until the list is closed. False: a list of another
 * directory is open. */
bool todo_book_begin(struct todo_book *b, const char *dir);
void todo_book_end(struct todo_book *b);
/* The item as the book knows it, if its file is the same still. Otherwise it is to be read, and noted. */
bool todo_book_find(struct todo_book *b, unsigned id, struct todo *ret);
struct arena *todo_book_arena(struct todo_book *b); /* for the texts of an item that todo_book_note() gets */
void todo_book_note(struct todo_book *b, const struct todo *t);

/* Moves the locks of the change before into the list. 1: done; 0: it holds none; -ERR_BUSY: it had them long enough, others may
 * wait for them. */
int todo_book_lend(struct todo_book *b, struct todo_list *l);
void todo_book_return(struct todo_book *b, struct todo_list *l); /* takes the locks of a list that is closed */
