/* SPDX-License-Identifier: MIT
 * file_version.h - the state of a file at one time: existence, content, mode. */
#pragma once
#include "lib/base/buf.h"

enum { SHA256_DIGITS = 64, FILE_VERSION_LIMIT = 64 * 1024 * 1024 };

struct file_version {
	bool exists;
	char sha256[SHA256_DIGITS + 1]; /* of the bytes, in lower case; "": no file */
	unsigned mode;                  /* permission bits; 0: not known */
};

struct file_version file_version_of(struct str bytes); /* of a file that is to be written */
/* Reads it below a trusted directory (lib/io/file_at.h); appends its bytes to *bytes. A missing file is not an error.
 * -ERR_USAGE: not a regular file; -ERR_LIMIT: too large. */
int file_version_read(const char *root, const char *below, struct file_version *ret_version, struct buf *bytes,
		      struct err *err);
bool file_version_same(const struct file_version *a, const struct file_version *b); /* ignores the mode */
