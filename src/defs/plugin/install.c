/* SPDX-License-Identifier: MIT
 * install.c - puts plugins into the cache and takes them out. */
#include "defs/plugin/install.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "defs/plugin/copy.h"
#include "defs/plugin/plugin.h"

/* It becomes the name of a directory. */
static bool is_version(const char *version)
{
	size_t n = strspn(version, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-");

	return n && n <= 64 && !version[n] && version[0] != '.';
}

static const char *choose_version(const struct plugin *p, const struct market_plugin *offer)
{
	if (p->version && p->version[0])
		return p->version;
	return offer && offer->version && offer->version[0] ? offer->version : "unknown";
}

/* ---- the entry as a manifest ------------------------------------------------------------------------------------- */

/* Members of an entry that are about the offer, not about the plugin. */
static bool is_of_offer(const struct json *key)
{
	static const char *const names[] = { "source", "strict", "category", "tags" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (json_str_is(key, names[i]))
			return true;
	return false;
}

static int write_manifest(const char *dir, const struct market_plugin *offer, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	const char *path = path_join(&a, dir, ".claude-plugin/plugin.json");

	if (file_exists(path))
		return 0;
	json_open(&w, '{');
	for (struct json_member m = json_members(offer->entry); m.key; m = json_member_next(offer->entry, m)) {
		if (is_of_offer(m.key))
			continue;
		json_key_str(&w, json_str(m.key, &a));
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
	buf_addch(&out, '\n');
	int status = file_make_parents(path, err);
	return status < 0 ? status : file_replace(path, out.p, out.n, err);
}

/* ---- installing -------------------------------------------------------------------------------------------------- */

static int check(const struct plugin *p, const struct install *what, struct err *err)
{
	const struct plugin_error *e = p->errors;

	if (p->state == PLUGIN_FAILED && e->line)
		return err_set(err, ERR_USAGE, "%s:%u: %s", e->file, e->line, e->message);
	if (p->state == PLUGIN_FAILED)
		return err_set(err, ERR_USAGE, "%s: %s", e->file, e->message);
	if (what->offer && strcmp(what->offer->name, p->name) != 0)
		return err_set(err, ERR_USAGE, "the marketplace offers it as %s, but it calls itself %s",
			       what->offer->name, p->name);
	if (!is_version(choose_version(p, what->offer)))
		return err_set(err, ERR_USAGE, "version: '%.60s' cannot be the name of a directory",
			       choose_version(p, what->offer));
	return 0;
}

/* The copy is what gets checked: what happens to the original meanwhile does not matter. */
static int copy_and_check(struct arena *a, const struct install *what, const char *temp,
			  struct installed_plugin *ret_installed, struct err *err)
{
	int status = directory_copy(what->dir, temp, err);

	if (status == 0 && what->offer && what->offer->is_manifest)
		status = write_manifest(temp, what->offer, err);
	if (status < 0)
		return status;
	struct plugin *p = plugin_read(temp, PLUGIN_INSTALLED, what->marketplace);
	status = check(p, what, err);
	if (status == 0) {
		const char *version = choose_version(p, what->offer);
		*ret_installed = (struct installed_plugin){
			.id = arena_strdup(a, p->id),
			.scope = what->scope,
			.version = arena_strdup(a, version),
			.path = arena_printf(a, "%s/cache/%s/%s/%s", what->plugins_dir, what->marketplace, p->name,
					     version),
		};
	}
	plugin_free(p);
	return status;
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
	status = copy_and_check(a, what, temp, &installed, err);
	if (status == 0)
		status = file_make_parents(installed.path, err);
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
	status = record_uninstalled(plugins_dir, id, err);
	if (status == 0)
		status = record_trust(plugins_dir, id, NULL, err);
	if (status < 0 || !plugin_name_is_good((struct str){ id, (size_t)(at - id) }) ||
	    !plugin_name_is_good(str_from(at + 1)))
		return status;
	return directory_remove(arena_printf(&a, "%s/cache/%s/%.*s", plugins_dir, at + 1, (int)(at - id), id), err);
}
