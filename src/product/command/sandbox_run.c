/* SPDX-License-Identifier: MIT
 * sandbox_run.c - `cadre sandbox run`: a program inside, on the streams of ours. A stream that is a terminal becomes a terminal of the
 * inside: bytes, window size and keys pass between the two here, so that nothing inside has the user's own. Hosts that no list names
 * are asked about on it.
 *
 *     user's terminal (raw) --keys--> to_program --> master | slave: the program's streams
 *                           <-------- to_user   <--
 *
 * One side is read only while nothing waits to be written to the other. While a question is shown the program's output waits. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include "lib/base/list.h"
#include "lib/io/file.h"
#include "lib/io/spawn.h"
#include "product/command/sandbox.h"

enum {
	READ_BYTES = 16 * 1024,
	OUTPUT_GRACE_MS = 200,         /* for output, while something that the program left has the terminal */
	OUTPUT_LATE_MAX = 1024 * 1024, /* more than a terminal holds */
	SETTLE_MS = 400, /* keys count as an answer after so much silence: others were typed for the program */
};

enum { SIGNAL_WINDOW, SIGNAL_INTERRUPT, SIGNAL_TERMINATE, SIGNAL_QUIT, SIGNAL_COUNT };

struct host_asked {
	struct host_asked *next;
	unsigned port;
	char host[];
};

struct running {
	struct loop *loop;
	struct sandbox *sandbox;
	struct child *child; /* NULL: it has ended */
	int status;
	unsigned open_handles;
	bool closing;
	uv_signal_t signals[SIGNAL_COUNT];
	/* of a terminal; user < 0: there is none */
	int user, master, slave;
	bool keys;         /* standard input is the terminal: raw, and read */
	bool ended;        /* nothing more comes from the master */
	size_t late_bytes; /* from the master, behind the end of the program */
	struct termios before;
	uv_poll_t user_poll, master_poll;
	struct buf to_user, to_program;
	struct timer grace;
	struct host_asked *asked; /* the first one is shown */
	struct timer settle;      /* runs: keys are the program's */
};

static void terminal_step(struct running *r);

static void on_handle_closed(uv_handle_t *handle)
{
	struct running *r = handle->data;

	if (--r->open_handles == 0)
		loop_stop(r->loop);
}

static void running_close(struct running *r)
{
	if (r->closing)
		return;
	r->closing = true;
	timer_stop(r->loop, &r->grace);
	timer_stop(r->loop, &r->settle);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		uv_close((uv_handle_t *)&r->signals[i], on_handle_closed);
	if (r->user >= 0) {
		uv_close((uv_handle_t *)&r->user_poll, on_handle_closed);
		uv_close((uv_handle_t *)&r->master_poll, on_handle_closed);
	}
}

static void question_show(struct running *r)
{
	if (!r->asked)
		return;
	buf_addf(&r->to_user, "\r\ncadre: no list of the settings names %s:%u. May it be reached in this run? [y/N] ",
		 r->asked->host, r->asked->port);
	timer_start(r->loop, &r->settle, SETTLE_MS);
}

static void on_settled(struct timer *timer)
{
	(void)timer; /* that it does not run any more is the fact */
}

/* data: a running, on a terminal with keys. */
static void on_host(void *data, const char *host, unsigned port)
{
	struct running *r = data;
	if (!r->child)
		return; /* it has ended, and with it the user's part */
	size_t n = strlen(host) + 1;
	struct host_asked *q = xcalloc(1, sizeof *q + n);

	memcpy(q->host, host, n);
	q->port = port;
	list_push_last(&r->asked, q);
	if (r->asked == q)
		question_show(r);
	terminal_step(r);
}

/* Of a pasted text or an escape sequence the first byte answers a question, and the rest is dropped. */
static void take_keys(struct running *r, const char *p, size_t n)
{
	struct host_asked *q = r->asked;
	bool yes = p[0] == 'y' || p[0] == 'Y';

	if (!q || timer_running(&r->settle)) {
		buf_add(&r->to_program, p, n);
		if (q)
			timer_start(r->loop, &r->settle, SETTLE_MS);
		return;
	}
	buf_addf(&r->to_user, "%s\r\n", yes ? "yes" : "no");
	r->asked = q->next;
	sandbox_answer_host(r->sandbox, q->host, q->port, yes);
	free(q);
	question_show(r);
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
	struct running *r = handle->data;
	bool of_user = handle == &r->user_poll;
	ssize_t n;

	if (events & UV_WRITABLE) {
		struct buf *waiting = of_user ? &r->to_user : &r->to_program;
		n = write(of_user ? r->user : r->master, waiting->p, waiting->n);
		if (n >= 0)
			buf_drop(waiting, (size_t)n);
		else if (errno != EAGAIN && errno != EINTR)
			buf_clear(waiting); /* the terminal is gone: a signal says so */
	}
	if (events & UV_READABLE) {
		char bytes[READ_BYTES];
		n = read(of_user ? r->user : r->master, bytes, sizeof bytes);
		if (n > 0 && of_user)
			take_keys(r, bytes, (size_t)n);
		else if (n > 0) {
			buf_add(&r->to_user, bytes, (size_t)n);
			r->late_bytes += r->child ? 0 : (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			*(of_user ? &r->keys : &r->ended) = !of_user;
	}
	terminal_step(r);
}

/* Reads and writes what may be; closes when the program has ended and its output is out. */
static void terminal_step(struct running *r)
{
	int user = (r->keys && !r->to_program.n && r->child ? UV_READABLE : 0) | (r->to_user.n ? UV_WRITABLE : 0);
	int master = (!r->ended && !r->to_user.n && !r->asked ? UV_READABLE : 0) |
		     (r->to_program.n && r->child ? UV_WRITABLE : 0);

	if (r->closing)
		return;
	(void)uv_poll_stop(&r->user_poll);
	(void)uv_poll_stop(&r->master_poll);
	if (user)
		(void)uv_poll_start(&r->user_poll, user, on_ready);
	if (master)
		(void)uv_poll_start(&r->master_poll, master, on_ready);
	if (!r->child && r->ended && !r->to_user.n)
		running_close(r);
}

static void on_grace(struct timer *timer)
{
	struct running *r = CONTAINER_OF(timer, struct running, grace);
	struct pollfd rest = { .fd = r->master, .events = POLLIN };

	/* The user's terminal may be slower than the program was. What comes behind that is of processes that are left. */
	if (r->late_bytes < OUTPUT_LATE_MAX && poll(&rest, 1, 0) > 0)
		timer_start(r->loop, timer, OUTPUT_GRACE_MS);
	else
		r->ended = true;
	terminal_step(r);
}

static void window_fit(const struct running *r)
{
	struct winsize size;

	if (r->user >= 0 && ioctl(r->user, TIOCGWINSZ, &size) == 0)
		(void)ioctl(r->master, TIOCSWINSZ, &size);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct running *r = handle->data;

	if (number == SIGWINCH)
		window_fit(r);
	else if (r->child)
		child_kill(r->child, number);
}

static void on_run_exit(struct child *c, int status)
{
	struct running *r = child_data(c);

	r->status = status;
	r->child = NULL;
	for (struct host_asked *q; (q = list_pop(&r->asked));) /* the one that asked is gone */
		free(q);
	if (r->user < 0) {
		running_close(r);
		return;
	}
	close(r->slave); /* the last one, unless something was left behind: then the master ends */
	r->slave = -1;
	timer_start(r->loop, &r->grace, OUTPUT_GRACE_MS);
	terminal_step(r);
}

/* The user's terminal gets a description of its own: what is set on its descriptor would be set for the shell too. */
static int terminal_open(struct running *r, const struct sandbox_room *room, struct err *err)
{
	char path[32];
	int fd = 0;

	while (fd < 3 && !isatty(fd))
		fd++;
	if (fd == 3)
		return 0;
	r->keys = fd == STDIN_FILENO;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int user = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (user < 0) /* another user's, after su: then it may block us */
		user = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (user < 0 || tcgetattr(user, &r->before) < 0 ||
	    sandbox_open_terminal(room->held, &r->master, &r->slave) < 0) {
		close(user);
		return err_set(err, ERR_IO,
			       "cannot make a terminal inside: %m. Without one it runs with `</dev/null 2>&1 | cat`");
	}
	r->user = user;
	window_fit(r);
	struct termios modes = r->before;
	if (!r->keys)
		modes.c_oflag &= ~(tcflag_t)OPOST; /* the user's terminal does that already */
	(void)tcsetattr(r->slave, TCSANOW, &modes);
	return 0;
}

static void terminal_begin(struct running *r, struct spawner *spawner)
{
	struct termios raw = r->before;

	if (r->user < 0)
		return;
	uv_poll_init(loop_uv(r->loop), &r->user_poll, r->user);
	uv_poll_init(loop_uv(r->loop), &r->master_poll, r->master);
	r->user_poll.data = r->master_poll.data = r;
	r->open_handles += 2;
	if (r->keys) {
		(void)spawner_keep_terminal(spawner, &r->before, "", NULL);
		cfmakeraw(&raw);
		(void)tcsetattr(r->user, TCSADRAIN, &raw);
		sandbox_set_asker(r->sandbox, on_host, r);
	}
	terminal_step(r);
}

static void running_release(struct running *r)
{
	sandbox_set_asker(r->sandbox, NULL, NULL);
	if (r->keys)
		(void)tcsetattr(r->user, TCSADRAIN, &r->before);
	for (size_t i = 0; i < 3; i++) {
		int fd = (const int[]){ r->user, r->master, r->slave }[i];
		if (fd >= 0)
			close(fd);
	}
	buf_release(&r->to_user);
	buf_release(&r->to_program);
}
#define AUTO_RUNNING CLEANUP(running_release)

/* What was refused, most often first seen first: for people beside the program's errors, for programs in the report. */
static void put_trace(const struct sandbox *s, struct json_out *w)
{
	size_t count, more;
	const struct sandbox_refused *list = sandbox_traced(s, &count, &more);
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text, count ? "refused:\n" : "refused: nothing\n");
	json_kopen(w, "refused", '[');
	for (size_t i = 0; i < count; i++) {
		json_putf(w, "{kind:'%s', what:'%s', times:%zu}", list[i].kind, list[i].what, list[i].times);
		buf_addf(&text, "  %-8s", list[i].kind);
		buf_addfolded(&text, str_from(list[i].what));
		if (list[i].times > 1)
			buf_addf(&text, " (%zu times)", list[i].times);
		buf_addch(&text, '\n');
	}
	json_close(w);
	if (more)
		buf_addf(&text, "  and %zu more that are not listed\n", more);
	(void)file_write_all(STDERR_FILENO, text.p, text.n);
}

int sandbox_run(struct cadre_call *call)
{
	static const struct child_handlers handlers = { .on_exit = on_run_exit };
	static const int numbers[SIGNAL_COUNT] = { SIGWINCH, SIGINT, SIGTERM, SIGQUIT };
	AUTO_ROOM struct sandbox_room room;
	AUTO_BUF struct buf text = { 0 };

	/* The environment is that of an agent's command, from the same settings. */
	if (sandbox_room_open(&room, call) < 0 || policy_load(call->services, call->err) < 0)
		return -(int)call->err->kind;
	for (size_t i = 0; i < call->count; i++)
		buf_addf(&text, "%s%s", i ? " " : "", call->operands[i]);
	if (args_has(&call->args, "trace"))
		sandbox_trace(room.sandbox);
	if (sandbox_room_hold(&room, args_has(&call->args, "read-only"), text.p, call->err) < 0)
		return -(int)call->err->kind;
	if (!room.held || !room.held->profile.hold)
		return err_set(call->err, ERR_LIMIT, "the kernel cannot hold this command: see `cadre sandbox status`");
	AUTO_RUNNING struct running r = { .loop = call->services->loop,
					  .sandbox = room.sandbox,
					  .user = -1,
					  .master = -1,
					  .slave = -1,
					  .grace.fire = on_grace,
					  .settle.fire = on_settled };
	int rc = terminal_open(&r, &room, call->err);
	struct child_options options = { .argv = call->operands,
					 .envp = sandbox_envp(&room.arena, room.held, call->services->policy.envp),
					 .cwd = room.permission.env.cwd,
					 .inherit = true,
					 .terminal = r.slave,
					 .confine = &room.held->confine };
	if (rc == 0)
		rc = spawn_start(call->services->spawner, &options, &handlers, &r, &r.child, call->err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < SIGNAL_COUNT; i++, r.open_handles++) {
		uv_signal_init(loop_uv(r.loop), &r.signals[i]);
		r.signals[i].data = &r;
		uv_signal_start(&r.signals[i], on_signal, numbers[i]);
	}
	terminal_begin(&r, call->services->spawner);
	loop_run(r.loop);
	if (r.keys)
		(void)tcsetattr(r.user, TCSADRAIN, &r.before);
	AUTO_BUF struct buf said = { 0 };
	sandbox_report(room.held, STR(""), r.status != 0, &said);
	if (room.held->reported.n && !room.held->reduced) { /* in words for a person */
		buf_clear(&said);
		buf_addf(&said,
			 "\nsandbox:\n" STR_FMT
			 "--host NAME and --write DIR open more for one run; `cadre sandbox explain "
			 "WHAT` says which setting decides.",
			 STR_ARG(room.held->reported));
	}
	if (said.n)
		buf_addch(&said, '\n');
	if (said.n) /* beside what the program says, on the streams that it was given */
		(void)file_write_all(STDERR_FILENO, said.p, said.n);
	call->report->code = WIFSIGNALED(r.status) ? 128 + WTERMSIG(r.status) : WEXITSTATUS(r.status);
	struct str trimmed = str_trim(buf_str(&said));
	struct json_out w = json_out(&call->report->json);
	json_putf(&w, "{status:%d, sandbox:'%.*s'", call->report->code, STR_ARG(trimmed));
	if (args_has(&call->args, "trace"))
		put_trace(room.sandbox, &w);
	json_close(&w);
	return 0;
}
