/* SPDX-License-Identifier: MIT
 * stamp.c - whether a file is still what was read. */
#include "config/catalog/stamp.h"
#include <time.h>

enum { SETTLE_MS = 100 };

void stamp_take(struct stamp *stamp, const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	int64_t age_ms = (now.tv_sec - st->st_ctim.tv_sec) * 1000 + (now.tv_nsec - st->st_ctim.tv_nsec) / 1000000;
	stamp->st = *st;
	stamp->settled = age_ms >= SETTLE_MS;
}

bool stamp_holds(const struct stamp *stamp, const struct stat *now)
{
	const struct stat *was = &stamp->st;

	return stamp->settled && now->st_ino == was->st_ino && now->st_dev == was->st_dev &&
	       now->st_size == was->st_size && now->st_ctim.tv_sec == was->st_ctim.tv_sec &&
	       now->st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}
