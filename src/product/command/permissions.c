/* SPDX-License-Identifier: MIT
 * permissions.c - `cadre permissions`: lists the rules, and tests a call against them. */
#include "product/command/sandbox.h"
#include "agents/profile/main_definition.h"
#include "agents/profile/tool_choice.h"
#include "core/store/store.h"
#include "defs/policy/plugins.h"
#include "lib/git/git_head.h"
#include "guard/permission/rule_set.h"

static command_fn permissions_list, permissions_test;

const struct cadre_command command_permissions = {
	.name = "permissions",
	.summary = "list permission rules, and test how they decide a call",
	.help = "Usage: cadre permissions [list]               every rule that applies, and its file\n"
		"       cadre permissions test CALL [AGENT]    would it run? which rule, file, mode and step decide\n"
		"\n"
		"CALL is a tool with the value that its rules match, or JSON with the whole input. AGENT is the type\n"
		"of agent that makes the call; the default is the main agent. Rules are read from the settings (see\n"
		"`cadre config explain permissions.deny`), --allowedTools and --disallowedTools. deny precedes ask,\n"
		"and ask precedes allow, in any file. test exits with 1 if the call is denied.\n"
		"\n"
		"Examples:\n"
		"  cadre permissions test 'Bash(git push origin main)'\n"
		"  cadre permissions test 'Edit(src/main.c)' reviewer --permission-mode acceptEdits\n"
		"  cadre permissions test '{\"tool_name\": \"WebFetch\", \"tool_input\": {\"url\": \"https://x.org\"}}' --json\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, permissions_list },
			{ "test", "CALL [AGENT]", 0, permissions_test },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings = (const char *const[]){ "add-dir", "agent", "agents", "allowed-tools", "disallowed-tools",
					   "permission-mode", "plugin-dir", "setting-sources", "settings",
					   "trust-project", NULL },
};

/* Warnings about rules, as rows and as JSON */
struct warnings {
	struct cadre_report *report;
	enum cadre_style style;
	struct buf json; /* texts with commas between */
};

static void note_warning(void *data, const char *message)
{
	struct warnings *w = data;

	if (w->json.n)
		buf_addch(&w->json, ',');
	json_add_quoted(&w->json, str_from(message));
	report_line(w->report, w->style, "%s", message);
}

static void put_warnings(struct json_out *w, const struct warnings *warnings)
{
	json_kopen(w, "warnings", '[');
	if (warnings->json.n)
		json_put_raw(w, buf_str(&warnings->json));
	json_putf(w, "]}");
}

static const char *rule_position(struct cadre_report *report, const struct rule *r)
{
	return report_position(report, r->origin->file ? r->origin->file : r->origin->layer, r->origin->line);
}

static void list_set(struct cadre_report *report, struct json_out *w, const struct rule_set *set, enum rule_list list)
{
	for (size_t i = 0; set && i < set->all.count; i++) {
		const struct rule *r = set->all.list[i];
		if (r->list != list)
			continue;
		json_putf(w, "{list:'%s', rule:'%s', source:'%s', file:'%s', line:?%u, effective:!!%d}",
			  rule_list_name(r->list), r->text, r->origin->layer, r->origin->file, r->origin->line,
			  r->kind != RULE_INERT);
		report_row(report, r->kind == RULE_INERT ? CADRE_NOTE : CADRE_PLAIN, rule_list_name(r->list), r->text,
			   rule_position(report, r), NULL);
	}
}

static int permissions_list(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_PERMISSION_SETUP struct permission_setup p = { 0 };
	struct json_out w = json_out(&call->report->json);
	struct warnings warnings = { .report = call->report, .style = CADRE_WARN };

	if (permission_setup_open(call->services, &a, &p, note_warning, &warnings, call->err) < 0) {
		buf_release(&warnings.json);
		return -(int)call->err->kind;
	}
	json_putf(&w, "{mode:'%s', trusted:!!%d, refusal:'%s', rules:[", permission_mode_name(p.permission.mode),
		  p.trusted, p.refusal);
	report_row(call->report, CADRE_HEAD, "LIST", "RULE", "FROM", NULL);
	size_t rows = cadre_report_rows(call->report);
	for (enum rule_list list = RULE_DENY; list <= RULE_ALLOW; list++) {
		list_set(call->report, &w, p.permission.rules, list);
		list_set(call->report, &w, p.permission.own, list);
	}
	if (cadre_report_rows(call->report) == rows)
		report_line(call->report, CADRE_NOTE, "No rules are set (docs/permissions.md).");
	json_close(&w);
	put_warnings(&w, &warnings);
	buf_release(&warnings.json);
	return 0;
}

/* Test: the call. */

struct permission_test {
	struct services *services;
	struct arena arena;
	struct permission_setup setup; /* of the main agent */
	struct permission child;
	struct sandbox *sandbox;
	bool memory_on;
	bool chosen;               /* a definition chose the tools of who makes the call: */
	struct tool_choice choice; /* those */
	struct json_reader reader;
	struct tool_use use;
	struct tool other; /* one that is not built in */
	struct warnings warnings;
	struct cadre_report *report;
};

static int set_use(struct permission_test *t, struct str name, struct str input, struct err *err)
{
	struct tool_set all = { 0 };
	const struct json *root;

	input = arena_str(&t->arena, input);
	if (json_parse(&t->reader, input.p, input.n, &root, err) < 0)
		return -(int)err->kind;
	for (size_t i = 0; tool_table[i]; i++)
		tool_set_add(&all, tool_table[i]);
	const struct tool *tool = tool_set_find(&all, tool_current_name(name));
	tool_set_release(&all);
	if (!tool)
		t->other = (struct tool){ .name = arena_str(&t->arena, tool_current_name(name)).p, .definition = "{}" };
	t->use.tool = tool ? tool : &t->other;
	t->use.input = root;
	t->use.flags = t->use.tool->flags;
	return 0;
}

/* {"tool_name": .., "tool_input": {..}} as hooks get it; "name" and "input" as the model says it. */
static int read_json(struct permission_test *t, struct str text, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, text.p, text.n, &root, err) < 0) {
		err->kind = ERR_USAGE;
		return err_wrap(err, "the call is not JSON");
	}
	const struct json *name = json_get(root, "tool_name") ? json_get(root, "tool_name") : json_get(root, "name");
	const struct json *input =
		json_get(root, "tool_input") ? json_get(root, "tool_input") : json_get(root, "input");
	if (!json_is(name, JSON_STRING) || (input && !json_is(input, JSON_OBJECT)))
		return err_set(err, ERR_USAGE, "expected {\"tool_name\": \"Bash\", \"tool_input\": {...}}");
	return set_use(t, json_str(name, &t->arena), input ? json_raw(input) : STR("{}"), err);
}

/* "Bash(git push)": what is in the parentheses is the member that rules look at. */
static int read_short(struct permission_test *t, struct str text, struct err *err)
{
	AUTO_BUF struct buf input = { 0 };
	struct str rest = text;
	struct str name = tool_current_name(str_trim(str_cut(&rest, '(')));
	const struct tool_facts *subject = tool_facts_find(name);

	if (!name.n || (rest.p && (!rest.n || rest.p[rest.n - 1] != ')')))
		return err_set(err, ERR_USAGE, "expected a call such as 'Bash(git push)', or JSON");
	if (rest.p && !(subject && subject->primary))
		return err_set(err, ERR_USAGE, "what " STR_FMT " is called with must be given as JSON", STR_ARG(name));
	if (!rest.p)
		return set_use(t, name, STR("{}"), err);
	struct json_out w = json_out(&input);
	json_open(&w, '{');
	json_kstr(&w, subject->primary, (struct str){ rest.p, rest.n - 1 });
	json_close(&w);
	return set_use(t, name, buf_str(&input), err);
}

/* What the definition says, as tool_choice_birth(). main: the session runs as it. */
static void take_definition(struct permission_test *t, const struct catalog *registry, const struct agent_definition *d,
			    bool main, struct permission_birth *ret_birth)
{
	struct services *sv = t->services;
	const struct permission_setup *p = &t->setup;
	struct memory_dirs dirs = { p->spec.config_dir, services_project_dir(sv, &t->arena, p->spec.cwd), p->trusted };
	bool believed = services_believe(p->settings, &d->common);
	bool memory = t->memory_on && agent_memory_allowed(d, believed);
	struct tool_set pool = { 0 };

	for (size_t i = 0; tool_table[i]; i++)
		tool_set_add(&pool, tool_table[i]);
	tool_choice_release(&t->choice);
	struct tool_choice_spec spec = {
		.pool = &pool, .background = d->background, .memory = memory, .main_thread = main
	};
	tool_choose(d, &spec, &t->choice);
	if (!believed)
		tool_choice_narrow(&t->choice, agent_registry_of_user(registry, d->name), &spec);
	tool_set_release(&pool);
	t->chosen = true;
	tool_choice_birth(&t->choice, d, believed, &dirs, memory, &t->arena, ret_birth);
	ret_birth->only = t->choice.only.list; /* whom it may start, too: there is none below it */
	ret_birth->only_count = t->choice.only.count;
	if (!main || sv->options.mode_given)
		return;
	AUTO_BUF struct buf notes = { 0 };
	definition_use_mode(d, t->choice.mode, believed, &t->setup.permission, &notes);
	for (struct str rest = str_trim(buf_str(&notes)); rest.n;)
		note_warning(&t->warnings, arena_str(&t->arena, str_cut(&rest, '\n')).p);
}

/* The session may run as an agent: by --agent, a setting or a plugin. */
static int limit_main(struct permission_test *t, struct catalog *registry, struct err *err)
{
	struct services *sv = t->services;
	struct permission_setup *p = &t->setup;
	struct permission_birth birth = { 0 };
	struct plugin_list *plugins = NULL;
	struct agent_definition *d = NULL;
	AUTO_BUF struct buf notes = { 0 };
	const struct policy policy = { .settings = p->settings, .trusted = p->trusted, .options = sv->options };

	int status = services_find_plugins(sv, p->settings, &plugins, err);
	if (status == 0)
		status = main_definition_find(sv, p->settings, registry, plugins, NULL, &notes, &d, err);
	plugin_list_unref(plugins);
	if (status < 0)
		return status;
	if (notes.n)
		note_warning(&t->warnings, arena_str(&t->arena, str_trim(buf_str(&notes))).p);
	t->memory_on = agent_memory_is_on(sv, &policy);
	if (d)
		take_definition(t, registry, d, true, &birth);
	if (!birth.memory_dir && t->memory_on)
		birth.memory_dir = conversation_memory_dir(
			&t->arena, p->settings, store_project_dir(&t->arena, p->spec.config_dir, p->spec.cwd));
	permission_limit(&p->permission, &birth);
	agent_unref(d);
	return 0;
}

/* Another agent makes the call, in a copy of the repository if it has one. */
static int derive_child(struct permission_test *t, struct catalog *registry, const char *type, struct err *err)
{
	const struct catalog_entry *e = agent_registry_find(registry, str_from(type));
	struct tool_env *env = &t->setup.env;
	struct permission_birth birth;

	if (!e)
		return err_set(err, ERR_NOT_FOUND, "no such agent: %.80s; `cadre agents` lists them", type);
	take_definition(t, registry, e->definition, false, &birth);
	birth.can_ask = t->setup.permission.can_ask;
	birth.main_checkout = e->definition->isolation == ISOLATION_WORKTREE ? git_root(&t->arena, env->cwd) : NULL;
	if (birth.main_checkout) {
		birth.write_root = arena_printf(&t->arena, "%s/.claude/worktrees/agent", birth.main_checkout);
		((const char **)env->dirs)[0] = env->cwd = env->root = birth.write_root;
	}
	permission_derive(&t->child, &t->setup.permission, &birth);
	return 0;
}

static const struct {
	const char *name, *text;
	enum cadre_style style;
} decisions[] = {
	[PERMISSION_ALLOW] = { "allow", "runs", CADRE_GOOD },
	[PERMISSION_ASK] = { "ask", "needs an answer of the user, and is denied without one", CADRE_WARN },
	[PERMISSION_DENY] = { "deny", "does not run", CADRE_BAD },
};

static void report_test_verdict(struct permission_test *t, const struct permission_verdict *v, const char *agent)
{
	struct cadre_report *report = t->report;
	struct json_out w = json_out(&report->json);
	const struct rule *r = v->rule;

	json_putf(&w, "{tool:'%s', input:%.*s", t->use.tool->name, STR_ARG(json_raw(t->use.input)));
	json_putf(&w, "agent:'%s', decision:'%s', step:'%s', mode:'%s'", agent, decisions[v->decision].name,
		  permission_step_name(v->step), permission_mode_name(v->mode));
	json_putf(&w, "rule:'%s', list:'%s', source:'%s', file:'%s'", r ? r->text : NULL,
		  r ? rule_list_name(r->list) : NULL, r ? r->origin->layer : NULL, r ? r->origin->file : NULL);
	json_putf(&w, "line:?%u, reason:'%.*s'", r ? r->origin->line : 0, STR_ARG(v->reason));
	put_warnings(&w, &t->warnings);
	report_line(report, decisions[v->decision].style, "%s: %s %s", decisions[v->decision].name, t->use.tool->name,
		    decisions[v->decision].text);
	report_row(report, CADRE_PLAIN, "agent", agent ? agent : "(main)", NULL);
	report_row(report, CADRE_PLAIN, "mode", permission_mode_name(v->mode), NULL);
	report_row(report, CADRE_PLAIN, "decided by", permission_step_name(v->step), NULL);
	if (r) {
		report_row(report, CADRE_PLAIN, "rule", r->text, NULL);
		report_row(report, CADRE_PLAIN, "from", rule_position(report, r), NULL);
	}
	if (v->reason.n)
		report_row(report, CADRE_PLAIN, "reason", v->reason.p, NULL);
	report->bad = v->decision == PERMISSION_DENY;
}

/* As the gate does it. A tool that the agent does not have cannot be called; those of servers are not known here. */
static void decide(struct permission_test *t, struct permission *p, const char *agent, struct permission_verdict *ret)
{
	const char *tool = t->use.tool->name;
	bool lacks = t->use.tool == &t->other || (t->chosen && !tool_set_find(&t->choice.tools, str_from(tool)));

	t->use.env = &t->setup.env;
	t->use.where = sandbox_where(t->sandbox, t->use.tool, t->use.input);
	if (t->use.flags & TOOL_CONFINED)
		t->setup.permission.unenforced = sandbox_unenforced(t->sandbox, permission_mode(p));
	permission_explain(p, t->use, PERMISSION_HINT_NONE, ret);
	if (ret->decision == PERMISSION_DENY || !lacks || !strncmp(tool, "mcp__", 5))
		return;
	buf_clear(&ret->reason);
	buf_addf(&ret->reason, "%s does not have the tool %s.", agent ? agent : "The main agent", tool);
	ret->decision = PERMISSION_DENY;
	ret->step = PERMISSION_STEP_LIMIT;
	ret->rule = NULL;
}

static int run_permission_test(struct permission_test *t, const char *call, const char *agent, struct err *err)
{
	struct services *sv = t->services;
	struct permission_setup *p = &t->setup;
	struct permission_verdict v = { 0 };
	struct catalog *registry = NULL;
	struct str text = str_trim(str_from(call));

	if ((str_starts(text, STR("{")) ? read_json(t, text, err) : read_short(t, text, err)) < 0 ||
	    permission_setup_open(sv, &t->arena, p, note_warning, &t->warnings, err) < 0)
		return -(int)err->kind;
	t->sandbox = sandbox_of_setup(sv, p, &t->arena);
	sandbox_use_policy(t->sandbox, sandbox_policy_new(p->settings, p->env.cwd, p->spec.config_dir));
	int status = services_agents(sv, &t->arena, &registry, err);
	if (status == 0)
		status = limit_main(t, registry, err);
	if (status == 0 && agent)
		status = derive_child(t, registry, agent, err);
	if (status == 0) {
		decide(t, agent ? &t->child : &p->permission, agent, &v);
		report_test_verdict(t, &v, agent);
	}
	permission_verdict_release(&v);
	catalog_free(registry);
	return status;
}

static int permissions_test(struct cadre_call *call)
{
	struct permission_test t = { .services = call->services,
				     .report = call->report,
				     .warnings = { .report = call->report, .style = CADRE_NOTE } };
	int status = run_permission_test(&t, call->operands[0], call->operands[1], call->err);

	permission_release(&t.child);
	tool_choice_release(&t.choice);
	sandbox_free(t.sandbox);
	permission_setup_release(&t.setup);
	json_reader_release(&t.reader);
	buf_release(&t.warnings.json);
	arena_release(&t.arena);
	return status;
}
