/* SPDX-License-Identifier: MIT
 * text_file.h - a text file as the file tools see it: its bytes, its text without byte order mark, how it looked on disk.
 * Text of a UTF-8 file is the bytes themselves, valid or not, so that an edit leaves everything else as it was. */
#pragma once
#include <sys/stat.h>
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "core/tool/tool.h"
#include "lib/json/json_write.h"

/* What one agent knows about files: which it has read or written, and how they looked then. Edit and Write
 * ask here before they change a file, so that no agent overwrites what it has not seen, be it an old file or the work of
 * another agent. The state belongs to the agent and is used on the loop only. */
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
	FILE_CHANGED, /* it was written to since */
};

struct file_stamp file_stamp_of(const struct stat *st, struct str bytes);                  /* with the hash */
void file_state_note(struct file_state *state, const char *path, struct file_stamp stamp); /* copies both */
/* now needs no hash; it is compared when it is there. A new time with the same bytes (touch) is not a change. */
enum file_known file_state_check(const struct file_state *state, const char *path, struct file_stamp now);
/* The paths of the last files that were looked at, the latest last, a line each. */
void file_state_list(const struct file_state *state, size_t most, struct buf *out);
void file_state_release(struct file_state *state); /* the state is empty and usable afterwards */

struct text_file {
	bool exists;
	struct buf text; /* without the mark; UTF-16 is decoded */
	enum text_encoding encoding;
	bool exact;              /* the text encodes back to the bytes; false: it must not be edited */
	struct file_stamp stamp; /* with the hash of the bytes */
};

enum { TEXT_FILE_LIMIT = 64 * 1024 * 1024 };

void text_file_release(struct text_file *file);
#define AUTO_TEXT_FILE CLEANUP(text_file_release)

/* Paths here are targets (file_tool_find()): absolute, and no link in them is followed.
 *
 * A missing file is not a failure: exists is false. Anything but a regular file is ERR_USAGE. */
int text_file_load(const char *path, struct text_file *file, struct err *err);

/* An open descriptor of a regular file and its state. ERR_NOT_FOUND, or ERR_USAGE when it is something else. Never
 * blocks on a pipe. */
int text_file_open(const char *path, int *ret_fd, struct stat *ret_st, struct err *err);
/* Whether a file that begins with these bytes is not text: a NUL, or too much that is not UTF-8. */
bool text_looks_binary(struct str head);

/* What tools with a path among their parameters share. */

/* A parameter that is a path, made absolute from the agent's directory. NULL: the call has been rejected. */
char *file_tool_path(struct tool_call *call, const char *parameter);
/* The one file that a call is about: its path for people and for the agent's memory of files, its target to open. Both are
 * what the gate has checked, even if links and directories have changed since. False: the call has been answered. */
bool file_tool_find(struct tool_call *call, const char *parameter, char **ret_path, const char **ret_target);
/* text_file_save() for a tool, after env->before_change. */
int file_tool_save(struct tool_call *call, const char *target, const struct text_file *file, struct str text,
		   struct file_stamp *ret_stamp, struct err *err);
/* How often needle (not empty) occurs in text, without overlaps; LF matches CRLF too. */
size_t text_count(struct str text, struct str needle);
/* False: the file exists and the agent has not read it as it is now; the call has been rejected. */
bool file_tool_check_seen(struct tool_call *call, const char *path, const struct text_file *file);
void file_tool_missing(struct tool_call *call, bool reject); /* ends the call: there is no such file */

/* Read of media, one function for each kind of file. It leads to the end of the call, at once or later. args is in the call's arena. */
struct read_args {
	char *path;         /* absolute */
	const char *target; /* what is opened: path without links */
	uint64_t first;     /* line or cell, from 1 */
	uint64_t limit;     /* how many; 0: to the end */
	bool ranged;        /* one of the two was given */
	bool allow_large;
	struct str pages; /* p == NULL: not given */
	size_t cap_bytes; /* of the text that is shown */
};

enum { READ_BYTES_PER_TOKEN = 4 }; /* an estimate: text of programs has 3 to 4 */

void read_image(struct tool_call *call, const struct read_args *args);
void read_pdf(struct tool_call *call, const struct read_args *args);
void read_notebook(struct tool_call *call, const struct read_args *args);

/* line_diff.c: the difference of two texts as hunks of lines, for the structuredPatch of Edit and Write. */

/* Writes one JSON array: [{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" same","-old","+new"]}, ...]
 * with three lines of context. Shortest script up to a thousand changed lines; beyond that the changed middle is one
 * block, so that no text makes it slow. */
void line_diff_put(struct json_out *w, struct str old_text, struct str new_text);
/* Lines that the new text has and the old one has not, and the other way round. */
void line_diff_count(struct str old_text, struct str new_text, size_t *ret_added, size_t *ret_removed);
