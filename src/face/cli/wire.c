/* SPDX-License-Identifier: MIT
 * wire.c - `--input-format stream-json`: a program, such as an agent SDK, on the other side of standard input and output.
 *
 * The run ends when the input is over and what it asked for is done. A signal interrupts the turn; a second one does not
 * wait. While the reader of our output is too far behind, no input is read. */
#include <errno.h>
#include <signal.h>
#include <cadre.h>
#include "face/cli/configure.h"
#include "face/cli/run.h"

enum { DRAIN_MS = 30000, SIGNAL_DRAIN_MS = 1000, READ_BYTES = 1 << 16, MOST_QUEUED = 8 << 20 };

struct wire_face {
	struct cadre *c;
	struct cadre_wire *wire;
	struct cadre_writer *out;
	int signal;
	bool held; /* no input is read until the output has drained */
	bool over; /* of the input */
};

static void on_input(struct cadre *c, int fd, void *data);

static void wire_write(void *data, const char *lines, size_t n)
{
	struct wire_face *f = data;

	cadre_write(f->out, lines, n);
}

static void wire_end_input(struct wire_face *f)
{
	if (f->over)
		return;
	f->over = true;
	if (!f->held)
		cadre_unwatch_fd(f->c, STDIN_FILENO);
	cadre_wire_end_input(f->wire);
}

static void on_drained(struct cadre_writer *w, void *data)
{
	struct wire_face *f = data;

	if (!f->held || f->over)
		return;
	f->held = false;
	(void)cadre_watch_fd(f->c, STDIN_FILENO, 1, on_input, f);
}

static void wire_read(struct wire_face *f)
{
	char bytes[READ_BYTES];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		wire_end_input(f);
	else
		cadre_wire_feed(f->wire, bytes, (size_t)n);
}

static void on_input(struct cadre *c, int fd, void *data)
{
	struct wire_face *f = data;

	if (cadre_writer_queued(f->out) > MOST_QUEUED) {
		f->held = true;
		cadre_unwatch_fd(c, fd);
		return;
	}
	wire_read(f);
}

static void on_signal(struct cadre *c, int signal, void *data)
{
	struct wire_face *f = data;

	if (f->signal) {
		(void)cadre_writer_flush(f->out, SIGNAL_DRAIN_MS, NULL, 0);
		_exit(EXIT_SIGNAL + signal);
	}
	f->signal = signal;
	wire_end_input(f);
	cadre_wire_interrupt(f->wire);
}

/* The reader of our output went away. */
static void on_unread(struct cadre_writer *w, void *data)
{
	struct wire_face *f = data;

	wire_end_input(f);
	cadre_wire_interrupt(f->wire);
}

int wire_run(const struct args *args)
{
	struct wire_face f = { 0 };
	struct err err = { 0 };
	char text[sizeof err.text] = "";
	const char *why;

	if (configure_runtime(args, 0, &f.c, &err) < 0)
		return run_fail(&err);
	f.out = cadre_writer_new(f.c, STDOUT_FILENO);
	cadre_writer_on_failure(f.out, on_unread, &f);
	cadre_writer_on_drained(f.out, on_drained, &f);
	f.wire = cadre_wire_new(f.c, wire_write, &f);
	(void)cadre_watch_signal(f.c, SIGINT, on_signal, &f);
	(void)cadre_watch_signal(f.c, SIGTERM, on_signal, &f);
	/* A file cannot be watched: it is read to its end. */
	if (cadre_watch_fd(f.c, STDIN_FILENO, 1, on_input, &f) != CADRE_OK)
		while (!f.over)
			wire_read(&f);
	cadre_run(f.c);

	/* The exit code reports an error in the last result, so that an SDK can raise one. */
	int status = cadre_wire_status(f.wire, &why);
	int code = status == CADRE_OK ? EXIT_ANSWER : EXIT_RUN;
	run_leave_on_signal();
	if (cadre_writer_flush(f.out, f.signal ? SIGNAL_DRAIN_MS : DRAIN_MS, text, sizeof text) < 0) {
		err_set(&err, ERR_IO, "cannot write to standard output: %s", text);
		code = run_fail(&err);
	}
	if (why[0]) {
		err_set(&err, status == CADRE_USAGE ? ERR_USAGE : ERR_CANCELLED, "%s", why);
		code = run_fail(&err);
	}
	cadre_wire_free(f.wire);
	cadre_free(f.c);
	return f.signal ? EXIT_SIGNAL + f.signal : code;
}
