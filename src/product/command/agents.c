/* SPDX-License-Identifier: MIT
 * agents.c - `cadre agents`: which agents there are and what hides what. */
#include "product/command/report.h"
#include "defs/agentdef/color.h"
#include "defs/agentdef/describe.h"
#include "agents/profile/roster.h"
#include "defs/policy/sources.h"
#include "defs/policy/plugins.h"
#include "lib/io/file.h"
#include "config/settings/env_switch.h"

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
	struct services *sv = cadre_services(c);
	AUTO_ARENA struct arena a = { 0 };
	struct agent_registry *r;
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	int status = app_agents(sv, &a, &r, &err);
	if (status < 0)
		return api_status(status, &err, why, why_size);
	struct cadre_report *report = xcalloc(1, sizeof *report);
	put_list(&report->json, r);
	add_active_rows(report, r);
	add_hidden_rows(report, r);
	add_failed_rows(report, r);
	agent_registry_free(r);
	*ret_report = report;
	return 0;
}
