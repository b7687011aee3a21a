/* SPDX-License-Identifier: MIT
 * todo_list.h - the task list of a session: what its agents have to do, in files that other programs read and write too.
 *
 *     <dir>/1.json, 2.json, ...    {"id":"1","subject":..,"description":..,"activeForm":..,"owner":..,"status":"pending",
 *                                   "blocks":["2"],"blockedBy":[],"metadata":{}}
 *     <dir>/.lock                  held while the list is changed; holds the highest number that was ever given
 *     <dir>/.lock.lock, N.json.lock    directories: the same for programs that lock so, the list and one item
 *     <dir>/.highwatermark         the highest number that was ever deleted
 *
 * The files are the list: each call looks at them, so that all agents of a session, resumed ones, and other processes see
 * the same. */
#pragma once
#include "lib/json/json_write.h"
#include "core/tool/tool.h"
#include "lib/io/file.h"

enum todo_status { TODO_PENDING, TODO_IN_PROGRESS, TODO_COMPLETED, TODO_STATUS_COUNT };
enum { TODO_MOST = 10000, LARGEST_ITEM = 1 << 20 };

struct todo_ids {
	unsigned *ids; /* in the list's arena */
	size_t count;
};

struct todo {
	unsigned id;
	const char *subject, *description;
	const char *active_form, *owner; /* NULL: not said */
	enum todo_status status;
	struct todo_ids blocks, blocked_by;
	struct str metadata; /* a JSON object; n == 0: none */
	bool is_read;        /* of a list that is read as needed */
};

struct todo_book;
struct todo_list {
	struct arena arena;     /* holds the texts */
	struct todo_book *book; /* of its session (todo_book.c); NULL: none */
	const char *dir;
	int lock;                /* descriptor; -1: the list is only read */
	struct dir_lock whole;   /* the same as other programs lock it */
	struct dir_lock *locked; /* of items that are about to change */
	size_t locked_count;
	bool spare_lock;    /* none is counted, and locked[0] is of the change before */
	unsigned wait_ms;   /* for locks of other programs */
	struct todo *items; /* by their numbers */
	size_t count;
	unsigned highest; /* number that was ever given; a new item gets the next one */
};

/* todo_text.c: the text of a file. */

const char *todo_status_name(enum todo_status status);
bool todo_status_find(struct str name, enum todo_status *ret_status);
bool todo_read_id(struct str text, unsigned *ret_id);
bool todo_add_id(struct arena *a, struct todo_ids *ids, unsigned id); /* a new array; false: it is there already */
/* Texts in the arena. False: not an item. */
bool todo_read_text(struct str text, unsigned id, struct arena *a, struct todo *ret);
/* A member with an array: those that are open in this list; NULL: all */
void todo_put_ids(struct json_out *w, const char *key, const struct todo_ids *ids, struct todo_list *open_in);
void todo_put(struct json_out *w, const struct todo *t, bool whole); /* an object; whole: with what only the file has */

/* todo_list.c */

/* Reads all items; one that cannot be understood is passed over. to_change: takes the lock, -ERR_BUSY if another process has
 * it. A list that is not there is empty. dir is copied. */
int todo_list_open(struct todo_list *l, const char *dir, bool to_change, struct err *err);
void todo_read_all(struct todo_list *l);   /* of one that is read in parts */
void todo_list_close(struct todo_list *l); /* also of one that could not be opened; gives the lock back */
#define AUTO_TODO_LIST CLEANUP(todo_list_close)

struct todo *todo_find(struct todo_list *l, struct str id); /* NULL: there is none */
struct todo *todo_find_id(struct todo_list *l, unsigned id);
bool todo_is_open(struct todo_list *l, unsigned id); /* it is there and not completed */
/* `blocker` comes first, in both items. True: that is new. Neither is written. */
bool todo_block(struct todo_list *l, struct todo *blocker, struct todo *blocked);

/* The list must be locked for these. */
/* Locks this item until the list is closed, and reads it again the first time. -ERR_BUSY, -ERR_NOT_FOUND: it is gone. */
int todo_hold(struct todo_list *l, struct todo *t, struct err *err);
/* Whether `first` would wait for itself if it waited for `then`; the way is written out: #1 -> #2 -> #1. */
bool todo_makes_cycle(struct todo_list *l, const struct todo *first, const struct todo *then, struct buf *way);
int todo_write(struct todo_list *l, const struct todo *t, struct err *err);  /* a new one or a changed one */
int todo_remove(struct todo_list *l, const struct todo *t, struct err *err); /* from what it blocks as well */

/* For the tools. */

/* The list of the call's session. again: it is to be changed; if another process has its lock, again is called with the call from
 * the loop, soon. NULL: it is only read. False: the call has been answered, or again comes. */
typedef void todo_again_fn(struct tool_call *call);
bool todo_open(struct tool_call *call, struct todo_list *l, todo_again_fn *again);
/* The same; an item is read when todo_find() finds it. */
bool todo_open_parts(struct tool_call *call, struct todo_list *l, todo_again_fn *again);
bool todo_try_again(struct tool_call *call, todo_again_fn *again); /* false: the call has waited long enough */
/* "#1, #3": those of them that are open. Nothing if none is. */
void todo_add_open(struct buf *out, struct todo_list *l, const struct todo_ids *ids);
/* As tasks_of, release_tasks, claim_task, task_at and open_tasks of struct tool_runtime. */
unsigned todo_tasks_of(const struct tool_env *env, const char *owner, struct buf *out);
int todo_release_tasks(const char *dir, const char *owner, unsigned wait_ms, struct buf *out, struct err *err);
int todo_claim_next(const struct tool_env *env, const char *owner, bool again, struct arena *a, struct todo_info *ret);
bool todo_task_at(const char *dir, const char *owner, unsigned n, struct arena *a, struct todo_info *ret);
void todo_open_tasks(const char *dir, struct buf *out);
/* The open items of both lists of this agent, a line each. */
void todo_add_reminder(struct tool_env *env, struct buf *out);

/* todo_book.c: the task list as one session has it open. The files stay the truth; the book saves work while many agents use
 * the list at once: an item whose file has not changed is not read again, and the locks of a change are kept for a few
 * milliseconds, because the next change mostly follows (docs/internals/todo.md). */

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
