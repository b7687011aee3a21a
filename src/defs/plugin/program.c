/* SPDX-License-Identifier: MIT
 * program.c - see program.h. */
#include "defs/plugin/program.h"
#include <signal.h>
#include <sys/wait.h>
#include "lib/base/buf.h"

enum { CAP_MS = 10 * 60 * 1000, SAID_LIMIT = 16 << 10, SAID_SHOWN = 140 };

struct run {
	struct loop *loop;
	struct child *child; /* NULL: it has ended */
	struct timer cap;
	bool timed_out;
	int status;      /* as of waitpid */
	struct buf said; /* what it printed */
};

static void on_output(struct child *c, bool is_stderr, const char *p, size_t n)
{
	struct run *r = child_data(c);

	(void)is_stderr;
	if (r->said.n < SAID_LIMIT)
		buf_add(&r->said, p, MIN(n, SAID_LIMIT - r->said.n));
}

static void on_end(struct child *c, int status)
{
	struct run *r = child_data(c);

	r->status = status;
	r->child = NULL;
	timer_stop(r->loop, &r->cap);
	loop_stop(r->loop);
}

static void on_cap(struct timer *timer)
{
	struct run *r = CONTAINER_OF(timer, struct run, cap);

	r->timed_out = true;
	if (r->child)
		child_kill(r->child, SIGTERM);
}

static int result(const struct run *r, const char *what, struct err *err)
{
	struct str said = str_trim(buf_str(&r->said));

	if (r->timed_out)
		return err_set(err, ERR_TIMEOUT, "%.80s took more than ten minutes", what);
	if (WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0)
		return 0;
	return err_set(err, ERR_IO, "%.80s: %.*s", what, (int)MIN(said.n, (size_t)SAID_SHOWN), said.p);
}

int program_run(const struct program *p, struct err *err)
{
	static const struct child_handlers handlers = { on_output, on_end };
	struct run r = { .loop = loop_new(0), .cap = { .fire = on_cap } };
	struct child_options options = { .argv = p->argv, .envp = p->envp, .cwd = p->cwd, .merge = true };
	struct spawner *spawner = spawner_new(r.loop, err);
	int status = spawner ? spawn_start(spawner, &options, &handlers, &r, &r.child, err) : -(int)err->kind;

	if (status == 0) {
		timer_start(r.loop, &r.cap, CAP_MS);
		while (r.child)
			loop_run(r.loop);
		status = result(&r, p->what, err);
	}
	spawner_free(spawner);
	loop_run(r.loop); /* lets closing handles close */
	loop_free(r.loop);
	buf_release(&r.said);
	return status;
}
