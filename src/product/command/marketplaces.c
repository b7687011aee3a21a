/* SPDX-License-Identifier: MIT
 * marketplaces.c - gets marketplaces, checks them against managed settings, and records them. */
#include "product/command/marketplaces.h"
#include "defs/policy/sources.h"
#include "lib/io/file.h"
#include "defs/plugin/copy.h"
#include "defs/plugin/git_clone.h"
#include "defs/plugin/market_policy.h"
#include "defs/plugin/npm_pack.h"
#include <sys/stat.h>

/* ---- the room ---------------------------------------------------------------------------------------------------- */

static int market_room_reread(struct market_room *room, struct err *err)
{
	plugin_records_release(&room->records);
	return plugin_records_read(&room->records, room->plugins_dir, err);
}

int market_room_open(struct market_room *room, struct services *sv, struct err *err)
{
	*room = (struct market_room){ .services = sv };
	if (options_directories(&sv->options, &room->arena, &room->cwd, &room->config_dir, err) < 0 ||
	    app_plugins_dir(sv, &room->arena, &room->plugins_dir, err) < 0 ||
	    app_settings(sv, &room->settings, err) < 0 || market_room_reread(room, err) < 0) {
		market_room_release(room);
		return -(int)err->kind;
	}
	return 0;
}

void market_room_release(struct market_room *room)
{
	plugin_records_release(&room->records);
	settings_unref(room->settings);
	arena_release(&room->arena);
	*room = (struct market_room){ 0 };
}

/* ---- fetching ---------------------------------------------------------------------------------------------------- */

static int fetch_package(struct market_room *room, const struct json *source, const char *dir, struct err *err)
{
	struct npm_source npm;
	int status = npm_source_read(&room->arena, source, &npm, err);

	return status < 0 ? status : npm_fetch(&npm, dir, err);
}

static int fetch_repository(struct market_room *room, const struct json *source, const char *dir, const char **ret_dir,
			    struct err *err)
{
	struct git_source git;

	if (git_source_read(&room->arena, source, &git, err) < 0 || git_clone(&git, dir, err) < 0)
		return -(int)err->kind;
	if (!git.path)
		return 0;
	*ret_dir = path_absolute(&room->arena, dir, str_from(git.path));
	AUTO_FREE char *real = realpath(*ret_dir, NULL);
	AUTO_FREE char *root = realpath(dir, NULL);
	if (!real || !root || !path_is_inside(real, root))
		return err_set(err, ERR_USAGE, "path: '%s' is not in the repository", git.path);
	return 0;
}

int market_fetch(struct market_room *room, const struct json *source, const char *dir, const char **ret_dir,
		 struct err *err)
{
	const struct json *kind = json_get(source, "source");

	*ret_dir = dir;
	if (json_str_is(kind, "command"))
		return err_set(err, ERR_DENIED,
			       "a source of the kind command would run a program of somebody else's choice to get its "
			       "files: get them yourself and install the directory");
	return json_str_is(kind, "npm") ? fetch_package(room, source, dir, err)
					: fetch_repository(room, source, dir, ret_dir, err);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void write_directory(struct buf *out, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "source", "directory");
	json_kcstr(&w, "path", real ? real : path);
	json_close(&w);
}

static void write_repository(struct buf *out, const char *kind, const char *key, struct str value, struct str ref)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "source", kind);
	json_kstr(&w, key, value);
	if (ref.n)
		json_kstr(&w, "ref", ref);
	json_close(&w);
}

static bool is_shorthand(struct str what)
{
	struct str owner = str_cut(&what, '/');

	return plugin_name_is_good(owner) && what.p && plugin_name_is_good(what);
}

/* `ADDRESS#REF`. Repositories at GitHub are known by owner and name, so that rules about them fit whatever was typed. */
int market_source_write(struct market_room *room, const char *what, struct buf *out, struct err *err)
{
	static const char github[] = "https://github.com/";
	struct str ref = str_from(what);
	struct str address = str_cut(&ref, '#');
	const char *path = path_absolute(&room->arena, room->cwd, str_from(what));

	if (is_directory(path)) {
		write_directory(out, path);
		return 0;
	}
	struct str repo = address;
	if (str_starts(repo, str_from(github)))
		repo = (struct str){ repo.p + sizeof github - 1, repo.n - (sizeof github - 1) };
	if (str_ends(repo, STR(".git")) && repo.p != address.p)
		repo.n -= 4;
	if (is_shorthand(repo))
		write_repository(out, "github", "repo", repo, ref);
	else if (str_has(address, STR("://")) || str_starts(address, STR("git@")))
		write_repository(out, "git", "url", address, ref);
	else
		return err_set(err, ERR_NOT_FOUND,
			       "'%.100s' is neither a directory, the address of a repository, nor OWNER/NAME", what);
	return 0;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static int check_allowed(struct market_room *room, const char *name, const struct json *source, struct err *err)
{
	const char *why = market_forbidden(room->settings, name, source);

	return why ? err_set(err, ERR_DENIED, "the marketplace %s%sis not allowed: %s", name, name[0] ? " " : "", why)
		   : 0;
}

static int check_name(struct market_room *room, const struct marketplace *m, const struct json *source,
		      const char *expected, struct err *err)
{
	const struct known_marketplace *known = plugin_records_market(&room->records, m->name);

	if (expected && strcmp(expected, m->name) != 0)
		return err_set(err, ERR_USAGE, "the marketplace calls itself %s, not %s", m->name, expected);
	if (known && !json_same(known->source, source))
		return err_set(err, ERR_USAGE,
			       "another marketplace is called %s already: cadre plugin marketplace remove %s", m->name,
			       m->name);
	return check_allowed(room, m->name, source, err);
}

static int record(struct market_room *room, struct marketplace *m, const struct json *source, const char *dir,
		  const char **ret_name, struct err *err)
{
	int status = record_market(room->plugins_dir, m->name, json_raw(source), dir, err);

	*ret_name = arena_strdup(&room->arena, m->name);
	return status < 0 ? status : market_room_reread(room, err);
}

static int add_directory(struct market_room *room, const struct json *source, const char *expected,
			 const char **ret_name, struct err *err)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	const char *path = json_cstr(json_get(source, "path"), &room->arena);

	if (!path || path[0] != '/')
		return err_set(err, ERR_USAGE, "the source of a marketplace needs an absolute path");
	int status = marketplace_read(&m, path, err);
	if (status == 0)
		status = check_name(room, &m, source, expected, err);
	return status < 0 ? status : record(room, &m, source, m.dir, ret_name, err);
}

static int put_clone(struct market_room *room, const struct json *source, const char *temp, const char *expected,
		     const char **ret_name, struct err *err)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	int status = marketplace_read(&m, temp, err);

	if (status == 0)
		status = check_name(room, &m, source, expected, err);
	if (status < 0)
		return status;
	const char *home = arena_printf(&room->arena, "%s/marketplaces/%s", room->plugins_dir, m.name);
	status = directory_put(temp, home, err);
	return status < 0 ? status : record(room, &m, source, home, ret_name, err);
}

static int add_repository(struct market_room *room, const struct json *source, const char *expected,
			  const char **ret_name, struct err *err)
{
	const char *place = arena_printf(&room->arena, "%s/marketplaces/x", room->plugins_dir);
	const char *temp;
	const char *dir;

	if (directory_begin(&room->arena, place, &temp, err) < 0)
		return -(int)err->kind;
	int status = market_fetch(room, source, temp, &dir, err);
	if (status == 0)
		status = put_clone(room, source, temp, expected, ret_name, err);
	if (status < 0)
		(void)directory_remove(temp, NULL);
	return status;
}

int market_add(struct market_room *room, struct str source_json, const char *expected, const char **ret_name,
	       struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct str text = arena_str(&room->arena, source_json);
	const struct json *source;
	int status = json_parse(&reader, text.p, text.n, &source, err);

	if (status == 0) /* before anything is fetched; its name may be known only afterwards */
		status = check_allowed(room, expected ? expected : "", source, err);
	if (status < 0)
		return status;
	return json_str_is(json_get(source, "source"), "directory")
		       ? add_directory(room, source, expected, ret_name, err)
		       : add_repository(room, source, expected, ret_name, err);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

struct declared {
	const char *name;
	const struct json *source; /* NULL: nobody declares it */
};

static void hear_declared(void *data, const struct settings_item *item)
{
	struct declared *d = data;

	if (json_str_is(item->key, d->name))
		d->source = json_get(item->value, "source");
}

int market_open(struct market_room *room, const char *name, struct marketplace *ret_market, struct err *err)
{
	const struct known_marketplace *known = plugin_records_market(&room->records, name);
	struct declared d = { .name = name };
	int status = 0;

	settings_each(room->settings, "extraKnownMarketplaces", hear_declared, &d);
	if (!known && d.source)
		status = market_add(room, json_raw(d.source), name, &name, err);
	if (status < 0)
		return status;
	known = plugin_records_market(&room->records, name);
	if (!known)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no marketplace %s: cadre plugin marketplace add PATH or ADDRESS", name);
	status = check_allowed(room, name, known->source, err);
	return status < 0 ? status : marketplace_read(ret_market, known->dir, err);
}
