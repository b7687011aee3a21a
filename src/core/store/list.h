/* SPDX-License-Identifier: MIT
 * list.h - finding sessions of a project. */
#pragma once
#include "lib/base/arena.h"

/* The session in dir whose file changed last; NULL if there is none. In the arena. */
char *session_newest(struct arena *a, const char *dir);
