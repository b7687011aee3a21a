/* SPDX-License-Identifier: MIT
 * width.h - how wide a cluster of several code points is: terminals disagree, so ours is asked. One terminal a process.
 *
 *                          thumb with skin tone   family of four   heart with VS16
 *     sum (no answer)      4                      8                1                libvterm
 *     narrow               2                      4                1                xterm.js: an emoji has one column
 *     cluster              2, or 4                2                1, or 2          tmux (4, 2, 1), kitty (2, 2, 2) */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIDTH_PROBES = 3 };

extern const char *const width_probes[WIDTH_PROBES]; /* thumb, family, heart */
/* What the terminal made of them; false: that fits none of the models, and nothing changes. */
bool width_learn(const unsigned answers[WIDTH_PROBES]);
/* The width of a cluster with one code point more: so_far 0 at its start, with the code point's own width */
unsigned width_add(unsigned so_far, uint32_t previous, uint32_t cp, unsigned own);
/* false: the terminal may think otherwise, and what follows in the row is placed */
bool width_is_sure(uint32_t cp, bool single);
