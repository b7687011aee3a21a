/* SPDX-License-Identifier: MIT
 * shell_set.h - the shells of one agent: each is one command that bash runs, in the foreground for a call
 * that waits, or in the background. They die with the agent, and so does what they left running.
 *
 *     start --> foreground --end--> on_end, freed
 *       |           | shell_to_background
 *       +-----> background --end--> env->notify, freed */
#pragma once
#include "core/tool/tool.h"
#include "guard/sandbox/sandbox.h"

/* What a command printed: the beginning and the end in memory, all of it in a file as soon as it is more than fits. */
enum { SHELL_TAIL_BYTES = 20000 };

struct shell_output {
	struct buf head; /* the first keep_bytes */
	struct buf tail; /* when there is more: the last SHELL_TAIL_BYTES, or all that is not in head */
	size_t keep_bytes;
	uint64_t total;
	char *spill_path; /* where it goes when keep_bytes are not enough; may be NULL */
	char *path;       /* of the file it is in, or NULL */
	int fd;           /* of that file, to read it by: its name may lead elsewhere by now */
	struct err err;   /* text is not empty: why the file is not there or not complete */
};

void shell_output_init(struct shell_output *o, size_t keep_bytes, const char *spill_path); /* copies the path */
void shell_output_add(struct shell_output *o, const char *p, size_t n);
/* What came so far and all that will come goes to this file, with its missing directories, unless there is
 * one already. */
int shell_output_save(struct shell_output *o, const char *path, struct err *err);
/* The last n bytes at most, borrowed until the next add; begins with a whole character. */
struct str shell_output_end(const struct shell_output *o, size_t n);
void shell_output_release(struct shell_output *o); /* the file stays */

enum { SHELL_ID_LEN = 9 };

enum shell_reason { SHELL_ENDED, SHELL_TIMED_OUT, SHELL_FLOODED, SHELL_STOPPED };

struct shell {
	struct shell_set *set; /* NULL: the agent is gone, the process is being killed */
	struct loop *loop;     /* borrowed */
	struct shell *next, **prev;
	struct child *child;
	char id[SHELL_ID_LEN + 1]; /* b and 8 digits */
	char *label;               /* description, or the command */
	char *call_id;
	char *cwd_file; /* where bash writes its last directory; NULL: nowhere */
	struct shell_output output;
	struct timer timer;  /* foreground: timeout; background: longest life */
	struct timer report; /* of its progress, at most one in REPORT_MS */
	uint64_t lines;      /* that it has printed */
	uint64_t limit_ms;
	bool background;
	struct sandbox_held *held; /* what the kernel holds it to; NULL: nothing */
	/* Facts for on_end */
	enum shell_reason reason; /* why it was killed, or SHELL_ENDED */
	int status;               /* as of waitpid */
	char *last_dir;           /* where the shell was at its end, or NULL */
	/* Of the call that waits. on_time: decide between shell_to_background and shell_stop. */
	void (*on_end)(struct shell *shell);
	void (*on_time)(struct shell *shell);
	void *data;
};

struct shell_set {
	struct tool_env *env; /* borrowed */
	struct shell *shells;
	pid_t *groups; /* of ended shells that left processes */
	size_t group_count, group_cap;
	uint64_t flood_bytes; /* a shell that prints more is killed */
};

/* All copied */
struct shell_options {
	const char *command;
	const char *description; /* may be NULL */
	const char *call_id;
	const char *cwd;
	size_t keep_bytes;      /* of the output in memory */
	const char *spill_path; /* for more than that */
	uint64_t limit_ms;
	bool background; /* output goes to a file of tasks_dir at once */
	enum tool_belief belief;
	enum tool_where where;
	void (*on_end)(struct shell *shell);
	void (*on_time)(struct shell *shell);
	void *data;
};

struct shell_set *shell_set_new(struct tool_env *env);
/* Kills all shells and what they left; without a notification. No call may wait for one. The processes are gone
 * only when spawner_active() says so: the loop must run until then. */
void shell_set_free(struct shell_set *set);
struct shell *shell_set_find(const struct shell_set *set, struct str id); /* background shells only */

int shell_start(struct shell_set *set, const struct shell_options *options, struct shell **ret_shell, struct err *err);
void shell_stop(struct shell *shell, enum shell_reason reason); /* the end comes later, as for every shell */
/* No call waits for it any more: the output goes to a file (shell->output.path), and a new time limit holds. */
int shell_to_background(struct shell *shell, uint64_t limit_ms, struct err *err);
int shell_exit_code(const struct shell *shell); /* as in $?: 128 + signal when killed */

/* The text of a command: rough on purpose, nothing here decides about permission. */

/* Exit code 1 of some programs is an answer: its meaning ("No matches found"), or NULL when the code is a failure. The last
 * program of the command counts, because its code is the shell's. */
const char *bash_exit_meaning(struct str command, int code);
/* Whether a command that takes too long may continue in the background. Not one that only waits, not one that may hold git's
 * lock, not one whose quotes are open. */
bool bash_may_move(struct str command);
void bash_add_duration(struct buf *out, uint64_t ms); /* "1.5s", "2m 0s" */
