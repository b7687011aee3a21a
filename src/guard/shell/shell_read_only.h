/* SPDX-License-Identifier: MIT
 * shell_read_only.h - inside of shell_is_read_only(): which parts of a command line are harmless, for programs where the
 * options do not say enough. */
#pragma once
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

/* xargs stood before the command: it adds words that are not known. */
bool shell_gets_more_words(const struct shell_command *c, const struct shell_command *stripped);

bool check_date_part(const struct shell_part *part, size_t operands);
bool check_jq_part(const struct shell_part *part, size_t operands);
bool check_ps_part(const struct shell_part *part, size_t operands);
bool check_read_part(const struct shell_part *part, size_t operands);
bool check_sed_part(const struct shell_part *part, size_t operands);
bool check_strings_part(const struct shell_part *part, size_t operands);
bool check_uniq_part(const struct shell_part *part, size_t operands);
