/* SPDX-License-Identifier: MIT
 * plugins_change.c - `cadre plugin install`, `uninstall`, `enable`, `disable`, `trust`. */
#include "defs/policy/sources.h"
#include "product/command/report.h"
#include "product/command/marketplaces.h"
#include "lib/io/file.h"
#include "defs/plugin/zip_cache.h"
#include "defs/plugin/copy.h"
#include "defs/plugin/install.h"
#include "defs/plugin/market_policy.h"
#include "config/settings/settings_store.h"

struct change {
	struct market_room room;
	struct cadre_report *report;
	const char *what;
	const char *scope;
};

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static int settings_path(struct change *k, const char **ret_path, struct err *err)
{
	struct market_room *room = &k->room;
	struct settings_spec spec;
	int status = app_settings_spec(room->services, &room->arena, &spec, err);

	if (status < 0)
		return status;
	if (!strcmp(k->scope, "user"))
		*ret_path = path_join(&room->arena, room->config_dir, "settings.json");
	else if (!strcmp(k->scope, "project"))
		*ret_path = path_join(&room->arena, room->cwd, ".claude/settings.json");
	else if (!strcmp(k->scope, "local"))
		*ret_path = settings_local_path(&room->arena, &spec);
	else
		return err_set(err, ERR_USAGE, "--scope expects user, project or local, not '%.40s'", k->scope);
	return 0;
}

enum wish { ENABLED, DISABLED, UNSAID };

static int set_wish(struct change *k, const char *id, enum wish wish, struct err *err)
{
	static const struct str words[] = { [ENABLED] = STR("true"), [DISABLED] = STR("false"), [UNSAID] = { 0 } };
	const struct str names[] = { STR("enabledPlugins"), str_from(id) };
	const char *path = NULL;
	int status = settings_path(k, &path, err);

	if (status == 0)
		status = settings_set_member(path, names, COUNT_OF(names), words[wish], err);
	if (status == 0)
		report_line(k->report, CADRE_NOTE, "Recorded in %s.", path);
	return status;
}

/* What there is now: another layer may say otherwise, or the plugin fail. */
static int tell(struct change *k, const char *id, const char *did, struct err *err)
{
	struct json_out w = json_out(&k->report->json);
	struct settings *settings;
	struct plugin_list *list;

	if (app_settings(k->room.services, &settings, err) < 0)
		return -(int)err->kind;
	int status = app_plugins_find(k->room.services, settings, &list, err);
	settings_unref(settings);
	if (status < 0)
		return status;
	const struct plugin *p = plugin_list_find(list, id);
	bool enabled = p && p->state == PLUGIN_ENABLED;
	json_open(&w, '{');
	json_kcstr(&w, "id", id);
	json_kcstr(&w, "did", did);
	json_kbool(&w, "enabled", enabled);
	json_kcstr(&w, "path", p ? p->root : NULL);
	json_close(&w);
	report_line(k->report, CADRE_GOOD, "%s was %s.", id, did);
	if (p && p->state == PLUGIN_DISABLED)
		report_line(k->report, CADRE_NOTE, "It is disabled: %s.", p->why);
	for (size_t i = 0; p && i < p->error_count; i++)
		report_line(k->report, CADRE_BAD, "%s:%u: %s", p->errors[i].file, p->errors[i].line,
			    p->errors[i].message);
	plugin_list_unref(list);
	return 0;
}

/* ---- install ----------------------------------------------------------------------------------------------------- */

static int finish_install(struct change *k, const struct install *install, struct err *err)
{
	struct installed_plugin installed;
	const char *path = NULL;
	int status = settings_path(k, &path, err); /* a bad scope leaves nothing behind */

	if (status == 0)
		status = plugin_install(&k->room.arena, install, &installed, err);
	if (status < 0)
		return status;
	struct plugin *p = plugin_read(installed.path, PLUGIN_INSTALLED, install->marketplace);
	bool on = p->default_enabled;
	plugin_free(p);
	if (on)
		status = set_wish(k, installed.id, ENABLED, err);
	return status < 0 ? status : tell(k, installed.id, "installed", err);
}

static int install_directory(struct change *k, const char *dir, struct err *err)
{
	const char *why = market_forbidden(k->room.settings, "local", NULL);

	if (why)
		return err_set(err, ERR_DENIED, "plugins cannot be installed from a path: %s", why);
	return finish_install(k, &(struct install){ k->room.plugins_dir, dir, "local", NULL, k->scope }, err);
}

/* A plugin in a repository of its own, in a directory of one, or in a package. */
static int install_far(struct change *k, const struct marketplace *m, const struct market_plugin *offer,
		       struct err *err)
{
	struct market_room *room = &k->room;
	const char *place = arena_printf(&room->arena, "%s/cache/x", room->plugins_dir);
	const char *temp;

	if (directory_begin(&room->arena, place, &temp, err) < 0)
		return -(int)err->kind;
	const char *dir = path_join(&room->arena, temp, offer->name);
	int status = file_make_dirs(dir, 0700, err);
	if (status == 0)
		status = market_fetch(room, offer->source, dir, &dir, err);
	if (status == 0)
		status = finish_install(k, &(struct install){ room->plugins_dir, dir, m->name, offer, k->scope }, err);
	(void)directory_remove(temp, NULL);
	return status;
}

static int install_offer(struct change *k, const char *name, const char *market, struct err *err)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	const char *dir;
	int status = market_open(&k->room, market, &m, err);

	if (status < 0)
		return status;
	const struct market_plugin *offer = marketplace_find(&m, name);
	if (!offer)
		return err_set(err, ERR_NOT_FOUND, "the marketplace %s does not offer %s", market, name);
	if (json_is(offer->source, JSON_OBJECT))
		return install_far(k, &m, offer, err);
	status = marketplace_plugin_dir(&m, offer, &dir, err);
	if (status < 0)
		return status;
	return finish_install(k, &(struct install){ k->room.plugins_dir, dir, m.name, offer, k->scope }, err);
}

static int install(struct change *k, struct err *err)
{
	struct arena *a = &k->room.arena;
	const char *path = path_absolute(a, k->room.cwd, str_from(k->what));
	const char *at = strchr(k->what, '@');

	if (file_exists(path) && str_ends(str_from(path), STR(".zip")) &&
	    zip_cache_open(a, k->room.plugins_dir, path, &path, err) < 0)
		return -(int)err->kind;
	if (file_exists(path))
		return install_directory(k, path, err);
	if (!at)
		return err_set(err, ERR_NOT_FOUND, "'%.100s' is neither a path nor NAME@MARKETPLACE", k->what);
	return install_offer(k, arena_dup(a, k->what, (size_t)(at - k->what)), at + 1, err);
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* The plugin that was named; its texts are in the room's arena. */
static int find(struct change *k, const char **ret_id, const char **ret_root, struct err *err)
{
	struct plugin_list *list;
	int status = app_plugins_find(k->room.services, k->room.settings, &list, err);

	if (status < 0)
		return status;
	const struct plugin *p = plugin_list_find(list, k->what);
	if (p) {
		*ret_id = arena_strdup(&k->room.arena, p->id);
		*ret_root = arena_strdup(&k->room.arena, p->root);
	} else {
		status = err_set(err, ERR_NOT_FOUND, "there is no plugin %s: cadre plugin list", k->what);
	}
	plugin_list_unref(list);
	return status;
}

static int uninstall(struct change *k, struct err *err)
{
	const char *id = NULL;
	const char *root = NULL;
	int status = find(k, &id, &root, err);

	if (status == 0)
		status = plugin_uninstall(k->room.plugins_dir, id, err);
	if (status == 0)
		status = set_wish(k, id, UNSAID, err);
	return status < 0 ? status : tell(k, id, "uninstalled", err);
}

static int switch_to(struct change *k, bool on, struct err *err)
{
	const char *id = NULL;
	const char *root = NULL;
	int status = find(k, &id, &root, err);

	if (status == 0)
		status = set_wish(k, id, on ? ENABLED : DISABLED, err);
	return status < 0 ? status : tell(k, id, on ? "enabled" : "disabled", err);
}

static int enable(struct change *k, struct err *err)
{
	return switch_to(k, true, err);
}

static int disable(struct change *k, struct err *err)
{
	return switch_to(k, false, err);
}

static int trust(struct change *k, struct err *err)
{
	const char *id = NULL;
	const char *root = NULL;
	int status = find(k, &id, &root, err);

	if (status == 0)
		status = record_trust(k->room.plugins_dir, id, root, err);
	if (status < 0)
		return status;
	report_line(k->report, CADRE_PLAIN,
		    "Hooks and MCP servers that its agents and skills bring now run. This holds for");
	report_line(k->report, CADRE_PLAIN, "%s alone: another version asks again.", root);
	return tell(k, id, "trusted", err);
}

static int forget(struct change *k, struct err *err)
{
	const char *id = NULL;
	const char *root = NULL;
	int status = find(k, &id, &root, err);

	if (status == 0)
		status = record_trust(k->room.plugins_dir, id, NULL, err);
	return status < 0 ? status : tell(k, id, "forgotten", err);
}

int cadre_plugins_change(struct cadre *c, enum cadre_plugin_change change, const char *what, const char *scope,
			 struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	static int (*const changes[])(struct change *, struct err *) = {
		[CADRE_PLUGIN_INSTALL] = install, [CADRE_PLUGIN_UNINSTALL] = uninstall, [CADRE_PLUGIN_ENABLE] = enable,
		[CADRE_PLUGIN_DISABLE] = disable, [CADRE_PLUGIN_TRUST] = trust,         [CADRE_PLUGIN_FORGET] = forget,
	};
	struct change k = { .what = what, .scope = scope ? scope : "user" };
	struct err err = { 0 };

	if (!sv || !what || !ret_report || (size_t)change >= COUNT_OF(changes))
		return CADRE_USAGE;
	k.report = xcalloc(1, sizeof *k.report);
	int status = services_may_block(sv, &err);
	if (status == 0)
		status = market_room_open(&k.room, sv, &err);
	if (status == 0)
		status = changes[change](&k, &err);
	market_room_release(&k.room);
	return app_give_report(status, k.report, ret_report, &err, why, why_size);
}
