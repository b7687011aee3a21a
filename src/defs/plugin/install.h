/* SPDX-License-Identifier: MIT
 * install.h - installing plugins, and the records of what was installed, from where, and the user's consent. Plain files in
 * <config>/plugins that other programs read and write as well, each replaced atomically, with all foreign members kept:
 *
 *     known_marketplaces.json  {"NAME": {"source": {...}, "installLocation": DIR, "lastUpdated": TIME}}
 *     installed_plugins.json   {"version": 2, "plugins": {ID: [{"scope", "installPath", "version", "installedAt", ...}]}}
 *     trusted_plugins.json     {"plugins": {ID: ROOT}}        of cadre alone: agents of this copy may have hooks */
#pragma once
#include "config/settings/settings_file.h"
#include "defs/plugin/marketplace.h"

struct known_marketplace {
	const char *name;
	const char *dir;           /* installLocation */
	const struct json *source; /* {"source": "directory" | "git" | "github" | ..., ...} */
};

struct installed_plugin {
	const char *id, *path, *scope;
	const char *version; /* NULL: not given */
};

/* A zeroed struct is empty. Entries that cannot be used are left out. */
struct plugin_records {
	struct arena arena;
	struct settings_file known_file, installed_file, trusted_file;
	struct known_marketplace *known;
	size_t known_count;
	struct installed_plugin *installed;
	size_t installed_count;
};

/* Missing files are empty. An invalid one is -ERR_USAGE with file and line. On failure *r is empty. */
int plugin_records_read(struct plugin_records *r, const char *plugins_dir, struct err *err);
void plugin_records_release(struct plugin_records *r);
#define AUTO_PLUGIN_RECORDS CLEANUP(plugin_records_release)

const struct known_marketplace *plugin_records_market(const struct plugin_records *r, const char *name);
const struct installed_plugin *plugin_records_installed(const struct plugin_records *r, const char *id);

/* Each changes one entry on disk. */
/* dir NULL: it is not known any more. */
int record_market(const char *plugins_dir, const char *name, struct str source_json, const char *dir, struct err *err);
int record_trust(const char *plugins_dir, const char *id, const char *root,
		 struct err *err); /* root NULL: not any more */

/* Copies a plugin to where it is used from: plugins_dir/cache/MARKETPLACE/NAME/VERSION. */
struct install {
	const char *plugins_dir;
	const char *dir;                   /* where the plugin is now */
	const char *marketplace;           /* "local": it was given by its path */
	const struct market_plugin *offer; /* of the marketplace; NULL: none */
	const char *scope;
};

/* A plugin that would not load is -ERR_USAGE with its first error. On disk, in this order: the copy, then the record of it;
 * an interrupted install leaves the old version in use. *ret_installed is in the arena. */
int plugin_install(struct arena *a, const struct install *what, struct installed_plugin *ret_installed,
		   struct err *err);
/* The record, then the files of all versions; its data stays. -ERR_NOT_FOUND: it is not installed. */
int plugin_uninstall(const char *plugins_dir, const char *id, struct err *err);
