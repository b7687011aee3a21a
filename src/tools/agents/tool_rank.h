/* SPDX-License-Identifier: MIT
 * tool_rank.h - which tools of a set fit a few words best. Names count more than descriptions, whole words more than parts of
 * words. The same words always give the same tools in the same order: of equal ones the first in the set comes first. */
#pragma once
#include "core/tool/tool.h"

/* words: with blanks between; one with + in front must be found. At most `most` tools go into ret_best, the best first; returns
 * how many. A tool with none of the words does not match. */
size_t tool_rank(const struct tool_set *set, struct str words, size_t most, const struct tool **ret_best);
