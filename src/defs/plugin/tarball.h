/* SPDX-License-Identifier: MIT
 * tarball.h - unpacks what the npm registry gives out: a gzipped tar archive of files, all below one directory ("package/"),
 * which is left out. Links and special files, and names that unpack.h refuses, refuse the whole archive. */
#pragma once
#include "lib/base/str.h"

enum { TARBALL_LIMIT = 64 << 20 }; /* of the archive, packed */

/* dir must be there and empty. On failure it may hold some of the files. -ERR_PARSE: it is no good archive; -ERR_LIMIT. */
int tarball_unpack(struct str archive, const char *dir, struct err *err);
