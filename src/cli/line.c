/* SPDX-License-Identifier: MIT
 * line.c - a person at a terminal: a line is read, a turn runs, the next line is read.
 *
 *     READING --line--> WORKING --somebody asks--> ASKING --answer--> WORKING --turn ended--> READING
 *     READING --a child in the background asks--> ASKING --answer--> READING
 *     READING --/new, /resume--> SWITCHING --opened, or not--> READING
 *     any --Ctrl-D, /exit, Ctrl-C twice, SIGTERM--> LEAVING --turn ended--> the loop stops
 *
 * The input line and the output share the terminal, so one of them has it: while the line is shown nothing
 * else is written (the view holds it back), and standard input is watched only while the line is shown. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include "base/utf8.h"
#include "cli/edit.h"
#include "cli/line_int.h"
#include "cli/render.h"
#include "cli/run.h"

enum { TWICE_MS = 2000, FLUSH_MS = 2000 };

static void read_line(struct line *l);

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void line_say(struct line *l, const char *text)
{
	view_end_line(&l->view);
	view_write(&l->view, str_from(text));
	view_write(&l->view, STR("\n"));
}

/* ---- the input line ---------------------------------------------------------------------------------- */

static void on_stdin(struct cadre *c, int fd, void *data)
{
	struct line *l = data;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, 0) > 0 && !(p.revents & POLLIN))
		line_leave(l, EXIT_SIGNAL + SIGHUP); /* the terminal is gone; libedit would not tell */
	else
		edit_read();
}

/* Watching may have made the descriptor non-blocking, and with it the terminal, which is also our output and the
 * shell's. libedit expects it as it was. */
static void keep_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK))
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

void line_show(struct line *l, const char *prompt, edit_line_fn *done)
{
	line_unbind_key(l);
	view_hide_tree(&l->view);
	view_end_line(&l->view);
	(void)view_flush(&l->view, FLUSH_MS, NULL); /* what is queued belongs above the line */
	l->view.hold = true;
	if (cadre_watch_fd(l->c, STDIN_FILENO, 1, on_stdin, l) < 0) {
		line_leave(l, EXIT_RUN);
		return;
	}
	keep_blocking(STDIN_FILENO);
	edit_show(prompt, done, l);
}

void line_hide(struct line *l)
{
	cadre_unwatch_fd(l->c, STDIN_FILENO);
	edit_hide();
	view_release_held(&l->view);
}

/* ---- a turn ------------------------------------------------------------------------------------------ */

static void work(struct line *l)
{
	l->state = LINE_WORKING;
	line_bind_key(l);
}

static void submit(struct line *l, struct str text)
{
	AUTO_BUF struct buf prompt = { 0 };
	char why[240] = "";

	utf8_add_repaired(&prompt, text);
	work(l);
	if (cadre_prompt(l->session, prompt.n ? prompt.p : "", prompt.n, why, sizeof why) == 0) {
		l->worked = true;
		return;
	}
	line_say(l, why);
	read_line(l);
}

static void on_line(const char *text, void *data)
{
	struct line *l = data;
	struct str s = text ? str_trim(str_from(text)) : STR("");

	line_hide(l);
	if (!text) {
		line_say(l, "");
		line_leave(l, EXIT_ANSWER);
		return;
	}
	if (s.n)
		edit_add_history(text);
	if (s.n && !line_command(l, s)) {
		submit(l, s);
		return;
	}
	if (l->state == LINE_READING)
		read_line(l);
}

static void read_line(struct line *l)
{
	l->state = LINE_READING;
	line_show(l, "> ", on_line);
}

/* ---- questions (line_ask.c) ---------------------------------------------------------------------------- */

/* A question is out of the way. */
void line_go_on(struct line *l)
{
	work(l);
	if (l->asks)
		line_ask_next(l);
	else if (!l->in_turn)
		read_line(l);
}

/* ---- what the session and the user do ---------------------------------------------------------------- */

static void stop(struct line *l)
{
	l->over = true;
	cadre_stop(l->c);
}

static void end_turn(struct line *l)
{
	bool asking = l->state == LINE_ASKING; /* then it is settled with the question that is shown */

	line_ask_forget(l, "");
	if (l->state == LINE_LEAVING)
		stop(l);
	else if (!asking)
		line_go_on(l);
}

static bool is_question(enum cadre_event_kind kind)
{
	return kind == CADRE_PERMISSION_ASKED || kind == CADRE_QUESTION_ASKED || kind == CADRE_ELICITATION_ASKED;
}

/* What a child does in the background does not disturb the line that is being typed; only its end does. */
static bool is_beside(const struct line *l, const struct cadre_event *e)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	bool child = cadre_event_agent(e)[0] || kind == CADRE_TASKS_CHANGED;

	return l->state == LINE_READING && child && kind != CADRE_AGENT_ENDED && !is_question(kind);
}

void line_on_event(const struct cadre_event *e, void *data)
{
	struct line *l = data;
	enum cadre_event_kind kind = cadre_event_kind(e);

	if (strcmp(cadre_event_session(e), cadre_session_id(l->session)) != 0)
		return; /* the last words of a session that was left */
	if (kind == CADRE_SESSION_STARTED || kind == CADRE_TURN_ENDED)
		l->in_turn = kind == CADRE_SESSION_STARTED;
	if (is_beside(l, e)) {
		view_event(&l->view, e);
		return;
	}
	if (l->state == LINE_READING)
		line_hide(l);
	if (l->state == LINE_READING && kind == CADRE_SESSION_STARTED)
		work(l); /* a background task that ended starts a turn of its own */
	view_event(&l->view, e);

	if (kind == CADRE_AGENT_ENDED)
		line_ask_forget(l, cadre_event_agent(e));
	if (kind == CADRE_TURN_ENDED)
		end_turn(l);
	else if (is_question(kind))
		line_ask_add(l, e);
	else if (l->state == LINE_READING)
		read_line(l);
}

void line_leave(struct line *l, int code)
{
	line_unbind_key(l);
	if (l->state == LINE_LEAVING) { /* not for the first time: do not wait for the turn */
		(void)view_flush(&l->view, FLUSH_MS, NULL);
		_exit(code);
	}
	line_hide(l);
	l->state = LINE_LEAVING;
	l->code = code;
	if (l->in_turn)
		cadre_interrupt(l->session);
	else
		stop(l);
}

static void on_interrupt(struct cadre *c, int signal, void *data)
{
	struct line *l = data;
	int64_t now = now_ms();
	bool twice = l->interrupted_ms && now - l->interrupted_ms < TWICE_MS;

	l->interrupted_ms = now;
	if (twice || l->state == LINE_LEAVING) {
		line_leave(l, EXIT_SIGNAL + SIGINT);
		return;
	}
	if (l->state == LINE_READING) {
		line_hide(l);
		edit_forget();
		line_say(l, "Ctrl-C again leaves.");
		read_line(l);
		return;
	}
	if (!l->in_turn) { /* a child asks while nothing else goes on: this is its answer */
		edit_forget();
		line_ask_refuse(l);
		return;
	}
	line_hide(l);
	edit_forget();
	work(l);
	l->view.cancelled = true;
	cadre_interrupt(l->session);
}

static void on_end_signal(struct cadre *c, int signal, void *data)
{
	line_leave(data, EXIT_SIGNAL + signal);
}

static void on_resize(struct cadre *c, int signal, void *data)
{
	edit_resize();
}

void line_watch_signals(struct line *l, struct cadre *c)
{
	(void)cadre_watch_signal(c, SIGINT, on_interrupt, l);
	(void)cadre_watch_signal(c, SIGTERM, on_end_signal, l);
	(void)cadre_watch_signal(c, SIGHUP, on_end_signal, l);
	(void)cadre_watch_signal(c, SIGWINCH, on_resize, l);
	line_watch_key(l, c);
}

/* ---- another session --------------------------------------------------------------------------------- */

/* A runtime cannot be freed from its own callbacks, so the loop is left first. */
void line_switch(struct line *l, enum line_wanted wanted, struct str id)
{
	free(l->wanted_id);
	l->wanted_id = xstrndup(id.p, id.n);
	l->wanted = wanted;
	l->state = LINE_SWITCHING;
	cadre_stop(l->c);
}

static void switch_session(struct line *l)
{
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };

	int rc = line_open(l, &err);
	if (rc == -ERR_BUSY)
		buf_addstr(&b, "That session is in use: it is this one, or another process has it.");
	else if (rc < 0)
		render_line(&b, str_from(err.text));
	else if (l->wanted == LINE_NEW)
		buf_addstr(&b, "A new session: the conversation so far is not part of it.");
	else
		buf_addf(&b, "Session %s goes on.%s", cadre_session_id(l->session),
			 cadre_has_interrupted_turn(l->session) ? " Its last turn was interrupted." : "");
	line_say(l, buf_str(&b).p);
	read_line(l);
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static int start(struct line *l, struct err *err)
{
	const char *prompt = l->args->prompt;
	int rc = edit_load(err);

	if (rc == 0)
		rc = line_open(l, err);
	if (rc < 0)
		return rc;
	view_init(&l->view, l->c, &face_line, l->args->verbose);
	if ((prompt && str_trim(str_from(prompt)).n) || cadre_has_initial_prompt(l->session))
		submit(l, str_from(prompt));
	else
		read_line(l);
	return 0;
}

/* cadre_run() returns also when between two lines nothing is watched for a moment. */
static void run(struct line *l)
{
	while (!l->over) {
		cadre_run(l->c);
		if (l->state == LINE_SWITCHING)
			switch_session(l);
	}
}

static void say_goodbye(struct line *l)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "This session goes on with: cadre --resume %s", cadre_session_id(l->session));
	if (l->worked && !args_find(l->args, "no-session-persistence"))
		line_say(l, b.p);
	(void)view_flush(&l->view, FLUSH_MS, NULL);
}

int line_run(const struct args *args)
{
	struct line l = { .args = args };
	struct err err = { 0 };

	if (start(&l, &err) < 0)
		return run_fail(&err);
	run(&l);
	say_goodbye(&l);
	cadre_close(l.session); /* its last words are still shown */
	cadre_run(l.c);
	l.session = NULL;
	(void)view_flush(&l.view, FLUSH_MS, NULL);
	view_release(&l.view);
	line_ask_release(&l);
	line_close(&l);
	free(l.wanted_id);
	return l.code;
}
