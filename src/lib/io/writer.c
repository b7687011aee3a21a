/* SPDX-License-Identifier: MIT
 * writer.c - output that never blocks the loop.
 *
 * uv_poll would set O_NONBLOCK on the open file, which the shell that started us and all our children share.
 * So an epoll instance of our own holds the descriptor and libuv polls that one: it is readable when the
 * descriptor is writable. What epoll does not take (regular files, /dev/null) is always ready and written at
 * once. */
#include "lib/io/writer.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "lib/io/file.h"

enum { BYTES_PER_TURN = 64 * 1024 };

/* Outlives the writer until libuv has closed it */
struct watcher {
	uv_poll_t poll;
	struct writer *writer;
	int epoll_fd;
};

struct writer {
	struct loop *loop;
	int fd;                  /* that it writes to */
	bool owns_fd;            /* a terminal opened again, non-blocking */
	struct watcher *watcher; /* NULL: always ready */
	bool is_socket, waiting, failure_reported;
	bool flushing; /* its caller sees that the queue is empty */
	struct buf queue;
	size_t sent; /* of the queue's bytes */
	char error[80];
	writer_fn *drained, *failed;
	void *data;
	struct kick kick;
};

size_t writer_queued(const struct writer *w)
{
	return w->queue.n - w->sent;
}

const char *writer_error(const struct writer *w)
{
	return w->error[0] ? w->error : NULL;
}

static void writer_fail(struct writer *w, int why)
{
	snprintf(w->error, sizeof w->error, "%s", strerror(why));
	buf_release(&w->queue);
	w->sent = 0;
	loop_kick(w->loop, &w->kick);
}

static bool is_ready(const struct writer *w, int timeout_ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLOUT };

	return !w->watcher || poll(&p, 1, timeout_ms) > 0;
}

/* One write of what the descriptor takes. false: it takes no more now. */
static bool writer_write_some(struct writer *w)
{
	const char *p = w->queue.p + w->sent;
	size_t queued = writer_queued(w);
	ssize_t n = w->is_socket ? send(w->fd, p, queued, MSG_DONTWAIT | MSG_NOSIGNAL)
				 : file_write_quiet(w->fd, p, w->watcher ? MIN(queued, (size_t)PIPE_BUF) : queued);

	if (n < 0) {
		int why = errno;
		if (why != EAGAIN && why != EINTR)
			writer_fail(w, why);
		return why == EINTR;
	}
	w->sent += (size_t)n;
	if (w->sent == w->queue.n) {
		buf_release(&w->queue);
		w->sent = 0;
		if (!w->flushing)
			loop_kick(w->loop, &w->kick);
		return false;
	}
	if (w->sent > w->queue.n / 2) {
		buf_drop(&w->queue, w->sent);
		w->sent = 0;
	}
	return true;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
	struct watcher *watcher = poll->data;
	struct writer *w = watcher->writer;
	size_t goal = writer_queued(w) - MIN(writer_queued(w), (size_t)BYTES_PER_TURN);

	while (writer_queued(w) > goal && is_ready(w, 0) && writer_write_some(w))
		;
	if (!writer_queued(w)) {
		(void)uv_poll_stop(poll);
		w->waiting = false;
	}
}

static void writer_step(struct kick *kick)
{
	struct writer *w = CONTAINER_OF(kick, struct writer, kick);

	if (!w->error[0]) {
		if (!writer_queued(w) && w->drained)
			w->drained(w, w->data);
	} else if (!w->failure_reported && w->failed) {
		w->failure_reported = true;
		w->failed(w, w->data);
	}
}

/* Returns NULL when the descriptor needs no waiting; a writer that should wait but cannot has failed. */
static struct watcher *watcher_new(struct writer *w)
{
	struct epoll_event event = { .events = EPOLLOUT };
	AUTO_CLOSE int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->fd, &event) < 0) {
		if (errno != EPERM)
			writer_fail(w, errno);
		return NULL;
	}
	struct watcher *watcher = xcalloc(1, sizeof *watcher);
	int rc = uv_poll_init(loop_uv(w->loop), &watcher->poll, epoll_fd);
	if (rc < 0) {
		writer_fail(w, -rc);
		free(watcher);
		return NULL;
	}
	watcher->poll.data = watcher;
	watcher->writer = w;
	watcher->epoll_fd = epoll_fd;
	epoll_fd = -1;
	return watcher;
}

struct writer *writer_new(struct loop *loop, int fd, writer_fn *drained, writer_fn *failed, void *data)
{
	char path[40];
	struct stat st;
	struct writer *w = xnew(struct writer, .loop = loop, .drained = drained, .failed = failed, .data = data,
				.kick.step = writer_step, .is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode));

	/* A terminal may be ready for one byte and block on the next (Ctrl-S, a slow pty), but it can be opened a
	 * second time with flags of its own. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int reopened = isatty(fd) ? open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	w->owns_fd = reopened >= 0;
	w->fd = w->owns_fd ? reopened : fd;
	w->watcher = watcher_new(w);
	return w;
}

void writer_add(struct writer *w, const void *p, size_t n)
{
	if (w->error[0] || !n)
		return;
	buf_add(&w->queue, p, n);
	if (!w->watcher) {
		while (writer_queued(w) && writer_write_some(w))
			;
	} else if (!w->waiting) {
		(void)uv_poll_start(&w->watcher->poll, UV_READABLE, on_writable);
		w->waiting = true;
	}
}

bool writer_flush(struct writer *w, unsigned timeout_ms)
{
	uint64_t end = uv_hrtime() / 1000000 + timeout_ms;
	bool in_time = true;

	w->flushing = true;
	while (writer_queued(w) && in_time) {
		size_t before = writer_queued(w);
		uint64_t now = uv_hrtime() / 1000000;
		if (is_ready(w, now < end ? (int)MIN(end - now, (uint64_t)INT_MAX) : 0))
			(void)writer_write_some(w);
		in_time = writer_queued(w) != before || uv_hrtime() / 1000000 < end;
	}
	w->flushing = false;
	if (!writer_queued(w) && w->waiting) { /* the loop need not wake up to find nothing to write */
		(void)uv_poll_stop(&w->watcher->poll);
		w->waiting = false;
	}
	return in_time && !w->error[0];
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	kick_cancel(&w->kick);
	if (w->watcher) {
		uv_close((uv_handle_t *)&w->watcher->poll, loop_free_handle);
		close(w->watcher->epoll_fd);
	}
	if (w->owns_fd)
		close(w->fd);
	buf_release(&w->queue);
	free(w);
}
