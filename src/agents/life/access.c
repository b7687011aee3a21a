/* SPDX-License-Identifier: MIT
 * access.c - what an agent may use: which tools it has, and its permission. The main agent's tools are the pool that children choose
 * from, or a choice from it. */
#include "agents/life/life.h"
#include <assert.h>
#include "core/model/catalog.h"
#include "config/settings/settings.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/permissions.h"
#include "mcp/client/pool.h"
#include "agents/agent/context.h"
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"
#include "agents/worktree/worktree.h"
#include "agents/profile/roster.h"
#include "lib/json/json_write.h"

/* The Agent tool as the model sees it. */

static bool hides_background(const struct agent_tree *t)
{
	return t->switches.background_off || t->switches.fork_mode || t->switches.coordinator;
}

/* Where a fork may be made: what it is, when it is worth it, and an example. */
static void write_fork_usage(struct buf *out, const struct agent_tree *t, const char *only)
{
	if (only || t->switches.coordinator || agent_denied(t->services->registry, STR(FORK_TYPE)))
		return;
	if (t->switches.fork_mode)
		buf_addstr(out, "Without subagent_type the agent is a fork of you: it has this whole conversation, and "
				"a short prompt is enough. It always works in the background.");
	else
		buf_addstr(
			out,
			"With subagent_type \"fork\" the agent is a fork of you: it has this whole conversation, and "
			"a short prompt is enough.");
	buf_addf(out,
		 " Fork when the task needs the context of this conversation, and its steps would only fill this "
		 "conversation.\nExample: the user asks for a survey before a merge. One call {\"description\": "
		 "\"Survey the branch\", %s\"prompt\": \"List what is left before this branch can be merged: open "
		 "changes, missing tests, failing checks. At most 150 words.\"} says what to do, not what is known "
		 "already.\n\n",
		 t->switches.fork_mode ? "" : "\"subagent_type\": \"fork\", ");
}

/* In place of the usual text: a coordinator has no tools of its own, and waits for no worker. */
static const char worker_usage[] =
	"Starts a worker, which carries out one task in the background. It has its own conversation and sees nothing of this "
	"one: the prompt must contain everything that it needs: the goal, where to look, what is already known, and what to "
	"report.\n\n"
	"- To run independent tasks at the same time, start several workers with several calls in one message.\n"
	"- The call returns at once with the id of the worker. Its end comes to you as a task notification; SendMessage to its id "
	"continues it with its conversation.\n"
	"- isolation \"worktree\" gives it a copy of the git repository, so that its changes cannot conflict with others. A copy "
	"without changes is removed; otherwise the notification names its path and branch.";

static void write_definition(struct buf *out, const struct agent_tree *t, const char *base, const char *only)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	static const char *const hidden[] = { "run_in_background", NULL };
	const struct json *root = json_read(&reader, str_from(base)); /* compiled in */
	struct json_out w = json_out(out);
	struct str description =
		t->switches.coordinator ? str_from(worker_usage) : json_str(json_get(root, "description"), &a);

	buf_addf(&text, STR_FMT "\n\n", STR_ARG(description));
	write_fork_usage(&text, t, only);
	roster_write(&text, t->services->registry,
		     &(struct roster_spec){ .reader = &t->main.env,
					    .only = only ? str_from(only) : (struct str){ 0 },
					    .mcp_servers = servers_ready(t, &a),
					    .background_off = hides_background(t) });
	json_putf(&w, "{name:'Agent'");
	json_kstr(&w, "description", str_trim(buf_str(&text)));
	json_key(&w, "input_schema");
	const struct json *schema = json_get(root, "input_schema");
	json_open(&w, '{');
	for (struct json_member m = json_members(schema); m.key; m = json_member_next(schema, m)) {
		struct str key = json_str(m.key, &a);
		json_key_str(&w, key);
		if (!str_is(key, "properties")) {
			json_put_raw(&w, json_raw(m.value));
			continue;
		}
		json_open(&w, '{');
		json_put_members(&w, m.value, hides_background(t) ? hidden : NULL, NULL);
		json_close(&w);
	}
	json_putf(&w, "}}");
}

static void agent_tool_renew(struct agent_tree *t)
{
	AUTO_BUF struct buf definition = { 0 };

	if (!t->agent_base)
		return;
	write_definition(&definition, t, t->agent_base, NULL);
	struct head *shared = head_intern(&t->services->heads, buf_str(&definition));
	head_unref(t->agent_definition);
	t->agent_definition = shared;
	t->agent_tool.definition = shared->bytes.p;
}

const struct tool *agent_tool_make(struct agent_tree *t, const struct tool *base)
{
	t->agent_base = base->definition;
	t->agent_tool = *base;
	t->agent_tool.accepts = base->definition; /* a parameter that is not offered here may be given all the same */
	agent_tool_renew(t);
	return &t->agent_tool;
}

void agent_tool_limit(struct agent *a)
{
	AUTO_BUF struct buf definition = { 0 };

	for (size_t i = 0; a->agent_types && i < a->tools.count; i++) {
		if (a->tools.tools[i] != &a->tree->agent_tool)
			continue;
		struct tool *own = arena_alloc(&a->arena, sizeof *own);
		write_definition(&definition, a->tree, a->tree->agent_base, a->agent_types);
		*own = a->tree->agent_tool;
		own->definition = arena_strdup(&a->arena, definition.p);
		a->tools.tools[i] = own;
	}
}

static bool is_named(const char *rules, const char *tool)
{
	struct str rest = rules ? str_from(rules) : (struct str){ 0 };

	while (rest.p)
		if (str_is(str_trim(str_cut(&rest, ',')), tool))
			return true;
	return false;
}

/* Of a tool with TOOL_TASK_LIST or TOOL_TODOS: CLAUDE_CODE_ENABLE_TASKS=0 says TodoWrite in place of the task list;
 * CLAUDE_CODE_ENABLE_TODO_TOOLS=1 offers it to models that plan without one, as an allow rule for the tool does. */
static bool offers_list(const struct agent_tree *t, const struct tool *tool)
{
	const char *tasks = services_variable(t->services, "CLAUDE_CODE_ENABLE_TASKS");
	bool by_tasks = !tasks || !tasks[0] || env_is_on(tasks);

	if (!t->session_dir)
		return false; /* lists are files of a session */
	if (is_named(t->policy->options.allowed_tools, tool->name))
		return true;
	if (by_tasks != ((tool->flags & TOOL_TASK_LIST) != 0))
		return false;
	return !model_plans_alone(t->main.model) ||
	       env_is_on(services_variable(t->services, "CLAUDE_CODE_ENABLE_TODO_TOOLS"));
}

static bool pool_offers(const struct agent_tree *t, const struct tool *tool)
{
	const struct services *sv = t->services;

	if (!strcmp(tool->name, "Skill") && !t->skills.registry)
		return false;
	if (tool->flags & (TOOL_NEEDS_SERVERS | TOOL_FINDS_TOOLS))
		return false; /* they come with a server: servers_bring_tools() */
	if ((tool->flags & TOOL_TEAM) && (!t->switches.teams || t->lead))
		return false;
	if (!strcmp(tool->name, "ListAgents") && !t->switches.teams && !t->switches.coordinator)
		return false;
	if ((tool->flags & TOOL_TASK_LIST) && t->switches.teams && t->session_dir)
		return true; /* without it a team has no list */
	if ((tool->flags & (TOOL_TASK_LIST | TOOL_TODOS)) && !offers_list(t, tool))
		return false;
	if ((tool->flags & TOOL_NEEDS_SEARCH) &&
	    !(sv->endpoints.providers.usual && sv->endpoints.providers.usual->searches_web))
		return false;
	return options_can_ask(&sv->options) || !(tool->flags & TOOL_NEEDS_USER);
}

/* list: NULL: all; "": none; "default": all; otherwise names, whose tools come in the order of the table. */
static int fill_pool(struct agent_tree *t, const char *list, struct err *err)
{
	CLEANUP(tool_set_release) struct tool_set all = { 0 };
	const struct tool *const *table = t->kit->table;
	bool everything = !list || !strcmp(list, "default");
	struct map wanted = { 0 };
	int status = 0;

	for (size_t i = 0; table[i]; i++) {
		const struct tool *tool = table[i];
		if (tool->flags & TOOL_SPAWNS)
			tool = agent_tool_make(t, tool);
		else if (!strcmp(tool->name, "SendMessage") && t->switches.teams) {
			t->send_tool = *tool;
			t->send_tool.definition = team_send_text;
			tool = &t->send_tool;
		}
		tool_set_add(&all, tool);
	}
	struct str rest = everything ? (struct str){ 0 } : str_from(list);
	while (rest.p && status == 0) {
		struct str name = str_trim(str_cut(&rest, ','));
		const struct tool *tool = name.n ? tool_set_find(&all, name) : NULL;
		if (name.n && !tool)
			status = err_set(err, ERR_USAGE, "--tools: no such tool: '" STR_FMT "'", STR_ARG(name));
		else if (tool)
			map_set(&wanted, str_from(tool->name), t);
	}
	for (size_t i = 0; i < all.count && status == 0; i++)
		if ((everything && pool_offers(t, all.tools[i])) || map_get(&wanted, str_from(all.tools[i]->name)))
			tool_set_add(&t->pool, all.tools[i]);
	map_release(&wanted);
	return status;
}

static void apply_limits(struct agent *a);

static void take_choice(struct agent *a)
{
	AUTO_BUF struct buf types = { 0 }; /* "a, b" of Agent(a, b): those that it may start */

	tool_set_release(&a->tools);
	for (size_t i = 0; i < a->choice.tools.count; i++)
		tool_set_add(&a->tools, a->choice.tools.tools[i]);
	for (size_t i = 0; i < a->choice.only.count; i++)
		if (!strcmp(a->choice.only.list[i].tool, "Agent"))
			buf_addf(&types, "%s%s", types.n ? ", " : "", a->choice.only.list[i].specifier);
	a->agent_types = types.n ? arena_strdup(&a->arena, types.p) : NULL;
	if (a->is_fork)
		a->agent_types = a->parent->agent_types;
	agent_tool_limit(a);
}

static void choose_tools(struct agent *a, const struct tool_choice_spec *spec)
{
	const struct agent_definition *d = a->definition;

	tool_choose(d, spec, &a->choice);
	if (d && !agent_tree_trusts_definition(a->tree, &d->common))
		tool_choice_narrow(&a->choice, agent_registry_of_user(a->tree->services->registry, d->name), spec);
}

/* Of the main agent, which has the pool if it has no definition. */
static void choose_from_pool(struct agent *a)
{
	const struct agent_tree *t = a->tree;
	CLEANUP(tool_set_release) struct tool_set own = { 0 };
	struct memory_dirs dirs;

	if (!a->definition) {
		tool_set_release(&a->tools);
		for (size_t i = 0; i < t->pool.count; i++) {
			const struct tool *tool = t->pool.tools[i];
			bool kept = !t->switches.lead_only || (tool->flags & TOOL_LEAD);
			if (t->switches.coordinator)
				kept = (tool->flags & TOOL_COORDINATOR) ||
				       is_named(services_variable(t->services, "CLAUDE_CODE_COORDINATOR_EXTRA_TOOLS"),
						tool->name);
			if (kept || tool == t->answer_tool)
				tool_set_add(&a->tools, tool);
		}
		return;
	}
	servers_of_definition(a, &own);
	tool_choice_release(&a->choice);
	choose_tools(
		a, &(struct tool_choice_spec){
			   .pool = &t->pool, .own = &own, .memory = agent_memory_dirs(a, &dirs), .main_thread = true });
	take_choice(a);
	if (t->answer_tool && tool_set_find(&a->tools, str_from(t->answer_tool->name)) != t->answer_tool)
		tool_set_add(&a->tools, t->answer_tool); /* the host wants it, whatever the agent chose */
}

static int choose_main_tools(struct agent *a, struct err *err)
{
	struct agent_tree *t = a->tree;

	if (a->origin) {
		/* The built-in tools; those of servers, and the one for the answer, are the fork's own. */
		const struct agent_tree *from = a->origin->tree;
		struct tool base = from->agent_tool;
		base.definition = from->agent_base;
		for (size_t i = 0; i < from->pool_own; i++) {
			const struct tool *tool = from->pool.tools[i];
			if (tool != from->answer_tool)
				tool_set_add(&t->pool, tool == &from->agent_tool ? agent_tool_make(t, &base) : tool);
		}
	} else if (fill_pool(t, t->services->options.tools, err) < 0) {
		return -(int)err->kind;
	}
	if (t->answer_tool)
		tool_set_add(&t->pool, t->answer_tool);
	t->pool_own = t->pool.count;
	choose_from_pool(a);
	return 0;
}

int agent_choose_tools(struct agent *a, struct err *err)
{
	const struct agent_tree *t = a->tree;
	CLEANUP(tool_set_release) struct tool_set pool = { 0 };
	AUTO_BUF struct buf why = { 0 };
	struct memory_dirs dirs;

	if (!a->parent)
		return choose_main_tools(a, err);
	bool plans = a->record->member && a->record->member->plan_required;
	const struct tool_set *from = a->is_fork ? &a->parent->tools : &t->pool;
	for (size_t i = 0; i < from->count; i++)
		tool_set_add(&pool, from->tools[i]);
	if (!a->is_fork) /* tools of its own servers are there, even if the session has none */
		servers_bring_tools(t, a->servers, &pool);
	for (const struct tool *const *tool = t->kit->table; plans && *tool; tool++)
		if (((*tool)->flags & TOOL_ENDS_PLAN) && !tool_set_find(&pool, str_from((*tool)->name)))
			tool_set_add(&pool, *tool); /* the lead approves, whether or not a user could */
	choose_tools(a, &(struct tool_choice_spec){
				.pool = &pool,
				.own = &a->server_tools,
				.background = a->record->background,
				.deepest = a->who.depth >= t->limits.depth,
				.memory = agent_memory_dirs(a, &dirs),
				.whole = a->is_fork,
				.member = a->record->member != NULL,
				.plans = plans,
			});
	if (!a->is_fork &&
	    (tool_choice_refuses(&a->choice, a->definition, &why) || tool_choice_lacks(&a->choice, &why))) {
		tool_choice_release(&a->choice);
		buf_add(&a->failure, why.p, why.n);
		return err_set(err, ERR_USAGE, "%s", why.p);
	}
	for (size_t i = 0; i < a->choice.unknown.count; i++)
		buf_addf(&a->notes, "the definition names a tool that does not exist: %s\n", a->choice.unknown.list[i]);
	take_choice(a);
	return 0;
}

int agent_drop_tools(struct agent *a, struct err *err)
{
	tool_choice_release(&a->choice);
	if (!a->parent)
		tool_set_release(&a->tree->pool);
	return 0;
}

void agent_tree_renew_pool(struct agent_tree *t)
{
	struct agent *a = &t->main;
	struct tool_set now = { 0 };

	if (!a->servers)
		return;
	for (size_t i = 0; i < t->pool_own; i++)
		tool_set_add(&now, t->pool.tools[i]);
	mcp_selection_tools(a->servers, &now);
	servers_bring_tools(t, a->servers, &now);
	if (t->pool.count == now.count &&
	    (!now.count || memcmp(t->pool.tools, now.tools, now.count * sizeof *now.tools) == 0)) {
		tool_set_release(&now);
		return;
	}
	tool_set_release(&t->pool);
	t->pool = now;
	agent_tool_renew(t); /* agents that need a server appear with it */
	choose_from_pool(a);
	apply_limits(a);
	agent_defer_tools(a);
	agent_renew_head(a);
}

static void agent_birth(struct agent *a, struct arena *arena, struct permission_birth *ret_birth)
{
	const struct agent_definition *d = a->definition;
	struct memory_dirs places;
	bool memory = agent_memory_dirs(a, &places);

	*ret_birth = (struct permission_birth){ 0 };
	if (d)
		tool_choice_birth(&a->choice, d, agent_tree_trusts_definition(a->tree, &d->common), &places, memory,
				  arena, ret_birth);
}

/* Of the main agent: what its definition says with specifiers, and its memory, come to the rules of the session. */
static void apply_limits(struct agent *a)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct permission_birth birth;

	agent_birth(a, &arena, &birth);
	if (birth.only_count + birth.never_count == a->limit_count) /* they are there already */
		birth.only_count = birth.never_count = 0;
	else
		a->limit_count = birth.only_count + birth.never_count;
	if (!birth.memory_dir)
		birth.memory_dir = a->tree->memory_dir;
	permission_limit(&a->permission, &birth);
}

/* Rules are there already: agent_tree_configure(), and agent_tree's owner renews those of the settings when they change. */
static int make_main_permission(struct agent *a, struct err *err)
{
	const struct services *sv = a->tree->services;
	const struct agent_definition *d = a->definition;
	struct permission *p = &a->permission;

	p->can_ask = options_can_ask(&sv->options);
	p->default_agent = a->tree->switches.fork_mode ? FORK_TYPE : NULL;
	if (a->worktree) {
		p->write_root = p->copy_root = a->worktree->path;
		p->main_checkout = p->copy_of[0] = a->worktree->root;
		p->copy_of[1] = a->worktree->origin;
	}
	if (policy_start_permission(p, &sv->options, a->tree->policy->settings, a->tree->arena, a->env.dirs, err) < 0)
		return -(int)err->kind;
	if (d && !sv->options.mode_given)
		definition_use_mode(d, a->choice.mode, agent_tree_trusts_definition(a->tree, &d->common), p, &a->notes);
	apply_limits(a);
	agent_follow_mode(a);
	return 0;
}

int agent_make_permission(struct agent *a, struct err *err)
{
	const struct agent_definition *d = a->definition;
	struct permission_birth birth;

	if (!a->parent)
		return make_main_permission(a, err);
	agent_birth(a, &a->arena, &birth);
	const struct agent_member *m = a->record->member;
	const char *skill = a->record->request.skill;
	const struct catalog_entry *of_skill = skill ? agent_skill(a, str_from(skill)) : NULL;
	const struct name_list *allow = of_skill ? skill_use_allows(a, of_skill->skill) : NULL;
	if (m && !birth.more) { /* a member reads who is in its team and what is to be done without a question */
		const char **rules = arena_calloc(&a->arena, 3 * sizeof *rules);
		rules[0] = arena_printf(&a->arena, "Read(/%s/teams/%s/config.json)", a->tree->config_dir, m->team);
		rules[1] = arena_printf(&a->arena, "Read(/%s/tasks/%s/**)", a->tree->config_dir, m->team);
		birth.more = rules;
	}
	/* Of a member: the mode of the call, or plan mode until the lead has approved its plan. */
	const char *own_mode = !m ? NULL : m->plan_required && !m->plan_approved ? "plan" : m->mode;
	if (own_mode || (m && m->plan_required))
		birth.mode = own_mode;
	birth.mode_holds = own_mode != NULL;
	birth.mode_may_widen = birth.mode_may_widen && !own_mode;
	birth.can_ask = a->parent->permission.can_ask;
	if (a->worktree) {
		birth.write_root = a->worktree->path;
		birth.main_checkout = a->worktree->root;
		birth.origin = a->worktree->origin;
	}
	if (!birth.memory_dir && a->tree->switches.coordinator && a->tree->session_dir) /* workers write it unasked */
		birth.memory_dir = arena_printf(&a->arena, "%s/scratchpad", a->tree->session_dir);
	if (allow) {
		birth.allow = allow->names;
		birth.allow_count = allow->count;
	}
	birth.replaces_allow = skill != NULL;
	permission_derive(&a->permission, a->gone.count ? &a->gone.list[a->gone.count - 1] : &a->parent->permission,
			  &birth);
	enum permission_mode wish;
	if (d && d->permission_mode && !agent_tree_trusts_definition(a->tree, &d->common) &&
	    permission_mode_parse(str_from(d->permission_mode), &wish) &&
	    permission_mode_is_wider(wish, permission_mode(a->permission.parent)))
		buf_addstr(
			&a->notes,
			"this folder is not trusted, so the permissionMode of a project's agent can only narrow: run "
			"`cadre trust` to record consent\n");
	agent_follow_mode(a);
	return 0;
}
