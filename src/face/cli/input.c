/* SPDX-License-Identifier: MIT
 * input.c - standard input and files as text. */
#include "face/cli/input.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include "lib/base/utf8.h"

static int read_all(int fd, struct buf *out, struct err *err)
{
	size_t start = out->n;

	for (;;) {
		buf_reserve(out, 65536);
		ssize_t n = read(fd, out->p + out->n, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "%m");
		if (n == 0)
			return 0;
		out->n += (size_t)n;
		out->p[out->n] = '\0';
		if (out->n - start > INPUT_LIMIT_BYTES)
			return err_set(err, ERR_USAGE, "more than %d MB; name a file in the prompt instead",
				       INPUT_LIMIT_BYTES >> 20);
	}
}

int input_read(int fd, int patience_ms, struct buf *out, bool *ret_silent, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	*ret_silent = false;
	if (fcntl(fd, F_GETFD) < 0)
		return 0;
	if (patience_ms >= 0 && poll(&p, 1, patience_ms) == 0) {
		*ret_silent = true;
		return 0;
	}
	return read_all(fd, out, err) < 0 ? err_wrap(err, "standard input") : 0;
}

int input_read_file(const char *path, struct buf *out, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_USAGE, "cannot open %s: %m", path);
	return read_all(fd, out, err) < 0 ? err_wrap(err, "cannot read %s", path) : 0;
}

int input_prompt(const char *argument, bool optional, struct buf *out, struct err *err)
{
	AUTO_BUF struct buf piped = { 0 };
	bool silent = false;

	if (!isatty(STDIN_FILENO)) {
		int rc = input_read(STDIN_FILENO, optional ? INPUT_PATIENCE_MS : -1, &piped, &silent, err);
		if (rc < 0)
			return rc;
	}
	if (silent)
		fprintf(stderr,
			"cadre: nothing came on standard input for %d s, continuing without it; "
			"< /dev/null avoids the wait\n",
			INPUT_PATIENCE_MS / 1000);
	if (argument)
		utf8_add_repaired(out, str_from(argument));
	if (!str_trim(buf_str(&piped)).n)
		return 0;
	if (str_trim(buf_str(out)).n)
		buf_addch(out, '\n');
	utf8_add_repaired(out, buf_str(&piped));
	return 0;
}
