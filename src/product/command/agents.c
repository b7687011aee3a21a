/* SPDX-License-Identifier: MIT
 * agents.c - `cadre agents`: lists agents and what overrides what, shows a definition with the origin of each field, checks files,
 * creates one, and shares an agent's memory. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "product/command/command.h"
#include "defs/agentdef/registry.h"
#include "defs/agentdef/describe.h"
#include "agents/profile/roster.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"
#include "config/settings/settings.h"
#include "agents/profile/memory.h"
#include "agents/profile/model_choice.h"
#include "agents/profile/tool_choice.h"
#include "core/model/catalog.h"
#include "config/catalog/tree.h"
#include "product/session/session.h"

enum { LARGEST_FILE = 1 << 20, LONGEST_NAME = 64 };

static command_fn agents_list, agents_check, agents_memory, agents_new, agents_show;

const struct cadre_command command_agents = {
	.name = "agents",
	.summary = "list, show, check and create agents, share their memory",
	.help = "Usage: cadre agents [list]             the agents that can be called, and what overrides what\n"
		"       cadre agents show NAME          one agent: each field with its origin, its tools and model\n"
		"       cadre agents check [PATH...]    what was read, tolerated and refused in each file\n"
		"       cadre agents memory NAME        copy its user memory into the project, for others\n"
		"       cadre agents new NAME           create .claude/agents/NAME.md from a template\n"
		"\n"
		"Agents are read from plugins, the user's and the project's settings and agents directories,\n"
		"--agents, and the managed directory; a later source overrides an earlier one by name.\n"
		"check exits with 1 if a file is refused.\n"
		"\n"
		"Examples:\n"
		"  cadre agents show Explore\n"
		"  cadre agents check .claude/agents/reviewer.md\n"
		"  cadre agents new reviewer\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, agents_list },
			{ "check", "[PATH...]", 0, agents_check },
			{ "memory", "NAME", 0, agents_memory },
			{ "new", "NAME", 0, agents_new },
			{ "show", "NAME", 0, agents_show },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings = (const char *const[]){ "add-dir", "agents", "model", "plugin-dir", "setting-sources", "settings",
					   "trust-project", NULL },
};

static void put_fact(void *data, const struct agent_fact *fact)
{
	json_kraw(data, fact->field, fact->json);
}

static void list_active(struct cadre_report *report, struct json_out *w, const struct catalog *r,
			const struct catalog_entry *e)
{
	const struct agent_definition *d = e->definition;
	const struct agent_denial *denial = agent_denied(r, str_from(d->name));
	AUTO_BUF struct buf tools = { 0 };

	json_open(w, '{');
	agent_describe(d, put_fact, w);
	json_putf(w, "source:'%s', file:'%s', plugin:'%s', shownColor:'%s', deniedBy:'%s'",
		  definition_source_name(d->source), d->file, d->plugin, agent_color(d), denial ? denial->rule : NULL);
	json_putf(w, "overrides:[");
	for (size_t i = 0; i < r->all_count; i++) {
		if (r->all[i].hidden_by != e)
			continue;
		json_putf(w, "{source:'%s', file:'%s'}", definition_source_name(r->all[i].definition->source),
			  r->all[i].definition->file);
	}
	json_putf(w, "]}");
	if (denial)
		buf_addf(&tools, "(denied by %s from %s)", denial->rule, denial->origin);
	else
		roster_tools(&tools, d);
	report_row(report, denial ? CADRE_NOTE : CADRE_PLAIN, d->name, definition_source_name(d->source),
		   d->model ? d->model : "inherit", tools.p, NULL);
}

static int agents_list(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_report *report = call->report;
	struct json_out w = json_out(&report->json);
	struct catalog *r;
	bool first = true;
	int status = services_agents(call->services, &a, &r, call->err);

	if (status < 0)
		return status;
	json_putf(&w, "{activeAgents:[");
	report_row(report, CADRE_HEAD, "NAME", "SOURCE", "MODEL", "TOOLS", NULL);
	for (size_t i = 0; i < r->active_count; i++)
		list_active(report, &w, r, r->active[i]);
	json_putf(&w, "], allAgents:[");
	for (size_t i = 0; i < r->all_count; i++) {
		const struct agent_definition *d = r->all[i].definition;
		const char *source = definition_source_name(d->source);
		const char *by = r->all[i].hidden_by ? r->all[i].hidden_by->definition->file : NULL;
		json_putf(&w, "{name:'%s', source:'%s', file:'%s', overriddenBy:'%s'}", d->name, source, d->file, by);
		if (by && first)
			report_row(report, CADRE_HEAD, "OVERRIDDEN", "SOURCE", "FILE", "BY", NULL);
		if (by)
			report_row(report, CADRE_PLAIN, d->name, source, d->file, by, NULL);
		first = first && !by;
	}
	json_close(&w);
	if (r->plugins_only)
		report_line(report, CADRE_NOTE,
			    "Managed settings allow agents of plugins only: those of the user, the "
			    "project and --agents are left out.");
	report_failed_files(report, &w, r);
	json_putf(&w, "pluginsOnly:!!%d}", r->plugins_only);
	catalog_free(r);
	return 0;
}

struct show {
	struct cadre_report *report;
	struct json_out w;
	const struct catalog *registry;
	const struct catalog_entry *entry;
	const struct settings *settings;
	struct arena *arena;
};

static void show_field(void *data, const struct agent_fact *fact)
{
	struct show *s = data;
	char from[32];

	json_putf(&s->w, "{field:'%s', value:%.*s, from:'%s', line:?%u}", fact->field, STR_ARG(fact->json),
		  fact->given ? s->entry->definition->file : NULL, fact->line);
	if (!fact->given && !fact->text.n)
		return;
	snprintf(from, sizeof from, "line %u", fact->line);
	report_row(s->report, CADRE_PLAIN, fact->field,
		   fact->line    ? from
		   : fact->given ? "given"
				 : "default",
		   fact->text.n ? fact->text.p : "(no effect)", NULL);
}

static void show_tool_names(struct show *s, const char *key, const char *title, const struct tool_names *names,
			    enum cadre_style style)
{
	AUTO_BUF struct buf text = { 0 };

	report_put_names(&s->w, key, names->list, names->count, &text);
	if (names->count)
		report_row(s->report, style, title, "", text.p, NULL);
}

static void put_tool_limits(struct json_out *w, const char *key, const struct tool_limits *limits)
{
	json_kopen(w, key, '[');
	for (size_t i = 0; i < limits->count; i++)
		json_putf(w, "{tool:'%s', specifier:'%s'}", limits->list[i].tool, limits->list[i].specifier);
	json_close(w);
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
	json_kopen(&s->w, "resolvedTools", '[');
	for (size_t i = 0; i < choice.tools.count; i++) {
		json_put_cstr(&s->w, choice.tools.tools[i]->name);
		buf_addf(&text, "%s%s", i ? ", " : "", choice.tools.tools[i]->name);
	}
	json_close(&s->w);
	put_tool_limits(&s->w, "onlyWith", &choice.only);
	put_tool_limits(&s->w, "neverWith", &choice.never);
	report_row(s->report, CADRE_PLAIN, "tools it gets", "", text.n ? text.p : "none", NULL);
	show_tool_names(s, "unknownTools", "unknown tools", &choice.unknown, CADRE_WARN);
	show_tool_names(s, "withheldTools", "withheld tools", &choice.withheld, CADRE_NOTE);
	show_tool_names(s, "missingTools", "not in this session", &choice.missing, CADRE_NOTE);
	tool_choice_release(&choice);
	tool_set_release(&pool);
}

static void show_model(struct show *s, const struct services *sv)
{
	const struct agent_definition *d = s->entry->definition;
	struct model_choice choice;
	const char *parent = sv->options.model ? sv->options.model : model_default(NULL);

	(void)model_resolve(s->arena, parent, &parent, NULL); /* an unknown name is shown as it is */
	model_choose(s->arena,
		     &(struct model_wishes){ .environment = services_variable(sv, "CLAUDE_CODE_SUBAGENT_MODEL"),
					     .definition = d->model,
					     .allowed = settings_get(s->settings, "availableModels", NULL),
					     .parent = parent,
					     .shares_context = d->fork_context },
		     &choice);
	json_putf(&s->w, "resolvedModel:{id:'%s', from:'%s', note:'%s'}", choice.id, choice.origin, choice.note);
	report_row(s->report, CADRE_PLAIN, "model it runs on", choice.origin, choice.id, NULL);
	if (choice.note)
		report_row(s->report, CADRE_NOTE, "", "note", choice.note, NULL);
}

static void write_show(struct show *s, const struct services *sv)
{
	const struct agent_definition *d = s->entry->definition;
	const struct catalog *r = s->registry;
	AUTO_BUF struct buf prompt = { 0 };
	report_row(s->report, CADRE_HEAD, "FIELD", "FROM", "VALUE", NULL);
	report_row(s->report, CADRE_PLAIN, "source", definition_source_name(d->source), d->file, NULL);
	json_putf(&s->w, "{name:'%s', source:'%s', file:'%s', plugin:'%s', shownColor:'%s', fields:[", d->name,
		  definition_source_name(d->source), d->file, d->plugin, agent_color(d));
	agent_describe(d, show_field, s);
	json_close(&s->w);
	show_model(s, sv);
	show_tools(s);
	json_kopen(&s->w, "overrides", '[');
	for (size_t i = 0; i < r->all_count; i++) {
		if (r->all[i].hidden_by != s->entry)
			continue;
		json_put_cstr(&s->w, r->all[i].definition->file);
		report_row(s->report, CADRE_NOTE, "overrides", definition_source_name(r->all[i].definition->source),
			   r->all[i].definition->file, NULL);
	}
	json_close(&s->w);
	diagnostics_put(&s->w, d->diagnostics, d->diagnostic_count);
	report_diagnostics(s->report, d->file, d->diagnostics, d->diagnostic_count);
	if (builtin_is_guide(d))
		guide_prompt(&prompt, d, r, &(struct guide_facts){ 0 });
	else
		buf_add(&prompt, d->prompt, d->prompt_len);
	json_kstr(&s->w, "prompt", buf_str(&prompt));
	report_line(s->report, CADRE_HEAD, "PROMPT");
	report_line(s->report, CADRE_PLAIN, "%s", buf_str(&prompt).p);
	json_close(&s->w);
}

static int agents_show(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct settings *settings = NULL;
	struct catalog *r = NULL;
	int status = services_settings(call->services, &settings, call->err);

	if (status == 0)
		status = services_agents(call->services, &a, &r, call->err);
	if (status == 0) {
		struct show s = { .report = call->report,
				  .w = json_out(&call->report->json),
				  .registry = r,
				  .entry = agent_registry_find(r, str_from(call->operands[0])),
				  .settings = settings,
				  .arena = &a };
		if (s.entry)
			write_show(&s, call->services);
		else
			status = err_set(call->err, ERR_NOT_FOUND, "no such agent: %.80s; `cadre agents` lists them",
					 call->operands[0]);
		catalog_free(r);
	}
	settings_unref(settings);
	return status;
}

struct check {
	struct cadre_report *report;
	struct json_out w;
	unsigned loaded, skipped, refused;
};

static void check_definition(struct check *k, const struct agent_definition *d)
{
	agent_check_json(&k->w, d);
	if (d->refused)
		report_line(k->report, CADRE_BAD, "%s: refused", d->file);
	else if (d->ignored)
		report_line(k->report, CADRE_NOTE, "%s: not an agent", d->file);
	else
		report_line(k->report, CADRE_GOOD, "%s: loaded as %s", d->file, d->name);
	report_diagnostics(k->report, d->file, d->diagnostics, d->diagnostic_count);
	k->refused += d->refused;
	k->skipped += !d->refused && d->ignored;
	k->loaded += !d->refused && !d->ignored;
}

/* A file without a definition: it could not even be read. */
static void check_problem(struct check *k, const char *path, unsigned line, const char *message)
{
	const struct diagnostic problem = { .level = DIAGNOSTIC_ERROR, .line = line, .message = message };

	json_putf(&k->w, "{file:'%s', loaded:false, is_agent:false", path);
	diagnostics_put(&k->w, &problem, 1);
	json_close(&k->w);
	report_line(k->report, CADRE_BAD, "%s: %s", report_position(k->report, path, line), message);
	k->refused++;
}

static void check_file(struct check *k, const char *path, int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	if (fd < 0 || file_read_fd(fd, LARGEST_FILE, &text, &err) < 0) {
		check_problem(k, path, 0, fd < 0 ? strerror(errno) : err.text);
		return;
	}
	struct agent_definition *d = agent_from_markdown(SOURCE_PROJECT, path, tree_stem(&a, path), buf_str(&text));
	check_definition(k, d);
	agent_unref(d);
}

static void check_on_problem(void *data, const char *path, const char *message)
{
	check_problem(data, path, 0, message);
}

static void check_on_file(void *data, const struct tree_file *file)
{
	check_file(data, file->path, file->dir, file->name);
}

/* All files of the places that agents are read from */
static int check_places(struct check *k, struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct catalog *r;
	int status = services_agents(sv, &a, &r, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < r->looked_at_count; i++)
		if (r->looked_at[i]->source != SOURCE_BUILT_IN)
			check_definition(k, (const struct agent_definition *)r->looked_at[i]);
	for (size_t i = 0; i < r->failed_count; i++) {
		size_t n = 0;
		while (n < r->looked_at_count && strcmp(r->looked_at[n]->file, r->failed[i].path) != 0)
			n++;
		if (n == r->looked_at_count)
			check_problem(k, r->failed[i].path, r->failed[i].line, r->failed[i].message);
	}
	for (size_t i = 0; i < r->all_count; i++)
		if (r->all[i].hidden_by && r->all[i].hidden_by->group == r->all[i].group)
			report_line(k->report, CADRE_WARN, "%s: not used: %s in the same place is an agent '%s' too",
				    r->all[i].definition->file, r->all[i].hidden_by->definition->file,
				    r->all[i].definition->name);
	catalog_free(r);
	return 0;
}

static int agents_check(struct cadre_call *call)
{
	struct check k = { .report = call->report, .w = json_out(&call->report->json) };
	struct stat st;
	int status = 0;

	json_open(&k.w, '[');
	for (size_t i = 0; status == 0 && i < call->count; i++) {
		const char *path = call->operands[i];
		if (stat(path, &st) < 0)
			status = err_set(call->err, ERR_USAGE, "%s: %m", path);
		else if (S_ISDIR(st.st_mode))
			tree_walk(&(struct tree_walk){ .on_file = check_on_file,
						       .on_problem = check_on_problem,
						       .data = &k },
				  path);
		else if (S_ISREG(st.st_mode))
			check_file(&k, path, AT_FDCWD, path);
		else
			status = err_set(call->err, ERR_USAGE, "%s: neither a file nor a directory", path);
	}
	if (!call->count)
		status = check_places(&k, call->services, call->err);
	json_close(&k.w);
	k.report->bad = k.refused > 0;
	report_line(k.report, k.refused ? CADRE_BAD : CADRE_PLAIN, "%u loaded, %u not agents, %u refused", k.loaded,
		    k.skipped, k.refused);
	return status;
}

static int agents_memory(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct memory_dirs places = { 0 };
	struct catalog *r = NULL;
	const char *name = call->operands[0];
	const char *cwd;
	size_t files = 0;

	if (options_directories(&call->services->options, &a, &cwd, &places.config_dir, call->err) < 0 ||
	    services_agents(call->services, &a, &r, call->err) < 0)
		return -(int)call->err->kind;
	const char *root = git_root(&a, cwd);
	places.project_dir = root ? root : cwd;
	const struct catalog_entry *entry = agent_registry_find(r, str_from(name));
	int status = entry ? agent_memory_save_snapshot(entry->definition, &places, &files, call->err)
			   : err_set(call->err, ERR_NOT_FOUND, "no such agent: %.80s; `cadre agents` lists them", name);
	if (status == 0) {
		json_addf(&call->report->json, "{name:'%s', files:%zu}", entry->definition->name, files);
		report_line(call->report, CADRE_GOOD,
			    "The memory of %s is in the project now, in .claude/agent-memory-snapshots: %zu file(s).",
			    entry->definition->name, files);
	}
	catalog_free(r);
	return status;
}

static int agents_new(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const char *name = call->operands[0];
	const char *gap = strstr(agent_template_text, "NAME");
	struct catalog_sources sources;
	int status = services_agent_sources(call->services, &a, &sources, call->err);

	if (status < 0)
		return status;
	/* It becomes the name of a file, and a type in calls and rules. */
	if (strlen(name) > LONGEST_NAME || !str_is_name(str_from(name), "-_") || char_in(name[0], "-_"))
		return err_set(call->err, ERR_USAGE,
			       "'%.80s' cannot be the name of an agent: expected letters, digits, "
			       "'-' and '_', %d at most, the first a letter or digit",
			       name, LONGEST_NAME);
	const char *path = arena_printf(&a, "%s/.claude/agents/%s.md", sources.cwd, name);
	buf_add(&text, agent_template_text, (size_t)(gap - agent_template_text));
	buf_addf(&text, "%s%s", name, gap + strlen("NAME"));
	status = services_check_target(call->services, path, call->err);
	if (status == 0)
		status = file_make_parents_mode(path, 0777, call->err);
	if (status < 0)
		return status;
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return err_set(call->err, ERR_USAGE, "%s exists already", path);
	if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n)
		return err_set(call->err, ERR_IO, "cannot write %s: %m", path);
	json_addf(&call->report->json, "{name:'%s', file:'%s'}", name, path);
	report_line(call->report, CADRE_GOOD,
		    "%s is written. Edit its description and its text, then run "
		    "`cadre agents check`.",
		    path);
	return 0;
}
