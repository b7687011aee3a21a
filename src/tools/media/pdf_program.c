/* SPDX-License-Identifier: MIT
 * pdf_program.c - one run of a program of poppler.
 *
 * A shell stands between: it sets the limit on memory, which has no place in struct child_options because nobody else needs
 * one, and its exit status 127 tells a missing program from one that fails. The words are its arguments, never its text. */
#include "tools/media/pdf_program.h"
#include <signal.h>
#include <sys/wait.h>

enum { MOST_WORDS = 16, ERRORS_LIMIT = 4096, NOT_FOUND = 127 };

static const char *const limited[] = { "/bin/sh", "-c", "ulimit -v 1572864; exec \"$0\" \"$@\"" }; /* 1.5 GB */

static void stop(struct pdf_program *p)
{
	if (p->child)
		child_kill(p->child, SIGKILL);
}

static void on_time(struct timer *timer)
{
	struct pdf_program *p = CONTAINER_OF(timer, struct pdf_program, timer);

	p->late = true;
	stop(p);
}

static void on_output(struct child *c, bool is_stderr, const char *bytes, size_t n)
{
	struct pdf_program *p = child_data(c);

	if (is_stderr) {
		buf_add(&p->errors, bytes, MIN(n, ERRORS_LIMIT - p->errors.n));
	} else if (p->out.n + n <= p->limit_bytes) {
		buf_add(&p->out, bytes, n);
	} else if (!p->flooded) {
		p->flooded = true;
		stop(p);
	}
}

static enum pdf_end end_of(struct pdf_program *p, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (p->cancelled)
		return PDF_CANCELLED;
	if (p->late || p->flooded) {
		buf_clear(&p->errors);
		buf_addstr(&p->errors, p->late ? "it took too long" : "the result is too large");
		return PDF_FAILED;
	}
	return code == 0 ? PDF_DONE : code == NOT_FOUND ? PDF_MISSING : PDF_FAILED;
}

static void on_exit_(struct child *c, int status)
{
	struct pdf_program *p = child_data(c);

	p->child = NULL;
	timer_stop(p->env->loop, &p->timer);
	p->done(p, end_of(p, status));
}

static void on_not_started(struct kick *kick)
{
	struct pdf_program *p = CONTAINER_OF(kick, struct pdf_program, kick);

	p->done(p, p->cancelled ? PDF_CANCELLED : PDF_FAILED);
}

void pdf_program_start(struct pdf_program *p, const char *const *words, size_t limit_bytes, uint64_t limit_ms)
{
	static const struct child_handlers handlers = { on_output, on_exit_ };
	const char *argv[COUNT_OF(limited) + MOST_WORDS] = { limited[0], limited[1], limited[2] };
	struct err err = { 0 };

	for (size_t i = 0; words[i] && i < MOST_WORDS - 1; i++)
		argv[COUNT_OF(limited) + i] = words[i];
	const struct child_options options = {
		.argv = argv,
		.envp = p->env->envp,
		.landlock_fd = p->env->landlock_fd,
	};
	buf_clear(&p->out);
	buf_clear(&p->errors);
	p->limit_bytes = limit_bytes;
	p->late = p->flooded = false;
	p->timer.fire = on_time;
	p->kick.step = on_not_started;
	if (spawn_start(p->env->spawner, &options, &handlers, p, &p->child, &err) < 0) {
		buf_addstr(&p->errors, err.text);
		loop_kick(p->env->loop, &p->kick);
		return;
	}
	timer_start(p->env->loop, &p->timer, limit_ms);
}

void pdf_program_cancel(struct pdf_program *p)
{
	p->cancelled = true;
	stop(p);
}

void pdf_program_release(struct pdf_program *p)
{
	buf_release(&p->out);
	buf_release(&p->errors);
}
