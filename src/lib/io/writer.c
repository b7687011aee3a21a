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
#include <time.h>
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
	int fd;
	int own_fd;              /* a terminal opened again, non-blocking, or -1 */
	struct watcher *watcher; /* NULL: always ready */
	bool is_socket, waiting, told;
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

static int out_fd(const struct writer *w)
{
	return w->own_fd >= 0 ? w->own_fd : w->fd;
}

static ssize_t write_once(const struct writer *w)
{
	const char *p = w->queue.p + w->sent;
	size_t n = writer_queued(w);

	if (w->is_socket)
		return send(w->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return file_write_quiet(out_fd(w), p, w->watcher ? MIN(n, (size_t)PIPE_BUF) : n);
}

static bool is_ready(const struct writer *w, int timeout_ms)
{
	struct pollfd p = { .fd = out_fd(w), .events = POLLOUT };

	return !w->watcher || poll(&p, 1, timeout_ms) > 0;
}

static void forget_sent(struct writer *w, size_t n)
{
	w->sent += n;
	if (w->sent == w->queue.n)
		buf_release(&w->queue);
	else if (w->sent > w->queue.n / 2)
		buf_drop(&w->queue, w->sent);
	else
		return;
	w->sent = 0;
}

/* One write of what the descriptor takes. false: it takes no more now. */
static bool pump(struct writer *w)
{
	ssize_t n = write_once(w);

	if (n >= 0) {
		forget_sent(w, (size_t)n);
		if (!writer_queued(w))
			loop_kick(w->loop, &w->kick);
		return writer_queued(w) > 0;
	}
	if (errno == EINTR)
		return true;
	if (errno != EAGAIN)
		writer_fail(w, errno);
	return false;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
	struct watcher *watcher = poll->data;
	struct writer *w = watcher->writer;
	size_t goal = writer_queued(w) - MIN(writer_queued(w), (size_t)BYTES_PER_TURN);

	(void)status;
	(void)events;
	while (writer_queued(w) > goal && is_ready(w, 0) && pump(w))
		;
	if (!writer_queued(w)) {
		(void)uv_poll_stop(poll);
		w->waiting = false;
	}
}

static void writer_step(struct kick *kick)
{
	struct writer *w = CONTAINER_OF(kick, struct writer, kick);

	if (w->error[0]) {
		if (!w->told && w->failed) {
			w->told = true;
			w->failed(w, w->data);
		}
		return;
	}
	if (!writer_queued(w) && w->drained)
		w->drained(w, w->data);
}

static void on_watcher_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Returns NULL when the descriptor needs no waiting; a writer that should wait but cannot has failed. */
static struct watcher *watcher_new(struct writer *w)
{
	struct epoll_event event = { .events = EPOLLOUT };
	AUTO_CLOSE int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, out_fd(w), &event) < 0) {
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

/* A terminal may be ready for one byte and block on the next (Ctrl-S, a slow pty), but it can be opened a
 * second time with flags of its own. */
static int reopen_terminal(int fd)
{
	char path[40];

	if (!isatty(fd))
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

struct writer *writer_new(struct loop *loop, int fd, writer_fn *drained, writer_fn *failed, void *data)
{
	struct writer *w = xcalloc(1, sizeof *w);
	struct stat st;

	w->loop = loop;
	w->fd = fd;
	w->drained = drained;
	w->failed = failed;
	w->data = data;
	w->kick.step = writer_step;
	w->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
	w->own_fd = reopen_terminal(fd);
	w->watcher = watcher_new(w);
	return w;
}

void writer_add(struct writer *w, const void *p, size_t n)
{
	if (w->error[0] || !n)
		return;
	buf_add(&w->queue, p, n);
	if (!w->watcher) {
		while (writer_queued(w) && pump(w))
			;
	} else if (!w->waiting) {
		(void)uv_poll_start(&w->watcher->poll, UV_READABLE, on_writable);
		w->waiting = true;
	}
}

static uint64_t clock_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool writer_flush(struct writer *w, unsigned timeout_ms)
{
	uint64_t end = clock_ms() + timeout_ms;

	while (writer_queued(w)) {
		size_t before = writer_queued(w);
		uint64_t now = clock_ms();
		if (is_ready(w, now < end ? (int)MIN(end - now, (uint64_t)INT_MAX) : 0))
			(void)pump(w);
		if (writer_queued(w) == before && clock_ms() >= end)
			return false;
	}
	return !w->error[0];
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	kick_cancel(&w->kick);
	if (w->watcher) {
		uv_close((uv_handle_t *)&w->watcher->poll, on_watcher_closed);
		close(w->watcher->epoll_fd);
	}
	if (w->own_fd >= 0)
		close(w->own_fd);
	buf_release(&w->queue);
	free(w);
}
