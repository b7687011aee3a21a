/* SPDX-License-Identifier: MIT
 * spawn.c - from a call of the Agent tool or a skill to a child that starts, or to a reason why not. */
#include "agents/subagent/subagent.h"
#include "defs/agentdef/registry.h"
#include "defs/skill/skill.h"
#include "agents/profile/roster.h"
#include "agents/agent/context.h"
#include "agents/agent/servers.h"
#include "agents/agent/skill_use.h"

bool spawn_in_background(const struct tree_switches *w, const struct spawn_request *r, bool wanted)
{
	if (w->background_off)
		return false;
	if (wanted || w->coordinator || w->fork_mode || w->background_host)
		return true;
	return r->background_given ? r->background : w->background_default;
}

enum { LONGEST_NAME = 64 };

static const char general_purpose[] = "general-purpose";

static void add_available(struct buf *out, const struct agent *parent)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct catalog *r = parent->tree->services->registry;
	struct roster_spec spec = { .reader = &parent->env,
				    .only = parent->agent_types ? str_from(parent->agent_types) : (struct str){ 0 },
				    .mcp_servers = servers_ready(parent->tree, &arena) };
	bool any = false;

	for (size_t i = 0; i < r->active_count; i++) {
		if (!roster_has(r, r->active[i]->definition, &spec))
			continue;
		buf_addf(out, "%s%s", any ? ", " : "", r->active[i]->definition->name);
		any = true;
	}
	if (!any)
		buf_addstr(out, "none");
}

static bool is_fork(const struct agent *parent, const struct spawn_request *request)
{
	return request->type ? str_is_nocase(str_trim(str_from(request->type)), FORK_TYPE)
			     : parent->tree->switches.fork_mode;
}

struct agent_definition *agent_find_definition(const struct agent *parent, const char *type, struct buf *why)
{
	struct catalog *r = parent->tree->services->registry;
	struct err err = { 0 };

	catalog_refresh_once(r, parent->tree->services->loop);
	struct agent_definition *d = agent_registry_get(r, str_from(type ? type : general_purpose), &err);
	if (!d && err.kind == ERR_DENIED) {
		buf_addstr(why, err.text);
		return NULL;
	}
	if (d && parent->agent_types &&
	    !roster_has(r, d, &(struct roster_spec){ .only = str_from(parent->agent_types) })) {
		buf_addf(why, "This agent may start %s only, not '%s'.", parent->agent_types, d->name);
		agent_unref(d);
		return NULL;
	}
	bool hidden = d && definition_is_hidden(&parent->env, &d->common);
	if (hidden)
		buf_addf(why, "Agent type '%s' cannot be used: a deny rule forbids to read %s.", d->name, d->file);
	if (d && (hidden || servers_lacking(parent->tree, d, why))) {
		agent_unref(d);
		return NULL;
	}
	if (d)
		return d;
	if (type)
		buf_addf(why, "Agent type '%s' not found. Available agents: ", type);
	else
		buf_addstr(why, "subagent_type is required here. Available agents: ");
	add_available(why, parent);
	return NULL;
}

static struct agent_record *make_record(struct agent *parent, const struct spawn_request *r,
					const struct agent_definition *d, const struct tool_call *call)
{
	char id[AGENT_ID_LEN + 1];
	id_agent(id);
	struct agent_record *t = agent_record_new(parent->tree, id);
	struct arena *a = &t->arena;

	t->type = arena_strdup(a, d ? d->name : FORK_TYPE);
	t->name = arena_strdup(a, r->name);
	t->description = arena_str(a, r->description).p;
	t->prompt = arena_str(a, r->prompt).p;
	t->tool_use_id = arena_strdup(a, call->id);
	t->parent_id = arena_strdup(a, parent->who.id);
	t->depth = parent->who.depth + 1;
	t->background = spawn_in_background(&parent->tree->switches, r, d && d->background);
	/* Explore and Plan answer once: they cannot be continued. */
	t->one_shot = d && d->source == SOURCE_BUILT_IN && (!strcmp(d->name, "Explore") || !strcmp(d->name, "Plan"));
	t->is_fork = !d;
	t->built_in = !d || d->source == SOURCE_BUILT_IN;
	t->shares_history = !d || d->fork_context;
	t->started_ms = t->run_started_ms = id_wall_ms();
	t->request.model = arena_strdup(a, r->model);
	t->request.effort = arena_strdup(a, r->effort);
	t->request.isolation = arena_strdup(a, r->isolation);
	t->request.max_turns = r->max_turns;
	t->request.skill = arena_strdup(a, r->skill);
	limits_note(t, parent);
	if (r->member) {
		t->member = arena_alloc(a, sizeof *t->member);
		*t->member = *r->member;
		t->member->team = arena_strdup(a, r->member->team);
		t->member->color = arena_strdup(a, d && d->color ? d->color : r->member->color);
		t->member->mode = arena_strdup(a, r->member->mode);
		t->background = true;
	}
	return t;
}

/* Whether a child may be started, before its definition is known */
static bool may_spawn(const struct agent *parent, const struct spawn_request *r, bool fork, struct buf *why)
{
	const struct agent_tree *t = parent->tree;
	const struct agent_denial *denial = fork ? agent_denied(t->services->registry, STR(FORK_TYPE)) : NULL;
	struct str name = str_from(r->name);

	if (!str_trim(r->prompt).n)
		buf_addstr(why, "The prompt is empty: an agent needs a task.");
	else if (r->name && (name.n > LONGEST_NAME || !str_is_name(name, "_-") || char_in(name.p[0], "_-")))
		buf_addf(why,
			 "The name must have 1 to %d letters, digits, _ and -, and begin with a letter or a digit.",
			 LONGEST_NAME);
	else if (t->closing)
		buf_addstr(why, "The session is being closed: no agent is started any more.");
	else if (parent->who.depth >= t->limits.depth)
		buf_addf(why, "Agents may be nested %u deep, and this one is at that depth: do the work yourself.",
			 t->limits.depth);
	else if (t->record_count >= t->limits.total)
		buf_addf(why,
			 "This session has started %u agents, which is its limit (subagents.maxTotal): do the rest "
			 "yourself.",
			 t->record_count);
	else if (budget_used_up(&parent->budget))
		buf_addstr(why, "Budget limit reached: no agent is started any more.");
	else if (fork && (parent->is_fork || fork_is_marked(&parent->query.transcript)))
		buf_addstr(why, "A fork cannot fork again: do the work yourself, or name a subagent_type.");
	else if (fork && t->switches.coordinator)
		buf_addstr(why, "A coordinator starts no forks: name a type of worker.");
	else if (fork && parent->agent_types)
		buf_addf(why, "This agent may start %s only, no forks.", parent->agent_types);
	else if (denial)
		buf_addf(why, "Agent type 'fork' has been denied by permission rule '%s' from %s.", denial->rule,
			 denial->origin);
	return !why->n;
}

static bool spawn_child(struct agent *parent, const struct spawn_request *r, struct tool_call *call, struct buf *why)
{
	struct agent_definition *d = NULL;
	bool fork = is_fork(parent, r);

	if (!may_spawn(parent, r, fork, why))
		return false;
	if (!fork) {
		d = agent_find_definition(parent, r->type, why);
		if (!d)
			return false;
		/* A child that shares its parent's history must run on its model: another one could not read it. A model
		 * of its definition is left out with a note, because the caller can do nothing about it. */
		if (d->fork_context && r->model && !str_is_nocase(str_from(r->model), "inherit")) {
			buf_addf(
				why,
				"Agent '%s' has forkContext: it gets this conversation and must inherit the model, but "
				"the call says '%s'. Leave the model out, or set it to inherit.",
				d->name, r->model);
			agent_unref(d);
			return false;
		}
	}
	struct agent_record *record = make_record(parent, r, d, call);
	if (record->member && record->member->in_pane) {
		if (d)
			agent_unref(d);
		parent->tree->team_ops->spawn_pane(record, call, r->note);
		return true;
	}
	struct agent *a = subagent_new(parent, record, d);
	a->call = call;
	if (r->background && !r->member && parent->tree->switches.background_off)
		buf_addstr(&a->notes,
			   "run_in_background has no effect: background tasks are switched off, so this call was "
			   "waited for\n");
	if (r->note)
		buf_addstr(&a->notes, r->note);
	agent_kick(a);
	return true;
}

void agent_spawn_here(struct agent_record *record, struct tool_call *call, const char *note)
{
	struct agent *parent = &record->tree->main;
	AUTO_BUF struct buf why = { 0 };
	struct agent_definition *d = agent_find_definition(parent, record->type, &why);

	if (!d) {
		tool_call_fail(call, "%s", why.p);
		return;
	}
	struct agent *a = subagent_new(parent, record, d);
	a->call = call;
	buf_addstr(&a->notes, note);
	agent_kick(a);
}

struct agent_record *agent_started_by_call(const struct agent *parent, const struct tool_call *call)
{
	const struct agent_tree *t = parent->tree;

	for (struct agent_record *record = t->restored_count ? t->records : NULL; record; record = record->next)
		if (!strcmp(record->tool_use_id, call->id) && !strcmp(record->parent_id, parent->who.id))
			return record;
	return NULL;
}

void agent_spawn(struct agent *parent, const struct spawn_request *request, struct tool_call *call)
{
	AUTO_BUF struct buf why = { 0 };
	struct agent_record *earlier = agent_started_by_call(parent, call);

	if (earlier)
		agent_resume(earlier, parent, call);
	else if (!spawn_child(parent, request, call, &why))
		tool_call_fail(call, "%s", why.p);
}

bool agent_needs_history(const struct agent *parent, const char *type)
{
	struct spawn_request request = { .type = type };
	const struct catalog_entry *e = is_fork(parent, &request)
						? NULL
						: agent_registry_find(parent->tree->services->registry,
								      str_from(type ? type : general_purpose));

	return is_fork(parent, &request) || (e && e->definition->fork_context);
}

void skill_use_fork(struct agent *a, const struct skill *skill, struct str text, struct tool_call *call)
{
	AUTO_BUF struct buf description = { 0 };
	bool runs_already = false;

	buf_addf(&description, "skill %s", skill->name);
	for (const struct agent *other = a->tree->alive; other && !runs_already; other = other->next)
		runs_already = str_is(buf_str(&description), other->record->description);
	struct spawn_request request = {
		.description = buf_str(&description),
		.prompt = text,
		.type = skill->agent ? skill->agent : "general-purpose",
		.model = skill->model,
		.effort = skill->effort,
		.skill = skill_use_allows(a, skill) ? skill->name : NULL,
		.background_given = true,
		.background = a->tree->skills.fork_in_background && !skill->in_foreground && !runs_already,
	};
	agent_spawn(a, &request, call);
}
