/* SPDX-License-Identifier: MIT
 * zip.h - unpacks an archive that somebody else made.
 *
 * Accepted: stored and deflated files and directories, no encryption, no parts, no zip64. Refused as a whole: a name that is
 * absolute, has "..", a backslash, a control character or is not UTF-8; links and special files; a name twice; a file where a
 * directory is needed; a size or checksum that is not what the directory of the archive says; more than the limits below.
 * Files get mode 0644, or 0755 if their owner may run them; nothing else of their modes counts. */
#pragma once
#include "base/str.h"

enum {
	ZIP_FILE_LIMIT = 64 << 20,      /* of the archive */
	ZIP_UNPACKED_LIMIT = 256 << 20, /* of all files together */
	ZIP_ENTRY_LIMIT = 10000,
	ZIP_NAME_LIMIT = 1024,
	ZIP_DEPTH_LIMIT = 32,
};

/* dir must be there and empty; nobody else may write to it. On failure it may hold some of the files. -ERR_PARSE: it is no
 * good archive; -ERR_LIMIT. */
int zip_unpack(struct str archive, const char *dir, struct err *err);
