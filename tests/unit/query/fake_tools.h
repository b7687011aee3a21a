/* SPDX-License-Identifier: MIT
 * fake_tools.h - tools that take time. Their input: {"ms":50,"say":"text"}; without ms they end at once, with a negative
 * one only when they are cancelled. What they do is noted in a log, "+t1" for a start and "-t1" for an end. */
#pragma once
#include "core/tool/tool.h"

extern const struct tool fake_read, fake_write, fake_beside; /* Read is read-only, Beside only concurrent */

/* env->owner of the calls is a struct buf: the log. */
