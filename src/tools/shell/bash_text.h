/* SPDX-License-Identifier: MIT
 * bash_text.h - what can be said about a command by looking at its text. Rough on purpose: nothing here
 * decides about permission. */
#pragma once
#include "lib/base/buf.h"

/* Exit 1 of some programs is an answer: what it says ("no matches"), or NULL when the code is a failure. The
 * last program of the command counts, because its code is the shell's. */
const char *bash_exit_meaning(struct str command, int code);
/* May a command that takes too long go on unseen? Not one that only waits, not one that may hold git's lock,
 * not one whose quotes are open. */
bool bash_may_move(struct str command);
void bash_add_duration(struct buf *out, uint64_t ms); /* "1.5s", "2m 0s" */
