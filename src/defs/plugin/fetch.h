/* SPDX-License-Identifier: MIT
 * fetch.h - gets a repository by git: no hooks, no questions, no programs of the address's choice; or a package of an npm
 * registry: `npm pack` downloads and checks its archive, we unpack it. Nothing of the package runs, and nothing that it
 * depends on comes along. */
#pragma once
#include "lib/json/json.h"
#include "defs/plugin/marketplace.h"

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
