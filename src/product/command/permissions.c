/* SPDX-License-Identifier: MIT
 * permissions.c - `cadre permissions`: lists the rules, and tests a call against them. */
#include "product/command/command.h"
#include "defs/policy/permissions.h"
#include "agents/profile/tool_choice.h"
#include "guard/permission/rule_set.h"

static command_fn permissions_list, permissions_test;

const struct cadre_command command_permissions = {
	.name = "permissions",
	.summary = "list permission rules, and test what they say about a call",
	.help = "Usage: cadre permissions [list]               every rule that holds, and the file it stands in\n"
		"       cadre permissions test CALL [AGENT]    would it run? which rule, file, mode and step decide\n"
		"\n"
		"CALL is a tool with what its rules look at, or JSON with the whole input. AGENT is a type of agent that\n"
		"makes the call; without one it is the main agent. Rules are read from the settings (see `cadre config\n"
		"explain permissions.deny`), --allowedTools and --disallowedTools. deny goes before ask, ask before allow,\n"
		"whichever file they stand in. test ends with 1 if the call is denied.\n"
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
	.settings = (const char *const[]){ "add-dir", "agents", "allowed-tools", "disallowed-tools", "permission-mode",
					   "plugin-dir", "setting-sources", "settings", "trust-project", NULL },
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
	for (enum rule_list list = RULE_DENY; list <= RULE_ALLOW; list++) {
		list_set(call->report, &w, p.permission.rules, list);
		list_set(call->report, &w, p.permission.own, list);
	}
	json_close(&w);
	put_warnings(&w, &warnings);
	buf_release(&warnings.json);
	return 0;
}

/* Test: the call. */

struct permission_test {
	struct arena arena;
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

/* The permission of an agent of this type. *ret_child need not be initialised. */
static int derive_agent(struct services *sv, struct permission_test *t, const struct permission_setup *p,
			const char *type, struct permission *ret_child, struct err *err)
{
	struct tool_set pool = { 0 };
	struct tool_choice choice;
	struct catalog *registry;

	if (services_agents(sv, &t->arena, &registry, err) < 0)
		return -(int)err->kind;
	const struct catalog_entry *e = agent_registry_find(registry, str_from(type));
	if (!e) {
		catalog_free(registry);
		return err_set(err, ERR_NOT_FOUND, "no such agent: %s", type);
	}
	const struct agent_definition *d = e->definition;
	bool trusted = d->source != SOURCE_PROJECT || p->trusted;
	for (size_t i = 0; tool_table[i]; i++)
		tool_set_add(&pool, tool_table[i]);
	tool_choose(d, &(struct tool_choice_spec){ .pool = &pool }, &choice);
	permission_derive(ret_child, &p->permission,
			  &(struct permission_birth){
				  .mode = d->permission_mode,
				  .mode_invalid = d->permission_mode_invalid,
				  .mode_may_widen = d->source != SOURCE_PLUGIN && trusted,
				  .can_ask = true,
				  .only = choice.only.list,
				  .only_count = choice.only.count,
				  .never = choice.never.list,
				  .never_count = choice.never.count,
			  });
	tool_choice_release(&choice);
	tool_set_release(&pool);
	catalog_free(registry);
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

static int run_permission_test(struct services *sv, struct permission_test *t, const char *call, const char *agent,
			       struct err *err)
{
	AUTO_PERMISSION_SETUP struct permission_setup p = { 0 };
	struct permission child = { 0 };
	struct permission_verdict v = { 0 };
	struct str text = str_trim(str_from(call));

	if ((str_starts(text, STR("{")) ? read_json(t, text, err) : read_short(t, text, err)) < 0 ||
	    permission_setup_open(sv, &t->arena, &p, note_warning, &t->warnings, err) < 0)
		return -(int)err->kind;
	if (agent && derive_agent(sv, t, &p, agent, &child, err) < 0)
		return -(int)err->kind;
	t->use.env = &p.env;
	permission_explain(agent ? &child : &p.permission, t->use, PERMISSION_HINT_NONE, &v);
	report_test_verdict(t, &v, agent);
	permission_verdict_release(&v);
	permission_release(&child);
	return 0;
}

static int permissions_test(struct cadre_call *call)
{
	struct permission_test t = { .report = call->report,
				     .warnings = { .report = call->report, .style = CADRE_NOTE } };
	int status = run_permission_test(call->services, &t, call->operands[0], call->operands[1], call->err);

	json_reader_release(&t.reader);
	buf_release(&t.warnings.json);
	arena_release(&t.arena);
	return status;
}
