/* SPDX-License-Identifier: MIT
 * sessions.h - sessions for people. */
#pragma once
#include "product/command/report.h"
#include "product/session/session_list.h"

const char *session_shown_name(const struct session_entry *e); /* title or prompt, for people */
/* sessions_export.c: a line of a transcript as Markdown; adds nothing for what tells people nothing. */
void session_line_markdown(struct buf *out, struct str line);
