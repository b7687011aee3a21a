/* SPDX-License-Identifier: MIT
 * plugins_list.c - `cadre plugin list` and `validate`: which plugins there are, and what is wrong with them. */
#include "defs/policy/sources.h"
#include "product/command/report.h"
#include "defs/policy/plugins.h"
#include "lib/io/file.h"
#include "defs/plugin/zip_cache.h"
#include "defs/plugin/marketplace.h"
#include "defs/plugin/validate.h"

static const char *state_name(const struct plugin *p)
{
	static const char *const names[] = {
		[PLUGIN_ENABLED] = "enabled", [PLUGIN_DISABLED] = "disabled", [PLUGIN_FAILED] = "failed"
	};

	return names[p->state];
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_errors(struct json_out *w, const struct plugin *p)
{
	json_key(w, "errors");
	json_open(w, '[');
	for (size_t i = 0; i < p->error_count; i++) {
		json_open(w, '{');
		json_kcstr(w, "type", plugin_fault_name(p->errors[i].fault));
		json_kcstr(w, "file", p->errors[i].file);
		app_put_line(w, p->errors[i].line);
		json_kcstr(w, "message", p->errors[i].message);
		json_close(w);
	}
	json_close(w);
}

static void put_notes(struct json_out *w, const struct plugin *p)
{
	json_key(w, "notes");
	json_open(w, '[');
	for (size_t i = 0; i < p->notes.count; i++) {
		json_open(w, '{');
		app_put_line(w, p->notes.list[i].line);
		json_kcstr(w, "message", p->notes.list[i].message);
		json_close(w);
	}
	json_close(w);
}

static void put_paths(struct json_out *w, const char *key, const struct plugin_paths *paths)
{
	json_key(w, key);
	json_open(w, '[');
	for (size_t i = 0; i < paths->count; i++)
		json_put_cstr(w, paths->list[i].path);
	json_close(w);
}

/* The names in the objects: events, or servers. */
static void put_names(struct json_out *w, const char *key, const struct plugin_parts *parts)
{
	AUTO_ARENA struct arena a = { 0 };

	json_key(w, key);
	json_open(w, '[');
	for (size_t i = 0; i < parts->count; i++)
		for (struct json_member m = json_members(parts->list[i].value); m.key;
		     m = json_member_next(parts->list[i].value, m))
			json_put_str(w, json_str(m.key, &a));
	json_close(w);
}

static void put_plugin(struct json_out *w, const struct plugin *p)
{
	json_open(w, '{');
	json_kcstr(w, "name", p->name);
	json_kcstr(w, "id", p->id);
	json_kcstr(w, "version", p->version);
	json_kcstr(w, "description", p->description);
	json_kcstr(w, "path", p->root);
	json_kcstr(w, "dataDir", p->data_dir);
	json_kcstr(w, "state", state_name(p));
	json_kcstr(w, "why", p->why);
	json_kbool(w, "trusted", p->trusted);
	put_paths(w, "agents", &p->agents);
	put_paths(w, "skills", &p->skills);
	put_paths(w, "commands", &p->commands);
	put_paths(w, "outputStyles", &p->styles);
	put_names(w, "hooks", &p->hooks);
	put_names(w, "mcpServers", &p->mcp);
	json_kcstr(w, "bin", p->bin);
	json_kcstr(w, "agent", p->agent);
	put_errors(w, p);
	put_notes(w, p);
	json_close(w);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void add_count(struct buf *out, size_t n, const char *what)
{
	if (n)
		buf_addf(out, "%s%zu %s%s", out->n ? ", " : "", n, what, n > 1 ? "s" : "");
}

static size_t count_members(const struct plugin_parts *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < parts->count; i++)
		n += parts->list[i].value->count;
	return n;
}

static void describe(struct buf *out, const struct plugin *p)
{
	if (p->state == PLUGIN_DISABLED) {
		buf_addstr(out, p->why);
		return;
	}
	add_count(out, p->agents.count, "place of agents");
	add_count(out, p->skills.count, "place of skills");
	add_count(out, p->commands.count, "place of commands");
	add_count(out, count_members(&p->hooks), "event with hooks");
	add_count(out, count_members(&p->mcp), "MCP server");
	if (p->bin)
		buf_addf(out, "%sprograms", out->n ? ", " : "");
	if (p->trusted)
		buf_addf(out, "%strusted", out->n ? ", " : "");
}

static void add_errors(struct cadre_report *r, const struct plugin *p)
{
	for (size_t i = 0; i < p->error_count; i++) {
		const struct plugin_error *e = &p->errors[i];
		if (e->line)
			report_line(r, CADRE_BAD, "%s:%u: %s", e->file, e->line, e->message);
		else
			report_line(r, CADRE_BAD, "%s: %s", e->file, e->message);
	}
}

static void add_rows(struct cadre_report *r, const struct plugin_list *list)
{
	static const enum cadre_tone tones[] = { CADRE_PLAIN, CADRE_NOTE, CADRE_BAD };

	if (!list->count)
		report_line(r, CADRE_NOTE, "There are no plugins: cadre plugin install PATH, or NAME@MARKETPLACE.");
	else
		report_row(r, CADRE_HEAD, "PLUGIN", "VERSION", "STATE", "WHAT", NULL);
	for (size_t i = 0; i < list->count; i++) {
		const struct plugin *p = list->all[i];
		AUTO_BUF struct buf what = { 0 };
		describe(&what, p);
		report_row(r, tones[p->state], p->id, p->version ? p->version : "", state_name(p), what.n ? what.p : "",
			   NULL);
	}
	for (size_t i = 0; i < list->count; i++)
		add_errors(r, list->all[i]);
}

static int list_all(struct services *sv, struct cadre_report *report, struct err *err)
{
	struct settings *settings;
	struct plugin_list *list;
	int status = app_settings(sv, &settings, err);

	if (status < 0)
		return status;
	status = app_plugins_find(sv, settings, &list, err);
	settings_unref(settings);
	if (status < 0)
		return status;
	struct json_out w = json_out(&report->json);
	json_open(&w, '[');
	for (size_t i = 0; i < list->count; i++)
		put_plugin(&w, list->all[i]);
	json_close(&w);
	add_rows(report, list);
	plugin_list_unref(list);
	return 0;
}

int cadre_plugins_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = list_all(sv, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- validate ---------------------------------------------------------------------------------------------------- */

static void report_plugin(struct cadre_report *r, struct json_out *w, struct plugin *p)
{
	plugin_validate(p);
	put_plugin(w, p);
	add_errors(r, p);
	for (size_t i = 0; i < p->notes.count; i++)
		report_line(r, CADRE_NOTE, "%s:%u: note: %s", p->manifest ? p->manifest : p->root,
			    p->notes.list[i].line, p->notes.list[i].message);
	if (p->error_count) {
		r->bad = true;
		report_line(r, CADRE_BAD, "%s is not valid: %zu error%s.", p->name, p->error_count,
			    p->error_count > 1 ? "s" : "");
	} else {
		report_line(r, CADRE_GOOD, "%s is valid.", p->name);
	}
	plugin_free(p);
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
			report_plugin(r, w, plugin_read(dir, PLUGIN_INSTALLED, m->name));
			continue;
		}
		r->bad = true;
		report_line(r, CADRE_BAD, "%s", err.text);
	}
	report_line(r, r->bad ? CADRE_BAD : CADRE_GOOD, "The marketplace %s offers %zu plugin%s.", m->name, m->count,
		    m->count == 1 ? "" : "s");
}

static int validate(struct services *sv, const char *path, struct cadre_report *report, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_MARKETPLACE struct marketplace market = { 0 };
	struct json_out w = json_out(&report->json);
	const char *dir = path_absolute(&a, sv->options.cwd ? sv->options.cwd : ".", str_from(path));
	const char *plugins_dir;
	int status = app_plugins_dir(sv, &a, &plugins_dir, err);

	if (status == 0 && str_ends(str_from(dir), STR(".zip")))
		status = zip_cache_open(&a, plugins_dir, dir, &dir, err);
	if (status < 0)
		return status;
	status = marketplace_read(&market, dir, err);
	if (status < 0 && status != -ERR_NOT_FOUND)
		return status;
	json_open(&w, '[');
	if (status == 0)
		validate_market(report, &w, &market);
	else
		report_plugin(report, &w, plugin_read(dir, PLUGIN_INLINE, "inline"));
	json_close(&w);
	return 0;
}

int cadre_plugins_validate(struct cadre *c, const char *path, struct cadre_report **ret_report, char *why,
			   size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !path || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = validate(sv, path, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
