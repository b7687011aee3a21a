/* SPDX-License-Identifier: MIT
 * control_client.c - asks a live session, blocking: for commands that do nothing else meanwhile. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include "product/observe/control.h"

enum { BUSY_PAUSE_MS = 20 };

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int wait_until_ready(int fd, short event, int64_t until_ms, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = event };

	for (;;) {
		int64_t left_ms = until_ms - now_ms();
		int n = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
		if (n > 0)
			return 0;
		if (n == 0)
			return err_set(err, ERR_TIMEOUT, "the session did not answer in time");
		if (errno != EINTR)
			return err_set(err, ERR_IO, "poll: %m");
	}
}

/* A session that has its greatest number of visitors is asked again until the time is over. */
static int connect_in_time(const char *path, int64_t until_ms, struct err *err)
{
	for (;;) {
		int fd = control_connect(path, err);
		if (fd != -ERR_BUSY)
			return fd;
		if (now_ms() + BUSY_PAUSE_MS >= until_ms)
			return err_set(err, ERR_TIMEOUT, "the session did not answer in time");
		(void)poll(NULL, 0, BUSY_PAUSE_MS);
	}
}

static int send_all(int fd, struct str text, int64_t until_ms, struct err *err)
{
	while (text.n) {
		ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN && wait_until_ready(fd, POLLOUT, until_ms, err) < 0)
			return -(int)err->kind;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "cannot connect to the session: %m");
		text = (struct str){ text.p + n, text.n - (size_t)n };
	}
	return 0;
}

static int read_line(int fd, int64_t until_ms, struct buf *answer, struct err *err)
{
	char piece[16384];

	for (;;) {
		if (wait_until_ready(fd, POLLIN, until_ms, err) < 0)
			return -(int)err->kind;
		ssize_t n = recv(fd, piece, sizeof piece, 0);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return err_set(err, ERR_IO, "the session ended before it answered");
		const char *end = memchr(piece, '\n', (size_t)n);
		buf_add(answer, piece, end ? (size_t)(end - piece) : (size_t)n);
		if (end)
			return 0;
		if (answer->n > CONTROL_ANSWER_LIMIT)
			return err_set(err, ERR_LIMIT, "the answer of the session is too long");
	}
}

int control_ask(const char *path, struct str request, int timeout_ms, struct buf *answer, struct err *err)
{
	int64_t until_ms = now_ms() + timeout_ms;
	AUTO_CLOSE int fd = connect_in_time(path, until_ms, err);

	if (fd < 0)
		return -(int)err->kind;
	if (send_all(fd, request, until_ms, err) < 0 || send_all(fd, STR("\n"), until_ms, err) < 0)
		return -(int)err->kind;
	return read_line(fd, until_ms, answer, err);
}
