/* SPDX-License-Identifier: MIT
 * tasks.h - the children of sessions as other processes see them: of those that run by asking their sockets, of the others
 * from the meta files beside the transcripts, and from the ends of those. */
#pragma once
#include "product/session/session.h"
#include "product/command/report.h"

struct task_session {
	const char *id, *project_dir; /* project_dir: "" if unknown */
	const char *cwd;              /* "" if unknown */
	const char *socket;           /* where it listens; NULL: it does not run */
	int64_t pid;
	double cost_usd;        /* of all its agents if it runs, otherwise of the children */
	struct task_row *tasks; /* in the order of starting */
	size_t count, cap;
};

/* Everything is in the arena but the arrays. */
struct task_list {
	struct arena arena;
	struct task_session *sessions;
	size_t count, cap;
	bool counts; /* what interrupted agents did is counted: their transcripts are read */
};

void task_list_release(struct task_list *l);
#define AUTO_TASKS CLEANUP(task_list_release)

/* Adds the sessions that run, of any project. One that does not answer is left out. */
int task_list_add_live(struct task_list *l, struct err *err);

/* Sends a request to a session that runs, and adds its answer. */
int task_session_ask(const struct task_session *s, struct str request, int limit_ms, struct task_list *after,
		     struct err *err);

/* Where the runtime's options point to */
struct task_dirs {
	const char *config_dir, *project_dir;
};
int task_dirs(struct services *sv, struct arena *a, struct task_dirs *ret, struct err *err);
/* Those that run, and those of the project that had agents. */
int task_list_collect(struct task_list *l, struct services *sv, struct task_dirs *ret_dirs, struct err *err);

struct found_task {
	const struct task_session *session;
	const struct task_row *row;
};
/* By its id, the beginning of one, or its name; of several with one name those that run count, or the newest. Other projects are looked
 * through if the list has none. session: only in that one; NULL: anywhere. -ERR_NOT_FOUND, -ERR_USAGE if several match: the text
 * names them. */
int task_list_find(struct task_list *l, const struct task_dirs *dirs, const char *agent, const char *session,
		   struct found_task *ret, struct err *err);
bool task_is_running(const struct found_task *found);
