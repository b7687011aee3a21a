/* SPDX-License-Identifier: MIT
 * file_state.h - what one agent knows about files: which it has read or written, and how they looked then. Edit and Write
 * ask here before they change a file, so that no agent overwrites what it has not seen, be it an old file or the work of
 * another agent. The state belongs to the agent and is used on the loop only. */
#pragma once
#include <sys/stat.h>
#include "lib/base/buf.h"
#include "lib/base/map.h"

struct file_stamp {
	int64_t mtime_ns;
	int64_t size;
	uint64_t hash; /* of the bytes; valid when has_hash */
	bool has_hash; /* false: only a range of a large file was read */
	bool partial;  /* a first page was shown in place of the whole file: not enough for an edit */
	uint64_t look; /* number of this look among all; set by file_state_note */
};

struct file_state {
	struct map stamps; /* absolute path -> owned struct file_stamp */
	uint64_t looks;    /* so far */
};

enum file_known {
	FILE_UNREAD,  /* never read, or only a partial view of it */
	FILE_CURRENT, /* as it was when the agent saw it */
	FILE_CHANGED, /* somebody wrote to it since */
};

struct file_stamp file_stamp_of(const struct stat *st, struct str bytes);                  /* with the hash */
void file_state_note(struct file_state *state, const char *path, struct file_stamp stamp); /* copies both */
/* now needs no hash; it is compared when it is there. A new time with the same bytes (touch) is no change. */
enum file_known file_state_check(const struct file_state *state, const char *path, struct file_stamp now);
/* The paths of the last files that were looked at, the latest last, a line each. */
void file_state_list(const struct file_state *state, size_t most, struct buf *out);
void file_state_release(struct file_state *state); /* the state is empty and usable afterwards */
