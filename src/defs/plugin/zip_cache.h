/* SPDX-License-Identifier: MIT
 * zip_cache.h - a plugin in a zip file: unpacked once, into a directory that its content names, and found there again. */
#pragma once
#include "lib/base/arena.h"

/* *ret_dir: the plugin's directory, below plugins_dir/cache/zip; of an archive with a single directory at its top, that
 * one. In the arena. */
int zip_cache_open(struct arena *a, const char *plugins_dir, const char *file, const char **ret_dir, struct err *err);
/* The same for one that is fetched, each time, from an address (lib/io/download.h). */
int zip_cache_open_url(struct arena *a, const char *plugins_dir, const char *url, const char **ret_dir,
		       struct err *err);
