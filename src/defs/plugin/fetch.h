/* SPDX-License-Identifier: MIT
 * fetch.h - gets a repository by git: no hooks, no questions, no programs of the address's choice; or a package of an npm
 * registry: `npm pack` downloads and checks its archive, we unpack it. Nothing of the package runs, and nothing that it
 * depends on comes along. */
#pragma once
#include "lib/json/json.h"
#include "defs/plugin/marketplace.h"
#include "lib/base/arena.h"

/* dir must not be there, or be empty. Without a pinned commit only the newest one comes; a pinned one is what is in dir
 * afterwards, or the clone fails. Blocks, ten minutes at most. */
int git_clone(const struct git_source *source, const char *dir, struct err *err);

struct npm_source {
	const char *package;  /* "name" or "@scope/name" */
	const char *version;  /* a version, a range or a tag; NULL: the newest */
	const char *registry; /* NULL: as npm is configured */
};

/* -ERR_USAGE: it names no package of a registry (an address or a path is none). Texts are in the arena. */
int npm_source_read(struct arena *a, const struct json *source, struct npm_source *ret_source, struct err *err);
/* dir must be there and empty. Blocks, ten minutes at most. */
int npm_fetch(const struct npm_source *source, const char *dir, struct err *err);

/* Whole directories: copied into the cache, moved into place, removed. */
enum { COPY_FILE_LIMIT = 20000, COPY_BYTE_LIMIT = 512 << 20, COPY_DEPTH_LIMIT = 32 };

/* Copies what is in `from` into the new directory `to`. Links inside `from` become what they point to; one that leads out is
 * -ERR_DENIED. `.git` stays behind. On failure `to` is removed. */
int directory_copy(const char *from, const char *to, struct err *err);
/* Follows no link. A missing directory is not an error. */
int directory_remove(const char *path, struct err *err);
/* A new, private directory beside the one that is to come, for directory_put. In the arena. */
int directory_begin(struct arena *a, const char *target, const char **ret_temp, struct err *err);
/* Moves temp to target in one step; what was there is removed. On failure temp is removed. */
int directory_put(const char *temp, const char *target, struct err *err);

/* Unpacks archives from untrusted sources, below one directory and nowhere else.
 * 
 * libarchive reads the formats; it is loaded with the first archive. Only regular files and directories are allowed. An
 * archive is refused as a whole if it has a link, a special file or an encrypted file; a name that is absolute, is not
 * UTF-8, occurs twice, or has "..", a backslash or a control character; a wrong size or checksum; no entry; or exceeds a
 * limit. Files get mode 0644, or 0755 if their owner may run them. */
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
/* The same for one that is fetched, each time, from an address. */
int zip_cache_open_url(struct arena *a, const char *plugins_dir, const char *url, const char **ret_dir,
		       struct err *err);

/* Blocking download of one file, on a loop of its own. Only https, or http on loopback, also for redirects, of which it follows
 * five. Appends the content. -ERR_USAGE: URL not allowed; -ERR_NOT_FOUND: 404; -ERR_LIMIT: too large; -ERR_IO:
 * anything else, with the reason. */
int download(const char *url, size_t limit_bytes, struct buf *out, struct err *err);
