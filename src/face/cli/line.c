/* SPDX-License-Identifier: MIT
 * line.c - a person at a terminal: a line is read, a turn runs, the next line is read.
 *
 *     READING --line--> WORKING --somebody asks--> ASKING --answer--> WORKING --turn ended--> READING
 *     READING --a child in the background asks--> ASKING --answer--> READING
 *     READING --/new, /resume--> SWITCHING --opened, or not--> READING
 *     any --Ctrl-D, /exit, Ctrl-C twice, SIGTERM--> LEAVING --turn ended--> the loop stops
 *
 * The input line and the output share the terminal, so one of them has it: while the line is shown nothing
 * else is written (the view holds it back), and standard input is watched only while the line is shown.
 * How a question waits until it takes an answer: docs/internals/line.md. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include "lib/base/utf8.h"
#include "face/cli/edit.h"
#include "face/cli/line_int.h"
#include "face/cli/render.h"
#include "face/cli/run.h"

enum { TWICE_MS = 2000, FLUSH_MS = 2000, QUIET_MS = 400 /* before a question takes an answer */ };

#define PROMPT "> "

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

static bool is_waiting(const struct line *l)
{
	return l->state == LINE_ASKING && l->edit.kind == EDIT_WAITING && l->edit.shown;
}

static void set_timer(struct line *l, unsigned ms)
{
	struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000L + 1 } }; /* 0 would switch it off */

	(void)timerfd_settime(l->timer_fd, 0, &when, NULL);
}

static void on_stdin(struct cadre *c, int fd, void *data)
{
	struct line *l = data;

	if (!edit_read(&l->edit))
		line_leave(l, EXIT_SIGNAL + SIGHUP); /* the terminal is gone */
	else if (is_waiting(l))
		set_timer(l, QUIET_MS);
}

static void on_timer(struct cadre *c, int fd, void *data)
{
	struct line *l = data;
	uint64_t count;
	int ready = 0;

	if (read(fd, &count, sizeof count) < 0)
		return;
	if (l->edit.unread.n) {
		edit_read_kept(&l->edit);
		if (is_waiting(l))
			set_timer(l, QUIET_MS);
	} else if (is_waiting(l) &&
		   (l->edit.draft.pasting || (ioctl(STDIN_FILENO, FIONREAD, &ready) == 0 && ready > 0))) {
		set_timer(l, QUIET_MS); /* the rest of a paste, or on_stdin, comes first */
	} else if (is_waiting(l)) {
		line_hide(l);
		line_ask_open(l);
	}
}

void line_show(struct line *l, enum edit_kind kind, const char *prompt, edit_line_fn *done)
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
	edit_show(&l->edit, kind, prompt, done, l);
	if (l->edit.unread.n)
		set_timer(l, 0);
}

void line_wait(struct line *l)
{
	line_show(l, EDIT_WAITING, PROMPT, NULL);
	set_timer(l, QUIET_MS);
}

void line_hide(struct line *l)
{
	cadre_unwatch_fd(l->c, STDIN_FILENO);
	edit_hide(&l->edit);
	view_release_held(&l->view);
}

/* ---- a turn ------------------------------------------------------------------------------------------ */

static void work(struct line *l)
{
	l->state = LINE_WORKING;
	edit_leave(&l->edit);
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
		line_leave(l, EXIT_ANSWER);
		return;
	}
	if (s.n)
		editor_add_history(&l->edit.draft, str_from(text));
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
	line_show(l, EDIT_PROMPT, PROMPT, on_line);
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
	edit_leave(&l->edit);
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
	buf_clear(&l->edit.unread); /* as the terminal does with what it has */
	if (twice || l->state == LINE_LEAVING) {
		line_leave(l, EXIT_SIGNAL + SIGINT);
		return;
	}
	if (l->state == LINE_READING || (is_waiting(l) && !l->in_turn)) {
		line_hide(l);
		edit_forget(&l->edit);
		line_say(l, "Ctrl-C again leaves.");
		if (l->state == LINE_READING)
			read_line(l);
		else
			line_wait(l);
		return;
	}
	if (!l->in_turn) { /* a child asks while nothing else goes on: this is its answer */
		line_ask_refuse(l);
		return;
	}
	line_hide(l);
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
	struct line *l = data;

	edit_resize(&l->edit);
}

/* Ctrl-Z. The terminal is the shell's until on_continue(). */
static void on_suspend(struct cadre *c, int signal, void *data)
{
	struct line *l = data;
	struct sigaction usual = { .sa_handler = SIG_DFL }, ours;

	line_unbind_key(l);
	edit_suspend(&l->edit);
	if (sigaction(signal, &usual, &ours) < 0)
		return;
	(void)raise(signal);
	(void)sigaction(signal, &ours, NULL);
}

static void on_continue(struct cadre *c, int signal, void *data)
{
	struct line *l = data;

	edit_resume(&l->edit);
	if (l->state == LINE_WORKING)
		line_bind_key(l);
}

void line_watch_signals(struct line *l, struct cadre *c)
{
	(void)cadre_watch_signal(c, SIGINT, on_interrupt, l);
	(void)cadre_watch_signal(c, SIGTERM, on_end_signal, l);
	(void)cadre_watch_signal(c, SIGHUP, on_end_signal, l);
	(void)cadre_watch_signal(c, SIGWINCH, on_resize, l);
	(void)cadre_watch_signal(c, SIGTSTP, on_suspend, l);
	(void)cadre_watch_signal(c, SIGCONT, on_continue, l);
	(void)cadre_watch_fd(c, l->timer_fd, 0, on_timer, l);
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
	const char *prompt = flags_prompt(l->args);

	edit_init(&l->edit);
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer_fd < 0)
		return err_set(err, ERR_IO, "cannot make a timer: %m");
	int rc = line_open(l, err);
	if (rc < 0)
		return rc;
	view_init(&l->view, l->c, &face_line, args_has(l->args, "verbose"));
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
	if (l->worked && !args_has(l->args, "no-session-persistence"))
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
	edit_release(&l.edit);
	close(l.timer_fd);
	free(l.wanted_id);
	return l.code;
}
