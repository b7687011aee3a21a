/* SPDX-License-Identifier: MIT
 * logs.h - a line of a transcript for people. */
#pragma once
#include "product/command/report.h"
#include "lib/base/str.h"

/* Rows for one line; none if it says nothing to people. *ret_end: it tells that the agent has ended; otherwise untouched,
 * except that a later line of a conversation takes an end back. */
void logs_line(struct cadre_report *piece, struct str line, bool *ret_end);
