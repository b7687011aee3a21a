/* SPDX-License-Identifier: MIT
 * unpack.h - unpacks archives from untrusted sources, below one directory and nowhere else.
 *
 * libarchive reads the formats; it is loaded with the first archive. Only regular files and directories are allowed. An
 * archive is refused as a whole if it has a link, a special file or an encrypted file; a name that is absolute, is not
 * UTF-8, occurs twice, or has "..", a backslash or a control character; a wrong size or checksum; no entry; or exceeds a
 * limit. Files get mode 0644, or 0755 if their owner may run them. */
#pragma once
#include "lib/base/arena.h"

enum {
	UNPACK_FILE_LIMIT = 64 << 20, /* of the archive itself; for those who read or download it */
	UNPACK_LIMIT = 256 << 20,     /* of all its files together, and of a tar archive with all its headers */
	UNPACK_ENTRY_LIMIT = 10000,
	UNPACK_NAME_LIMIT = 1024,
	UNPACK_DEPTH_LIMIT = 32,
};

enum unpack_format {
	UNPACK_ZIP, /* stored and deflated files */
	/* A package of an npm registry: gzipped tar. Its top directory ("package/") is left out, and all that is not
	 * below it. */
	UNPACK_TARBALL,
};

/* dir must exist and be empty, and no one else may write to it. A failure may leave some of the files there. Blocks.
 * -ERR_PARSE: the archive is refused; -ERR_LIMIT; -ERR_NOT_FOUND: libarchive is not installed; -ERR_IO. */
int unpack_archive(enum unpack_format format, struct str archive, const char *dir, struct err *err);

/* A plugin in a zip file: unpacked once, into a directory that its content names, and found there again.
 * *ret_dir: the plugin's directory, below plugins_dir/cache/zip; of an archive with a single directory at its top, that
 * one. In the arena. */
int zip_cache_open(struct arena *a, const char *plugins_dir, const char *file, const char **ret_dir, struct err *err);
/* The same for one that is fetched, each time, from an address (lib/io/download.h). */
int zip_cache_open_url(struct arena *a, const char *plugins_dir, const char *url, const char **ret_dir,
		       struct err *err);
