/* SPDX-License-Identifier: MIT
 * spawn_stage.h - a loop, a spawner and what one child said, for test_spawn.c and test_spawn_end.c. */
#pragma once
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "unit.h"
#include "lib/io/spawn_int.h"

struct stage {
	struct loop *loop;
	struct spawner *spawner;
	struct buf out, err_out;
	int status;
	unsigned exits;
	const char *kill_at; /* SIGTERM when this was said */
	struct child *child;
};

static inline void stage_init(struct stage *st, unsigned loop_flags)
{
	*st = (struct stage){ .loop = loop_new(loop_flags) };
	st->spawner = spawner_new(st->loop);
}

static inline void stage_release(struct stage *st)
{
	spawner_free(st->spawner);
	loop_free(st->loop);
	buf_release(&st->out);
	buf_release(&st->err_out);
}

static inline void stage_on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct stage *st = child_data(c);

	buf_add(is_stderr ? &st->err_out : &st->out, p, n);
	if (st->kill_at && str_has(buf_str(&st->out), str_from(st->kill_at))) {
		st->kill_at = NULL;
		child_kill(c, SIGTERM);
	}
}

static inline void stage_on_exit(struct child *c, int status)
{
	struct stage *st = child_data(c);

	st->status = status;
	st->exits++;
	st->child = NULL;
}

static const struct child_handlers stage_handlers = { stage_on_output, stage_on_exit };

static inline void stage_start(struct stage *st, const struct child_options *options)
{
	struct err err = { 0 };

	int rc = spawn_start(st->spawner, options, &stage_handlers, st, &st->child, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
}

static inline void stage_run(struct stage *st, const struct child_options *options)
{
	stage_start(st, options);
	loop_run(st->loop);
	CHECK_INT(st->exits, 1);
}

static inline void stage_run_shell(struct stage *st, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	stage_run(st, &(struct child_options){ .argv = argv });
}

static inline int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Waits for the event, not for time; the limit only keeps a broken build from hanging. Closes pidfd. */
static inline bool dies(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool dead = pidfd < 0 || poll(&p, 1, 60000) == 1;

	if (pidfd >= 0)
		close(pidfd);
	return dead;
}

static inline bool lives(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 0;
}
