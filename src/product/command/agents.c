/* SPDX-License-Identifier: MIT
 * agents.c - `cadre agents`: which agents there are and what hides what. */
#include "product/command/agents.h"
#include "defs/agentdef/color.h"
#include "defs/agentdef/describe.h"
#include "agents/agent/roster.h"
#include "defs/policy/config.h"
#include "defs/policy/plugins.h"
#include "lib/io/file.h"
#include "config/settings/env_switch.h"

static const char managed_dir[] = "/etc/claude-code";

static const char *const *absolute_list(struct arena *a, const char *cwd, const char **list, size_t count)
{
	const char **paths = arena_alloc(a, (count + 1) * sizeof *paths);

	for (size_t i = 0; i < count; i++)
		paths[i] = path_absolute(a, cwd, str_from(list[i]));
	return paths;
}

/* A JSON object stays as it is; anything else is the path of a file, which must be there. */
static int find_settings(const struct options *o, struct arena *a, struct agent_sources *s, struct err *err)
{
	struct str value = o->settings ? str_trim(str_from(o->settings)) : STR("");

	if (!value.n)
		return 0;
	s->settings = value.p[0] == '{' ? arena_str(a, value).p : path_absolute(a, s->cwd, value);
	if (value.p[0] != '{' && !file_exists(s->settings))
		return err_set(err, ERR_USAGE, "Settings file not found: %s", s->settings);
	return 0;
}

int app_agent_sources(struct cadre *c, struct arena *a, struct agent_sources *ret_sources, struct err *err)
{
	const struct options *o = &c->options;
	const char *entrypoint = o->entrypoint ? o->entrypoint : getenv("CLAUDE_CODE_ENTRYPOINT");
	struct agent_sources s = { 0 };
	if (options_directories(o, a, &s.cwd, &s.config_dir, err) < 0 || find_settings(o, a, &s, err) < 0)
		return -(int)err->kind;
	s.managed_dir = o->managed_dir ? o->managed_dir : managed_dir;
	s.add_dirs = absolute_list(a, s.cwd, o->add_dirs, o->add_dir_count);
	s.add_dir_count = o->add_dir_count;
	if (o->config_root)
		s.cwd = path_absolute(a, s.cwd, str_from(o->config_root));
	s.flag = o->agents;
	s.denied = o->disallowed_tools;
	s.setting_sources = o->some_sources ? o->setting_sources : SETTINGS_ALL;
	s.bare = env_is_on("CLAUDE_CODE_SIMPLE");
	s.sdk = str_starts(str_from(entrypoint), STR("sdk-"));
	s.builtin = builtin_switches_find(entrypoint);
	*ret_sources = s;
	return 0;
}

/* Those of the sessions, or without any as they are now. Returns a reference. */
static int find_plugins(struct cadre *c, struct plugin_list **ret_list, struct err *err)
{
	struct settings *settings;

	if (c->plugins) {
		*ret_list = plugin_list_ref(c->plugins);
		return 0;
	}
	int status = app_settings(c, &settings, err);
	if (status < 0)
		return status;
	status = app_plugins_find(c, settings, ret_list, err);
	settings_unref(settings);
	return status;
}

int app_agents(struct cadre *c, struct arena *a, struct agent_registry **ret_registry, struct err *err)
{
	struct agent_sources sources;
	struct plugin_list *plugins;
	int status = app_agent_sources(c, a, &sources, err);

	if (status == 0)
		status = find_plugins(c, &plugins, err);
	if (status < 0)
		return status;
	sources.plugins = app_plugin_agents(plugins, a, &sources.plugin_count);
	status = agent_registry_new(&sources, ret_registry, err);
	plugin_list_unref(plugins);
	return status;
}

int app_give_report(int status, struct cadre_report *report, struct cadre_report **ret_report, const struct err *err,
		    char *why, size_t why_size)
{
	if (status < 0)
		cadre_report_free(report);
	else
		*ret_report = report;
	return app_status(status, err, why, why_size);
}

void app_put_line(struct json_out *w, unsigned line)
{
	json_key(w, "line");
	if (line)
		json_put_u64(w, line);
	else
		json_put_null(w);
}

void app_report_diagnostics(struct cadre_report *r, const struct agent_definition *d)
{
	static const enum cadre_tone tones[] = { CADRE_NOTE, CADRE_WARN, CADRE_BAD };

	for (size_t i = 0; i < d->diagnostic_count; i++) {
		const struct diagnostic *g = &d->diagnostics[i];
		const char *level = diagnostic_level_name(g->level);
		if (g->line)
			report_line(r, tones[g->level], "  %s:%u: %s: %s", d->file, g->line, level, g->message);
		else
			report_line(r, tones[g->level], "  %s: %s: %s", d->file, level, g->message);
	}
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_overrides(struct json_out *w, const struct agent_registry *r, const struct agent_entry *winner)
{
	json_key(w, "overrides");
	json_open(w, '[');
	for (size_t i = 0; i < r->all_count; i++) {
		if (r->all[i].hidden_by != winner)
			continue;
		json_open(w, '{');
		json_kcstr(w, "source", agent_source_name(r->all[i].definition->source));
		json_kcstr(w, "file", r->all[i].definition->file);
		json_close(w);
	}
	json_close(w);
}

static void put_fact(void *data, const struct agent_fact *fact)
{
	json_kraw(data, fact->field, fact->json);
}

static void put_active(struct json_out *w, const struct agent_registry *r, const struct agent_entry *e)
{
	const struct agent_definition *d = e->definition;
	const struct agent_denial *denial = agent_denied(&r->denied, str_from(d->name));

	json_open(w, '{');
	agent_describe(d, put_fact, w);
	json_kcstr(w, "source", agent_source_name(d->source));
	json_kcstr(w, "file", d->file);
	json_kcstr(w, "plugin", d->plugin);
	json_kcstr(w, "shownColor", agent_color(d));
	json_kcstr(w, "deniedBy", denial ? denial->rule : NULL);
	put_overrides(w, r, e);
	json_close(w);
}

static void put_all(struct json_out *w, const struct agent_entry *e)
{
	json_open(w, '{');
	json_kcstr(w, "name", e->definition->name);
	json_kcstr(w, "source", agent_source_name(e->definition->source));
	json_kcstr(w, "file", e->definition->file);
	json_kcstr(w, "overriddenBy", e->hidden_by ? e->hidden_by->definition->file : NULL);
	json_close(w);
}

static void put_failed(struct json_out *w, const struct failed_file *f)
{
	json_open(w, '{');
	json_kcstr(w, "path", f->path);
	json_kcstr(w, "source", agent_source_name(f->source));
	app_put_line(w, f->line);
	json_kcstr(w, "error", f->message);
	json_close(w);
}

static void put_list(struct buf *out, const struct agent_registry *r)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_key(&w, "activeAgents");
	json_open(&w, '[');
	for (size_t i = 0; i < r->active_count; i++)
		put_active(&w, r, r->active[i]);
	json_close(&w);
	json_key(&w, "allAgents");
	json_open(&w, '[');
	for (size_t i = 0; i < r->all_count; i++)
		put_all(&w, &r->all[i]);
	json_close(&w);
	json_key(&w, "failedFiles");
	json_open(&w, '[');
	for (size_t i = 0; i < r->failed_count; i++)
		put_failed(&w, &r->failed[i]);
	json_close(&w);
	json_kbool(&w, "pluginsOnly", r->plugins_only);
	json_close(&w);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void add_active_rows(struct cadre_report *report, const struct agent_registry *r)
{
	report_row(report, CADRE_HEAD, "NAME", "SOURCE", "MODEL", "TOOLS", NULL);
	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		const struct agent_denial *denial = agent_denied(&r->denied, str_from(d->name));
		AUTO_BUF struct buf tools = { 0 };
		if (denial)
			buf_addf(&tools, "(denied by %s from %s)", denial->rule, denial->origin);
		else
			roster_tools(&tools, d);
		report_row(report, denial ? CADRE_NOTE : CADRE_PLAIN, d->name, agent_source_name(d->source),
			   d->model ? d->model : "inherit", tools.p, NULL);
	}
}

static void add_hidden_rows(struct cadre_report *report, const struct agent_registry *r)
{
	bool first = true;

	for (size_t i = 0; i < r->all_count; i++) {
		const struct agent_entry *e = &r->all[i];
		if (!e->hidden_by)
			continue;
		if (first)
			report_row(report, CADRE_HEAD, "OVERRIDDEN", "SOURCE", "FILE", "BY", NULL);
		first = false;
		report_row(report, CADRE_PLAIN, e->definition->name, agent_source_name(e->definition->source),
			   e->definition->file, e->hidden_by->definition->file, NULL);
	}
}

static void add_failed_rows(struct cadre_report *report, const struct agent_registry *r)
{
	if (r->plugins_only)
		report_line(report, CADRE_NOTE,
			    "Managed settings allow agents of plugins only: those of the user, the "
			    "project and --agents are left out.");
	for (size_t i = 0; i < r->failed_count; i++) {
		const struct failed_file *f = &r->failed[i];
		if (f->line)
			report_line(report, CADRE_BAD, "%s:%u: %s", f->path, f->line, f->message);
		else
			report_line(report, CADRE_BAD, "%s: %s", f->path, f->message);
	}
}

int cadre_agents_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	AUTO_ARENA struct arena a = { 0 };
	struct agent_registry *r;
	struct err err = { 0 };

	if (!c || !ret_report)
		return CADRE_USAGE;
	int status = app_agents(c, &a, &r, &err);
	if (status < 0)
		return app_status(status, &err, why, why_size);
	struct cadre_report *report = xcalloc(1, sizeof *report);
	put_list(&report->json, r);
	add_active_rows(report, r);
	add_hidden_rows(report, r);
	add_failed_rows(report, r);
	agent_registry_free(r);
	*ret_report = report;
	return 0;
}
