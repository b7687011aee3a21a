/* SPDX-License-Identifier: MIT
 * skill_use.c - an agent uses a skill; preloaded skills. */
#include "agents/agent/skill_use.h"
#include "agents/profile/roster.h"
#include "core/model/catalog.h"
#include "guard/permission/permission.h"
#include "lib/base/list.h"
#include "lib/json/json_write.h"

enum { BYTES_PER_TOKEN = 4, NAMES_SHOWN = 20 };

struct skill_use {
	struct agent *agent;
	struct skill_use *next, **prev; /* in agent->skill_uses */
	struct skill *skill;            /* reference */
	struct skill_render *render;
	struct permission_grant *grant;
	bool lasting;
	skill_use_fn *done;
	void *data;
};

/* NULL: there are none. */
static struct catalog *refreshed_skills(struct agent_tree *t)
{
	catalog_refresh_once(t->skills.registry, t->services->loop);
	return t->skills.registry;
}

const struct catalog_entry *agent_skill(struct agent *a, struct str name)
{
	const struct catalog *r = refreshed_skills(a->tree);
	const struct catalog_entry *e = r ? skill_registry_find(r, name) : NULL;

	return e && !definition_is_hidden(&a->env, e->item) ? e : NULL;
}

void agent_explain_no_skill(struct buf *out, const struct agent *a, struct str name)
{
	const struct catalog *r = a->tree->skills.registry;
	AUTO_BUF struct buf near = { 0 };

	buf_addf(out, "Unknown skill: " STR_FMT ".", STR_ARG(name));
	if (!r)
		return;
	const struct catalog_entry *hidden = skill_registry_find(r, name);
	if (hidden) {
		buf_addf(out, " A deny rule forbids to read %s.", hidden->skill->file);
		return;
	}
	for (size_t i = 0; name.n && i < r->failed_count; i++)
		if (str_has(str_from(r->failed[i].path), name)) {
			buf_addf(out, " %s:%u: %s.", r->failed[i].path, r->failed[i].line, r->failed[i].message);
			break;
		}
	skill_registry_add_near(&near, r, name);
	if (near.n) {
		buf_addf(out, " Did you mean one of these: %s?", near.p);
		return;
	}
	for (size_t i = 0; i < r->active_count && i < NAMES_SHOWN; i++)
		buf_addf(out, "%s%s", i ? ", " : " There are: ", r->active[i]->name);
	buf_addstr(out, r->active_count > NAMES_SHOWN ? " and more." : r->active_count ? "." : "");
}

static struct skill_listing_spec listing_of(const struct agent *a)
{
	int64_t chars = a->tree->skills.listing_chars;
	double bytes = (double)model_find(&a->tree->services->endpoints.providers, a->model).context * BYTES_PER_TOKEN *
		       a->tree->skills.listing_part;

	return (struct skill_listing_spec){ .overrides = a->tree->skills.overrides,
					    .chosen = a->parent ? NULL : a->tree->services->options.skills,
					    .budget_bytes = bytes >= 1 && bytes < 1e9 ? (size_t)bytes : 0,
					    .most_chars = chars > 0 ? (size_t)chars : 0 };
}

static bool is_active(void *data, const struct catalog_entry *e)
{
	const struct agent *a = data;

	return !agent_skill_inactive(a, e) && !definition_is_hidden(&a->env, e->item);
}

/* The list as it is now. True: the model has another one. */
static bool write_list(struct agent *a, const struct catalog *r, struct buf *out)
{
	struct skill_listing_spec spec = listing_of(a);
	uint64_t before = a->skills_list_hash;
	bool was_told = a->skills_listed;

	spec.shows = is_active;
	spec.data = a;
	skill_listing_write(out, r, &spec);
	a->skills_listed = r->generation + 1;
	a->skills_list_hash = str_hash(buf_str(out));
	return !was_told || a->skills_list_hash != before;
}

void agent_list_skills(struct agent *a, struct buf *out)
{
	AUTO_BUF struct buf list = { 0 };
	const struct catalog *r = tool_set_find(&a->tools, STR("Skill")) ? refreshed_skills(a->tree) : NULL;
	bool was_told = a->skills_listed;

	if (!r || a->skills_listed == r->generation + 1 || !write_list(a, r, &list))
		return;
	if (list.n)
		buf_addf(out, "<system-reminder>\n%s</system-reminder>", list.p);
	else if (was_told)
		buf_addstr(out, "<system-reminder>\nNo skills are available any more.\n</system-reminder>");
}

void agent_notify_skills(struct agent *a, bool (*shows)(void *data, const struct catalog_entry *e), void *data)
{
	AUTO_BUF struct buf list = { 0 };
	AUTO_BUF struct buf all = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct skill_listing_spec spec = listing_of(a);
	const struct catalog *r = a->tree->skills.registry;

	if (!a->skills_listed)
		return; /* its first list will have them */
	spec.title = "The work at these files brings more skills that the Skill tool can use:";
	spec.shows = shows;
	spec.data = data;
	skill_listing_write(&list, r, &spec);
	(void)write_list(a, r, &all);
	if (!list.n)
		return;
	buf_addf(&text, "<system-reminder>\n%s</system-reminder>", list.p);
	query_notice(&a->query, NULL, buf_str(&text));
}

static void emit_problem(const struct agent *a, const char *file, const char *what)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "%s: %s", file, what);
	a->tree->on_event(a->tree->data, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

/* Rules that a skill brings. Plugins were installed by the user. */
const struct name_list *skill_use_allows(const struct agent *a, const struct skill *s)
{
	return s->allowed_tools.count && agent_tree_trusts_definition(a->tree, &s->common) ? &s->allowed_tools : NULL;
}

/* Its hooks stay until the session ends; they are registered once. */
static void register_skill_hooks(struct agent *a, const struct skill *s)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct diagnostics problems = { .arena = &arena };
	struct agent_tree *t = a->tree;
	bool trusted = s->source == SOURCE_PLUGIN ? s->plugin_trusted : agent_tree_trusts_definition(t, &s->common);

	for (size_t i = 0; i < t->skill_hook_count; i++)
		if (!strcmp(t->skill_hooks[i].file, s->file))
			return;
	if (agent_tree_bars(t, s->source, "hooks")) {
		emit_problem(a, s->file, "its hooks do not run: managed settings allow only plugins to bring hooks");
		return;
	}
	if (t->skill_hook_count == MOST_SKILL_HOOKS) {
		emit_problem(a, s->file, "its hooks do not run: too many skills have hooks already");
		return;
	}
	struct hook_set *set = hook_set_parse(&(struct hook_source){ .layer = HOOK_FROM_SKILL,
								     .file = s->file,
								     .plugin_root = s->plugin_root,
								     .plugin_data = s->plugin_data,
								     .trusted = trusted },
					      str_from(s->hooks), &t->policy->hook_policy, &problems);
	for (size_t i = 0; i < problems.count; i++)
		emit_problem(a, s->file, problems.list[i].message);
	if (!trusted)
		emit_problem(a, s->file, "its hooks do not run: this folder or plugin is not trusted");
	t->skill_hooks[t->skill_hook_count].set = set;
	t->skill_hooks[t->skill_hook_count++].file = arena_strdup(&set->arena, s->file);
}

static void on_rendered(void *data, const struct skill_text *text)
{
	struct skill_use *u = data;
	struct agent *a = u->agent;
	struct skill_result result = { .text = text->text, .failure = text->failure };
	const struct name_list *denied = &u->skill->disallowed_tools;
	const struct rule_origin origin = { .layer = "command", .file = u->skill->file };

	list_remove(u);
	if (text->failure.n || !u->lasting) {
		permission_revoke(&a->permission, u->grant);
	} else {
		/* A limit that is not a valid rule denies its tool. */
		for (size_t i = 0; i < denied->count; i++) {
			struct str rule = str_from(denied->names[i]);
			struct str rest = rule;
			if (rule_set_add(u->grant->rules, RULE_DENY, rule, &origin, NULL, NULL, NULL) < 0)
				(void)rule_set_add(u->grant->rules, RULE_DENY, str_cut(&rest, '('), &origin, NULL, NULL,
						   NULL);
		}
		if (u->skill->hooks)
			register_skill_hooks(a, u->skill);
		if (!u->skill->is_fork) {
			agent_take_turn_model(a, u->skill);
			result.is_known = !skill_text_note(&a->skills_told, u->skill->name, text->text);
		}
	}
	u->done(u->data, &result);
	skill_unref(u->skill);
	free(u);
}

struct skill_use *skill_use_start(struct agent *a, struct skill *skill, struct str arguments, bool lasting,
				  skill_use_fn *done, void *data)
{
	struct skill_use *u =
		xnew(struct skill_use, .agent = a, .skill = skill_ref(skill), .grant = permission_grant(&a->permission),
		     .lasting = lasting, .done = done, .data = data);

	list_push(&a->skill_uses, u);
	const struct rule_origin origin = { .layer = "command", .file = skill->file };
	const struct name_list *allows = skill_use_allows(a, skill);
	if (skill->allowed_tools.count && !allows)
		emit_problem(a, skill->file,
			     "its allowed-tools do not count: this folder is not trusted; `cadre trust` trusts it");
	for (size_t i = 0; allows && i < allows->count; i++)
		(void)rule_set_add(u->grant->rules, RULE_ALLOW, str_from(allows->names[i]), &origin, NULL, NULL, NULL);
	u->render = skill_render_start(
		&(struct skill_render_spec){
			.skill = skill,
			.arguments = arguments,
			.env = &a->env,
			.gate = &a->gate,
			.shell = tool_set_find(&a->tools, STR("Bash")),
			.reader = tool_set_find(&a->tools, STR("Read")),
			.session_id = a->tree->session_id,
			.project_dir = a->tree->project_dir,
			.no_commands = a->tree->skills.no_commands,
		},
		on_rendered, u);
	return u;
}

void skill_use_cancel(struct skill_use *u)
{
	skill_render_cancel(u->render);
}

struct tool_call *skill_use_question(const struct agent *a, const char *call_id)
{
	for (const struct skill_use *u = a->skill_uses; u; u = u->next) {
		struct tool_call *call = skill_render_call(u->render);
		if (call && !strcmp(call->id, call_id) && !call->running && !call->finished && !call->pass)
			return call;
	}
	return NULL;
}

struct preload {
	struct preload_spec spec;
	struct skill_use *use; /* NULL: none is being made ready */
	size_t at;             /* of the names; then the initial prompt */
	const char *name;      /* of the one that is */
	struct buf *out;       /* that gets its text */
	bool stopped;
};

static bool preload_next(struct preload *p);

static void on_preloaded(void *data, const struct skill_result *result)
{
	struct preload *p = data;

	p->use = NULL;
	if (result->failure.n)
		buf_addf(p->spec.notes, STR_FMT "\n", STR_ARG(result->failure));
	else
		skill_text_add(p->out, p->name, result->text);
	if (p->stopped || !preload_next(p))
		p->spec.done(p->spec.data);
}

/* A deny rule about a skill holds for whom an agent's file names, too. */
static bool preload_is_denied(const struct agent *a, const char *name)
{
	AUTO_BUF struct buf input = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct tool_use use = { .env = &a->env };
	struct permission_verdict v = { 0 };

	for (const struct tool *const *t = a->tree->kit->table; t && *t && !use.tool; t++)
		use.tool = !strcmp((*t)->name, "Skill") ? *t : NULL;
	json_addf(&input, "{skill:'%s'}", name);
	if (!use.tool || json_parse(&reader, input.p, input.n, &use.input, NULL) < 0)
		return false;
	permission_explain(&a->permission, use, PERMISSION_HINT_NONE, &v);
	bool denied = v.step == PERMISSION_STEP_DENY_RULE;
	permission_verdict_release(&v);
	return denied;
}

/* The next skill of the names that exists, then the one of the initial prompt. False: none is left. */
static bool preload_next(struct preload *p)
{
	struct agent *a = p->spec.agent;
	const struct name_list *names = p->spec.names;
	const char *initial = p->spec.initial;
	const struct catalog_entry *found = NULL;
	struct str arguments = { 0 };

	p->out = p->spec.skills;
	while (p->at < names->count && !found) {
		const char *name = names->names[p->at++];
		const struct catalog_entry *e = agent_skill(a, str_from(name));
		if (!e && a->definition && a->definition->plugin) /* its own plugin's need no prefix */
			e = agent_skill(a, str_from(arena_printf(&a->arena, "%s:%s", a->definition->plugin, name)));
		if (!e)
			buf_addf(p->spec.notes, "the skill %s is not available\n", name);
		else if (!(agent_skill_views(a, e) & SKILL_FOR_MODEL))
			buf_addf(p->spec.notes, "the skill %s is for the user alone and is not preloaded\n", name);
		else if (preload_is_denied(a, e->name))
			buf_addf(p->spec.notes, "the skill %s is not preloaded: a deny rule forbids it\n", name);
		else
			found = e;
	}
	if (!found && p->at++ == names->count && initial && initial[0] == '/') {
		arguments = str_from(initial);
		struct str name = str_cut(&arguments, ' ');
		p->out = p->spec.initial_skill;
		found = agent_skill(a, name);
		if (!found)
			buf_addf(p->spec.notes, "the initial prompt names a skill that does not exist: " STR_FMT "\n",
				 STR_ARG(name));
		else if (preload_is_denied(a, found->name)) {
			buf_addf(p->spec.notes,
				 "the initial prompt names a skill that a deny rule forbids: " STR_FMT "\n",
				 STR_ARG(name));
			found = NULL;
		}
	}
	if (!found)
		return false;
	p->name = arena_strdup(&a->arena, found->name);
	p->use = skill_use_start(a, found->skill, arguments.p ? arguments : STR(""), false, on_preloaded, p);
	return true;
}

struct preload *preload_start(const struct preload_spec *spec)
{
	struct preload *p = arena_new(&spec->agent->arena, struct preload, .spec = *spec);

	return preload_next(p) ? p : NULL;
}

void preload_stop(struct preload *p)
{
	if (!p)
		return;
	p->stopped = true;
	if (p->use)
		skill_use_cancel(p->use);
}

static void on_child_ready(void *data)
{
	struct agent *a = data;

	a->preload = NULL;
	agent_step_done(a, NULL);
}

int agent_preload(struct agent *a, struct err *err)
{
	if (!a->parent || !a->definition || a->load)
		return 0; /* the main agent's first turn waits for them; a fork has its parent's words, one that continues its own */
	a->preload = preload_start(&(struct preload_spec){ .agent = a,
							   .names = &a->definition->skills,
							   .initial = a->definition->initial_prompt,
							   .skills = &a->skills,
							   .initial_skill = &a->initial,
							   .notes = &a->notes,
							   .done = on_child_ready,
							   .data = a });
	return a->preload ? STEP_TAKES_TIME : 0;
}
