/* SPDX-License-Identifier: MIT
 * lock.c - flock on a file beside the transcript, which is never removed: removing it would let two processes hold locks
 * on two files of the same name. */
#include "session/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include "io/file.h"

int session_lock(const char *path, int *ret_fd, struct err *err)
{
	if (file_make_parents(path, err) < 0)
		return -(int)err->kind;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open the lock %s: %m", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		bool busy = errno == EWOULDBLOCK;
		err_set(err, busy ? ERR_BUSY : ERR_IO, busy ? "another process works on this session (%s)" : "cannot lock %s: %m",
			path);
		close(fd);
		return busy ? -ERR_BUSY : -ERR_IO;
	}
	*ret_fd = fd;
	return 0;
}

void session_unlock(int fd)
{
	if (fd >= 0)
		close(fd);
}
