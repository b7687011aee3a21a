/* SPDX-License-Identifier: MIT
 * child.c - the life of a child that runs. Facts come from four watches (stdout, stderr, stdin, the process
 * itself) and two timers; child_step decides.
 *
 *     running --exit--> grace (pipes still open, at most 200 ms) --> handles close --> on_exit, freed */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "lib/base/list.h"
#include "lib/io/spawn_int.h"
#include "lib/io/capture.h"

enum { LAST_READS = 32 };

static void on_watch_closed(uv_handle_t *handle)
{
	struct watch *w = handle->data;
	struct child *c = w->child;

	c->open_handles--;
	loop_kick(c->spawner->loop, &c->kick);
}

static void watch_close(struct watch *w)
{
	if (w->fd < 0)
		return;
	uv_close((uv_handle_t *)&w->poll, on_watch_closed);
	close(w->fd);
	w->fd = -1;
}

/* Takes fd. */
static int watch_open(struct child *c, enum child_watch which, int fd)
{
	struct watch *w = &c->watch[which];

	int rc = uv_poll_init(loop_uv(c->spawner->loop), &w->poll, fd);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	w->poll.data = w;
	w->fd = fd;
	c->open_handles++;
	return 0;
}

/* false: nothing to read now, or closed. */
static bool read_some(struct watch *w)
{
	struct child *c = w->child;
	char *to = c->spawner->scratch;
	ssize_t n = read(w->fd, to, CHILD_READ_BYTES);

	if (n > 0) {
		c->handlers.on_output(c, w == &c->watch[CHILD_ERR], to, (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		watch_close(w);
		loop_kick(c->spawner->loop, &c->kick);
		if (c->tell_end)
			c->handlers.on_output(c, w == &c->watch[CHILD_ERR], to, 0);
	}
	return false;
}

size_t child_unsent(const struct child *c)
{
	return c->input.n - c->input_sent;
}

static void on_watch(uv_poll_t *poll, int status, int events);

static void write_input(struct child *c)
{
	struct watch *w = &c->watch[CHILD_IN];

	while (child_unsent(c)) {
		ssize_t n = file_write_quiet(w->fd, c->input.p + c->input_sent, child_unsent(c));
		if (n < 0 && errno == EAGAIN) {
			/* Continues when the pipe is writable. Compacts a queue that never becomes empty. */
			if (c->input_sent > c->input.n / 2) {
				buf_drop(&c->input, c->input_sent);
				c->input_sent = 0;
			}
			(void)uv_poll_start(&c->watch[CHILD_IN].poll, UV_WRITABLE, on_watch);
			return;
		}
		if (n < 0 && errno != EINTR) {
			c->stdin_open = false; /* it does not want to read: no failure of ours */
			break;
		}
		c->input_sent += n > 0 ? (size_t)n : 0;
	}
	buf_release(&c->input);
	c->input_sent = 0;
	if (c->stdin_open)
		(void)uv_poll_stop(&w->poll);
	else
		watch_close(w);
}

void child_write(struct child *c, const void *p, size_t n)
{
	bool waiting = child_unsent(c) > 0;

	if (c->watch[CHILD_IN].fd < 0 || !c->stdin_open)
		return;
	buf_add(&c->input, p, n);
	if (!waiting)
		write_input(c);
}

void child_close_stdin(struct child *c)
{
	c->stdin_open = false;
	if (c->watch[CHILD_IN].fd >= 0 && !child_unsent(c))
		watch_close(&c->watch[CHILD_IN]);
}

static void note_exit(struct child *c, int status)
{
	struct spawner *s = c->spawner;

	c->exited = true;
	c->status = status;
	timer_stop(s->loop, &c->escalate);
	watch_close(&c->watch[CHILD_PROCESS]);
	if (c->by_signal && --s->sigchld_users == 0)
		(void)uv_signal_stop(s->sigchld);
	spawner_group_over(s, c->pid);
	timer_start(s->loop, &c->grace, CHILD_GRACE_MS);
	loop_kick(s->loop, &c->kick);
}

void child_check_exit(struct child *c)
{
	siginfo_t info = { 0 };
	int status = 0;

	if (c->exited)
		return;
	if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid)
		return;
	/* Its zombie still holds the number of the group: the rest of a group that was to die can be killed
	 * safely. */
	if (c->killing)
		(void)kill(-c->pid, SIGKILL);
	if (waitpid(c->pid, &status, WNOHANG) < 0)
		status = 255 << 8; /* waited for elsewhere; its status is lost */
	note_exit(c, status);
}

static void on_watch(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	struct child *c = w->child;

	if (w == &c->watch[CHILD_PROCESS])
		child_check_exit(c);
	else if (w == &c->watch[CHILD_IN])
		write_input(c);
	else
		(void)read_some(w); /* one read a turn: a child that floods must not starve the others */
}

/* The child no longer holds its pipes. Buffered output is delivered, later output is drained unread. */
static void on_grace_over(struct timer *timer)
{
	struct child *c = CONTAINER_OF(timer, struct child, grace);

	for (enum child_watch i = CHILD_OUT; i <= CHILD_ERR; i++) {
		struct watch *w = &c->watch[i];
		for (int reads = 0; w->fd >= 0 && reads < LAST_READS && read_some(w); reads++)
			;
		if (w->fd < 0)
			continue;
		uv_close((uv_handle_t *)&w->poll, on_watch_closed);
		spawner_drain(c->spawner, w->fd);
		w->fd = -1;
	}
	loop_kick(c->spawner->loop, &c->kick);
}

static void on_escalate(struct timer *timer)
{
	struct child *c = CONTAINER_OF(timer, struct child, escalate);

	child_kill(c, SIGKILL);
}

static void child_step(struct kick *kick)
{
	struct child *c = CONTAINER_OF(kick, struct child, kick);

	if (!c->exited || c->watch[CHILD_OUT].fd >= 0 || c->watch[CHILD_ERR].fd >= 0)
		return;
	watch_close(&c->watch[CHILD_IN]);
	if (c->open_handles)
		return;
	timer_stop(c->spawner->loop, &c->grace);
	timer_stop(c->spawner->loop, &c->escalate);
	kick_cancel(&c->kick);
	list_remove(c);
	c->spawner->active--;
	if (c->held) {
		AUTO_BUF struct buf said = { 0 };
		c->held_ended(c->held, &said);
		if (said.n && c->handlers.on_output)
			c->handlers.on_output(c, true, said.p, said.n);
	}
	c->handlers.on_exit(c, c->status); /* may free the spawner */
	buf_release(&c->input);
	free(c);
}

static int open_watches(struct child *c, const int fds[CHILD_WATCHES], struct err *err)
{
	int rc = 0;

	for (enum child_watch i = CHILD_OUT; i <= CHILD_IN; i++) {
		int failed = fds[i] < 0 ? 0 : watch_open(c, i, fds[i]);
		if (failed < 0)
			rc = err_set(err, ERR_IO, "cannot watch process %d: %s", (int)c->pid, uv_strerror(failed));
	}
	if (rc < 0)
		return rc;
	int fd = c->spawner->without_pidfd ? -1 : (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (fd >= 0 && watch_open(c, CHILD_PROCESS, fd) == 0) {
		(void)uv_poll_start(&c->watch[CHILD_PROCESS].poll, UV_READABLE, on_watch);
		return 0;
	}
	c->by_signal = true;
	return spawner_use_sigchld(c->spawner, err);
}

static void on_abandoned_exit(struct child *c, int status) {}

int child_begin(struct child *c, const int fds[CHILD_WATCHES], struct err *err)
{
	struct spawner *s = c->spawner;

	for (enum child_watch i = 0; i < CHILD_WATCHES; i++)
		c->watch[i] = (struct watch){ .child = c, .fd = -1 };
	c->kick.step = child_step;
	c->grace.fire = on_grace_over;
	c->escalate.fire = on_escalate;
	list_push(&s->children, c);
	s->active++;
	int rc = open_watches(c, fds, err);
	if (rc < 0) {
		/* The process runs but cannot be watched: kills it silently, because the caller gets the error. */
		(void)kill(-c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
		c->by_signal = false;
		c->handlers.on_exit = on_abandoned_exit;
		for (enum child_watch i = CHILD_OUT; i <= CHILD_IN; i++)
			watch_close(&c->watch[i]);
		note_exit(c, 0);
		return rc;
	}
	for (enum child_watch i = CHILD_OUT; i <= CHILD_ERR; i++)
		if (c->watch[i].fd >= 0)
			(void)uv_poll_start(&c->watch[i].poll, UV_READABLE, on_watch);
	if (c->watch[CHILD_IN].fd >= 0)
		write_input(c); /* nearly always fits into the pipe */
	return 0;
}

void child_kill(struct child *c, int signal)
{
	if (c->exited) {
		spawner_kill_group(c->spawner, c->pid);
		return;
	}
	(void)kill(-c->pid, signal);
	if (signal != SIGTERM && signal != SIGKILL)
		return;
	(void)kill(-c->pid, SIGCONT); /* a stopped process does not see SIGTERM */
	c->killing = true;
	if (signal == SIGTERM && !timer_running(&c->escalate))
		timer_start(c->spawner->loop, &c->escalate, CHILD_TERM_MS);
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

void *child_data(struct child *c)
{
	return c->data;
}

static void capture_end(struct capture *c)
{
	if (c->child)
		child_kill(c->child, c->signal ? c->signal : SIGTERM);
}

static void on_captured(struct child *child, bool is_stderr, const char *p, size_t n)
{
	struct capture *c = child_data(child);
	struct buf *to = is_stderr ? &c->errors : &c->out;
	size_t room = (is_stderr ? CAPTURE_ERRORS : c->most) - to->n;

	buf_add(to, p, MIN(n, room));
	if (n <= room || is_stderr || c->cuts || c->flooded)
		return;
	c->flooded = true;
	capture_end(c);
}

static void on_captured_exit(struct child *child, int status)
{
	struct capture *c = child_data(child);

	timer_stop(child->spawner->loop, &c->limit);
	c->child = NULL;
	c->status = status;
	c->done(c);
}

static void on_capture_limit(struct timer *timer)
{
	struct capture *c = CONTAINER_OF(timer, struct capture, limit);

	c->late = true;
	capture_end(c);
}

int capture_start(struct capture *c, struct spawner *s, const struct child_options *options, uint64_t limit_ms,
		  struct err *err)
{
	static const struct child_handlers handlers = { on_captured, on_captured_exit };

	buf_clear(&c->out);
	buf_clear(&c->errors);
	c->late = c->flooded = false;
	c->limit.fire = on_capture_limit;
	if (spawn_start(s, options, &handlers, c, &c->child, err) < 0)
		return -(int)err->kind;
	c->pid = child_pid(c->child);
	timer_start(s->loop, &c->limit, limit_ms);
	return 0;
}

struct waited {
	struct capture run;
	struct loop *loop;
};

static void on_waited(struct capture *c)
{
	struct waited *w = CONTAINER_OF(c, struct waited, run);

	loop_stop(w->loop);
}

int spawn_wait(struct spawner *s, const struct child_options *options, uint64_t limit_ms, size_t most, struct buf *out,
	       int *ret_status, struct err *err)
{
	struct waited w = { .run = { .most = most, .cuts = true, .done = on_waited }, .loop = s->loop };
	struct child_options merged = *options;

	merged.merge = true;
	if (capture_start(&w.run, s, &merged, limit_ms, err) < 0)
		return -(int)err->kind;
	while (w.run.child)
		loop_run(w.loop);
	buf_append(out, buf_str(&w.run.out));
	buf_release(&w.run.out);
	*ret_status = w.run.status;
	return w.run.late;
}
