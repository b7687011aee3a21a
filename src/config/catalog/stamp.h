/* SPDX-License-Identifier: MIT
 * stamp.h - whether a file is still what was read. The clock of files ticks in milliseconds: a file that was written a moment
 * before it was read can change again without showing it, so its stamp does not hold and it is read once more. */
#pragma once
#include <sys/stat.h>
#include "lib/base/base.h"

struct stamp {
	struct stat st; /* when it was read */
	bool settled;   /* its time was long enough before that: a change will show */
};

void stamp_take(struct stamp *stamp, const struct stat *st);
bool stamp_holds(const struct stamp *stamp, const struct stat *now);
