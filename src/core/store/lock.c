/* SPDX-License-Identifier: MIT
 * lock.c - byte locks on one file per project. The file is never removed: removing it would let two processes hold locks
 * on two files of the same name. */
#include "core/store/lock.h"
#include <errno.h>
#include <fcntl.h>
#include "lib/base/buf.h"
#include "lib/io/file.h"

/* The byte of a session is the same for every process and every version: FNV-1a, without the bits that a file offset lacks. */
static int set_byte(int fd, const char *id, short type)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *p = id; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	range.l_start = (off_t)((h ^ (h >> 32)) >> 2);
	return fcntl(fd, F_OFD_SETLK, &range);
}

int session_lock(struct lock_table *t, const char *dir, const char *id, struct err *err)
{
	AUTO_BUF struct buf key = { 0 }, path = { 0 };
	int fd = (int)(intptr_t)map_get(&t->files, str_from(dir)) - 1;

	buf_addf(&key, "%s/%s", dir, id);
	if (map_get(&t->held, buf_str(&key)))
		return err_set(err, ERR_BUSY, "session %s is open already", id);
	if (fd < 0) {
		buf_addf(&path, "%s/sessions.lock", dir);
		if (file_make_parents(path.p, err) < 0)
			return -(int)err->kind;
		fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_set(err, ERR_IO, "cannot open %s: %m", path.p);
		map_set(&t->files, str_from(dir), (void *)(intptr_t)(fd + 1));
	}
	if (set_byte(fd, id, F_WRLCK) < 0) {
		if (errno == EAGAIN || errno == EACCES)
			return err_set(err, ERR_BUSY, "session %s is in use by another process", id);
		return err_set(err, ERR_IO, "cannot lock session %s: %m", id);
	}
	map_set(&t->held, buf_str(&key), t);
	return 0;
}

void session_unlock(struct lock_table *t, const char *dir, const char *id)
{
	AUTO_BUF struct buf key = { 0 };
	int fd = (int)(intptr_t)map_get(&t->files, str_from(dir)) - 1;

	buf_addf(&key, "%s/%s", dir, id);
	if (fd >= 0 && map_remove(&t->held, buf_str(&key)))
		(void)set_byte(fd, id, F_UNLCK);
}

void lock_table_release(struct lock_table *t)
{
	for (struct map_entry *e = map_next(&t->files, NULL); e; e = map_next(&t->files, e))
		close((int)(intptr_t)e->value - 1);
	map_release(&t->files);
	map_release(&t->held);
}
