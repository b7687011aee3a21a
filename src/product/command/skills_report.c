/* SPDX-License-Identifier: MIT
 * skills_report.c - `cadre skills`: which there are, what one says, what is wrong with files. */
#include "product/command/report.h"
#include "product/session/skills.h"
#include "lib/json/json_write.h"
#include "defs/skill/listing.h"

/* The registry, and what the settings say. */
struct skill_shelf {
	struct arena arena;
	struct skill_registry *registry;
	const struct json *overrides;
};

static int shelf_open(struct services *sv, struct skill_shelf *shelf, struct err *err)
{
	struct skill_sources sources;

	*shelf = (struct skill_shelf){ 0 };
	if (app_skill_sources(sv, &shelf->arena, &sources, err) < 0)
		return -(int)err->kind;
	shelf->registry = skill_registry_new(&sources);
	shelf->overrides = settings_get(sv->policy.settings, "skillOverrides", NULL);
	return 0;
}

static void shelf_release(struct skill_shelf *shelf)
{
	skill_registry_free(shelf->registry);
	arena_release(&shelf->arena);
}

static const char *kind_of(const struct skill *s)
{
	return s->is_command ? "command" : "skill";
}

static const char *users_of(unsigned views)
{
	static const char *const words[] = { "nobody", "model", "user", "model, user" };

	return words[views & (SKILL_FOR_MODEL | SKILL_FOR_USER)];
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void put_entry(struct json_out *w, const struct skill_entry *e, unsigned views)
{
	json_open(w, '{');
	json_kcstr(w, "name", e->name);
	json_kcstr(w, "kind", kind_of(e->skill));
	json_kcstr(w, "source", skill_source_name(e->skill->source));
	json_kcstr(w, "plugin", e->skill->plugin);
	json_kcstr(w, "file", e->skill->file);
	json_kcstr(w, "description", e->skill->description);
	json_kbool(w, "model", views & SKILL_FOR_MODEL);
	json_kbool(w, "user", views & SKILL_FOR_USER);
	if (e->hidden_by)
		json_kcstr(w, "hiddenBy", e->hidden_by->skill->file);
	json_close(w);
}

static void put_failed(struct json_out *w, const struct skill_registry *r)
{
	json_key(w, "failedFiles");
	json_open(w, '[');
	for (size_t i = 0; i < r->failed_count; i++) {
		json_open(w, '{');
		json_kcstr(w, "path", r->failed[i].path);
		json_kcstr(w, "source", skill_source_name(r->failed[i].source));
		app_put_line(w, r->failed[i].line);
		json_kcstr(w, "error", r->failed[i].message);
		json_close(w);
	}
	json_close(w);
}

static void put_list(struct buf *out, const struct skill_shelf *shelf)
{
	const struct skill_registry *r = shelf->registry;
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_key(&w, "skills");
	json_open(&w, '[');
	for (size_t i = 0; i < r->active_count; i++)
		put_entry(&w, r->active[i], skill_views(r->active[i], shelf->overrides));
	json_close(&w);
	json_key(&w, "hidden");
	json_open(&w, '[');
	for (size_t i = 0; i < r->all_count; i++)
		if (r->all[i].hidden_by)
			put_entry(&w, &r->all[i], 0);
	json_close(&w);
	put_failed(&w, r);
	json_close(&w);
}

static void add_failed(struct cadre_report *report, const struct skill_registry *r)
{
	for (size_t i = 0; i < r->failed_count; i++) {
		const struct skill_failure *f = &r->failed[i];
		if (f->line)
			report_line(report, CADRE_BAD, "%s:%u: %s", f->path, f->line, f->message);
		else
			report_line(report, CADRE_BAD, "%s: %s", f->path, f->message);
	}
}

static void add_rows(struct cadre_report *report, const struct skill_shelf *shelf)
{
	const struct skill_registry *r = shelf->registry;

	if (r->active_count)
		report_row(report, CADRE_HEAD, "NAME", "KIND", "SOURCE", "FOR", "DESCRIPTION", NULL);
	else
		report_line(report, CADRE_NOTE, "There are no skills: .claude/skills/NAME/SKILL.md would be one.");
	for (size_t i = 0; i < r->active_count; i++) {
		const struct skill_entry *e = r->active[i];
		AUTO_BUF struct buf line = { 0 };
		buf_addfolded(&line, str_from(e->skill->description));
		report_row(report, CADRE_PLAIN, e->name, kind_of(e->skill), skill_source_name(e->skill->source),
			   users_of(skill_views(e, shelf->overrides)), line.n ? line.p : "", NULL);
	}
	for (size_t i = 0; i < r->all_count; i++)
		if (r->all[i].hidden_by)
			report_line(report, CADRE_NOTE, "%s is hidden by %s", r->all[i].skill->file,
				    r->all[i].hidden_by->skill->file);
	add_failed(report, r);
}

int cadre_skills_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	CLEANUP(shelf_release) struct skill_shelf shelf = { 0 };
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	int status = shelf_open(sv, &shelf, &err);
	if (status < 0)
		return api_status(status, &err, why, why_size);
	struct cadre_report *report = xcalloc(1, sizeof *report);
	put_list(&report->json, &shelf);
	add_rows(report, &shelf);
	*ret_report = report;
	return 0;
}

/* ---- show -------------------------------------------------------------------------------------------------------- */

struct show {
	struct cadre_report *report;
	struct json_out w;
};

static void show_text(struct show *s, const char *field, const char *text)
{
	if (!text)
		return;
	json_kcstr(&s->w, field, text);
	report_row(s->report, CADRE_PLAIN, field, text, NULL);
}

static void show_names(struct show *s, const char *field, const struct name_list *names)
{
	AUTO_BUF struct buf text = { 0 };

	if (!names->present)
		return;
	json_key(&s->w, field);
	json_open(&s->w, '[');
	for (size_t i = 0; i < names->count; i++) {
		json_put_cstr(&s->w, names->names[i]);
		buf_addf(&text, "%s%s", i ? ", " : "", names->names[i]);
	}
	json_close(&s->w);
	report_row(s->report, CADRE_PLAIN, field, text.n ? text.p : "(none)", NULL);
}

static void show_fields(struct show *s, const struct skill_entry *e)
{
	const struct skill *k = e->skill;

	show_text(s, "name", e->name);
	show_text(s, "kind", kind_of(k));
	show_text(s, "source", skill_source_name(k->source));
	show_text(s, "file", k->file);
	show_text(s, "plugin", k->plugin);
	show_text(s, "title", k->title);
	show_text(s, "description", k->description);
	show_text(s, "when_to_use", k->when_to_use);
	show_text(s, "argument-hint", k->argument_hint);
	show_names(s, "arguments", &k->arguments);
	show_names(s, "allowed-tools", &k->allowed_tools);
	show_names(s, "disallowed-tools", &k->disallowed_tools);
	show_names(s, "paths", &k->paths);
	show_text(s, "model", k->model);
	show_text(s, "effort", k->effort);
	show_text(s, "context", k->is_fork ? "fork" : NULL);
	show_text(s, "agent", k->agent);
	show_text(s, "background", k->in_foreground ? "false" : NULL);
	show_text(s, "hooks", k->hooks);
}

static void add_diagnostics(struct cadre_report *r, const struct skill *s)
{
	static const enum cadre_tone tones[] = { CADRE_NOTE, CADRE_WARN, CADRE_BAD };

	for (size_t i = 0; i < s->diagnostic_count; i++) {
		const struct diagnostic *g = &s->diagnostics[i];
		const char *level = diagnostic_level_name(g->level);
		if (g->line)
			report_line(r, tones[g->level], "  %s:%u: %s: %s", s->file, g->line, level, g->message);
		else
			report_line(r, tones[g->level], "  %s: %s: %s", s->file, level, g->message);
	}
}

static int show(const struct skill_shelf *shelf, const char *name, struct cadre_report *report, struct err *err)
{
	const struct skill_entry *e = skill_registry_find(shelf->registry, str_from(name));
	AUTO_BUF struct buf near = { 0 };
	struct show s = { .report = report, .w = json_out(&report->json) };

	if (!e) {
		skill_registry_add_near(&near, shelf->registry, str_from(name));
		return err_set(err, ERR_NOT_FOUND, "there is no skill '%.60s'%s%.120s", name,
			       near.n ? "; there are " : "", near.n ? near.p : "");
	}
	json_open(&s.w, '{');
	show_fields(&s, e);
	json_kstr(&s.w, "text", e->skill->body);
	json_close(&s.w);
	add_diagnostics(report, e->skill);
	return 0;
}

int cadre_skills_show(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	CLEANUP(shelf_release) struct skill_shelf shelf = { 0 };
	struct err err = { 0 };

	if (!sv || !name || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = shelf_open(sv, &shelf, &err);
	if (status == 0)
		status = show(&shelf, name, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

static void put_diagnostics(struct json_out *w, const struct skill *s)
{
	json_open(w, '{');
	json_kcstr(w, "name", s->name);
	json_kcstr(w, "file", s->file);
	json_kbool(w, "refused", s->refused);
	json_key(w, "diagnostics");
	json_open(w, '[');
	for (size_t i = 0; i < s->diagnostic_count; i++) {
		json_open(w, '{');
		json_kcstr(w, "level", diagnostic_level_name(s->diagnostics[i].level));
		app_put_line(w, s->diagnostics[i].line);
		json_kcstr(w, "message", s->diagnostics[i].message);
		json_close(w);
	}
	json_close(w);
	json_close(w);
}

static void check(const struct skill_shelf *shelf, struct cadre_report *report)
{
	const struct skill_registry *r = shelf->registry;
	struct json_out w = json_out(&report->json);
	size_t refused = 0;

	json_open(&w, '{');
	json_key(&w, "files");
	json_open(&w, '[');
	for (size_t i = 0; i < r->looked_at_count; i++) {
		const struct skill *s = r->looked_at[i];
		report_line(report, s->refused ? CADRE_BAD : CADRE_PLAIN, "%s: %s", s->file,
			    s->refused ? "refused" : s->name);
		add_diagnostics(report, s);
		put_diagnostics(&w, s);
		refused += s->refused;
	}
	json_close(&w);
	put_failed(&w, r);
	json_close(&w);
	add_failed(report, r);
	report_line(report, CADRE_PLAIN, "%zu files, %zu refused, %zu not readable", r->looked_at_count, refused,
		    r->failed_count - refused);
	report->bad = r->failed_count > 0;
}

int cadre_skills_check(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	CLEANUP(shelf_release) struct skill_shelf shelf = { 0 };
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = shelf_open(sv, &shelf, &err);
	if (status == 0)
		check(&shelf, report);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
