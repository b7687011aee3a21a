/* SPDX-License-Identifier: MIT
 * line_file.c - lines of large files. */
#include "core/store/line_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/io/file.h"

enum { PIECE = 128 * 1024 }; /* of the file that is read at a time */

int line_file_open(struct line_file *f, const char *path, struct err *err)
{
	struct stat st;

	*f = (struct line_file){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	f->is_open = f->fd >= 0;
	if (!f->is_open || fstat(f->fd, &st) < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %m", path);
	if (S_ISDIR(st.st_mode)) /* its first read would fail without a name */
		return err_set(err, ERR_IO, "cannot read %s: it is a directory", path);
	return file_check_own(&st, path, err);
}

void line_file_close(struct line_file *f)
{
	if (f->is_open)
		close(f->fd);
	buf_release(&f->piece);
	*f = (struct line_file){ 0 };
}

/* Has len bytes from `at` on in memory, fewer at the end of the file: *ret says how many. */
static int line_file_fill(struct line_file *f, uint64_t at, size_t len, struct str *ret, struct err *err)
{
	if (at < f->from || at + len > f->from + f->piece.n) {
		buf_drop(&f->piece, at < f->from ? f->piece.n : (size_t)MIN(at - f->from, (uint64_t)f->piece.n));
		f->from = at;
	}
	for (ssize_t n = 1; n && f->piece.n < (size_t)(at - f->from) + len;) {
		buf_reserve(&f->piece, PIECE);
		uint64_t end = f->from + f->piece.n;
		bool again = end != f->passed;
		n = again ? pread(f->fd, f->piece.p + f->piece.n, PIECE, (off_t)end)
			  : read(f->fd, f->piece.p + f->piece.n, PIECE);
		if (n < 0 && errno != EINTR)
			return err_set(err, ERR_IO, "cannot read%s: %m", again ? " again" : "");
		f->passed += again ? 0 : (uint64_t)MAX(n, (ssize_t)0);
		f->piece.n += (size_t)MAX(n, (ssize_t)0);
	}
	*ret = (struct str){ f->piece.n ? f->piece.p + (at - f->from) : "", f->piece.n - (size_t)(at - f->from) };
	return 0;
}

int line_file_next(struct line_file *f, struct str *ret_line, struct line_span *ret_span, struct err *err)
{
	const char *end = NULL;
	struct str text = { 0 };

	for (size_t known = 0; !end; known = text.n) {
		int rc = line_file_fill(f, f->at, known + 1, &text, err);
		if (rc < 0 || !text.n)
			return rc;
		if (text.n == known)
			break;
		end = memchr(text.p + known, '\n', text.n - known);
	}
	f->torn = !end;
	size_t len = end ? (size_t)(end - text.p) : text.n;
	*ret_span = (struct line_span){ f->at, len };
	*ret_line = (struct str){ text.p, len };
	f->at += len + !f->torn;
	return 1;
}

int line_file_again(struct line_file *f, struct line_span span, struct str *ret_line, struct err *err)
{
	int rc = line_file_fill(f, span.at, span.len, ret_line, err);
	if (rc < 0)
		return rc;
	if (ret_line->n < span.len)
		return err_set(err, ERR_IO, "cannot read again: the file is shorter now");
	ret_line->n = span.len;
	return 0;
}
