/* SPDX-License-Identifier: MIT
 * record.h - the record of a child, which outlives it: how it ended, and its meta file agent-ID.meta.json, which is written
 * before the child does anything. Other programs read it too; they ignore what they do not know. */
#pragma once
#include "core/store/load.h"
#include "agents/agent/tree.h"
#include "agents/worktree/worktree.h"

/* Makes the paths of a record; nothing if the session keeps nothing. */
void meta_set_paths(struct agent_record *t);
/* The file as it should be now. Whole or not at all. */
int meta_write(const struct agent_record *t, struct err *err);
/* A text for it, in its transcript before this returns, also while it does not run. */
int agent_record_queue(struct agent_record *t, const struct queue_line *line, struct err *err);
/* Reads the meta files of the session into records; those already known are left alone. Files that cannot be read are passed
 * over and named in notes, a line each; one whose writer died in the middle is removed if the session is ours. */
void meta_read_all(struct agent_tree *t, bool ours, struct buf *notes);

/* A worktree for it, made from this directory of its parent; the one that it had before, if it continues. */
struct worktree_job *agent_record_take_worktree(const struct agent_record *t, const char *cwd, worktree_taken_fn *done,
						void *data);

/* The end as a JSON object, for recorder_end(), and back from a loaded transcript: false if it has none. */
void end_write(struct buf *out, const struct agent_record *t);
bool end_read(struct agent_record *t, struct str json);
static inline bool end_load(
	struct agent_record *t) /* from its transcript; false: that has none, or there is no transcript */
{
	AUTO_BUF struct buf end = { 0 };

	return t->transcript && session_load_end(t->transcript, &end, NULL) > 0 && end_read(t, buf_str(&end));
}
