/* SPDX-License-Identifier: MIT
 * spawn_int.h - shared by spawn.c (starting), child.c (the life after it), spawner.c (what children share)
 * and keeper.c. */
#pragma once
#include <signal.h>
#include <termios.h>
#include "lib/base/buf.h"
#include "lib/io/spawn.h"

enum {
	SPAWN_ID_LEN = 16,
	CHILD_GRACE_MS = 200, /* how long pipes may outlive the process */
	CHILD_TERM_MS = 2000, /* SIGTERM becomes SIGKILL */
	CHILD_READ_BYTES = 64 * 1024,
};

/* A set of process ids on raw pages: the keeper, forked from a program with threads, must not use malloc. */
struct pid_list {
	pid_t *pids;
	size_t count, cap;
};
bool pid_list_add(struct pid_list *list, pid_t pid); /* false: no memory; adding twice is adding once */
void pid_list_remove(struct pid_list *list, pid_t pid);
bool pid_list_has(const struct pid_list *list, pid_t pid);
void pid_list_release(struct pid_list *list);

/* keeper.c. fd < 0: not running. A record is an array of int32_t: n registers group n, -n removes it, 0 ends the keeper
 * without killing. One that begins with KEEPER_PATH or KEEPER_NO_PATH is that number and a path. */
enum { KEEPER_PATH = INT32_MIN, KEEPER_NO_PATH = INT32_MIN + 1, KEEPER_PATH_MAX = 512 };
struct keeper {
	pid_t pid;
	int fd;
	/* what it gives back when we are killed; path "", or reset "" then: nothing. Set before keeper_start() */
	struct keeper_terminal {
		char path[64];
		const char *reset; /* borrowed */
		struct termios modes;
	} terminal;
};
int keeper_start(struct keeper *k, const char *id, struct err *err);
/* Waits up to a second for a slow keeper. */
bool keeper_send(const struct keeper *k, const int32_t *record, size_t count);
bool keeper_send_path(const struct keeper *k, int32_t what, const char *path);
/* clean: the keeper exits without killing; otherwise it is killed itself. Waits for its end. May be called when not
 * running. */
void keeper_stop(struct keeper *k, bool clean);

/* keeper.c: what children left. All of it may run in the keeper: no malloc, no locks. A process is marked if its environment has
 * CADRE_SPAWN with this id: only descendants of the spawner have it. */
#define SPAWN_MARK "CADRE_SPAWN="
bool orphan_is_marked(pid_t pid, const char *id);
/* Sends SIGKILL to every marked process until none is found, and adds them to killed. */
void orphan_kill_marked(const char *id, struct pid_list *killed);
/* The direct children of this process, including adopted ones. false: not supported by the kernel. */
bool orphan_children(struct pid_list *ret_pids);

/* A pipe that outlived its child: drained, so that the writer gets no SIGPIPE. */
struct drain {
	uv_poll_t poll;
	struct spawner *spawner;
	struct drain *next, **prev;
	int fd;
};

struct spawner {
	struct confiner confiner; /* hold == NULL: none */
	struct loop *loop;
	struct keeper keeper;
	char id[SPAWN_ID_LEN + 1];
	struct child *children;
	size_t active;
	struct pid_list left;    /* groups with members but without a leader */
	size_t prune_at;         /* where in left the next look begins */
	struct pid_list adopted; /* marked processes that left their group and became our children */
	struct drain *drains;
	uv_signal_t *sigchld; /* only without pidfd support */
	size_t sigchld_users;
	bool without_pidfd; /* tests set it */
	bool prepared;      /* keeper and subreaper, with the first child */
	bool set_subreaper;
	bool no_keeper, no_subreaper;
	uint64_t adopted_ms; /* time of the last orphan scan */
	char **paths;        /* that are kept */
	size_t path_count;
	char *scratch; /* CHILD_READ_BYTES, shared: reading never nests */
};

enum child_watch { CHILD_OUT, CHILD_ERR, CHILD_IN, CHILD_PROCESS, CHILD_WATCHES };

struct watch {
	uv_poll_t poll;
	struct child *child;
	int fd; /* -1: not in use */
};

struct child {
	struct spawner *spawner;
	struct child *next, **prev;
	struct child_handlers handlers;
	void *data;
	pid_t pid;
	int status;
	bool exited, killing, by_signal;
	bool stdin_open; /* stays open when the queue is empty */
	bool tell_end;
	unsigned open_handles; /* the struct lives until the last close callback */
	struct watch watch[CHILD_WATCHES];
	struct timer grace;    /* after the exit */
	struct timer escalate; /* after SIGTERM */
	struct kick kick;
	struct buf input;
	size_t input_sent;
	void *held; /* of the confiner; NULL: nothing */
	void (*held_ended)(void *held, struct buf *said);
};

/* child.c: takes the descriptors of fds (-1: none). The process is running; it is killed if it cannot be watched. */
int child_begin(struct child *c, const int fds[CHILD_WATCHES], struct err *err);

/* spawner.c */
int spawner_prepare(struct spawner *s, struct err *err); /* before the first child: keeper and subreaper */
/* Restarts a killed keeper and registers all groups again. */
int spawner_new_keeper(struct spawner *s, struct err *err);
void spawner_prune(struct spawner *s);                  /* forgets groups and orphans that have ended: some of them */
void spawner_group_over(struct spawner *s, pid_t pgid); /* the leader was waited for */
void spawner_drain(struct spawner *s, int fd);          /* takes fd */
int spawner_use_sigchld(struct spawner *s, struct err *err);

/* child.c */
void child_check_exit(struct child *c);
