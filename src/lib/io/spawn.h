/* SPDX-License-Identifier: MIT
 * spawn.h - child processes of agents, hooks, servers and helpers (docs/internals/spawn.md). The terminal starts the user's programs
 * itself (face/tui/job.c).
 *
 * vfork, then raw system calls only in the child: setpgid, signals reset, soft descriptor limit 1,024, no_new_privs,
 * landlock_restrict_self on a ruleset the parent made, dup2, chdir, execve. Every child is the leader of a process
 * group of its own; ending a child ends the group. A keeper process holds a pipe from us and kills all registered
 * groups when it closes, so that even kill -9 of this process leaves no children. */
#pragma once
#include <sys/types.h>
#include "lib/base/buf.h"
#include "lib/base/str.h"
#include "lib/io/loop.h"

struct confine;
struct spawner; /* keeper, SIGCHLD; one per loop */
struct child;

struct child_handlers {
	/* A chunk of output; stderr joins stdout when .merge is set. Borrowed until return. May be NULL (then
	 * /dev/null). With .tell_end, n == 0 reports the end of each stream. */
	void (*on_output)(struct child *c, bool is_stderr, const char *p, size_t n);
	/* Exactly once, after both pipes are closed and the process has been waited for; the child is freed after it
	 * returns. status as of waitpid. Pipes that an escaped grandchild holds open are abandoned 200 ms after the
	 * exit; later output is read and dropped. */
	void (*on_exit)(struct child *c, int status);
};

/* Whose program it is, for the confiner of the spawner */
enum child_of {
	CHILD_OF_US,
	CHILD_OF_HOOK,
	CHILD_OF_PROJECT_HOOK,
	CHILD_OF_SERVER,
	CHILD_OF_PROJECT_SERVER,
	CHILD_OF_CONVERTER, /* reads one file of a stranger's, and writes to its output */
};

/* What a program wants in a sandbox beyond what all others get. Lists end with NULL; NULL: nothing */
struct child_wishes {
	const char *const *write, *const *hosts, *const *sockets;
};

/* Borrowed until spawn_start returns */
struct child_options {
	const char *const *argv; /* argv[0] is searched in PATH of envp unless it has a slash */
	const char *const *envp; /* NULL: our environment */
	const char *cwd;         /* NULL: ours */
	bool merge;              /* stderr into the same pipe as stdout, so that the order is kept */
	int out_fd;       /* > 0: stdout and stderr go to this descriptor instead of a pipe (background shells) */
	int in_fd;        /* > 0: stdin is this descriptor, for a file whose name may lead elsewhere by now */
	struct str input; /* written to stdin, then closed; empty: /dev/null */
	bool keep_stdin;  /* stdin stays open after the input, for child_write */
	bool tell_end;
	bool inherit; /* the streams are ours; without on_output */
	/* > 0, with inherit: a terminal that takes the place of each stream that is one, and controls the child */
	int terminal;
	int landlock_fd;                   /* > 0: ruleset to enforce */
	const struct child_wishes *wishes; /* for the confiner; NULL: none */
	enum child_of of;                  /* other than CHILD_OF_US: the confiner decides what holds it */
	void *cage;                        /* with that: whose rules hold it, for the confiner; NULL: it must not run */
	bool *ret_held;                    /* true: the confiner holds it, or would and cannot; NULL: not asked for */
	const struct confine *confine;     /* what else holds it (lib/confine/confine.h); NULL: nothing */
};

/* Decides what holds programs that hooks and servers are. hold changes confine and envp of the options, or leaves them. Below 0: it
 * must not run. What it gives is ended when the program has, or was not started; what is said then comes as its last error output. */
struct confiner {
	int (*hold)(struct child_options *options, void **ret_held, struct err *err);
	void (*started)(void *held);
	void (*ended)(void *held, struct buf *said);
};
void spawner_set_confiner(struct spawner *s, const struct confiner *confiner); /* copied */

struct spawner *spawner_new(struct loop *loop); /* the first child starts the keeper */
/* Before the first child. Without a keeper, a kill -9 of this process leaves children behind; without being a subreaper,
 * daemons that children start are found by their mark only. */
void spawner_limit(struct spawner *s, bool no_keeper, bool no_subreaper);
/* When this process is killed, the keeper sets the terminal of standard input back to these modes and writes reset to it, unless that is
 * "" then: borrowed, and in memory that processes share it may change. It is started now. */
struct termios;
int spawner_keep_terminal(struct spawner *s, const struct termios *modes, const char *reset, struct err *err);
/* When this process is killed, the keeper removes this file or directory with all in it. It is started now. Too long a path, or more
 * than 1,024 of them, stay. */
int spawner_keep_path(struct spawner *s, const char *path, struct err *err);
void spawner_forget_path(struct spawner *s, const char *path); /* also one that is not kept */
void spawner_free(struct spawner *s); /* no child may be running; ends the keeper and waits for it */
int spawn_start(struct spawner *s, const struct child_options *options, const struct child_handlers *handlers,
		void *data, struct child **ret_child, struct err *err);
/* Blocks until the child has ended: for callers whose loop may run. What it prints on both streams is appended to out, up to most
 * bytes; *ret_status as of waitpid. 1: it took longer than limit_ms, and was ended. */
int spawn_wait(struct spawner *s, const struct child_options *options, uint64_t limit_ms, size_t most, struct buf *out,
	       int *ret_status, struct err *err);
void child_kill(struct child *c, int signal); /* the whole group; SIGTERM escalates to SIGKILL after 2 s */
/* Only with keep_stdin. Copies; writes what the pipe takes and queues the rest, never blocks. Data for a closed stdin
 * is dropped; on_exit reports the end. */
void child_write(struct child *c, const void *p, size_t n);
void child_close_stdin(struct child *c);    /* after what is queued; later writes are dropped; also twice */
size_t child_unsent(const struct child *c); /* bytes queued */
pid_t child_pid(const struct child *c);
void *child_data(struct child *c);
void spawner_check_exits(struct spawner *s); /* waits for children that have ended; their on_exit comes from the loop */
size_t spawner_active(const struct spawner *s);

/* A group may outlive its child (`sleep 1000 &`): true while members are left. kill ends them and ignores other
 * numbers. Freeing the spawner ends all groups. */
bool spawner_group_left(struct spawner *s, pid_t pgid);
void spawner_kill_group(struct spawner *s, pid_t pgid);
/* Ends processes that children left behind, also outside their groups (setsid, daemons), and waits at most a second.
 * Never touches processes of the host. */
void spawner_reap_orphans(struct spawner *s);

/* Any process of the machine. Its start tells it from a later one with the same pid. */
int64_t process_start(int64_t pid); /* in clock ticks after boot; 0: no such process */
static inline bool process_lives(int64_t pid, int64_t start)
{
	return pid > 0 && start > 0 && process_start(pid) == start;
}
