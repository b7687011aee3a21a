/* SPDX-License-Identifier: MIT
 * install.h - copies a plugin to where it is used from: plugins_dir/cache/MARKETPLACE/NAME/VERSION. */
#pragma once
#include "defs/plugin/marketplace.h"
#include "defs/plugin/record.h"

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
