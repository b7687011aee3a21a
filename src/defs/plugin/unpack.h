/* SPDX-License-Identifier: MIT
 * unpack.h - where the files of somebody else's archive go, whatever its format: below one directory, and nowhere else. Refused
 * are names that are absolute, have "..", a backslash, a control character or are not UTF-8, a name twice, and a file where a
 * directory is needed. Files get mode 0644, or 0755 if their owner may run them. */
#pragma once
#include "lib/base/str.h"

enum {
	UNPACK_LIMIT = 256 << 20, /* of all files together */
	UNPACK_ENTRY_LIMIT = 10000,
	UNPACK_NAME_LIMIT = 1024,
	UNPACK_DEPTH_LIMIT = 32,
};

struct unpack {
	int dir;      /* descriptor of the target, borrowed; nobody else may write to it */
	size_t total; /* bytes so far */
	struct err *err;
};

/* What is wrong with the name of a file, or of a directory with a slash at its end; NULL: nothing. */
const char *unpack_name_problem(struct str name);
int unpack_refuse(struct unpack *u, struct str name, const char *what); /* sets the error: 'NAME' WHAT; -ERR_PARSE */
/* Makes the file of a good name, and its directories. *ret_fd is -1 for a directory; otherwise the caller closes it. */
int unpack_create(struct unpack *u, struct str name, bool executable, int *ret_fd);
int unpack_write(struct unpack *u, struct str name, int fd, const void *p,
		 size_t n); /* -ERR_LIMIT above UNPACK_LIMIT */
