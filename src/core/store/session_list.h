/* SPDX-License-Identifier: MIT
 * session_list.h - the sessions of a project, read from their files. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/str.h"

struct session_entry {
	const char *id, *path;
	const char *title;  /* given by the user, else by a program; "": none */
	const char *prompt; /* the first one, on one line; "" if there is none */
	const char *cwd, *branch;
	int64_t changed_ms; /* since 1970 */
	uint64_t bytes;
	unsigned messages; /* lines of user and model */
	unsigned answers;  /* lines of the model, without API errors */
	unsigned agents;   /* that it has started */
	bool matches;      /* it contains the searched text, or there is none */
};

/* Texts are in the arena. */
struct session_list {
	struct arena arena;
	const char *project_dir;
	struct session_entry *entries; /* the newest first */
	size_t count, cap;
};

/* The session in dir whose file changed last; NULL if there is none. In the arena. */
char *session_newest(struct arena *a, const char *dir);
/* All sessions of a project, as far as its directory can be read. text: searched in the messages, ignoring case; NULL: none. */
void session_list_read(const char *project_dir, const char *text, struct session_list *ret);
void session_list_release(struct session_list *l);
#define AUTO_SESSIONS CLEANUP(session_list_release)
/* By its id, the beginning of one, or its title in any case. -ERR_NOT_FOUND; -ERR_USAGE, which names them, if several match. */
int session_list_find(const struct session_list *l, const char *name, const struct session_entry **ret,
		      struct err *err);

/* Calls fn with each line of a session's file until it returns other than 0, and returns that. */
int session_each_line(const char *path, int (*fn)(void *data, struct str line), void *data, struct err *err);
