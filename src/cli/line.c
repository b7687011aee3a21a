/* SPDX-License-Identifier: MIT
 * line.c - a person at a terminal: a line is read, a turn runs, the next line is read.
 *
 *     READING --line--> WORKING --permission asked--> ASKING --answer--> WORKING --turn ended--> READING
 *     READING --a child in the background asks--> ASKING --answer--> READING
 *     READING --/new, /resume--> SWITCHING --opened, or not--> READING
 *     any --Ctrl-D, /exit, Ctrl-C twice, SIGTERM--> LEAVING --turn ended--> the loop stops
 *
 * The input line and the output share the terminal, so one of them has it: while the line is shown nothing
 * else is written (the view holds it back), and standard input is watched only while the line is shown. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <time.h>
#include "base/utf8.h"
#include "cli/edit.h"
#include "cli/line_int.h"
#include "cli/render.h"
#include "cli/run.h"

enum { TWICE_MS = 2000, FLUSH_MS = 2000 };

static void read_line(struct line *l);
static void ask_next(struct line *l);
static void go_on(struct line *l);

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

static void show(struct line *l, const char *prompt, edit_line_fn *done)
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

/* Also when it is not shown. */
static void hide(struct line *l)
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
	if (cadre_prompt(l->session, prompt.p, prompt.n, why, sizeof why) == 0) {
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

	hide(l);
	if (!text) {
		line_say(l, "");
		line_leave(l, EXIT_ANSWER);
		return;
	}
	if (s.n)
		edit_add_history(text);
	if (s.n && s.p[0] != '/') {
		submit(l, s);
		return;
	}
	if (s.n)
		line_command(l, s);
	if (l->state == LINE_READING)
		read_line(l);
}

static void read_line(struct line *l)
{
	l->state = LINE_READING;
	show(l, "> ", on_line);
}

/* ---- permission questions ---------------------------------------------------------------------------- */

static void drop_ask(struct ask **at)
{
	struct ask *gone = *at;

	*at = gone->next;
	free(gone->id);
	free(gone->agent);
	free(gone->text);
	free(gone);
}

/* It asks no more: it was ended. */
static void drop_asks_of(struct line *l, const char *agent)
{
	bool shown = l->state == LINE_ASKING && l->asks && !strcmp(l->asks->agent, agent);

	for (struct ask **at = &l->asks; *at;) {
		if (strcmp((*at)->agent, agent) != 0)
			at = &(*at)->next;
		else
			drop_ask(at);
	}
	if (!shown)
		return;
	hide(l);
	go_on(l);
}

static void add_ask(struct line *l, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };
	AUTO_BUF struct buf who = { 0 };
	struct ask **at = &l->asks;
	struct ask *ask = xcalloc(1, sizeof *ask);

	buf_addstr(&b, "Allow ");
	render_line(&b, str_from(cadre_event_name(e)));
	agent_title(&who, e);
	buf_addstr(&b, who.n ? " for " : "");
	render_line(&b, buf_str(&who));
	buf_addstr(&b, ": ");
	render_text(&b, view_event_text(e)); /* all its lines: what is allowed must have been seen */
	buf_addch(&b, '?');
	ask->id = xstrdup(cadre_event_id(e));
	ask->agent = xstrdup(cadre_event_agent(e));
	ask->text = buf_take(&b, NULL);
	while (*at)
		at = &(*at)->next;
	*at = ask;
	if (l->state == LINE_WORKING || l->state == LINE_READING)
		ask_next(l);
}

enum answer { ANSWER_NONE, ANSWER_YES, ANSWER_ALWAYS, ANSWER_NO, ANSWER_REASON };

static enum answer answer_of(struct str s)
{
	static const struct {
		const char *text;
		enum answer answer;
	} words[] = {
		{ "", ANSWER_NONE },         { "y", ANSWER_YES }, { "yes", ANSWER_YES }, { "a", ANSWER_ALWAYS },
		{ "always", ANSWER_ALWAYS }, { "n", ANSWER_NO },  { "no", ANSWER_NO },
	};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_is_nocase(s, words[i].text))
			return words[i].answer;
	return ANSWER_REASON;
}

static void on_answer(const char *text, void *data)
{
	struct line *l = data;
	AUTO_FREE char *reason = NULL;
	struct str s = text ? str_trim(str_from(text)) : STR("no"); /* Ctrl-D */
	enum answer answer = answer_of(s);

	hide(l);
	if (answer == ANSWER_NONE) {
		ask_next(l);
		return;
	}
	if (answer == ANSWER_REASON)
		reason = xstrndup(s.p, s.n);
	(void)cadre_answer(l->session, l->asks->id, answer == ANSWER_YES || answer == ANSWER_ALWAYS,
			   answer == ANSWER_ALWAYS, reason);
	drop_ask(&l->asks);
	go_on(l);
}

/* A question is out of the way. */
static void go_on(struct line *l)
{
	work(l);
	if (l->asks)
		ask_next(l);
	else if (!l->in_turn)
		read_line(l);
}

/* What was typed before the question was seen is not an answer to it. */
static void ask_next(struct line *l)
{
	l->state = LINE_ASKING;
	tcflush(STDIN_FILENO, TCIFLUSH);
	line_say(l, l->asks->text);
	show(l, "[y]es / [a]lways in this session / [n]o, or say why: ", on_answer);
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

	drop_asks_of(l, "");
	if (l->state == LINE_LEAVING)
		stop(l);
	else if (!asking)
		go_on(l);
}

/* What a child does in the background does not disturb the line that is being typed; only its end does. */
static bool is_beside(const struct line *l, const struct cadre_event *e)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	bool child = cadre_event_agent(e)[0] || kind == CADRE_TASKS_CHANGED;

	return l->state == LINE_READING && child && kind != CADRE_AGENT_ENDED && kind != CADRE_PERMISSION_ASKED;
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
		hide(l);
	if (l->state == LINE_READING && kind == CADRE_SESSION_STARTED)
		work(l); /* a background task that ended starts a turn of its own */
	view_event(&l->view, e);

	if (kind == CADRE_AGENT_ENDED)
		drop_asks_of(l, cadre_event_agent(e));
	if (kind == CADRE_TURN_ENDED)
		end_turn(l);
	else if (kind == CADRE_PERMISSION_ASKED)
		add_ask(l, e);
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
	hide(l);
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
		hide(l);
		edit_forget();
		line_say(l, "Ctrl-C again leaves.");
		read_line(l);
		return;
	}
	if (!l->in_turn) { /* a child asks while nothing else goes on: this is its answer */
		edit_forget();
		on_answer(NULL, l);
		return;
	}
	hide(l);
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
	if (prompt && str_trim(str_from(prompt)).n)
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
	line_close(&l);
	free(l.wanted_id);
	return l.code;
}
