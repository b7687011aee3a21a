/* SPDX-License-Identifier: MIT
 * shell_output.c - a command's output in bounded memory. */
#include "tools/shell_output.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/io/file.h"

void shell_output_init(struct shell_output *o, size_t keep_bytes, const char *spill_path)
{
	*o = (struct shell_output){ .keep_bytes = keep_bytes, .fd = -1 };
	o->spill_path = spill_path ? xstrdup(spill_path) : NULL;
}

/* A full disk ends the file, not the command. */
static int write_file(struct shell_output *o, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(o->fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			err_set(&o->err, ERR_IO, "cannot write %s: %m", o->path);
			close(o->fd);
			o->fd = -1;
			return -ERR_IO;
		}
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int shell_output_save(struct shell_output *o, const char *path, struct err *err)
{
	if (o->path)
		return 0;
	int rc = file_make_parents(path, err);
	if (rc < 0)
		return rc;
	o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (o->fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path);
	o->path = xstrdup(path);
	if (write_file(o, o->head.p, o->head.n) < 0 && err)
		*err = o->err;
	return -(int)o->err.kind;
}

static void keep_tail(struct shell_output *o, const char *p, size_t n)
{
	if (n > SHELL_TAIL_BYTES) {
		p += n - SHELL_TAIL_BYTES;
		n = SHELL_TAIL_BYTES;
	}
	buf_add(&o->tail, p, n);
	if (o->tail.n > 4 * SHELL_TAIL_BYTES)
		buf_drop(&o->tail, o->tail.n - SHELL_TAIL_BYTES);
}

void shell_output_add(struct shell_output *o, const char *p, size_t n)
{
	size_t fits = MIN(n, o->keep_bytes - o->head.n);

	o->total += n;
	if (o->fd >= 0)
		(void)write_file(o, p, n);
	buf_add(&o->head, p, fits);
	if (fits == n)
		return;
	if (!o->path && !o->err.text[0] && o->spill_path && shell_output_save(o, o->spill_path, &o->err) == 0)
		(void)write_file(o, p + fits, n - fits); /* the rest is in head */
	keep_tail(o, p + fits, n - fits);
}

struct str shell_output_end(const struct shell_output *o, size_t n)
{
	const struct buf *from = o->tail.n ? &o->tail : &o->head;
	size_t at = from->n - MIN(from->n, n);

	while (at && at < from->n && ((unsigned char)from->p[at] & 0xc0) == 0x80)
		at++;
	return from->n ? (struct str){ from->p + at, from->n - at } : STR("");
}

void shell_output_release(struct shell_output *o)
{
	buf_release(&o->head);
	buf_release(&o->tail);
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->spill_path);
	*o = (struct shell_output){ .fd = -1 };
}
