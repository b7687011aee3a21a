/* SPDX-License-Identifier: MIT
 * line_file.c - lines of large files. */
#include "core/store/line_file.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 128 * 1024 }; /* of the file that is read at a time */

int line_file_open(struct line_file *f, const char *path, struct err *err)
{
	struct stat st;

	*f = (struct line_file){ .file = fopen(path, "re") };
	if (!f->file || fstat(fileno(f->file), &st) < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %m", path);
	if (S_ISDIR(st.st_mode)) /* its first read would fail without a name */
		return err_set(err, ERR_IO, "cannot read %s: it is a directory", path);
	(void)setvbuf(f->file, NULL, _IOFBF, PIECE);
	return 0;
}

void line_file_close(struct line_file *f)
{
	if (f->file)
		(void)fclose(f->file);
	free(f->text);
	*f = (struct line_file){ 0 };
}

int line_file_next(struct line_file *f, struct str *ret_line, struct line_place *ret_place, struct err *err)
{
	errno = 0;
	ssize_t n = getline(&f->text, &f->cap, f->file);

	if (n < 0)
		return ferror(f->file) ? err_set(err, ERR_IO, "cannot read: %m") : 0;
	f->torn = f->text[n - 1] != '\n';
	size_t len = (size_t)n - !f->torn;
	*ret_place = (struct line_place){ f->at, len };
	*ret_line = (struct str){ f->text, len };
	f->at += (uint64_t)n;
	return 1;
}

int line_file_again(struct line_file *f, struct line_place place, struct buf *out, struct err *err)
{
	buf_clear(out);
	buf_reserve(out, place.len);
	while (out->n < place.len) {
		ssize_t n = pread(fileno(f->file), out->p + out->n, place.len - out->n, (off_t)(place.at + out->n));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_IO, "cannot read again: %s",
				       n ? strerror(errno) : "the file is shorter now");
		out->n += (size_t)n;
	}
	out->p[out->n] = '\0';
	return 0;
}
