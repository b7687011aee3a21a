/* SPDX-License-Identifier: MIT
 * install.c - the records of what was installed, read and changed; puts plugins into the cache and takes them out. */
#include "defs/plugin/install.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "config/settings/settings_store.h"
#include "defs/plugin/fetch.h"
#include "defs/plugin/plugin.h"

static const char known_name[] = "known_marketplaces.json";
static const char installed_name[] = "installed_plugins.json";
static const char trusted_name[] = "trusted_plugins.json";

/* Records: reading. */

int plugin_records_read(struct plugin_records *r, const char *plugins_dir, struct err *err)
{
	*r = (struct plugin_records){ 0 };
	if (settings_file_read(&r->known_file, path_join(&r->arena, plugins_dir, known_name), err) < 0 ||
	    settings_file_read(&r->installed_file, path_join(&r->arena, plugins_dir, installed_name), err) < 0 ||
	    settings_file_read(&r->trusted_file, path_join(&r->arena, plugins_dir, trusted_name), err) < 0) {
		plugin_records_release(r);
		return -(int)err->kind;
	}
	const struct json *known = r->known_file.root;
	r->known = arena_calloc(&r->arena, (known ? known->count + 1 : 1) * sizeof *r->known);
	for (struct json_member m = json_members(known); m.key; m = json_member_next(known, m)) {
		struct known_marketplace k = {
			.name = json_cstr(m.key, &r->arena),
			.dir = json_cstr(json_get(m.value, "installLocation"), &r->arena),
			.source = json_get(m.value, "source"),
		};
		if (k.name && plugin_name_is_good(str_from(k.name)) && k.dir && k.dir[0] == '/' &&
		    json_is(k.source, JSON_OBJECT))
			r->known[r->known_count++] = k;
	}
	const struct json *map = json_get(r->installed_file.root, "plugins");
	r->installed = arena_calloc(&r->arena, (map ? map->count + 1 : 1) * sizeof *r->installed);
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		/* An older format has one object instead of a list; of a list the first entry was installed first. */
		const struct json *v = json_is(m.value, JSON_ARRAY) ? json_first(m.value) : m.value;
		const char *scope = json_cstr(json_get(v, "scope"), &r->arena);
		struct installed_plugin i = {
			.id = json_cstr(m.key, &r->arena),
			.path = json_cstr(json_get(v, "installPath"), &r->arena),
			.scope = scope ? scope : "user",
			.version = json_cstr(json_get(v, "version"), &r->arena),
		};
		if (i.id && i.path && i.path[0] == '/')
			r->installed[r->installed_count++] = i;
	}
	return 0;
}

void plugin_records_release(struct plugin_records *r)
{
	settings_file_release(&r->known_file);
	settings_file_release(&r->installed_file);
	settings_file_release(&r->trusted_file);
	arena_release(&r->arena);
	*r = (struct plugin_records){ 0 };
}

const struct known_marketplace *plugin_records_market(const struct plugin_records *r, const char *name)
{
	for (size_t i = 0; i < r->known_count; i++)
		if (!strcmp(r->known[i].name, name))
			return &r->known[i];
	return NULL;
}

const struct installed_plugin *plugin_records_installed(const struct plugin_records *r, const char *id)
{
	for (size_t i = 0; i < r->installed_count; i++)
		if (!strcmp(r->installed[i].id, id))
			return &r->installed[i];
	return NULL;
}

/* Records: changing. */

static int record_set(const char *plugins_dir, const char *file, const struct str *names, size_t count, struct str json,
		      struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *path = path_join(&a, plugins_dir, file);
	int status = file_make_parents(path, err); /* for the user alone: an address may have a token in it */

	return status < 0 ? status : settings_set_member(path, names, count, json, err);
}

int record_market(const char *plugins_dir, const char *name, struct str source_json, const char *dir, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };

	if (dir)
		json_addf(&out, "{source:%.*s, installLocation:'%s', lastUpdated:'%s'}", STR_ARG(source_json), dir,
			  id_iso_now().text);
	return record_set(plugins_dir, known_name, &(struct str){ name, strlen(name) }, 1,
			  dir ? buf_str(&out) : (struct str){ 0 }, err);
}

int record_trust(const char *plugins_dir, const char *id, const char *root, struct err *err)
{
	const struct str names[] = { STR("plugins"), str_from(id) };
	AUTO_BUF struct buf out = { 0 };

	if (root)
		json_add_quoted(&out, str_from(root));
	return record_set(plugins_dir, trusted_name, names, COUNT_OF(names), root ? buf_str(&out) : (struct str){ 0 },
			  err);
}

/* The entry of the marketplace becomes the manifest of a plugin without one. */
static int write_manifest(const char *dir, const struct market_plugin *offer, struct err *err)
{
	static const char *const of_offer[] = { "source", "strict", "category", "tags", NULL };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	const char *path = path_join(&a, dir, ".claude-plugin/plugin.json");

	if (file_exists(path) || file_exists(path_join(&a, dir, "plugin.json")))
		return 0;
	json_open(&w, '{');
	json_put_members(&w, offer->entry, of_offer, NULL);
	json_close(&w);
	buf_addch(&out, '\n');
	int status = file_make_parents(path, err);
	return status < 0 ? status : file_replace(path, out.p, out.n, err);
}

/* Copies, then checks the copy: later changes of the original do not matter. */
static int install_copy(struct arena *a, const struct install *what, const char *temp,
			struct installed_plugin *ret_installed, struct err *err)
{
	int status = directory_copy(what->dir, temp, err);

	if (status == 0 && what->offer)
		status = write_manifest(temp, what->offer, err);
	if (status < 0)
		return status;
	struct plugin *p = plugin_read(temp, PLUGIN_INSTALLED, what->marketplace);
	const struct plugin_error *e = p->errors;
	const char *version = p->version && p->version[0]                                      ? p->version
			      : what->offer && what->offer->version && what->offer->version[0] ? what->offer->version
											       : "unknown";
	if (p->state == PLUGIN_FAILED && e->line)
		status = err_set(err, ERR_USAGE, "%s:%u: %s", e->file, e->line, e->message);
	else if (p->state == PLUGIN_FAILED)
		status = err_set(err, ERR_USAGE, "%s: %s", e->file, e->message);
	else if (what->offer && strcmp(what->offer->name, p->name) != 0)
		status = err_set(err, ERR_USAGE, "the marketplace offers it as %s, but its name is %s",
				 what->offer->name, p->name);
	else if (!str_is_name(str_from(version), "._+-") || strlen(version) > 64 || version[0] == '.')
		status = err_set(err, ERR_USAGE, "version: '%.60s' cannot be the name of a directory", version);
	else
		*ret_installed = (struct installed_plugin){
			.id = arena_strdup(a, p->id),
			.scope = what->scope,
			.version = arena_strdup(a, version),
			.path = arena_printf(a, "%s/cache/%s/%s/%s", what->plugins_dir, what->marketplace, p->name,
					     version),
		};
	plugin_free(p);
	return status;
}

static int record_installed(const char *plugins_dir, const struct installed_plugin *entry, struct err *err)
{
	const struct str version[] = { STR("version") };
	const struct str names[] = { STR("plugins"), str_from(entry->id) };
	AUTO_BUF struct buf out = { 0 };
	struct iso_time now = id_iso_now();

	json_addf(&out, "[{scope:'%s', installPath:'%s', version:'%s', installedAt:'%s', lastUpdated:'%s'}]",
		  entry->scope, entry->path, entry->version, now.text, now.text);
	int status = record_set(plugins_dir, installed_name, version, 1, STR("2"), err);
	return status < 0 ? status
			  : record_set(plugins_dir, installed_name, names, COUNT_OF(names), buf_str(&out), err);
}

int plugin_install(struct arena *a, const struct install *what, struct installed_plugin *ret_installed, struct err *err)
{
	struct installed_plugin installed;
	const char *work = arena_printf(a, "%s/cache/%s/x", what->plugins_dir, what->marketplace);
	const char *slash = strrchr(what->dir, '/');
	const char *parent;
	int status = directory_begin(a, work, &parent, err);

	if (status < 0)
		return status;
	/* Without a manifest the directory's name is the plugin's: it keeps it. */
	const char *temp = path_join(a, parent, slash && slash[1] ? slash + 1 : "plugin");
	status = install_copy(a, what, temp, &installed, err);
	if (status == 0)
		status = file_make_parents(installed.path, err);
	if (status == 0) /* the same version may hold something else now */
		status = record_trust(what->plugins_dir, installed.id, NULL, err);
	if (status == 0)
		status = directory_put(temp, installed.path, err);
	if (status == 0)
		status = record_installed(what->plugins_dir, &installed, err);
	(void)directory_remove(parent, NULL);
	if (status == 0)
		*ret_installed = installed;
	return status;
}

int plugin_uninstall(const char *plugins_dir, const char *id, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_PLUGIN_RECORDS struct plugin_records records = { 0 };
	const char *at = strchr(id, '@');
	int status = plugin_records_read(&records, plugins_dir, err);

	if (status < 0)
		return status;
	if (!at || !plugin_records_installed(&records, id))
		return err_set(err, ERR_NOT_FOUND, "%s is not installed", id);
	const struct str names[] = { STR("plugins"), str_from(id) };
	status = record_set(plugins_dir, installed_name, names, COUNT_OF(names), (struct str){ 0 }, err);
	if (status == 0)
		status = record_trust(plugins_dir, id, NULL, err);
	if (status < 0 || !plugin_name_is_good(str_between(id, at)) || !plugin_name_is_good(str_from(at + 1)))
		return status;
	return directory_remove(arena_printf(&a, "%s/cache/%s/%.*s", plugins_dir, at + 1, (int)(at - id), id), err);
}
