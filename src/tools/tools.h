/* SPDX-License-Identifier: MIT
 * tools.h - the built-in tools, for the composition root. */
#pragma once
#include "core/tool/tool.h"

extern const struct tool_runtime tool_runtime;
extern const struct tool tool_agent; /* needs a roster: agents/life/life.h */
extern const struct tool tool_skill;
extern const struct tool *const tool_table[]; /* sorted by name, NULL-terminated; a test checks the order */
