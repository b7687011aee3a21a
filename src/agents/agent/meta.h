/* SPDX-License-Identifier: MIT
 * meta.h - what is on disk about a child, beside its transcript: agent-ID.meta.json, written before it does anything, and the
 * line of its end in the transcript. Both are read by other programs too, which ignore what they do not know. */
#pragma once
#include "agents/agent/tree.h"

/* Makes the paths of a task; nothing if the session keeps nothing. */
void meta_place(struct task *t);
/* The file as it should be now. Whole or not at all. */
int meta_write(const struct task *t, struct err *err);
/* Reads the meta files of the session into tasks; those already known are left alone. Files that cannot be read are passed
 * over and named in notes, a line each; one whose writer died in the middle is removed if the session is ours. */
void meta_read_all(struct agent_tree *t, bool ours, struct buf *notes);

/* The end as a JSON object, for recorder_end(), and back from a loaded transcript: false if it has none. */
void end_write(struct buf *out, const struct task *t);
bool end_read(struct task *t, struct str json);
