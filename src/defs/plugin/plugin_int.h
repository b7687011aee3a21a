/* SPDX-License-Identifier: MIT
 * plugin_int.h - how a plugin is read, in this order: manifest, the fields it has, the components. For the files of this room. */
#pragma once
#include "config/settings/settings.h"
#include "defs/plugin/plugin.h"

/* The state of reading */
struct manifest {
	struct plugin *plugin;
	const struct settings_file *file; /* NULL: there is no manifest */
	const struct json *root;          /* NULL: the same */
	/* A plugin that is a whole marketplace: the entry that offers it, if it lists skills, which then are all. */
	const struct settings_file *market_file;
	const struct json *offer;
};

/* manifest.c. Finds and reads the manifest; unless that fails, the components follow. */
void manifest_read(struct plugin *p);
void manifest_note(struct manifest *m, const struct json *value, const char *fmt, ...) printf_like(3, 4);

/* plugin.c: the user's values for userConfig, pluginConfigs.ID.options of user, flag and managed settings; not of a
 * project, because they may be keys and paths of the user. -ERR_USAGE: what is expected. */
int plugin_option_check(const struct plugin_option *o, const struct json *value, struct err *err);
/* Puts the values, or the defaults, into vars.options. A value that does not fit, or a required one that is missing, fails
 * the plugin. settings may be NULL. */
void plugin_options_apply(struct plugin *p, const struct settings *settings);

/* plugin.c: records an error. plugin_fail: of the whole plugin; plugin_complain: the rest of it still works. key: of the
 * component, with which the message begins; NULL: none. */
void plugin_fail(struct plugin *p, enum plugin_fault fault, const char *file, unsigned line, const char *fmt, ...)
	printf_like(5, 6);
void plugin_complain(struct plugin *p, enum plugin_fault fault, const char *key, const char *file, unsigned line,
		     const char *fmt, ...) printf_like(6, 7);
/* The same for the error of a file reader, whose text begins with FILE:LINE:COLUMN. */
void plugin_complain_err(struct plugin *p, enum plugin_fault fault, const char *file, const struct err *err);

/* component.c: the components in the plugin's directory. */
void component_find_all(struct manifest *m);
/* Whether a path of the manifest keeps to the form "./..." without ".."; `.` alone is the root, for skills. */
bool component_path_is_good(struct str path, bool root_allowed);

/* The absolute path of a component that exists inside the plugin; otherwise NULL. named: the value in the manifest
 * that names it, which then must exist; NULL: a default place, which need not. In the plugin's arena. */
const char *component_locate(struct manifest *m, const char *below, const struct json *named, const char *key);

/* Moves file into the plugin, which releases it. */
struct settings_file *plugin_keep_file(struct plugin *p, struct settings_file *file);
