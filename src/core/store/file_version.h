/* SPDX-License-Identifier: MIT
 * file_version.h - a file at one time: whether it is there, what is in it, who may use it. */
#pragma once
#include "lib/base/buf.h"

enum { SHA256_DIGITS = 64, FILE_VERSION_LIMIT = 64 * 1024 * 1024 };

struct file_version {
	bool exists;
	char sha256[SHA256_DIGITS + 1]; /* of the bytes, in lower case; "" if it is not there */
	unsigned mode;                  /* permission bits; 0: not known */
};

struct file_version file_version_of(struct str bytes); /* of a file that is to be written */
/* As it is on disk, below a trusted directory (lib/io/file_at.h); its bytes are added to *bytes. A file that is not there is no failure. -ERR_USAGE: something else than a
 * regular file; -ERR_LIMIT: too large. */
int file_version_read(const char *root, const char *below, struct file_version *ret_version, struct buf *bytes,
		      struct err *err);
bool file_version_same(const struct file_version *a, const struct file_version *b); /* but for the mode */
