/* SPDX-License-Identifier: MIT
 * zip.h - unpacks an archive that somebody else made.
 *
 * Accepted: stored and deflated files and directories, no encryption, no parts, no zip64. Refused as a whole: a name that
 * unpack.h refuses, links and special files, a size or checksum that is not what the directory of the archive says, more than
 * the limits. */
#pragma once
#include "lib/base/str.h"

enum { ZIP_FILE_LIMIT = 64 << 20 }; /* of the archive */

/* dir must be there and empty; nobody else may write to it. On failure it may hold some of the files. -ERR_PARSE: it is no
 * good archive; -ERR_LIMIT. */
int zip_unpack(struct str archive, const char *dir, struct err *err);
