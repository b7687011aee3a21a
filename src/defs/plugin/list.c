/* SPDX-License-Identifier: MIT
 * list.c - finds the plugins of a run and decides which of them count. */
#include "defs/plugin/list.h"
#include <dirent.h>
#include "lib/io/file.h"
#include "defs/plugin/install.h"
#include "defs/plugin/marketplace.h"
#include "defs/plugin/plugin_int.h"
#include "defs/plugin/fetch.h"
#include "defs/plugin/plugin.h"

struct loading {
	struct plugin_list *list;
	const struct plugin_spec *spec;
	struct plugin_records records;
};

static void list_add(struct plugin_list *l, struct plugin *p)
{
	l->all = xgrow(l->all, l->count, &l->cap, sizeof(struct plugin *));
	l->all[l->count++] = p;
}

static void plugin_disable(struct plugin *p, const char *why)
{
	if (p->state == PLUGIN_ENABLED) {
		p->state = PLUGIN_DISABLED;
		p->why = why;
	}
}

struct choice {
	const char *id;
	const struct json *value; /* by the highest layer that counts so far; NULL: none says anything */
	struct settings_origin origin;
};

static void on_choice(void *data, const struct settings_item *item)
{
	struct choice *w = data;

	if (!json_str_is(item->key, w->id))
		return;
	w->value = item->value;
	w->origin = item->origin;
}

static struct choice find_choice(const struct plugin_spec *spec, const char *id)
{
	struct choice w = { .id = id };

	if (spec->settings)
		settings_each(spec->settings, "enabledPlugins", on_choice, &w);
	return w;
}

static void load_finish(struct loading *load, struct plugin *p)
{
	const struct plugin_spec *spec = load->spec;
	struct choice w = find_choice(spec, p->id);
	char *name = arena_strdup(&p->arena, p->id);

	/* In the name of the data directory, every character that could mean something in a path becomes '-'. */
	for (char *c = name; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_'))
			*c = '-';
	p->data_dir = arena_printf(&p->arena, "%s/data/%s", spec->plugins_dir, name);
	p->vars.data = p->data_dir;
	p->vars.project = arena_strdup(&p->arena, spec->project_dir);
	p->trusted = json_str_is(json_get(json_get(load->records.trusted_file.root, "plugins"), p->id), p->root);
	if (p->no_mcp)
		p->mcp.count = 0;
	if (w.value && !json_is(w.value, JSON_TRUE) && !json_is(w.value, JSON_FALSE))
		plugin_fail(p, PLUGIN_BAD_CONFIG, w.origin.file, w.origin.line,
			    "enabledPlugins.%s: expected true or false", p->id);
	else if (json_is(w.value, JSON_FALSE))
		plugin_disable(p, arena_printf(&p->arena, "by %s settings", settings_layer_name(w.origin.layer)));
	else if (!w.value && !p->default_enabled)
		plugin_disable(p, "by its manifest, until enabledPlugins names it");
	if (p->state == PLUGIN_ENABLED)
		plugin_options_apply(p, spec->settings);
	list_add(load->list, p);
}

static void load_given(struct loading *load, const struct plugin_given *given)
{
	const struct settings *s = load->spec->settings;
	bool forbidden = s && settings_bool(s, "disableSideloadFlags");
	const char *home = load->spec->plugins_dir;
	struct str path = str_from(given->path);
	const char *dir = given->path;
	struct err err = { 0 };
	int status = 0;

	if (!forbidden && given->is_url)
		status = zip_cache_open_url(&load->list->arena, home, given->path, &dir, &err);
	else if (!forbidden && path.n > 4 && str_is_nocase((struct str){ path.p + path.n - 4, 4 }, ".zip"))
		status = zip_cache_open(&load->list->arena, home, given->path, &dir, &err);
	struct plugin *p = plugin_read(status < 0 ? given->path : dir, PLUGIN_INLINE, "inline");
	p->no_mcp = given->no_mcp;
	if (forbidden || status < 0)
		p->error_count = 0; /* the archive was not read as a directory: only the following error matters */
	if (forbidden)
		plugin_fail(p, PLUGIN_BLOCKED, given->path, 0,
			    "--plugin-dir is not allowed: disableSideloadFlags of managed settings");
	else if (status < 0)
		plugin_fail(p, status == -ERR_NOT_FOUND ? PLUGIN_NOT_FOUND : PLUGIN_BAD_ARCHIVE, given->path, 0, "%s",
			    err.text);
	load_finish(load, p);
}

static void load_installed(struct loading *load, const struct installed_plugin *installed)
{
	const char *at = strchr(installed->id, '@');
	const char *market = at + 1;
	AUTO_ARENA struct arena a = { 0 };
	const char *name = arena_dup(&a, installed->id, (size_t)(at - installed->id));
	struct plugin *p = plugin_read_named(installed->path, PLUGIN_INSTALLED, name, market);

	if (strcmp(p->id, installed->id) != 0 && p->state != PLUGIN_FAILED)
		plugin_fail(p, PLUGIN_BAD_MANIFEST, p->root, 0, "was installed as %s, but its name is %s",
			    installed->id, p->name);
	p->name = arena_dup(&p->arena, installed->id, (size_t)(at - installed->id));
	p->id = arena_strdup(&p->arena, installed->id);
	if (!p->version && installed->version)
		p->version = arena_strdup(&p->arena, installed->version);
	const struct known_marketplace *known = plugin_records_market(&load->records, market);
	const char *why = market_forbidden(load->spec->settings, market, known ? known->source : NULL);
	if (why)
		plugin_fail(p, PLUGIN_BLOCKED, p->root, 0, "the marketplace %s is not allowed: %s", market, why);
	load_finish(load, p);
}

static bool is_id(const char *id)
{
	const char *at = id ? strchr(id, '@') : NULL;

	return at && plugin_name_is_good(str_between(id, at)) && plugin_name_is_good(str_from(at + 1));
}

static bool is_listed(const struct plugin_list *l, const char *id)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->all[i]->id, id))
			return true;
	return false;
}

/* In the order of the settings; a plugin that is enabled and not installed is an error. */
static void on_enabled(void *data, const struct settings_item *item)
{
	struct loading *load = data;
	AUTO_ARENA struct arena a = { 0 };
	const char *id = json_cstr(item->key, &a);

	if (!is_id(id) || is_listed(load->list, id) || str_ends(str_from(id), STR("@skills-dir")) ||
	    str_ends(str_from(id), STR("@inline")))
		return;
	const struct installed_plugin *installed = plugin_records_installed(&load->records, id);
	if (installed) {
		load_installed(load, installed);
	} else if (json_is(find_choice(load->spec, id).value, JSON_TRUE)) {
		struct plugin *p = plugin_read(item->origin.file, PLUGIN_INSTALLED, "");
		p->error_count = 0;
		p->name = arena_dup(&p->arena, id, strcspn(id, "@"));
		p->id = arena_strdup(&p->arena, id);
		plugin_fail(p, PLUGIN_NOT_FOUND, item->origin.file, item->origin.line,
			    "enabledPlugins.%s: is not installed: cadre plugin install %s", id, id);
		list_add(load->list, p);
	}
}

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void load_skills_dir(struct loading *load, const struct plugin_skills_dir *place)
{
	AUTO_ARENA struct arena a = { 0 };
	struct dirent **names;
	int count = scandir(place->path, &names, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		const char *dir = path_join(&a, place->path, names[i]->d_name);
		free(names[i]);
		if (!file_exists(path_join(&a, dir, ".claude-plugin/plugin.json")))
			continue;
		struct plugin *p = plugin_read(dir, PLUGIN_SKILLS_DIR, "skills-dir");
		if (place->needs_trust && !(load->spec->trust && trust_has(load->spec->trust, place->needs_trust)))
			plugin_disable(p, "its folder is not trusted (`cadre trust` records consent)");
		load_finish(load, p);
	}
	if (count >= 0)
		free(names);
}

static bool dependency_holds(const struct plugin_list *l, struct plugin *p, const struct plugin_dependency *d)
{
	static const char *const states[] = { [PLUGIN_DISABLED] = "is disabled", [PLUGIN_FAILED] = "has failed" };
	const char *market = d->marketplace                  ? d->marketplace
			     : p->origin == PLUGIN_INSTALLED ? strchr(p->id, '@') + 1
							     : NULL;
	const struct plugin *other = NULL;

	for (size_t i = 0; i < l->count && !(other && other->state == PLUGIN_ENABLED); i++) {
		const struct plugin *q = l->all[i];
		/* A plugin of the command line replaces that of any marketplace. */
		if (q != p && !strcmp(d->name, q->name) &&
		    (q->origin != PLUGIN_INSTALLED || !market || !strcmp(strchr(q->id, '@') + 1, market)))
			other = q;
	}
	if (!other || other->state != PLUGIN_ENABLED)
		plugin_fail(p, PLUGIN_BAD_DEPENDENCY, p->manifest, d->line, "needs the plugin %s, which %s", d->name,
			    other ? states[other->state] : "is missing");
	else if (d->range && !version_fits(str_from(other->version ? other->version : ""), str_from(d->range)))
		plugin_fail(p, PLUGIN_BAD_DEPENDENCY, p->manifest, d->line,
			    "needs version %s of the plugin %s, which has %s", d->range, d->name,
			    other->version ? other->version : "none");
	return p->state == PLUGIN_ENABLED;
}

struct plugin_list *plugin_list_load(const struct plugin_spec *spec)
{
	struct plugin_list *l = xcalloc(1, sizeof *l);
	struct loading load = { .list = l, .spec = spec };
	struct err err = { 0 };

	l->refs = 1;
	if (plugin_records_read(&load.records, spec->plugins_dir, &err) < 0) {
		struct plugin *p = plugin_read(spec->plugins_dir, PLUGIN_INSTALLED, "records");
		plugin_fail(p, PLUGIN_NOT_FOUND, spec->plugins_dir, 0, "%s", err.text);
		list_add(l, p);
	}
	for (size_t i = 0; i < spec->given_count; i++)
		load_given(&load, &spec->given[i]);
	if (!spec->bare && spec->settings)
		settings_each(spec->settings, "enabledPlugins", on_enabled, &load);
	for (size_t i = 0; i < load.records.installed_count && !spec->bare; i++) {
		const struct installed_plugin *installed = &load.records.installed[i];
		if (!is_id(installed->id) || is_listed(l, installed->id))
			continue;
		load_installed(&load, installed);
		plugin_disable(l->all[l->count - 1], "enabledPlugins does not name it");
	}
	for (size_t i = 0; i < spec->skills_dir_count && !spec->bare; i++)
		load_skills_dir(&load, &spec->skills_dirs[i]);
	plugin_records_release(&load.records);
	for (size_t i = 0; i < l->count; i++)
		for (size_t k = 0; k < i; k++)
			if (l->all[k]->state == PLUGIN_ENABLED && !strcmp(l->all[i]->name, l->all[k]->name))
				plugin_disable(l->all[i],
					       arena_printf(&l->arena, "%s has the same name", l->all[k]->id));
	/* Until nothing changes: a plugin that fails here is missing for others. Cycles are allowed. */
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < l->count; i++) {
			struct plugin *p = l->all[i];
			for (size_t k = 0; k < p->dependency_count && p->state == PLUGIN_ENABLED; k++)
				changed |= !dependency_holds(l, p, &p->dependencies[k]);
		}
	}
	l->enabled = arena_calloc(&l->arena, (l->count + 1) * sizeof(struct plugin *));
	for (size_t i = 0; i < l->count; i++)
		if (l->all[i]->state == PLUGIN_ENABLED)
			l->enabled[l->enabled_count++] = l->all[i];
	return l;
}

struct plugin_list *plugin_list_ref(struct plugin_list *l)
{
	if (l)
		l->refs++;
	return l;
}

void plugin_list_unref(struct plugin_list *l)
{
	if (!l || --l->refs)
		return;
	for (size_t i = 0; i < l->count; i++)
		plugin_free(l->all[i]);
	free(l->all);
	arena_release(&l->arena);
	free(l);
}

const struct plugin *plugin_list_find(const struct plugin_list *l, const char *name_or_id)
{
	const struct plugin *found = NULL;

	for (size_t i = 0; i < l->count; i++) {
		const struct plugin *p = l->all[i];
		if (!strcmp(p->id, name_or_id))
			return p;
		if (!strcmp(p->name, name_or_id) && (!found || found->state != PLUGIN_ENABLED))
			found = p;
	}
	return found;
}
