/* SPDX-License-Identifier: MIT
 * lock.h - one process at a time works on a session. The lock dies with its owner. */
#pragma once
#include "base/base.h"

/* Makes missing directories. -ERR_BUSY if another process (or another session of this one) holds it. Returns owned: a
 * descriptor to close, or to hand to session_unlock(). */
int session_lock(const char *path, int *ret_fd, struct err *err);
void session_unlock(int fd);
