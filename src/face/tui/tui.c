/* SPDX-License-Identifier: MIT
 * tui.c - a person at a terminal: the loop, the timers, the frames, the session. docs/internals/tui.md.
 *
 *     keys ----> input.c --prompt--> session --events--> feed.c ----> above (finished, written once)
 *                  |                                       |
 *                  +--------> draft, menu, asks, agents <--+--------> rows.c (live region) --> frame
 *
 * Keys are drawn at once; events at most 30 times a second. Without a turn, an agent or a question no timer is set. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "face/cli/configure.h"
#include "face/cli/run.h"
#include "face/cli/view.h"
#include "face/screen/term.h"
#include "face/tui/ask.h"
#include "face/tui/tui.h"
#include "face/tui/state.h"

enum {
	FRAME_MS = 33,
	ESC_MS = 30,
	RESIZE_MS = 40,
	RESIZE_TMUX_MS = 300, /* it tells of the first size at once, and of another within 250 ms at their end */
	TICK_MS = 1000,
	NOTE_MS = 2000,
	FLUSH_MS = 2000,
	LATE_SIGNAL_MS = 100,
	READ_BYTES = 65536
};

static void arm_timers(struct tui *t)
{
	struct itimerspec when = { 0 };
	int64_t first = 0, now = tui_now_ms();

	for (size_t i = 0; i < TIMER_COUNT; i++)
		if (t->due[i] && (!first || t->due[i] < first))
			first = t->due[i];
	if (first) {
		int64_t in_ms = MAX(first - now, (int64_t)0);
		when.it_value =
			(struct timespec){ in_ms / 1000, in_ms % 1000 * 1000000L + 1 }; /* 0 would switch it off */
	}
	(void)timerfd_settime(t->timer_fd, 0, &when, NULL);
}

void tui_set_timer(struct tui *t, enum tui_timer which, int64_t in_ms)
{
	t->due[which] = in_ms < 0 ? 0 : tui_now_ms() + in_ms;
	arm_timers(t);
}

void tui_changed(struct tui *t)
{
	if (!t->due[TIMER_FRAME])
		tui_set_timer(t, TIMER_FRAME, MAX(t->drawn_ms + FRAME_MS - tui_now_ms(), (int64_t)0));
}

void tui_note(struct tui *t, const char *text)
{
	if (t->lines) {
		feed_say(t, LOOK_DIM, str_from(text));
		return;
	}
	buf_clear(&t->note);
	buf_addstr(&t->note, text);
	tui_set_timer(t, TIMER_NOTE, NOTE_MS);
	tui_changed(t);
}

void tui_write(struct tui *t, const char *p, size_t n)
{
	if (t->lent)
		buf_add(&t->held, p, n);
	else
		cadre_write(t->out, p, n);
}

void tui_set_mode(struct tui *t, enum term_mode mode, bool on)
{
	const char *bytes = term_set(mode, on);

	tui_write(t, bytes, strlen(bytes));
}

void tui_await_size(struct tui *t)
{
	t->resizing = true;
	t->due[TIMER_ANSWER] = 0;
	tui_set_timer(t, TIMER_RESIZE, t->region.rewraps_caret ? RESIZE_TMUX_MS : RESIZE_MS);
}

void tui_draw(struct tui *t)
{
	AUTO_BUF struct buf out = { 0 };
	size_t row;
	unsigned column, columns, rows;

	t->due[TIMER_FRAME] = 0;
	if (!t->out || t->over || t->resizing || t->lent)
		return;
	term_size(&columns, &rows);
	if (MAX(columns, 2u) != t->region.columns || MAX(rows, 2u) != t->region.rows) { /* its signal is on the way */
		tui_await_size(t);
		return;
	}
	if (t->lines) {
		plain_draw(t, &out);
	} else if (t->page) {
		page_draw(t, &out);
	} else {
		if (t->folded.ends)
			feed_folded(t);
		t->due[TIMER_FRAME] = 0; /* those lines are in this one */
		rows_frame(t, &row, &column);
		region_draw(&t->region, t->rows, t->row_count, row, column, buf_str(&t->above), &out);
		buf_clear(&t->above);
	}
	if (out.n)
		tui_write(t, out.p, out.n);
	if (t->drawn_ms) /* before the size can change again; the first frame is written with what the terminal is asked */
		(void)cadre_writer_flush(t->out, 0, NULL, 0);
	t->drawn_ms = tui_now_ms();
	bool ticks = (t->in_turn || t->agents.running || t->job) && (!t->lines || t->region.shown_count);
	if (ticks && !t->due[TIMER_TICK])
		t->due[TIMER_TICK] = t->drawn_ms + TICK_MS;
	arm_timers(t);
}

/* What is finished stays; the live region goes. */
static void tui_erase(struct tui *t)
{
	AUTO_BUF struct buf out = { 0 };

	while (t->page)
		page_close(t);
	if (t->lines)
		plain_end_line(t);
	if (t->typed.n)
		buf_addstr(&out, "\r\n");
	buf_clear(&t->typed);
	region_erase(&t->region, &out);
	buf_add(&out, t->above.p, t->above.n);
	buf_clear(&t->above);
	if (out.n)
		tui_write(t, out.p, out.n);
	(void)cadre_writer_flush(t->out, FLUSH_MS, NULL, 0);
}

/* Below a view the region is one short row with the cursor in it. However the terminal moves, wraps or cuts rows when the size
 * changes meanwhile, the cursor comes back to that row, and nothing of the conversation is below it. */
void tui_leave_one_row(struct tui *t)
{
	AUTO_BUF struct buf out = { 0 };

	if (t->resizing)
		tui_resize(t, REGION_COLUMN_UNKNOWN);
	t->row_count = 0;
	styled_add(rows_add(t), LOOK_DIM, str_from(tui_mark(t, MARK_MORE)));
	region_draw(&t->region, t->rows, 1, 0, 0, STR(""), &out);
	tui_write(t, out.p, out.n);
}

/* Also when the size is the same again: in between the terminal may have cut rows. */
void tui_resize(struct tui *t, unsigned column)
{
	AUTO_BUF struct buf out = { 0 };
	unsigned columns, rows;

	t->resizing = false;
	t->settlings = 0;
	t->due[TIMER_ANSWER] = 0;
	term_size(&columns, &rows);
	if (t->page && !t->lines) { /* what is below the view is one short row */
		t->page->resized = true;
		t->region.columns = MAX(columns, 2u);
		t->region.rows = MAX(rows, 2u);
		tui_draw(t);
		return;
	}
	region_resize(&t->region, columns, rows, column, &out);
	if (out.n)
		tui_write(t, out.p, out.n);
	tui_draw(t);
}

static void on_timer(struct cadre *c, int fd, void *data)
{
	struct tui *t = data;
	uint64_t count;
	int64_t now = tui_now_ms();
	struct key key;
	bool came[TIMER_COUNT];

	if (read(fd, &count, sizeof count) < 0)
		return;
	for (size_t i = 0; i < TIMER_COUNT; i++) {
		came[i] = t->due[i] && t->due[i] <= now;
		if (came[i])
			t->due[i] = 0;
	}
	if (came[TIMER_ESC]) {
		keys_settle(&t->keys, &key);
		input_key(t, &key);
	}
	if (came[TIMER_BURST])
		input_burst_end(t);
	if (came[TIMER_NOTE])
		buf_clear(&t->note);
	if (came[TIMER_ASK])
		ask_consider(t);
	if (came[TIMER_STATUS])
		status_late(t);
	if (came[TIMER_REFRESH])
		status_refresh(t);
	if (came[TIMER_RESIZE])
		probe_resize(t);
	if (came[TIMER_ANSWER])
		probe_late(t);
	if (t->lines && (came[TIMER_TICK] || came[TIMER_HINT]))
		plain_timer(t, came[TIMER_HINT] ? TIMER_HINT : TIMER_TICK);
	if (came[TIMER_FRAME] || came[TIMER_TICK] || came[TIMER_NOTE] || came[TIMER_ESC])
		tui_draw(t);
	arm_timers(t);
}

static void tui_stop(struct tui *t)
{
	job_drop_editor(t);
	tui_erase(t);
	t->over = true;
	cadre_stop(t->c);
}

void tui_leave(struct tui *t, int code)
{
	if (t->leaving) { /* not for the first time: do not wait for the turn */
		job_drop_editor(t);
		tui_erase(t);
		term_give_back();
		_exit(code);
	}
	t->leaving = true;
	t->code = code;
	if (t->in_turn)
		cadre_interrupt(t->session);
	else
		tui_stop(t);
}

/* A runtime cannot be freed from its own callbacks, so the loop is left first. */
void tui_want(struct tui *t, enum tui_wanted wanted, struct str id)
{
	if (t->in_turn) {
		tui_note(t, "a turn runs: esc interrupts it");
		return;
	}
	free(t->wanted_id);
	t->wanted_id = xstrndup(id.p, id.n);
	t->wanted = wanted;
	t->switching = true;
	cadre_stop(t->c);
}

static void on_event(const struct cadre_event *e, void *data)
{
	struct tui *t = data;
	enum cadre_event_kind kind = cadre_event_kind(e);

	if (t->session && strcmp(cadre_event_session(e), cadre_session_id(t->session)) != 0)
		return;                                   /* a late event of the session before */
	if (kind == CADRE_SESSION_STARTED && !t->in_turn) /* a background task that ended starts a turn of its own */
		tui_begin_turn(t);
	if (agents_event(&t->agents, e, tui_now_ms()))
		tui_changed(t);
	feed_event(t, e);
	if (kind == CADRE_PERMISSION_ASKED || kind == CADRE_QUESTION_ASKED || kind == CADRE_ELICITATION_ASKED)
		ask_add(t, e);
	if (kind == CADRE_PERMISSION_DENIED)
		permissions_note_denied(t, e);
	if (kind == CADRE_TERMINAL_SEQUENCE && t->osc && !t->lines)
		tui_write(t, view_event_text(e).p, view_event_text(e).n);
	if (kind == CADRE_FILES_FOUND)
		menu_take_files(t, view_event_text(e));
	if (kind == CADRE_QUESTION_CLOSED)
		ask_drop(t, NULL, cadre_event_id(e), view_event_text(e));
	if (kind == CADRE_AGENT_ENDED || (kind == CADRE_TURN_ENDED && !cadre_event_agent(e)[0]))
		ask_drop(t, cadre_event_agent(e), NULL, STR("its agent has ended"));
	if (kind != CADRE_TURN_ENDED || cadre_event_agent(e)[0])
		return;
	t->in_turn = false;
	notice_turn_end(t);
	status_refresh(t);
	if (t->leaving)
		tui_stop(t);
	else
		tui_next_of_queue(t);
	tui_changed(t);
}

static void take_bytes(struct tui *t, const char *bytes, size_t n)
{
	input_bytes(t, bytes, n);
	t->due[TIMER_ESC] = (t->keys.n || t->keys.reporting) && !t->keys.pasting ? tui_now_ms() + ESC_MS : 0;
	if (t->keys.pasting || t->burst.n) {
		arm_timers(t);
		return;
	}
	if (!t->keys.reporting)
		buf_release(&t->keys.pasted); /* it is in the draft */
	tui_draw(t);
}

static void on_stdin(struct cadre *c, int fd, void *data)
{
	struct tui *t = data;
	char bytes[READ_BYTES];
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		cadre_unwatch_fd(t->c, fd);
		tui_leave(t, EXIT_SIGNAL + SIGHUP); /* the terminal is gone */
		return;
	}
	take_bytes(t, bytes, (size_t)n);
}

static void stop_process(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL }, ours;

	if (sigaction(SIGTSTP, &usual, &ours) < 0)
		return;
	(void)raise(SIGTSTP);
	(void)sigaction(SIGTSTP, &ours, NULL);
}

/* As a question that has just come: no key that was meant for another program answers it. */
static void ask_as_new(struct tui *t)
{
	if (!t->asking || t->lines)
		return;
	t->asks->takes_keys = false;
	t->key_ms = tui_now_ms();
	ask_consider(t);
}

void tui_suspend(struct tui *t)
{
	struct page *page = t->lines ? NULL : TAKE(t->page); /* it is there again afterwards */

	if (page)
		tui_write(t, "\033[?1049l", 8);
	tui_erase(t);
	term_give_back();
	stop_process();
	/* also if nothing stopped us: the kernel ignores the signal where no shell could continue us */
	(void)term_take();
	ask_as_new(t);
	tui_resize(t, REGION_COLUMN_UNKNOWN);
	if (page)
		page_show(t, page);
}

void tui_lend(struct tui *t)
{
	AUTO_BUF struct buf erase = { 0 };

	region_erase(&t->region, &erase);
	tui_write(t, erase.p, erase.n);
	(void)cadre_writer_flush(t->out, FLUSH_MS, NULL, 0);
	cadre_unwatch_fd(t->c, STDIN_FILENO);
	term_give_back();
	t->lent = true;
}

void tui_take_back(struct tui *t)
{
	AUTO_BUF struct buf held = t->held, ahead = t->ahead;

	t->held = t->ahead = (struct buf){ 0 };
	t->lent = false;
	t->back_ms = tui_now_ms();
	(void)term_take();
	(void)cadre_watch_fd(t->c, STDIN_FILENO, 1, on_stdin, t);
	if (!t->dumb) /* what the terminal echoed meanwhile stands there */
		tui_write(t, "\r\033[J", 4);
	tui_write(t, held.p, held.n);
	ask_as_new(t);
	tui_resize(t, REGION_COLUMN_UNKNOWN);
	take_bytes(t, buf_str(&ahead).p, ahead.n);
}

static const int tui_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };

static void on_signal(struct cadre *c, int signal, void *data)
{
	struct tui *t = data;

	if (t->lent && signal == SIGTSTP)
		stop_process();
	if (t->lent && (signal == SIGTSTP || signal == SIGINT || signal == SIGWINCH || signal == SIGCONT))
		return; /* the program that has the terminal gets them too */
	if (signal == SIGINT && tui_now_ms() - t->back_ms < LATE_SIGNAL_MS)
		return; /* it was for that program, whose end was seen first: now Ctrl-C is a key */
	switch (signal) {
	case SIGWINCH:
		tui_await_size(t);
		break;
	case SIGTSTP:
		tui_suspend(t);
		break;
	case SIGCONT: /* also after SIGSTOP, which gave no time to give it back: what the shell set is undone */
		term_give_back();
		(void)term_take();
		tui_resize(t, REGION_COLUMN_UNKNOWN);
		tui_draw(t);
		break;
	case SIGINT:
		input_key(t, &(struct key){ .code = KEY_CTRL, .letter = 'c' });
		break;
	default:
		tui_leave(t, EXIT_SIGNAL + signal);
	}
}

struct str tui_setting(struct tui *t, const char *path)
{
	size_t n = 0;
	const char *value = cadre_session_setting(t->session, path, &n);

	if (value && n > 1 && value[0] == '"')
		return (struct str){ value + 1, n - 2 };
	return value ? (struct str){ value, n } : STR("");
}

void tui_read_settings(struct tui *t)
{
	const char *term = getenv("TERM");

	t->ascii = t->lines || !term_has_utf8() || str_is(tui_setting(t, "cadre.ascii"), "true");
	t->still = str_is(tui_setting(t, "prefersReducedMotion"), "true");
	t->wraps_itself = str_is(tui_setting(t, "cadre.wrap"), "terminal");
	t->shows_thinking = str_is(tui_setting(t, "showThinking"), "true");
	t->osc = !t->lines && (!term || strcmp(term, "linux") != 0); /* its console would print them */
	paint_set_links(t->osc);
	t->region.colour = view_wants_colour() && !t->dumb ? theme_find(tui_setting(t, "theme"))
			   : t->lines                      ? THEME_BARE
							   : THEME_NONE;
	tui_changed(t);
}

/* Opens the wanted session in place of the current one, which is closed; on failure the current one stays. Each session has a
 * runtime of its own: the flags that chose the first one hold for a runtime as long as it lives. */
static int tui_open(struct tui *t, struct err *err)
{
	unsigned flags = CONFIGURE_INTERACTIVE | (t->wanted == TUI_FIRST ? 0 : CONFIGURE_FRESH);
	struct cadre_session *session, *old = t->session;
	struct cadre *c;
	char why[sizeof err->text] = "";

	int rc = configure_runtime(t->args, flags, &c, err);
	if (rc < 0)
		return rc;
	if (t->wanted == TUI_OLD)
		rc = configure_set(c, t->wanted_id[0] ? "resume" : "continue", t->wanted_id, err);
	else if (t->wanted == TUI_FORK && (rc = configure_set(c, "resume", t->wanted_id, err)) == 0)
		rc = configure_set(c, "fork-session", "", err);
	if (rc == 0 && t->wanted == TUI_FORK && t->wanted_at)
		rc = configure_set(c, "resume-session-at", t->wanted_at, err);
	if (rc == 0 && t->wanted == TUI_NEW && t->wanted_id && t->wanted_id[0])
		rc = configure_set(c, "name", t->wanted_id, err);
	if (rc == 0) {
		t->session = NULL; /* its first events come now */
		rc = cadre_open(c, on_event, t, &session, why, sizeof why);
		if (rc < 0)
			err_set(err, (enum err_kind) - rc, "%s", why);
	}
	if (rc < 0) {
		t->session = old;
		cadre_free(c);
		return rc;
	}
	/* before the old runtime goes: in between Ctrl-C would end the program */
	for (size_t i = 0; i < COUNT_OF(tui_signals); i++)
		(void)cadre_watch_signal(c, tui_signals[i], on_signal, t);
	(void)cadre_watch_fd(c, t->timer_fd, 0, on_timer, t);
	if (t->c) {
		const char *cause = t->wanted == TUI_OLD                      ? "resume"
				    : t->wanted == TUI_NEW && !t->trust_waits ? "clear"
									      : "other";
		if (t->wanted != TUI_OLD && !t->trust_waits)
			show_carry(t, old, session);
		(void)cadre_session_set(old, "end-reason", cause, NULL, 0);
		if (!strcmp(cause, "clear"))
			(void)cadre_session_set(session, "start-source", cause, NULL, 0);
		t->session = old;
		job_release(t);
		status_cancel(t);
		tui_erase(t);
		cadre_unwatch_fd(t->c, STDIN_FILENO);
		cadre_writer_free(t->out);
		t->out = NULL;
		cadre_close(old);
		cadre_free(t->c);
		agents_release(&t->agents);
		ask_release(t);
		todo_release(t);
		t->asking = false;
	}
	(void)cadre_watch_fd(c, STDIN_FILENO, 1, on_stdin, t);
	t->c = c;
	t->session = session;
	t->opened_ms = tui_now_ms();
	permissions_forget_denied(t);
	t->out = cadre_writer_new(c, STDOUT_FILENO);
	input_configure(t);
	tui_read_settings(t);
	t->worked = t->debugged = t->traced = t->files_sought = false;
	t->cost_usd = 0;
	t->context = t->window = 0;
	memset(t->usage, 0, sizeof t->usage);
	return 0;
}

static void tui_switch(struct tui *t)
{
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };

	t->switching = false;
	int rc = tui_open(t, &err);
	free(TAKE(t->wanted_at));
	if (rc == -ERR_BUSY)
		buf_addstr(&b, "That session is in use, here or in another process.");
	else if (rc < 0)
		buf_addstr(&b, err.text);
	else if (t->trust_waits)
		buf_addstr(&b, "What this folder brings counts now.");
	else if (t->wanted == TUI_NEW)
		buf_addstr(&b, "New session: it does not contain the conversation so far.");
	else if (t->wanted == TUI_FORK)
		buf_addf(&b, "Session %s: a copy of %s, which stays as it is.", cadre_session_id(t->session),
			 t->wanted_id);
	else if (t->lines)
		buf_addf(&b, "Continuing session %s.%s", cadre_session_id(t->session),
			 cadre_has_interrupted_turn(t->session) ? " Its last turn was interrupted." : "");
	else
		show_past(t);
	feed_words(t, rc < 0 ? LOOK_RED : LOOK_DIM, buf_str(&b));
	status_refresh(t);
	if (t->trust_waits) {
		buf_clear(&t->without_trust);
		t->trust_waits = false;
		tui_next_of_queue(t);
	}
	AUTO_BUF struct buf ahead = t->ahead;
	t->ahead = (struct buf){ 0 };
	take_bytes(t, buf_str(&ahead).p, ahead.n);
}

static void tui_release(struct tui *t)
{
	job_release(t);
	menu_close(t);
	ask_release(t);
	feed_release(t);
	todo_release(t);
	agents_release(&t->agents);
	keys_release(&t->keys);
	keymap_release(&t->keymap);
	vim_release(&t->vim);
	draft_release(&t->draft);
	region_release(&t->region);
	for (size_t i = 0; i < t->row_cap; i++)
		styled_release(&t->rows[i]);
	for (size_t i = 0; i < t->queue_count; i++)
		tui_queued_release(&t->queue[i]);
	buf_release(&t->attached);
	permissions_forget_denied(t);
	show_drop_names(&t->skills);
	show_drop_names(&t->mentions);
	buf_release(&t->files);
	free(t->rows);
	free(t->queue);
	free(t->remembered);
	free(t->wanted_id);
	buf_release(&t->note);
	buf_release(&t->burst);
	buf_release(&t->ahead);
	buf_release(&t->held);
	buf_release(&t->without_trust);
	buf_release(&t->joined);
	for (size_t i = 0; i < COPIES; i++)
		buf_release(&t->copies[i]);
	free(t->wanted_at);
	free(t->export_path);
	buf_release(&t->status_text);
	buf_release(&t->status_problem);
	plain_release(t);
	close(t->timer_fd);
}

/* Behind the first paint, which it must not delay: it starts a process. */
static void keep_terminal(struct tui *t)
{
	const char *reset;
	const struct termios *outside = term_outside(notice_modes(t), &reset);

	(void)cadre_keep_terminal(t->c, outside, reset, NULL, 0);
}

int tui_run(const struct args *args, bool plain)
{
	struct tui t = { .args = args };
	const char *prompt = flags_prompt(args);
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	region_init(&t.region);
	term_size(&t.region.columns, &t.region.rows);
	if (plain)
		plain_init(&t, view_is_for_reader());
	t.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t.timer_fd < 0)
		err_set(&err, ERR_IO, "cannot make a timer: %m");
	if (t.timer_fd < 0 || tui_open(&t, &err) < 0) {
		tui_release(&t);
		return run_fail(&err);
	}
	if (str_is(tui_setting(&t, "axScreenReader"), "true")) {
		plain_init(&t, true);
		tui_read_settings(&t);
	}
	(void)term_take();
	probe_load();
	buf_addf(&text, t.lines ? "cadre %s - /help for help, Ctrl-D to leave" : "cadre %s . %s", cadre_version(),
		 cadre_session_model(t.session));
	feed_foreign(&t, LOOK_DIM, buf_str(&text));
	if (!t.lines && (args_has(args, "continue") || args_has(args, "resume")))
		show_past(&t);
	ask_trust_first(&t);
	if ((prompt && str_trim(str_from(prompt)).n) || cadre_has_initial_prompt(t.session)) {
		if (!t.trust_waits)
			feed_prompt(&t, str_from(prompt));
		tui_submit(&t, str_from(prompt ? prompt : ""));
	}
	status_refresh(&t);
	tui_draw(&t);
	if (!t.lines)
		probe_start(&t);
	(void)cadre_writer_flush(t.out, 0, NULL, 0);
	keep_terminal(&t);
	while (!t.over) {
		cadre_run(t.c);
		while (t.switching) { /* again if that is typed ahead */
			tui_switch(&t);
			keep_terminal(&t);
		}
	}
	buf_clear(&text);
	buf_addf(&text, "Continue this session with: cadre --resume %s\r\n", cadre_session_id(t.session));
	if (t.worked && !args_has(args, "no-session-persistence"))
		cadre_write(t.out, text.p, text.n);
	job_release(&t);
	status_cancel(&t);
	cadre_unwatch_fd(t.c, STDIN_FILENO);
	(void)cadre_writer_flush(t.out, FLUSH_MS, NULL, 0);
	if (t.code == EXIT_ANSWER)
		(void)cadre_session_set(t.session, "end-reason", "prompt_input_exit", NULL, 0);
	cadre_close(t.session);
	cadre_run(t.c);
	(void)cadre_writer_flush(t.out, FLUSH_MS, NULL, 0);
	cadre_writer_free(t.out);
	t.out = NULL;
	cadre_free(t.c);
	term_give_back();
	tui_release(&t);
	return t.code;
}
