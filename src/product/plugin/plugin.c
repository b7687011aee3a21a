/* SPDX-License-Identifier: MIT
 * plugin.c - `cadre plugin`: lists plugins and their problems, and changes them. */
#include "product/command/command.h"
#include "defs/policy/plugins.h"
#include "lib/io/file.h"
#include "defs/plugin/fetch.h"
#include "defs/plugin/marketplace.h"
#include "defs/plugin/plugin.h"
#include "product/plugin/marketplaces.h"
#include "defs/plugin/install.h"
#include "config/settings/settings_store.h"
#include "config/settings/trust.h"

static command_fn plugin_list_run, plugin_change_run, plugin_validate_run;

const struct cadre_command command_plugin = {
	.name = "plugin",
	.summary = "list, check, install, enable and trust plugins",
	.help = "Usage: cadre plugin [list]                 the plugins, what they contain, and their problems\n"
		"       cadre plugin validate PATH          check every file of a plugin or a marketplace\n"
		"       cadre plugin install PATH|NAME@MARKETPLACE [--scope user|project|local]\n"
		"       cadre plugin uninstall NAME\n"
		"       cadre plugin enable NAME [--scope user|project|local]\n"
		"       cadre plugin disable NAME [--scope user|project|local]\n"
		"       cadre plugin trust NAME [--forget]  allow hooks and MCP servers of its agents, or revoke that\n"
		"       cadre plugin marketplace [list]     the known marketplaces and their plugins\n"
		"       cadre plugin marketplace add PATH|ADDRESS[#REF]|OWNER/NAME\n"
		"       cadre plugin marketplace remove NAME\n"
		"       cadre plugin marketplace update [NAME]\n"
		"\n"
		"Installing makes a copy; a change of the original takes effect after installing it again.\n"
		"enabledPlugins of the settings selects plugins, --plugin-dir adds one for a single run.\n"
		"validate exits with 1 if something is wrong.\n"
		"\n"
		"Examples:\n"
		"  cadre plugin validate ./my-plugin\n"
		"  cadre plugin marketplace add anthropics/skills\n"
		"  cadre plugin install formatter@my-market --scope project\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, plugin_list_run },
			{ "disable", "NAME", CADRE_COMMAND_BLOCKS, plugin_change_run },
			{ "enable", "NAME", CADRE_COMMAND_BLOCKS, plugin_change_run },
			{ "install", "PATH|NAME@MARKETPLACE", CADRE_COMMAND_BLOCKS, plugin_change_run },
			{ "marketplace", "", 0, marketplace_list },
			{ "marketplace list", "", 0, marketplace_list },
			{ "marketplace add", "SOURCE", CADRE_COMMAND_BLOCKS, marketplace_add },
			{ "marketplace remove", "NAME", CADRE_COMMAND_BLOCKS, marketplace_remove },
			{ "marketplace update", "[NAME]", CADRE_COMMAND_BLOCKS, marketplace_update },
			{ "trust", "NAME", CADRE_COMMAND_BLOCKS, plugin_change_run },
			{ "uninstall", "NAME", CADRE_COMMAND_BLOCKS, plugin_change_run },
			{ "validate", "PATH", 0, plugin_validate_run },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { "forget", .help = "With trust: revoke it." },
						  OPTION_SCOPE,
						  { .name = NULL } },
	.settings = (const char *const[]){ "plugin-dir", "plugin-dir-no-mcp", "plugin-url", "setting-sources",
					   "settings", "trust-project", NULL },
};

static const char *state_name(const struct plugin *p)
{
	static const char *const names[] = {
		[PLUGIN_ENABLED] = "enabled", [PLUGIN_DISABLED] = "disabled", [PLUGIN_FAILED] = "failed"
	};

	return names[p->state];
}

static void put_paths(struct json_out *w, const char *key, const struct plugin_paths *paths)
{
	json_kopen(w, key, '[');
	for (size_t i = 0; i < paths->count; i++)
		json_put_cstr(w, paths->list[i].path);
	json_close(w);
}

/* The names in the objects: events, or servers. */
static void put_names(struct json_out *w, const char *key, const struct plugin_parts *parts)
{
	AUTO_ARENA struct arena a = { 0 };

	json_kopen(w, key, '[');
	for (size_t i = 0; i < parts->count; i++)
		for (struct json_member m = json_members(parts->list[i].value); m.key;
		     m = json_member_next(parts->list[i].value, m))
			json_put_str(w, json_str(m.key, &a));
	json_close(w);
}

static void put_plugin(struct json_out *w, const struct plugin *p)
{
	json_putf(w, "{name:'%s', id:'%s', version:'%s', description:'%s', path:'%s', dataDir:'%s', state:'%s'",
		  p->name, p->id, p->version, p->description, p->root, p->data_dir, state_name(p));
	json_putf(w, "why:'%s', trusted:!!%d", p->why, p->trusted);
	put_paths(w, "agents", &p->agents);
	put_paths(w, "skills", &p->skills);
	put_paths(w, "commands", &p->commands);
	put_paths(w, "outputStyles", &p->styles);
	put_names(w, "hooks", &p->hooks);
	put_names(w, "mcpServers", &p->mcp);
	json_putf(w, "bin:'%s', agent:'%s', errors:[", p->bin, p->agent);
	for (size_t i = 0; i < p->error_count; i++)
		json_putf(w, "{type:'%s', file:'%s', line:?%u, message:'%s'}", plugin_fault_name(p->errors[i].fault),
			  p->errors[i].file, p->errors[i].line, p->errors[i].message);
	json_putf(w, "], notes:[");
	for (size_t i = 0; i < p->notes.count; i++)
		json_putf(w, "{line:?%u, message:'%s'}", p->notes.list[i].line, p->notes.list[i].message);
	json_putf(w, "]}");
}

static void add_count(struct buf *out, size_t n, const char *one, const char *many)
{
	if (n)
		buf_addf(out, "%s%zu %s", out->n ? ", " : "", n, n > 1 ? many : one);
}

static void report_errors(struct cadre_report *r, const struct plugin *p)
{
	for (size_t i = 0; i < p->error_count; i++)
		report_line(r, CADRE_BAD, "%s: %s", report_position(r, p->errors[i].file, p->errors[i].line),
			    p->errors[i].message);
}

static void report_plugin_row(struct cadre_report *r, const struct plugin *p)
{
	static const enum cadre_style styles[] = { CADRE_PLAIN, CADRE_NOTE, CADRE_BAD };
	AUTO_BUF struct buf what = { 0 };
	size_t hooks = 0, servers = 0;

	for (size_t i = 0; i < p->hooks.count; i++)
		hooks += p->hooks.list[i].value->count;
	for (size_t i = 0; i < p->mcp.count; i++)
		servers += p->mcp.list[i].value->count;
	if (p->state == PLUGIN_DISABLED) {
		buf_addstr(&what, p->why);
	} else {
		add_count(&what, p->agents.count, "path of agents", "paths of agents");
		add_count(&what, p->skills.count, "path of skills", "paths of skills");
		add_count(&what, p->commands.count, "path of commands", "paths of commands");
		add_count(&what, hooks, "event with hooks", "events with hooks");
		add_count(&what, servers, "MCP server", "MCP servers");
		if (p->bin)
			buf_addf(&what, "%sprograms", what.n ? ", " : "");
		if (p->trusted)
			buf_addf(&what, "%strusted", what.n ? ", " : "");
	}
	report_row(r, styles[p->state], p->id, p->version ? p->version : "", state_name(p), what.n ? what.p : "", NULL);
}

static int plugin_list_run(struct cadre_call *call)
{
	struct cadre_report *r = call->report;
	struct json_out w = json_out(&r->json);
	struct settings *settings;
	struct plugin_list *list;
	int status = services_settings(call->services, &settings, call->err);

	if (status < 0)
		return status;
	status = services_find_plugins(call->services, settings, &list, call->err);
	settings_unref(settings);
	if (status < 0)
		return status;
	if (!list->count)
		report_line(r, CADRE_NOTE,
			    "No plugins. Install one with: cadre plugin install PATH, or NAME@MARKETPLACE.");
	else
		report_row(r, CADRE_HEAD, "PLUGIN", "VERSION", "STATE", "WHAT", NULL);
	json_open(&w, '[');
	for (size_t i = 0; i < list->count; i++) {
		put_plugin(&w, list->all[i]);
		report_plugin_row(r, list->all[i]);
	}
	json_close(&w);
	for (size_t i = 0; i < list->count; i++)
		report_errors(r, list->all[i]);
	plugin_list_unref(list);
	return 0;
}

static void report_plugin(struct cadre_report *r, struct json_out *w, struct plugin *p)
{
	plugin_validate(p);
	put_plugin(w, p);
	report_errors(r, p);
	for (size_t i = 0; i < p->notes.count; i++) {
		const struct diagnostic *note = &p->notes.list[i];
		if (note->line)
			report_line(r, CADRE_NOTE, "%s:%u: note: %s", p->manifest, note->line, note->message);
		else
			report_line(r, CADRE_NOTE, "note: %s", note->message);
	}
	if (p->error_count) {
		r->bad = true;
		report_line(r, CADRE_BAD, "%s is not valid: %zu error%s.", p->name, p->error_count,
			    p->error_count > 1 ? "s" : "");
	} else {
		report_line(r, CADRE_GOOD, "%s is valid.", p->name);
	}
	plugin_free(p);
}

/* A marketplace that cannot be read (name NULL), or a plugin of one that is not there */
static void report_unreadable(struct cadre_report *r, struct json_out *w, const char *name, const struct err *why)
{
	r->bad = true;
	report_line(r, CADRE_BAD, "%s", why->text);
	json_putf(w, "{name:'%s', errors:[{type:'%s', message:'%s'}]}", name,
		  name ? "source-not-found" : "marketplace-load-failed", why->text);
}

/* Any directory may be a plugin, but one that brings nothing was named by mistake. */
static void validate_directory(struct cadre_report *r, struct json_out *w, const char *dir)
{
	struct plugin *p = plugin_read(dir, PLUGIN_INLINE, "inline");
	struct err why = { 0 };

	if (p->manifest || p->error_count || p->agents.count || p->skills.count || p->commands.count ||
	    p->styles.count || p->hooks.count || p->mcp.count || p->bin) {
		report_plugin(r, w, p);
		return;
	}
	plugin_free(p);
	(void)err_set(
		&why, ERR_NOT_FOUND,
		"%s: not a plugin: it has no .claude-plugin/plugin.json, agents, commands, skills, hooks or MCP servers",
		dir);
	report_unreadable(r, w, strrchr(dir, '/') + 1, &why);
}

/* A marketplace with every plugin that it has inside. */
static void validate_market(struct cadre_report *r, struct json_out *w, struct marketplace *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct err err = { 0 };
		const char *dir;
		if (!json_is(m->plugins[i].source, JSON_STRING))
			continue;
		if (marketplace_plugin_dir(m, &m->plugins[i], &dir, &err) == 0) {
			report_plugin(r, w, plugin_read_named(dir, PLUGIN_INSTALLED, m->plugins[i].name, m->name));
			continue;
		}
		report_unreadable(r, w, m->plugins[i].name, &err);
	}
	report_line(r, r->bad ? CADRE_BAD : CADRE_GOOD, "The marketplace %s offers %zu plugin%s.", m->name, m->count,
		    m->count == 1 ? "" : "s");
}

static int plugin_validate_run(struct cadre_call *call)
{
	struct services *sv = call->services;
	struct cadre_report *report = call->report;
	struct err *err = call->err;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_MARKETPLACE struct marketplace market = { 0 };
	struct json_out w = json_out(&report->json);
	const char *cwd;
	const char *config_dir;
	const char *plugins_dir;
	const char *dir = NULL;
	int status = options_directories(&sv->options, &a, &cwd, &config_dir, err);

	if (status == 0)
		status = services_plugins_dir(sv, &a, &plugins_dir, err);
	if (status < 0)
		return status;
	dir = path_absolute(&a, cwd, str_from(call->operands[0]));
	struct str file = str_from(dir);
	bool is_manifest = str_ends(file, STR("/.claude-plugin/plugin.json"));
	if (str_ends(file, STR(".zip")))
		status = zip_cache_open(&a, plugins_dir, dir, &dir, err);
	else if (is_manifest || str_ends(file, STR("/.claude-plugin/marketplace.json")))
		dir = arena_dup(&a, dir,
				file.n - strlen(is_manifest ? "/.claude-plugin/plugin.json"
							    : "/.claude-plugin/marketplace.json"));
	if (status < 0)
		return status;
	status = is_manifest ? -ERR_NOT_FOUND : marketplace_read(&market, dir, err);
	json_open(&w, '[');
	if (status == 0)
		validate_market(report, &w, &market);
	else if (status != -ERR_NOT_FOUND)
		report_unreadable(report, &w, NULL, err);
	else
		validate_directory(report, &w, dir);
	json_close(&w);
	return 0;
}

struct change {
	struct marketplace_ctx ctx;
	struct cadre_report *report;
	const char *what;
	const char *scope;
};

static int settings_path(struct change *k, const char **ret_path, struct err *err)
{
	struct marketplace_ctx *ctx = &k->ctx;
	struct settings_spec spec;
	int status = services_settings_spec(ctx->services, &ctx->arena, &spec, err);

	if (status < 0)
		return status;
	if (!strcmp(k->scope, "user"))
		*ret_path = path_join(&ctx->arena, ctx->config_dir, "settings.json");
	else if (!strcmp(k->scope, "project"))
		*ret_path = path_join(&ctx->arena, ctx->cwd, ".claude/settings.json");
	else if (!strcmp(k->scope, "local"))
		*ret_path = settings_local_path(&ctx->arena, &spec);
	else
		return err_set(err, ERR_USAGE, "--scope expects user, project or local, not '%.40s'", k->scope);
	return 0;
}

enum wish { ENABLED, DISABLED, UNSAID };

static int record_wish(struct change *k, const char *id, enum wish wish, struct err *err)
{
	static const struct str words[] = { [ENABLED] = STR("true"), [DISABLED] = STR("false"), [UNSAID] = { 0 } };
	const struct str names[] = { STR("enabledPlugins"), str_from(id) };
	const char *path = NULL;
	int status = settings_path(k, &path, err);

	if (status == 0)
		status = services_check_target(k->ctx.services, path, err);
	if (status == 0 && path_is_inside(path, k->ctx.config_dir))
		status = file_make_parents(path, err); /* for the user alone; a project may be shared */
	if (status == 0) {
		trust_note_local(k->ctx.config_dir, path);
		status = settings_set_member(path, names, COUNT_OF(names), words[wish], err);
	}
	if (status == 0)
		report_line(k->report, CADRE_NOTE, "Recorded in %s.", path);
	return status;
}

/* Reports the state after the change: another layer may override it, or the plugin fail. */
static int report_change(struct change *k, const char *id, const char *did, struct err *err)
{
	struct json_out w = json_out(&k->report->json);
	struct settings *settings;
	struct plugin_list *list;

	if (services_settings(k->ctx.services, &settings, err) < 0)
		return -(int)err->kind;
	int status = services_find_plugins(k->ctx.services, settings, &list, err);
	settings_unref(settings);
	if (status < 0)
		return status;
	const struct plugin *p = plugin_list_find(list, id);
	bool enabled = p && p->state == PLUGIN_ENABLED;
	json_putf(&w, "{id:'%s', did:'%s', enabled:!!%d, path:'%s'}", id, did, enabled, p ? p->root : NULL);
	report_line(k->report, CADRE_GOOD, "%s was %s.", id, did);
	if (p && p->state == PLUGIN_DISABLED)
		report_line(k->report, CADRE_NOTE, "It is disabled: %s.", p->why);
	if (p)
		report_errors(k->report, p);
	plugin_list_unref(list);
	return 0;
}

/* What runs by itself as soon as a plugin counts, a line each: "hooks EVENT", "MCP server NAME", "programs". */
static void add_powers(struct buf *out, const struct plugin *p)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct plugin_parts *const parts[] = { &p->hooks, &p->mcp };

	for (size_t k = 0; k < COUNT_OF(parts); k++)
		for (size_t i = 0; i < parts[k]->count; i++)
			for (struct json_member m = json_members(parts[k]->list[i].value); m.key;
			     m = json_member_next(parts[k]->list[i].value, m))
				buf_addf(out, "%s " STR_FMT "\n", k ? "MCP server" : "hooks",
					 STR_ARG(json_str(m.key, &a)));
	if (p->bin)
		buf_addstr(out, "programs\n");
}

/* Of a plugin that is installed in the place of another one: what it brings beyond that. false: nothing. */
static bool report_new_powers(struct change *k, struct str before, const struct plugin *p)
{
	AUTO_BUF struct buf after = { 0 }, more = { 0 };

	add_powers(&after, p);
	for (struct str rest = str_trim(buf_str(&after)); rest.n;) {
		struct str line = str_cut(&rest, '\n');
		bool known = false;
		for (struct str old = before; old.n && !known;)
			known = str_eq(str_cut(&old, '\n'), line);
		if (!known)
			buf_addf(&more, "%s" STR_FMT, more.n ? ", " : "", STR_ARG(line));
	}
	if (more.n)
		report_line(k->report, CADRE_NOTE,
			    "It is new in this version: %s. `cadre plugin enable %s` accepts it.", more.p, p->id);
	return more.n;
}

static int finish_install(struct change *k, const struct install *install, struct err *err)
{
	struct installed_plugin installed;
	const char *path = NULL;
	int status = settings_path(k, &path, err); /* a bad scope leaves nothing behind */
	AUTO_BUF struct buf before = { 0 };

	struct plugin *p = plugin_read(install->dir, PLUGIN_INSTALLED, install->marketplace);
	const struct installed_plugin *old = plugin_records_installed(
		&k->ctx.records,
		install->offer ? arena_printf(&k->ctx.arena, "%s@%s", install->offer->name, install->marketplace)
			       : p->id);
	plugin_free(p);
	if (old) {
		p = plugin_read(old->path, PLUGIN_INSTALLED, install->marketplace);
		add_powers(&before, p);
		plugin_free(p);
	}
	if (status == 0)
		status = plugin_install(&k->ctx.arena, install, &installed, err);
	if (status < 0)
		return status;
	p = plugin_read(installed.path, PLUGIN_INSTALLED, install->marketplace);
	if (old && report_new_powers(k, str_trim(buf_str(&before)), p))
		status = record_wish(k, installed.id, DISABLED, err);
	else if (p->default_enabled)
		status = record_wish(k, installed.id, ENABLED, err);
	plugin_free(p);
	return status < 0 ? status : report_change(k, installed.id, "installed", err);
}

/* A plugin of a marketplace: in its directory, in a repository, or in a package. */
static int install_offer(struct change *k, const char *name, const char *market, struct err *err)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	struct marketplace_ctx *ctx = &k->ctx;
	const char *dir, *temp;
	int status = market_open(ctx, market, &m, err);

	if (status < 0)
		return status;
	const struct market_plugin *offer = marketplace_find(&m, name);
	if (!offer)
		return err_set(err, ERR_NOT_FOUND, "the marketplace %s does not offer %s", market, name);
	if (!json_is(offer->source, JSON_OBJECT)) {
		status = marketplace_plugin_dir(&m, offer, &dir, err);
		if (status < 0)
			return status;
		return finish_install(k, &(struct install){ ctx->plugins_dir, dir, m.name, offer, k->scope }, err);
	}
	const char *place = arena_printf(&ctx->arena, "%s/cache/x", ctx->plugins_dir);
	if (directory_begin(&ctx->arena, place, &temp, err) < 0)
		return -(int)err->kind;
	dir = path_join(&ctx->arena, temp, offer->name);
	status = file_make_dirs(dir, 0700, err);
	if (status == 0)
		status = market_fetch(ctx, offer->source, dir, &dir, err);
	if (status == 0)
		status = finish_install(k, &(struct install){ ctx->plugins_dir, dir, m.name, offer, k->scope }, err);
	(void)directory_remove(temp, NULL);
	return status;
}

static int install_plugin(struct change *k, struct err *err)
{
	struct marketplace_ctx *ctx = &k->ctx;
	const char *path = path_absolute(&ctx->arena, ctx->cwd, str_from(k->what));
	const char *at = strchr(k->what, '@');

	if (file_exists(path) && str_ends(str_from(path), STR(".zip")) &&
	    zip_cache_open(&ctx->arena, ctx->plugins_dir, path, &path, err) < 0)
		return -(int)err->kind;
	if (file_exists(path)) {
		const char *why = market_forbidden(ctx->settings, "local", NULL);
		if (why)
			return err_set(err, ERR_DENIED, "plugins cannot be installed from a path: %s", why);
		return finish_install(k, &(struct install){ ctx->plugins_dir, path, "local", NULL, k->scope }, err);
	}
	if (!at)
		return err_set(err, ERR_NOT_FOUND, "'%.100s' is neither a path nor NAME@MARKETPLACE", k->what);
	return install_offer(k, arena_dup(&ctx->arena, k->what, (size_t)(at - k->what)), at + 1, err);
}

/* The plugin that was named; its texts are in the ctx's arena. */
static int find_plugin(struct change *k, const char **ret_id, const char **ret_root, struct err *err)
{
	struct plugin_list *list;
	int status = services_find_plugins(k->ctx.services, k->ctx.settings, &list, err);

	if (status < 0)
		return status;
	const struct plugin *p = plugin_list_find(list, k->what);
	if (p) {
		*ret_id = arena_strdup(&k->ctx.arena, p->id);
		*ret_root = arena_strdup(&k->ctx.arena, p->root);
	} else {
		status = err_set(err, ERR_NOT_FOUND, "no such plugin: %s; `cadre plugin list` lists them", k->what);
	}
	plugin_list_unref(list);
	return status;
}

/* `cadre plugin enable`, `disable`, `trust` and `uninstall` */
static int change_plugin(struct change *k, const char *word, bool forget, struct err *err)
{
	const char *id = NULL, *root = NULL, *done = "uninstalled";
	int status = find_plugin(k, &id, &root, err);

	if (status < 0)
		return status;
	if (!strcmp(word, "uninstall")) {
		status = plugin_uninstall(k->ctx.plugins_dir, id, err);
		if (status == 0)
			status = record_wish(k, id, UNSAID, err);
	} else if (!strcmp(word, "trust")) {
		done = forget ? "forgotten" : "trusted";
		status = record_trust(k->ctx.plugins_dir, id, forget ? NULL : root, err);
		if (status == 0 && !forget) {
			report_line(k->report, CADRE_PLAIN,
				    "Hooks and MCP servers that its agents and skills bring now run. This holds for");
			report_line(k->report, CADRE_PLAIN, "%s alone: another version asks again.", root);
		}
	} else {
		bool on = !strcmp(word, "enable");
		done = on ? "enabled" : "disabled";
		status = record_wish(k, id, on ? ENABLED : DISABLED, err);
	}
	return status < 0 ? status : report_change(k, id, done, err);
}

static int plugin_change_run(struct cadre_call *call)
{
	const char *scope = args_value(&call->args, "scope"), *word = call->word->name;
	struct change k = { .report = call->report, .what = call->operands[0], .scope = scope ? scope : "user" };
	int status = marketplace_ctx_open(&k.ctx, call->services, call->err);

	if (status == 0 && !strcmp(word, "install"))
		status = install_plugin(&k, call->err);
	else if (status == 0)
		status = change_plugin(&k, word, args_has(&call->args, "forget"), call->err);
	marketplace_ctx_release(&k.ctx);
	return status;
}
