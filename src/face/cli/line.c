/* SPDX-License-Identifier: MIT
 * line.c - a person at a terminal: a line is read, a turn runs, the next line is read.
 *
 *     READING --line--> WORKING --an agent asks--> ASKING --answer--> WORKING --turn ended--> READING
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
#include <termios.h>
#include <time.h>
#include "lib/base/utf8.h"
#include "face/cli/configure.h"
#include "face/cli/line_int.h"
#include "face/cli/view.h"
#include "face/cli/run.h"

enum {
	TWICE_MS = 2000,
	FLUSH_MS = 2000,
	QUIET_MS = 400 /* before a question takes an answer */,
	CTRL_B = 2,
	HINT_S = 3,
	PROGRESS_FIRST_S = 15,
	PROGRESS_S = 60
};

static const char *prompt_of(const struct line *l)
{
	return l->view.reader ? "you: " : "> ";
}

static void line_read(struct line *l);
static void line_leave(struct line *l, int code);

/* The terminal's quit key becomes Ctrl-B, or what it was before. */
static void line_set_quit_key(struct line *l, bool ctrl_b)
{
	struct termios t;

	if (ctrl_b == l->key_bound)
		return;
	l->key_bound = false;
	if (tcgetattr(STDIN_FILENO, &t) < 0)
		return;
	cc_t before = t.c_cc[VQUIT];
	t.c_cc[VQUIT] = ctrl_b ? CTRL_B : l->quit_key;
	l->key_bound = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0 && ctrl_b;
	l->quit_key = before;
}

/* ---- Ctrl-B while a turn runs ------------------------------------------------------------------------ */

static void line_note_agent(struct line *l, const struct cadre_event *e)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	const char *agent = cadre_event_agent(e);
	struct itimerspec when = { .it_value = { HINT_S, 0 } };

	if (kind == CADRE_AGENT_STARTED && !l->hinted && !l->waited_agent[0] && l->state == LINE_WORKING &&
	    strstr(cadre_event_frame(e, NULL), "\"is_backgrounded\":false")) {
		snprintf(l->waited_agent, sizeof l->waited_agent, "%s", agent);
		(void)timerfd_settime(l->hint_fd, 0, &when, NULL);
	}
	if (kind == CADRE_TURN_ENDED || (kind == CADRE_AGENT_ENDED && !strcmp(agent, l->waited_agent)))
		l->waited_agent[0] = '\0';
}

static void on_hint(struct cadre *c, int fd, void *data)
{
	struct line *l = data;
	uint64_t count;

	if (read(fd, &count, sizeof count) < 0 || !l->waited_agent[0] || l->state != LINE_WORKING)
		return;
	l->hinted = true;
	line_say(l, "Ctrl-B sends the agents that are waited for to the background.");
}

/* ---- a turn that takes long, where nothing moves --------------------------------------------------------- */

static void line_time_turn(struct line *l, bool begins)
{
	struct itimerspec when = { .it_value = { PROGRESS_FIRST_S, 0 }, .it_interval = { PROGRESS_S, 0 } };
	struct itimerspec never = { 0 };
	AUTO_BUF struct buf b = { 0 };

	if (l->view.live)
		return;
	if (!begins && l->turn_ms && l->view.reader) {
		buf_addstr(&b, "done, ");
		buf_addspan(&b, edit_now_ms() - l->turn_ms);
		line_say(l, b.p);
	}
	l->turn_ms = begins ? edit_now_ms() : 0;
	(void)timerfd_settime(l->progress_fd, 0, begins ? &when : &never, NULL);
}

static void on_progress(struct cadre *c, int fd, void *data)
{
	struct line *l = data;
	AUTO_BUF struct buf b = { 0 };
	uint64_t count;

	if (read(fd, &count, sizeof count) < 0 || l->state != LINE_WORKING)
		return;
	buf_addstr(&b, "still working, ");
	buf_addspan(&b, (edit_now_ms() - l->turn_ms) / 1000 * 1000);
	line_say(l, b.p);
}

/* ---- the input line ---------------------------------------------------------------------------------- */

static bool line_is_waiting(const struct line *l)
{
	return l->state == LINE_ASKING && l->edit.kind == EDIT_WAITING && l->edit.shown;
}

static void line_set_timer(struct line *l, unsigned ms)
{
	struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000L + 1 } }; /* 0 would switch it off */

	(void)timerfd_settime(l->timer_fd, 0, &when, NULL);
}

static void on_stdin(struct cadre *c, int fd, void *data)
{
	struct line *l = data;

	if (!edit_read(&l->edit))
		line_leave(l, EXIT_SIGNAL + SIGHUP); /* the terminal is gone */
	else if (line_is_waiting(l))
		line_set_timer(l, QUIET_MS);
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
		if (line_is_waiting(l))
			line_set_timer(l, QUIET_MS);
	} else if (line_is_waiting(l) &&
		   (l->edit.draft.pasting || (ioctl(STDIN_FILENO, FIONREAD, &ready) == 0 && ready > 0))) {
		line_set_timer(l, QUIET_MS); /* the rest of a paste, or on_stdin, comes first */
	} else if (line_is_waiting(l)) {
		line_hide(l);
		line_ask_open(l);
	}
}

void line_show(struct line *l, enum edit_kind kind, const char *prompt, edit_line_fn *done)
{
	line_set_quit_key(l, false);
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
		line_set_timer(l, 0);
}

void line_wait(struct line *l)
{
	line_show(l, EDIT_WAITING, prompt_of(l), NULL);
	line_set_timer(l, QUIET_MS);
}

void line_hide(struct line *l)
{
	cadre_unwatch_fd(l->c, STDIN_FILENO);
	edit_hide(&l->edit);
	view_release_held(&l->view);
}

/* ---- slash commands --------------------------------------------------------------------------------- */

/* To add one: a function, a row. */
enum { WIDEST_NAME = sizeof "/compact [instructions]" - 1 };

struct command {
	const char *name;
	const char *alias; /* or NULL */
	const char *args;
	const char *help;
	enum { COMMAND_CLEAR, COMMAND_COMPACT, COMMAND_EXIT, COMMAND_HELP, COMMAND_RESUME } id;
};

static const struct command commands[] = {
	{ "clear", "new", "", "start a new session", COMMAND_CLEAR },
	{ "compact", NULL, " [instructions]", "replace the conversation by a summary of it", COMMAND_COMPACT },
	{ "exit", "quit", "", "leave (also Ctrl-D)", COMMAND_EXIT },
	{ "help", NULL, "", "this list", COMMAND_HELP },
	{ "resume", NULL, " [session]", "continue an earlier session, by id or title; without one the latest",
	  COMMAND_RESUME },
};

static void line_say_help(struct line *l)
{
	AUTO_BUF struct buf b = { 0 };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		const struct command *cmd = &commands[i];
		size_t start = b.n;
		buf_addf(&b, "/%s%s", cmd->name, cmd->args);
		if (cmd->alias)
			buf_addf(&b, ", /%s", cmd->alias);
		buf_addf(&b, "%*s%s\n", (int)(WIDEST_NAME + 2 - MIN(b.n - start, (size_t)WIDEST_NAME)), "", cmd->help);
	}
	buf_addstr(&b,
		   "/NAME [arguments] uses a skill; `cadre skills` lists them.\n"
		   "Alt-Enter starts a new line; a paste of several lines is one prompt.\n"
		   "Ctrl-C ends the turn, twice it ends the program. Ctrl-B sends agents that are waited for to the "
		   "background.");
	line_say(l, b.p);
}

/* A runtime cannot be freed from its own callbacks, so the loop is left first. */
static void line_want(struct line *l, enum line_wanted wanted, struct str id)
{
	free(l->wanted_id);
	l->wanted_id = xstrndup(id.p, id.n);
	l->wanted = wanted;
	l->state = LINE_SWITCHING;
	cadre_stop(l->c);
}

/* Runs the command of a line that starts with a slash. False: not one of ours; the session may know it, or a skill. */
static bool line_command(struct line *l, struct str text)
{
	struct str rest = str_trim(text);
	struct str name = str_cut(&rest, ' ');
	const struct command *cmd = NULL;

	if (!str_starts(name, STR("/")))
		return false;
	name = (struct str){ name.p + 1, name.n - 1 };
	for (size_t i = 0; i < COUNT_OF(commands) && !cmd; i++)
		if (str_is(name, commands[i].name) || (commands[i].alias && str_is(name, commands[i].alias)))
			cmd = &commands[i];
	if (!cmd)
		return false;
	rest = rest.p ? str_trim(rest) : STR("");
	switch (cmd->id) {
	case COMMAND_COMPACT:
		return false;
	case COMMAND_CLEAR:
		line_want(l, LINE_NEW, STR(""));
		break;
	case COMMAND_EXIT:
		line_leave(l, EXIT_ANSWER);
		break;
	case COMMAND_HELP:
		line_say_help(l);
		break;
	case COMMAND_RESUME:
		line_want(l, rest.n ? LINE_OLD : LINE_LATEST, rest);
		break;
	}
	return true;
}

/* ---- a turn ------------------------------------------------------------------------------------------ */

static void line_work(struct line *l)
{
	l->state = LINE_WORKING;
	edit_leave(&l->edit);
	line_set_quit_key(l, true);
}

static void line_submit(struct line *l, struct str text)
{
	AUTO_BUF struct buf prompt = { 0 };
	char why[240] = "";

	utf8_add_repaired(&prompt, text);
	line_work(l);
	if (cadre_prompt(l->session, prompt.n ? prompt.p : "", prompt.n, why, sizeof why) == 0) {
		l->worked = true;
		return;
	}
	line_say(l, why);
	line_read(l);
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
		line_submit(l, s);
		return;
	}
	if (l->state == LINE_READING)
		line_read(l);
}

static void line_read(struct line *l)
{
	l->state = LINE_READING;
	line_show(l, EDIT_PROMPT, prompt_of(l), on_line);
}

/* ---- questions (line_ask.c) ---------------------------------------------------------------------------- */

/* A question is out of the way. */
void line_continue(struct line *l)
{
	line_work(l);
	if (l->asks)
		line_ask_next(l);
	else if (!l->in_turn)
		line_read(l);
}

/* ---- what the session and the user do ---------------------------------------------------------------- */

static void line_stop(struct line *l)
{
	l->over = true;
	cadre_stop(l->c);
}

static void line_on_event(const struct cadre_event *e, void *data)
{
	struct line *l = data;
	enum cadre_event_kind kind = cadre_event_kind(e);
	bool question =
		kind == CADRE_PERMISSION_ASKED || kind == CADRE_QUESTION_ASKED || kind == CADRE_ELICITATION_ASKED;
	bool of_child = cadre_event_agent(e)[0] || kind == CADRE_TASKS_CHANGED;

	if (strcmp(cadre_event_session(e), cadre_session_id(l->session)) != 0)
		return; /* a late event of the session before */
	if (kind == CADRE_SESSION_STARTED || kind == CADRE_TURN_ENDED)
		l->in_turn = kind == CADRE_SESSION_STARTED;
	/* A child in the background does not disturb the line that is being typed, except by its end. */
	if (l->state == LINE_READING && of_child && kind != CADRE_AGENT_ENDED && !question) {
		view_event(&l->view, e);
		return;
	}
	if (l->state == LINE_READING)
		line_hide(l);
	if (l->state == LINE_READING && kind == CADRE_SESSION_STARTED)
		line_work(l); /* a background task that ended starts a turn of its own */
	view_event(&l->view, e);
	line_note_agent(l, e);
	if (kind == CADRE_SESSION_STARTED || (kind == CADRE_TURN_ENDED && !cadre_event_agent(e)[0]))
		line_time_turn(l, kind == CADRE_SESSION_STARTED);

	bool asking = l->state == LINE_ASKING; /* then a turn's end is settled with the question that is shown */
	if (kind == CADRE_AGENT_ENDED || kind == CADRE_TURN_ENDED)
		line_ask_forget(l, cadre_event_agent(e));
	if (kind == CADRE_TURN_ENDED && l->state == LINE_LEAVING)
		line_stop(l);
	else if (kind == CADRE_TURN_ENDED && !asking)
		line_continue(l);
	else if (question)
		line_ask_add(l, e);
	else if (kind != CADRE_TURN_ENDED && l->state == LINE_READING)
		line_read(l);
}

static void line_leave(struct line *l, int code)
{
	line_set_quit_key(l, false);
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
		line_stop(l);
}

static void line_interrupt(struct line *l)
{
	int64_t now = edit_now_ms();
	bool twice = l->interrupted_ms && now - l->interrupted_ms < TWICE_MS;

	l->interrupted_ms = now;
	buf_clear(&l->edit.unread); /* as the terminal does with what it has */
	if (twice || l->state == LINE_LEAVING) {
		line_leave(l, EXIT_SIGNAL + SIGINT);
		return;
	}
	if (l->state == LINE_READING || (line_is_waiting(l) && !l->in_turn)) {
		line_hide(l);
		struct edit *e = &l->edit;
		editor_clear(&e->draft);
		e->held_line_ends = 0;
		line_say(l, "Ctrl-C again leaves.");
		if (l->state == LINE_READING)
			line_read(l);
		else
			line_wait(l);
		return;
	}
	if (!l->in_turn) { /* a child asks while no turn runs: this is the answer */
		line_ask_refuse(l);
		return;
	}
	line_hide(l);
	line_work(l);
	l->view.cancelled = true;
	cadre_interrupt(l->session);
}

/* Ctrl-B, by the terminal's quit key */
static void line_move_to_background(struct line *l)
{
	AUTO_BUF struct buf b = { 0 };
	int moved = cadre_background(l->session, NULL);

	if (moved > 0)
		buf_addf(&b, "%d %s in the background now.", moved, moved == 1 ? "agent works" : "agents work");
	else
		buf_addstr(&b, "No agent can be sent to the background.");
	line_say(l, b.p);
}

static const int line_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };

static void on_signal(struct cadre *c, int signal, void *data)
{
	struct line *l = data;
	struct sigaction usual = { .sa_handler = SIG_DFL }, ours;

	switch (signal) {
	case SIGINT:
		line_interrupt(l);
		break;
	case SIGQUIT:
		if (l->state == LINE_WORKING)
			line_move_to_background(l);
		else
			line_leave(l, EXIT_SIGNAL + signal);
		break;
	case SIGWINCH:
		edit_resize(&l->edit);
		break;
	case SIGTSTP: /* Ctrl-Z: the terminal is the shell's until SIGCONT */
		line_set_quit_key(l, false);
		edit_suspend(&l->edit);
		if (sigaction(signal, &usual, &ours) < 0)
			break;
		(void)raise(signal);
		(void)sigaction(signal, &ours, NULL);
		break;
	case SIGCONT:
		edit_resume(&l->edit);
		if (l->state == LINE_WORKING)
			line_set_quit_key(l, true);
		break;
	default:
		line_leave(l, EXIT_SIGNAL + signal);
	}
}

/* ---- another session --------------------------------------------------------------------------------- */

/* Opens the wanted session in place of the current one, which is closed; on failure the current one stays. Each session has a
 * runtime of its own: the flags that chose the first one (--resume, --session-id ...) hold for a runtime as long as it lives. */
static int line_open(struct line *l, struct err *err)
{
	unsigned flags = CONFIGURE_INTERACTIVE | (l->wanted == LINE_FIRST ? 0 : CONFIGURE_FRESH);
	struct cadre_session *session;
	struct cadre *c;
	char why[sizeof err->text] = "";

	int rc = configure_runtime(l->args, flags, &c, err);
	if (rc < 0)
		return rc;
	if (l->wanted == LINE_OLD)
		rc = configure_set(c, "resume", l->wanted_id, err);
	else if (l->wanted == LINE_LATEST)
		rc = configure_set(c, "continue", "", err);
	if (rc == 0) {
		rc = cadre_open(c, line_on_event, l, &session, why, sizeof why);
		if (rc < 0)
			err_set(err, (enum err_kind) - rc, "%s", why);
	}
	if (rc < 0) {
		cadre_free(c);
		return rc;
	}
	/* before the old runtime goes: in between Ctrl-C would end the program */
	for (size_t i = 0; i < COUNT_OF(line_signals); i++)
		(void)cadre_watch_signal(c, line_signals[i], on_signal, l);
	(void)cadre_watch_fd(c, l->timer_fd, 0, on_timer, l);
	(void)cadre_watch_fd(c, l->hint_fd, 0, on_hint, l);
	(void)cadre_watch_fd(c, l->progress_fd, 0, on_progress, l);
	if (l->c) {
		view_move(&l->view, c);
		cadre_close(l->session);
		cadre_free(l->c);
	}
	l->c = c;
	l->session = session;
	l->worked = false;
	return 0;
}

static void line_switch(struct line *l)
{
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };

	int rc = line_open(l, &err);
	if (rc == -ERR_BUSY)
		buf_addstr(&b, "That session is in use, here or in another process.");
	else if (rc < 0)
		render_line(&b, str_from(err.text));
	else if (l->wanted == LINE_NEW)
		buf_addstr(&b, "New session: it does not contain the conversation so far.");
	else
		buf_addf(&b, "Continuing session %s.%s", cadre_session_id(l->session),
			 cadre_has_interrupted_turn(l->session) ? " Its last turn was interrupted." : "");
	line_say(l, buf_str(&b).p);
	line_read(l);
}

/* ---- the whole --------------------------------------------------------------------------------------- */

int line_run(const struct args *args)
{
	struct line l = { .args = args };
	const char *prompt = flags_prompt(args);
	AUTO_BUF struct buf bye = { 0 };
	struct err err = { 0 };

	edit_init(&l.edit);
	l.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l.hint_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l.progress_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	bool timers = l.timer_fd >= 0 && l.hint_fd >= 0 && l.progress_fd >= 0;
	if (!timers)
		err_set(&err, ERR_IO, "cannot make a timer: %m");
	if (!timers || line_open(&l, &err) < 0)
		return run_fail(&err);
	view_init(&l.view, l.c, &face_line, args_has(args, "verbose"));
	if ((prompt && str_trim(str_from(prompt)).n) || cadre_has_initial_prompt(l.session))
		line_submit(&l, str_from(prompt));
	else
		line_read(&l);
	while (!l.over) {
		cadre_run(l.c); /* returns also when nothing is watched for a moment, between two lines */
		if (l.state == LINE_SWITCHING)
			line_switch(&l);
	}

	buf_addf(&bye, "Continue this session with: cadre --resume %s", cadre_session_id(l.session));
	if (l.worked && !args_has(args, "no-session-persistence"))
		line_say(&l, bye.p);
	(void)view_flush(&l.view, FLUSH_MS, NULL);
	cadre_close(l.session); /* its last events are still shown */
	cadre_run(l.c);
	(void)view_flush(&l.view, FLUSH_MS, NULL);
	view_release(&l.view);
	line_ask_release(&l);
	cadre_free(l.c);
	edit_release(&l.edit);
	close(l.timer_fd);
	close(l.hint_fd);
	close(l.progress_fd);
	free(l.wanted_id);
	return l.code;
}
