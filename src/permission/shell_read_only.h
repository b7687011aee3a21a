/* SPDX-License-Identifier: MIT
 * shell_read_only.h - inside of shell_is_read_only(): commands whose arguments need a look of their own. Their
 * words are literal or have a tilde. */
#pragma once
#include "permission/shell_command.h"

/* xargs stood before the command: it adds words that nobody has seen. */
bool shell_gets_more_words(const struct shell_command *c, const struct shell_command *stripped);

bool shell_git_is_read_only(const struct shell_command *c);
bool shell_sed_is_read_only(const struct shell_command *c);
