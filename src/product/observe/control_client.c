/* SPDX-License-Identifier: MIT
 * control_client.c - asks a live session, blocking: for commands that do nothing else meanwhile. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include "product/observe/control.h"

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int send_all(int fd, struct str text, struct err *err)
{
	while (text.n) {
		ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "cannot connect to the session: %m");
		text = (struct str){ text.p + n, text.n - (size_t)n };
	}
	return 0;
}

static int wait_readable(int fd, int64_t until_ms, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

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

static int read_line(int fd, int64_t until_ms, struct buf *answer, struct err *err)
{
	char piece[16384];

	for (;;) {
		if (wait_readable(fd, until_ms, err) < 0)
			return -(int)err->kind;
		ssize_t n = recv(fd, piece, sizeof piece, 0);
		if (n < 0 && errno == EINTR)
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
	AUTO_CLOSE int fd = control_connect(path, err);

	if (fd < 0)
		return -(int)err->kind;
	if (send_all(fd, request, err) < 0 || send_all(fd, STR("\n"), err) < 0)
		return -(int)err->kind;
	return read_line(fd, now_ms() + timeout_ms, answer, err);
}
