/* SPDX-License-Identifier: MIT
 * agents_show.c - `cadre agents show`: one definition, where each part comes from, and what it comes to; and
 * `cadre agents memory`. */
#include "defs/agentdef/color.h"
#include "defs/agentdef/describe.h"
#include "defs/agentdef/guide.h"
#include "agents/profile/memory.h"
#include "agents/profile/model_choice.h"
#include "agents/profile/tool_choice.h"
#include "product/command/report.h"
#include "defs/policy/sources.h"
#include "core/model/catalog.h"
#include "lib/git/git_head.h"

struct show {
	struct cadre_report *report;
	struct json_out w;
	const struct agent_registry *registry;
	const struct agent_entry *entry;
	const struct settings *settings;
	struct arena *arena;
};

static void put_field(void *data, const struct agent_fact *fact)
{
	struct show *s = data;
	const char *file = s->entry->definition->file;

	json_open(&s->w, '{');
	json_kcstr(&s->w, "field", fact->field);
	json_kraw(&s->w, "value", fact->json);
	json_kcstr(&s->w, "from", fact->given ? file : NULL);
	app_put_line(&s->w, fact->line);
	json_close(&s->w);
}

static void add_field(void *data, const struct agent_fact *fact)
{
	struct show *s = data;
	char from[32];

	if (!fact->given && !fact->text.n)
		return;
	snprintf(from, sizeof from, "line %u", fact->line);
	report_row(s->report, CADRE_PLAIN, fact->field,
		   fact->line    ? from
		   : fact->given ? "given"
				 : "default",
		   fact->text.n ? fact->text.p : "(no effect)", NULL);
}

static void put_names(struct json_out *w, const char *key, const struct tool_names *names)
{
	json_key(w, key);
	json_open(w, '[');
	for (size_t i = 0; i < names->count; i++)
		json_put_cstr(w, names->list[i]);
	json_close(w);
}

static void put_limits(struct json_out *w, const char *key, const struct tool_limits *limits)
{
	json_key(w, key);
	json_open(w, '[');
	for (size_t i = 0; i < limits->count; i++) {
		json_open(w, '{');
		json_kcstr(w, "tool", limits->list[i].tool);
		json_kcstr(w, "specifier", limits->list[i].specifier);
		json_close(w);
	}
	json_close(w);
}

static void add_names_row(struct cadre_report *r, const char *title, const struct tool_names *names,
			  enum cadre_tone tone)
{
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; i < names->count; i++)
		buf_addf(&text, "%s%s", i ? ", " : "", names->list[i]);
	if (names->count)
		report_row(r, tone, title, "", text.p, NULL);
}

static void show_tools(struct show *s)
{
	const struct agent_definition *d = s->entry->definition;
	AUTO_BUF struct buf text = { 0 };
	struct tool_set pool = { 0 };
	struct tool_choice choice;

	for (size_t i = 0; tool_table[i]; i++)
		tool_set_add(&pool, tool_table[i]);
	tool_choose(d, &(struct tool_choice_spec){ .pool = &pool, .background = d->background, .memory = true },
		    &choice);
	json_key(&s->w, "resolvedTools");
	json_open(&s->w, '[');
	for (size_t i = 0; i < choice.tools.count; i++) {
		json_put_cstr(&s->w, choice.tools.tools[i]->name);
		buf_addf(&text, "%s%s", i ? ", " : "", choice.tools.tools[i]->name);
	}
	json_close(&s->w);
	put_limits(&s->w, "onlyWith", &choice.only);
	put_limits(&s->w, "neverWith", &choice.never);
	put_names(&s->w, "unknownTools", &choice.unknown);
	put_names(&s->w, "withheldTools", &choice.withheld);
	put_names(&s->w, "missingTools", &choice.missing);
	report_row(s->report, CADRE_PLAIN, "tools it gets", "", text.n ? text.p : "none", NULL);
	add_names_row(s->report, "unknown tools", &choice.unknown, CADRE_WARN);
	add_names_row(s->report, "withheld tools", &choice.withheld, CADRE_NOTE);
	add_names_row(s->report, "not in this session", &choice.missing, CADRE_NOTE);
	tool_choice_release(&choice);
	tool_set_release(&pool);
}

static void show_model(struct show *s, const struct options *o)
{
	const struct agent_definition *d = s->entry->definition;
	struct model_choice choice;
	const char *parent = o->model ? o->model : model_default();

	(void)model_resolve(s->arena, parent, &parent, NULL); /* a name that nobody knows is shown as it is */
	model_choose(s->arena,
		     &(struct model_wishes){ .environment = getenv("CLAUDE_CODE_SUBAGENT_MODEL"),
					     .definition = d->model,
					     .allowed = settings_get(s->settings, "availableModels", NULL),
					     .parent = parent,
					     .shares_context = d->fork_context },
		     &choice);
	json_key(&s->w, "resolvedModel");
	json_open(&s->w, '{');
	json_kcstr(&s->w, "id", choice.id);
	json_kcstr(&s->w, "from", choice.origin);
	json_kcstr(&s->w, "note", choice.note);
	json_close(&s->w);
	report_row(s->report, CADRE_PLAIN, "model it runs on", choice.origin, choice.id, NULL);
	if (choice.note)
		report_row(s->report, CADRE_NOTE, "", "note", choice.note, NULL);
}

static void show_diagnostics(struct show *s)
{
	const struct agent_definition *d = s->entry->definition;

	json_key(&s->w, "diagnostics");
	json_open(&s->w, '[');
	for (size_t i = 0; i < d->diagnostic_count; i++) {
		const struct diagnostic *g = &d->diagnostics[i];
		json_open(&s->w, '{');
		json_kcstr(&s->w, "level", diagnostic_level_name(g->level));
		app_put_line(&s->w, g->line);
		json_kcstr(&s->w, "message", g->message);
		json_close(&s->w);
	}
	json_close(&s->w);
	app_report_diagnostics(s->report, d);
}

static void show_overridden(struct show *s)
{
	const struct agent_registry *r = s->registry;

	json_key(&s->w, "overrides");
	json_open(&s->w, '[');
	for (size_t i = 0; i < r->all_count; i++) {
		if (r->all[i].hidden_by != s->entry)
			continue;
		json_put_cstr(&s->w, r->all[i].definition->file);
		report_row(s->report, CADRE_NOTE, "overrides", agent_source_name(r->all[i].definition->source),
			   r->all[i].definition->file, NULL);
	}
	json_close(&s->w);
}

static void show_prompt(struct show *s)
{
	const struct agent_definition *d = s->entry->definition;
	const char *guide = builtin_alias(STR("claude-code-guide"));
	AUTO_BUF struct buf prompt = { 0 };

	if (d->source == AGENT_BUILT_IN && !strcmp(d->name, guide))
		guide_prompt(&prompt, d, s->registry, &(struct guide_facts){ 0 });
	else
		buf_add(&prompt, d->prompt, d->prompt_len);
	json_kstr(&s->w, "prompt", buf_str(&prompt));
	report_line(s->report, CADRE_HEAD, "PROMPT");
	report_line(s->report, CADRE_PLAIN, "%s", buf_str(&prompt).p);
}

static void write_show(struct show *s, const struct options *o)
{
	const struct agent_definition *d = s->entry->definition;

	report_row(s->report, CADRE_HEAD, "FIELD", "FROM", "VALUE", NULL);
	report_row(s->report, CADRE_PLAIN, "source", agent_source_name(d->source), d->file, NULL);
	agent_describe(d, add_field, s);
	json_open(&s->w, '{');
	json_kcstr(&s->w, "name", d->name);
	json_kcstr(&s->w, "source", agent_source_name(d->source));
	json_kcstr(&s->w, "file", d->file);
	json_kcstr(&s->w, "plugin", d->plugin);
	json_kcstr(&s->w, "shownColor", agent_color(d));
	json_key(&s->w, "fields");
	json_open(&s->w, '[');
	agent_describe(d, put_field, s);
	json_close(&s->w);
	show_model(s, o);
	show_tools(s);
	show_overridden(s);
	show_diagnostics(s);
	show_prompt(s);
	json_close(&s->w);
}

int cadre_agents_show(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_ARENA struct arena a = { 0 };
	struct settings *settings = NULL;
	struct agent_registry *r;
	struct err err = { 0 };

	if (!sv || !name || !ret_report)
		return CADRE_USAGE;
	int status = app_settings(sv, &settings, &err);
	if (status == 0)
		status = app_agents(sv, &a, &r, &err);
	if (status < 0) {
		settings_unref(settings);
		return api_status(status, &err, why, why_size);
	}
	const struct agent_entry *entry = agent_registry_find(r, str_from(name));
	if (!entry) {
		status = err_set(&err, ERR_NOT_FOUND, "there is no agent '%.80s'; `cadre agents` lists them", name);
	} else {
		struct cadre_report *report = xcalloc(1, sizeof *report);
		struct show s = { .report = report,
				  .w = json_out(&report->json),
				  .registry = r,
				  .entry = entry,
				  .settings = settings,
				  .arena = &a };
		write_show(&s, &sv->options);
		*ret_report = report;
	}
	agent_registry_free(r);
	settings_unref(settings);
	return api_status(status, &err, why, why_size);
}

int cadre_agents_memory(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_ARENA struct arena a = { 0 };
	struct memory_places places = { 0 };
	struct agent_registry *r = NULL;
	const char *cwd;
	struct err err = { 0 };
	size_t files = 0;

	if (!sv || !name || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = options_directories(&sv->options, &a, &cwd, &places.config_dir, &err);
	if (status == 0)
		status = app_agents(sv, &a, &r, &err);
	if (status == 0) {
		const char *root = git_root(&a, cwd);
		places.project_dir = root ? root : cwd;
	}
	const struct agent_entry *entry = r ? agent_registry_find(r, str_from(name)) : NULL;
	if (status == 0 && !entry)
		status = err_set(&err, ERR_NOT_FOUND, "there is no agent '%.80s'; `cadre agents` lists them", name);
	if (status == 0)
		status = agent_memory_save_snapshot(entry->definition, &places, &files, &err);
	if (status == 0) {
		struct json_out w = json_out(&report->json);
		json_open(&w, '{');
		json_kcstr(&w, "name", entry->definition->name);
		json_ki64(&w, "files", (int64_t)files);
		json_close(&w);
		report_line(report, CADRE_GOOD,
			    "The memory of %s is in the project now, in .claude/agent-memory-snapshots: "
			    "%zu file(s).",
			    entry->definition->name, files);
	}
	agent_registry_free(r);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
