/* SPDX-License-Identifier: MIT
 * text_file.h - a text file as the file tools see it: its bytes, its text without byte order mark, how it looked on disk.
 * Text of a UTF-8 file is the bytes themselves, valid or not, so that an edit leaves everything else as it was. */
#pragma once
#include "tools/file_state.h"
#include "lib/base/utf16.h"

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

/* Paths here are targets (file_tool.h): absolute, and no link in them is followed.
 *
 * A missing file is no failure: exists is false. Directories and what is no regular file are ERR_USAGE. */
int text_file_load(const char *path, struct text_file *file, struct err *err);
void text_file_encode(const struct text_file *file, struct str text, struct buf *bytes); /* as it would be written */
/* Writes text in the encoding of `file` (made when it did not exist, its parents as well), but only if the file on disk
 * is still the one that was loaded (ERR_BUSY). *ret_stamp is the new state of the file. */
int text_file_save(const char *path, const struct text_file *file, struct str text, struct file_stamp *ret_stamp,
		   struct err *err);

/* An open descriptor of a regular file and its state. ERR_NOT_FOUND, or ERR_USAGE when it is something else. Never
 * blocks on a pipe. */
int text_file_open(const char *path, int *ret_fd, struct stat *ret_st, struct err *err);
/* Whether a file that begins with these bytes is no text: a NUL, or too much that is not UTF-8. */
bool text_looks_binary(struct str head);
