/* SPDX-License-Identifier: MIT
 * report.h - reports to a parent: the result of a call that waited, the note that a child was launched, the notification of
 * one in the background. The texts are for the model; the JSON beside them is for SDKs. */
#pragma once
#include "agents/subagent/subagent.h"

enum { REPORT_LIMIT = 30000 }; /* characters; a longer report is cut, with the path of the whole */

/* notes: lines for the parent about this run; may be empty. */
void report_completed(struct tool_call *call, const struct agent_record *t, struct str notes);
void report_launched(struct tool_call *call, const struct agent_record *t);
void report_notification(struct buf *out, const struct agent_record *t, struct str notes);
/* The report of a child that has ended, from its transcript. False: it has none. */
bool report_read(struct buf *out, struct agent_record *t);
/* The verdict of an agent that checks, in the last line that has one: "PASS", "FAIL", "PARTIAL", or NULL. */
const char *report_verdict(struct str text);
