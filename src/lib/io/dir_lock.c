/* SPDX-License-Identifier: MIT
 * dir_lock.c - locks that are directories. */
#include "lib/io/dir_lock.h"
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STALE_S = 10, FIRST_PAUSE_MS = 5, LONGEST_PAUSE_MS = 100 };

int dir_lock_take(struct dir_lock *l, const char *path, unsigned wait_ms, const volatile bool *stop, struct err *err)
{
	unsigned waited = 0, pause = FIRST_PAUSE_MS;
	struct stat st;

	for (;;) {
		if (stop && *stop)
			return err_set(err, ERR_CANCELLED, "%s is not wanted any more", path);
		if (mkdir(path, 0700) == 0)
			break;
		if (errno != EEXIST)
			return err_set(err, ERR_IO, "cannot make %s: %m", path);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && time(NULL) - st.st_mtim.tv_sec > STALE_S) {
			(void)rmdir(path);
			continue;
		}
		if (waited >= wait_ms)
			return err_set(err, ERR_BUSY, "another process holds %s", path);
		nanosleep(&(struct timespec){ .tv_nsec = pause * 1000000L }, NULL);
		waited += pause;
		pause = MIN(pause * 2, (unsigned)LONGEST_PAUSE_MS);
	}
	l->path = xstrdup(path);
	l->made = stat(path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
	return 0;
}

bool dir_lock_is_ours(const struct dir_lock *l)
{
	struct stat st;

	return l->path && lstat(l->path, &st) == 0 && st.st_mtim.tv_sec == l->made.tv_sec &&
	       st.st_mtim.tv_nsec == l->made.tv_nsec;
}

void dir_lock_leave(struct dir_lock *l)
{
	if (l->path && dir_lock_is_ours(l))
		(void)rmdir(l->path);
	free(l->path);
	*l = (struct dir_lock){ 0 };
}
