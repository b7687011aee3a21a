/* SPDX-License-Identifier: MIT
 * marketplace.h - a directory that offers plugins: .claude-plugin/marketplace.json
 *
 *     {"name": "shop", "owner": {...}, "metadata": {"pluginRoot": "./plugins"},
 *      "plugins": [{"name": "tool", "source": "./tool", "version": "1.0.0", "description": ...}, ...]}
 *
 * A source is a path inside the marketplace, or an object that names a repository,
 * {"source": "github", "repo": "owner/name"} or {"source": "git" | "url" | "git-subdir", "url": ...}, with "ref", "sha" and
 * "path", or a package: {"source": "npm", "package": "@scope/name", "version": "^1.0.0", "registry": ADDRESS} (fetch.h). */
#pragma once
#include "config/settings/settings.h"
#include "config/settings/settings_file.h"

struct market_plugin {
	const char *name;
	const char *version, *description; /* NULL: not given */
	const struct json *source;
	const struct json *entry;
	unsigned line;
};

struct marketplace {
	struct arena arena;
	struct settings_file file;
	const char *name;
	const char *dir; /* real path */
	struct market_plugin *plugins;
	size_t count;
};

/* -ERR_NOT_FOUND: there is none in dir; -ERR_USAGE: it is not what it should be, with file and line. m need not be
 * initialised; on failure it is empty. */
int marketplace_read(struct marketplace *m, const char *dir, struct err *err);
void marketplace_release(struct marketplace *m);
#define AUTO_MARKETPLACE CLEANUP(marketplace_release)
const struct market_plugin *marketplace_find(const struct marketplace *m, const char *name);
/* The directory of a plugin whose source is a path; -ERR_USAGE if it leads out of the marketplace. In m's arena. */
int marketplace_plugin_dir(struct marketplace *m, const struct market_plugin *plugin, const char **ret_dir,
			   struct err *err);

/* A repository, as an object of sources names it */
struct git_source {
	const char *url;
	const char *ref;  /* branch or tag; NULL: the repository's own choice */
	const char *sha;  /* the very commit; NULL: the newest one */
	const char *path; /* of the plugin inside it; NULL: its top */
};
/* -ERR_USAGE: it names none, or asks for something that is not done. Texts are in the arena. */
int git_source_read(struct arena *a, const struct json *source, struct git_source *ret_source, struct err *err);

/* Which marketplaces managed settings allow: strictKnownMarketplaces (a list: only these; an empty one: none) and
 * blockedMarketplaces (never these, checked first). An entry is a source as marketplaces have it,
 *
 *     {"source": "github", "repo": "owner/name"}     {"source": "git", "url": "https://..."}     {"source": "url", "url": ...}
 *     {"source": "directory", "path": "/dir"}        {"source": "file", "path": ...}
 *     {"source": "hostPattern", "hostPattern": REGEX}   {"source": "pathPattern", "pathPattern": REGEX}
 *
 * or the name of a marketplace. Returns why plugins of this marketplace may not be used; NULL: they may. source may be NULL
 * (then only names fit). settings may be NULL. */
const char *market_forbidden(const struct settings *settings, const char *name, const struct json *source);
