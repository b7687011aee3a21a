/* SPDX-License-Identifier: MIT
 * copy.h - whole directories: copied into the cache, moved into place, removed. */
#pragma once
#include "lib/base/arena.h"

enum { COPY_FILE_LIMIT = 20000, COPY_BYTE_LIMIT = 512 << 20, COPY_DEPTH_LIMIT = 32 };

/* Copies what is in `from` into the new directory `to`. Links inside `from` become what they point to; one that leads out is
 * -ERR_DENIED. `.git` stays behind. On failure `to` is removed. */
int directory_copy(const char *from, const char *to, struct err *err);
/* Follows no link. A missing directory is not an error. */
int directory_remove(const char *path, struct err *err);
/* A new, private directory beside the one that is to come, for directory_put. In the arena. */
int directory_begin(struct arena *a, const char *target, const char **ret_temp, struct err *err);
/* Moves temp to target in one step; what was there is removed. On failure temp is removed. */
int directory_put(const char *temp, const char *target, struct err *err);
