/* SPDX-License-Identifier: MIT
 * plugin_int.h - how a plugin is read, in this order: manifest, the fields it has, the components. For the files of this room. */
#pragma once
#include "defs/plugin/plugin.h"

/* What is being read, while it is */
struct manifest {
	struct plugin *plugin;
	const struct settings_file *file; /* NULL: there is no manifest */
	const struct json *root;          /* NULL: the same */
};

/* manifest.c. Finds and reads the manifest; unless that fails, the components follow. */
void manifest_read(struct plugin *p);
/* Fails the plugin with the line of value, "KEY: ..." */
void manifest_fail(struct manifest *m, const struct json *value, const char *fmt, ...) printf_like(3, 4);
void manifest_note(struct manifest *m, const struct json *value, const char *fmt, ...) printf_like(3, 4);

/* manifest_nested.c: fields with an inner form. */
void manifest_read_author(struct manifest *m, const struct json *value);
void manifest_read_options(struct manifest *m, const struct json *value);
void manifest_read_dependencies(struct manifest *m, const struct json *value);

/* component.c: what the plugin's directory has. */
void component_find_all(struct manifest *m);
/* Whether a path of the manifest keeps to the form "./..." without ".."; `.` alone is the root, for skills. */
bool component_path_is_good(struct str path, bool root_allowed);

/* component_json.c: hooks, MCP servers and settings, from files or the manifest. */
void component_find_hooks(struct manifest *m);
void component_find_servers(struct manifest *m);
void component_find_settings(struct manifest *m);

/* The absolute path of a component, if it is there and inside the plugin; otherwise NULL. named: the value in the manifest
 * that names it, which then must be there; NULL: a default place, which need not. In the plugin's arena. */
const char *component_locate(struct manifest *m, const char *below, const struct json *named, const char *key);

/* Moves file into the plugin, which releases it. */
struct settings_file *plugin_keep_file(struct plugin *p, struct settings_file *file);
