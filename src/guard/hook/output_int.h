/* SPDX-License-Identifier: MIT
 * output_int.h - parts of reading a hook's output, for output.c, answer.c and their tests. */
#pragma once
#include "guard/hook/output.h"

/* Only BEL and the titles and notices of OSC 0, 1, 2, 9, 99, 777: nothing that moves, clears, reads or pastes. */
bool hook_sequence_is_harmless(struct str s);
/* The last line that has something in it, without escape sequences. In the arena. */
struct str hook_last_line(struct arena *arena, struct str text);
