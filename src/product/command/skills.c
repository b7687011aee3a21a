/* SPDX-License-Identifier: MIT
 * skills.c - `cadre skills`: lists skills, shows one, and checks files. */
#include "product/command/command.h"
#include "product/session/session.h"
#include "defs/skill/registry.h"
#include "config/catalog/frontmatter.h"

static command_fn skills_list, skills_check, skills_show;

const struct cadre_command command_skills = {
	.name = "skills",
	.summary = "list, show and check skills and commands",
	.help = "Usage: cadre skills [list]            the available skills and commands, and what overrides what\n"
		"       cadre skills show NAME         one of them: its fields and problems\n"
		"       cadre skills check             what was read, tolerated and refused in each file\n"
		"\n"
		"Skills are read from plugins, from .claude/skills and .claude/commands of the project and of the\n"
		"user, and from the managed directory; a later source overrides an earlier one by name, a skill\n"
		"overrides a command. check exits with 1 if a file is refused.\n"
		"\n"
		"Examples:\n"
		"  cadre skills show deploy\n"
		"  cadre skills --json | jq -r '.skills[].name'\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, skills_list },
			{ "check", "", 0, skills_check },
			{ "show", "NAME", 0, skills_show },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings =
		(const char *const[]){ "add-dir", "plugin-dir", "setting-sources", "settings", "trust-project", NULL },
};

/* The registry and the setting skillOverrides */
struct skill_lookup {
	struct arena arena;
	struct catalog *registry;
	const struct json *overrides;
};

static int skill_lookup_open(struct services *sv, struct skill_lookup *lookup, struct err *err)
{
	struct catalog_sources sources;

	*lookup = (struct skill_lookup){ 0 };
	if (services_skill_sources(sv, &lookup->arena, &sources, err) < 0)
		return -(int)err->kind;
	lookup->registry = skill_registry_new(&sources);
	lookup->overrides = settings_get(sv->policy.settings, "skillOverrides", NULL);
	return 0;
}

static void skill_lookup_release(struct skill_lookup *lookup)
{
	catalog_free(lookup->registry);
	arena_release(&lookup->arena);
}

static void put_entry(struct json_out *w, const struct catalog_entry *e, unsigned views)
{
	json_putf(w, "{name:'%s', kind:'%s', source:'%s', plugin:'%s'", e->name,
		  e->skill->is_command ? "command" : "skill", definition_source_name(e->skill->source),
		  e->skill->plugin);
	json_putf(w, "file:'%s', description:'%s', model:!!%d, user:!!%d, hiddenBy?:'%s'}", e->skill->file,
		  e->skill->description, (views & SKILL_FOR_MODEL) != 0, (views & SKILL_FOR_USER) != 0,
		  e->hidden_by ? e->hidden_by->skill->file : NULL);
}

static int skills_list(struct cadre_call *call)
{
	static const char *const users[] = { "none", "model", "user", "model, user" };
	CLEANUP(skill_lookup_release) struct skill_lookup lookup = { 0 };
	struct cadre_report *report = call->report;
	struct json_out w = json_out(&report->json);

	if (skill_lookup_open(call->services, &lookup, call->err) < 0)
		return -(int)call->err->kind;
	const struct catalog *r = lookup.registry;
	if (r->active_count)
		report_row(report, CADRE_HEAD, "NAME", "KIND", "SOURCE", "FOR", "DESCRIPTION", NULL);
	else
		report_line(report, CADRE_NOTE, "No skills. Create one as .claude/skills/NAME/SKILL.md.");
	json_putf(&w, "{skills:[");
	for (size_t i = 0; i < r->active_count; i++) {
		const struct catalog_entry *e = r->active[i];
		unsigned views = skill_views(e, lookup.overrides, NULL);
		AUTO_BUF struct buf line = { 0 };
		put_entry(&w, e, views);
		buf_addfolded(&line, str_from(e->skill->description));
		report_row(report, CADRE_PLAIN, e->name, e->skill->is_command ? "command" : "skill",
			   definition_source_name(e->skill->source), users[views & (SKILL_FOR_MODEL | SKILL_FOR_USER)],
			   line.n ? line.p : "", NULL);
	}
	json_putf(&w, "], hidden:[");
	for (size_t i = 0; i < r->all_count; i++) {
		if (!r->all[i].hidden_by)
			continue;
		put_entry(&w, &r->all[i], 0);
		report_line(report, CADRE_NOTE, "%s is hidden by %s", r->all[i].skill->file,
			    r->all[i].hidden_by->skill->file);
	}
	json_close(&w);
	report_failed_files(report, &w, r);
	json_close(&w);
	return 0;
}

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
	report_put_names(&s->w, field, names->names, names->count, &text);
	report_row(s->report, CADRE_PLAIN, field, text.n ? text.p : "(none)", NULL);
}

static void show_fields(struct show *s, const struct catalog_entry *e)
{
	const struct skill *k = e->skill;

	show_text(s, "name", e->name);
	show_text(s, "kind", k->is_command ? "command" : "skill");
	show_text(s, "source", definition_source_name(k->source));
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

static int skills_show(struct cadre_call *call)
{
	CLEANUP(skill_lookup_release) struct skill_lookup lookup = { 0 };
	AUTO_BUF struct buf near = { 0 };
	struct show s = { .report = call->report, .w = json_out(&call->report->json) };
	const char *name = call->operands[0];

	if (skill_lookup_open(call->services, &lookup, call->err) < 0)
		return -(int)call->err->kind;
	const struct catalog_entry *e = skill_registry_find(lookup.registry, str_from(name));
	if (!e) {
		skill_registry_add_near(&near, lookup.registry, str_from(name));
		return err_set(call->err, ERR_NOT_FOUND, "no such skill: %.60s%s%.120s", name,
			       near.n ? "; there are " : "; `cadre skills` lists them", near.n ? near.p : "");
	}
	json_open(&s.w, '{');
	show_fields(&s, e);
	json_putf(&s.w, "text:'%.*s'}", STR_ARG(e->skill->body));
	report_diagnostics(s.report, e->skill->file, e->skill->diagnostics, e->skill->diagnostic_count);
	return 0;
}

static int skills_check(struct cadre_call *call)
{
	CLEANUP(skill_lookup_release) struct skill_lookup lookup = { 0 };
	struct cadre_report *report = call->report;
	struct json_out w = json_out(&report->json);
	size_t refused = 0;

	if (skill_lookup_open(call->services, &lookup, call->err) < 0)
		return -(int)call->err->kind;
	const struct catalog *r = lookup.registry;
	json_putf(&w, "{files:[");
	for (size_t i = 0; i < r->looked_at_count; i++) {
		const struct skill *s = (const struct skill *)r->looked_at[i];
		report_line(report, s->refused ? CADRE_BAD : CADRE_PLAIN, "%s: %s", s->file,
			    s->refused ? "refused" : s->name);
		report_diagnostics(report, s->file, s->diagnostics, s->diagnostic_count);
		json_putf(&w, "{name:'%s', file:'%s', refused:!!%d", s->name, s->file, s->refused);
		diagnostics_put(&w, s->diagnostics, s->diagnostic_count);
		json_close(&w);
		refused += s->refused;
	}
	json_close(&w);
	report_failed_files(report, &w, r);
	json_close(&w);
	report_line(report, CADRE_PLAIN, "%zu files, %zu refused, %zu not readable", r->looked_at_count, refused,
		    r->failed_count - refused);
	report->bad = r->failed_count > 0;
	return 0;
}
