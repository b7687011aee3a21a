/* SPDX-License-Identifier: MIT
 * print.c - `cadre -p`: one prompt, one run, one exit code.
 *
 * A signal, or a reader that went away, interrupts the turn; the run then lasts until the turn has ended, because the
 * transcript is complete only then. A second signal does not wait. */
#include <signal.h>
#include "face/cli/configure.h"
#include "face/cli/input.h"
#include "face/cli/run.h"
#include "face/cli/view.h"

enum { DRAIN_MS = 30000, SIGNAL_DRAIN_MS = 1000 };

struct print {
	struct cadre *c;
	struct cadre_session *session;
	struct view view;
	int signal;   /* that asked for the end, or 0 */
	bool unread;  /* standard output failed */
	bool working; /* a turn runs */
	bool closing; /* the session ends, with what is left of its children */
	bool ended;   /* a turn ended ... */
	bool failed;  /* ... and the last one with an error */
};

static void print_end_run(struct print *p)
{
	if (p->working)
		cadre_interrupt(p->session);
	else
		cadre_stop(p->c);
}

static void on_signal(struct cadre *c, int signal, void *data)
{
	struct print *p = data;

	if (p->signal) {
		(void)view_flush(&p->view, SIGNAL_DRAIN_MS, NULL);
		_exit(EXIT_SIGNAL + signal);
	}
	p->signal = signal;
	print_end_run(p);
}

static void on_unread(struct cadre_writer *w, void *data)
{
	struct print *p = data;

	p->unread = true;
	print_end_run(p);
}

static void on_event(const struct cadre_event *e, void *data)
{
	struct print *p = data;

	view_event(&p->view, e);
	if (cadre_event_kind(e) == CADRE_SESSION_STARTED)
		p->working = true; /* a background task that ends may start a turn of its own */
	if (cadre_event_kind(e) == CADRE_TURN_ENDED) {
		p->working = false;
		p->ended = true;
		p->failed = cadre_event_is_error(e);
	}
	if (!p->working && !p->closing && (p->signal || p->unread))
		cadre_stop(p->c);
}

static int fail_no_prompt(const struct args *args, struct err *err)
{
	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].option->flags & (CADRE_OPTION_LIST | CADRE_OPTION_VARIADIC))
			return err_set(err, ERR_USAGE,
				       "no prompt; --%s takes all words up to the next flag, so put the prompt before "
				       "it or after --",
				       args->given[i].option->name);
	return err_set(err, ERR_USAGE, "no prompt: give it as an argument or on standard input");
}

static int print_start(struct print *p, const struct args *args, struct err *err)
{
	AUTO_BUF struct buf prompt = { 0 };
	const char *given = flags_prompt(args);
	bool init_only = args_has(args, "init-only");
	bool resumed = args_has(args, "resume") || args_has(args, "continue");
	bool may_be_empty = resumed || args_has(args, "agent"); /* it may bring one */
	char why[sizeof err->text] = "";

	int rc = init_only ? 0 : input_prompt(given, given || may_be_empty, &prompt, err);
	if (rc < 0)
		return rc;
	bool empty = !str_trim(buf_str(&prompt)).n;
	if (empty && !may_be_empty && !init_only)
		return fail_no_prompt(args, err);
	rc = cadre_open(p->c, on_event, p, &p->session, why, sizeof why);
	if (rc < 0)
		return err_set(err, (enum err_kind) - rc, "%s", why);
	(void)cadre_watch_signal(p->c, SIGINT, on_signal, p);
	(void)cadre_watch_signal(p->c, SIGTERM, on_signal, p);
	if (init_only) {
		rc = cadre_prepare(p->session, why, sizeof why);
		return rc < 0 ? err_set(err, (enum err_kind) - rc, "%s", why) : 0;
	}
	bool begins = empty && cadre_has_initial_prompt(p->session);
	if (empty && !begins && !resumed)
		return fail_no_prompt(args, err);
	if (empty && !begins && !cadre_has_interrupted_turn(p->session))
		return err_set(err, ERR_USAGE, "no prompt, and session %s has no interrupted turn",
			       cadre_session_id(p->session));
	rc = cadre_prompt(p->session, begins ? "" : empty ? NULL : prompt.p, prompt.n, why, sizeof why);
	return rc < 0 ? err_set(err, (enum err_kind) - rc, "%s", why) : 0;
}

static int print_session(struct print *p, const struct args *args)
{
	struct err err = { 0 };

	if (print_start(p, args, &err) < 0)
		return run_fail(&err);
	cadre_run(p->c);
	/* What its children do at the end still belongs to the output. */
	p->closing = true;
	cadre_close(TAKE(p->session));
	cadre_run(p->c);

	/* The answer must be out before the exit code reports success. */
	int code = p->failed ? EXIT_RUN : EXIT_ANSWER;
	run_leave_on_signal(); /* the transcript is complete: a reader that does not read may be left */
	view_end(&p->view);
	if (view_flush(&p->view, p->signal ? SIGNAL_DRAIN_MS : DRAIN_MS, &err) < 0)
		code = run_fail(&err);
	if (!p->ended && !p->signal) {
		err_set(&err, ERR_IO, "the run ended without a result");
		code = run_fail(&err);
	}
	return p->signal ? EXIT_SIGNAL + p->signal : code;
}

int print_run(const struct args *args)
{
	const char *format = args_value(args, "output-format");
	const struct face *face = face_find(format ? format : "text");
	struct print p = { 0 };
	struct err err = { 0 };

	if (configure_runtime(args, CONFIGURE_SINGLE, &p.c, &err) < 0 || configure_set(p.c, "one-run", "", &err) < 0)
		return run_fail(&err);
	view_init(&p.view, p.c, face, args_has(args, "verbose"));
	cadre_writer_on_failure(p.view.out, on_unread, &p);
	int code = print_session(&p, args);
	cadre_close(p.session);
	view_release(&p.view);
	cadre_free(p.c);
	return code;
}
