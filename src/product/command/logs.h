/* SPDX-License-Identifier: MIT
 * logs.h - a line of a transcript for people. */
#pragma once
#include "product/command/report.h"
#include "lib/base/str.h"

/* Rows for one line; none if it has nothing to show. *ret_end: the agent has ended; untouched by a line that is not JSON,
 * except that a later line of a conversation takes an end back. */
void logs_line(struct cadre_report *piece, struct str line, bool *ret_end);
