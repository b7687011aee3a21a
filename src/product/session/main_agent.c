/* SPDX-License-Identifier: MIT
 * main_agent.c - what an agent brings along when a session runs as it. */
#include "product/session/main_agent.h"
#include "agents/profile/memory.h"
#include "product/session/schema.h"
#include "product/session/servers.h"
#include "agents/agent/agent_tool.h"
#include "agents/agent/hooks.h"
#include "agents/agent/skill_use.h"
#include "agents/agent/servers.h"

/* ---- what it may do ---------------------------------------------------------------------------------------------- */

static bool is_off(const struct permission *p, enum permission_mode mode)
{
	return (mode == PERMISSION_BYPASS && p->bypass_off) || (mode == PERMISSION_AUTO && p->auto_off);
}

/* As for a child: a mode may always be narrower; wider only by the word of somebody whom the user believes. */
void session_agent_mode(struct cadre_session *s, enum permission_mode *mode)
{
	const struct agent_definition *d = s->agent ? s->agent->definition : NULL;
	enum permission_mode wish;

	if (!d || s->services->options.mode_given)
		return;
	if (d->permission_mode_invalid && permission_mode_is_wider(*mode, PERMISSION_DEFAULT))
		*mode = PERMISSION_DEFAULT;
	if (!d->permission_mode || !permission_mode_parse(str_from(d->permission_mode), &wish) ||
	    wish == PERMISSION_BUBBLE)
		return;
	bool believed = d->source != AGENT_PLUGIN && (d->source != AGENT_PROJECT || s->services->policy.trusted);
	if (permission_mode_is_wider(wish, *mode) && !believed)
		buf_addf(
			&s->agent_notes,
			"this folder is not trusted, so the permissionMode of %s can only narrow: run `cadre trust` to "
			"record consent\n",
			d->name);
	else if (is_off(&s->tree.main.permission, wish))
		buf_addf(&s->agent_notes, "the permissionMode %s of %s is not available here\n", d->permission_mode,
			 d->name);
	else
		*mode = wish;
}

static void limit(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct tool_choice *c = &s->agent->choice;
	struct permission *p = &s->tree.main.permission;
	const struct permission_limit *only;
	size_t only_count = tool_choice_limits(c, &a, &only);

	if (only_count + c->never.count == s->agent->limit_count)
		return; /* those of tools that were there before */
	permission_add_limits(p, RULE_ONLY, only, only_count);
	permission_add_limits(p, RULE_DENY, c->never.list, c->never.count);
	s->agent->limit_count = only_count + c->never.count;
}

static bool has_memory(const struct cadre_session *s)
{
	return s->tree.switches.memory_on && s->agent->definition->memory != MEMORY_NONE;
}

static struct memory_places memory_places(const struct cadre_session *s)
{
	const struct agent_tree *t = &s->tree;

	return (struct memory_places){ t->config_dir, t->project_dir, t->switches.trusted };
}

static void give_memory(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct tool_names *tools = &s->agent->choice.for_memory;
	struct memory_places places = memory_places(s);

	if (has_memory(s))
		permission_give_memory(&s->tree.main.permission, agent_memory_dir(&a, s->agent->definition, &places),
				       tools->list, tools->count);
}

struct tool_set *session_pool(struct cadre_session *s)
{
	return s->agent ? &s->agent->pool : &s->tree.main.tools;
}

/* Of servers that its definition brings. */
static void add_own_tools(struct cadre_session *s, struct tool_set *out)
{
	const struct mcp_set *set = s->tree.main.servers;

	for (size_t i = 0; set && i < mcp_set_count(set); i++)
		if (mcp_link_server(mcp_set_at(set, i))->scope == MCP_SCOPE_AGENT)
			mcp_link_tools(mcp_set_at(set, i), out);
}

void session_choose_tools(struct cadre_session *s)
{
	struct main_agent *m = s->agent;
	struct agent *a = &s->tree.main;
	struct tool_set own = { 0 };

	if (!m)
		return;
	add_own_tools(s, &own);
	tool_choice_release(&m->choice);
	tool_choose(m->definition,
		    &(struct tool_choice_spec){
			    .pool = &m->pool, .own = &own, .memory = s->tree.switches.memory_on, .main_thread = true },
		    &m->choice);
	tool_set_release(&own);
	tool_set_release(&a->tools);
	for (size_t i = 0; i < m->choice.tools.count; i++)
		tool_set_add(&a->tools, m->choice.tools.tools[i]);
	schema_offer(s, &a->tools); /* the host wants it, whatever the agent chose */
	schema_offer(s, &a->tools);
	a->agent_types = tool_choice_types(&m->choice, &s->arena);
	agent_tool_limit(a);
	limit(s);
	give_memory(s);
}

/* ---- what it is told --------------------------------------------------------------------------------------------- */

/* Once: a prompt that changed with the memory would cost the whole prefix again. */
static int write_system(struct cadre_session *s, struct err *err)
{
	struct main_agent *m = s->agent;
	const struct agent_definition *d = m->definition;
	struct memory_places places = memory_places(s);

	if (has_memory(s) && agent_memory_prepare(d, &places, err) < 0)
		return err_wrap(err, "agent %s", d->name);
	if (m->system.n)
		return 0; /* a fork has it from its origin */
	buf_add(&m->system, d->prompt, d->prompt_len);
	if (has_memory(s)) {
		buf_addstr(&m->system, m->system.n ? "\n\n" : "");
		agent_memory_prompt(&m->system, d, &places);
	}
	return 0;
}

int session_become_agent(struct cadre_session *s, struct err *err)
{
	const struct agent_definition *d = s->agent ? s->agent->definition : NULL;

	if (!d)
		return 0;
	if (write_system(s, err) < 0)
		return -(int)err->kind;
	if (d->mcp_servers)
		(void)session_servers(s); /* so that a change of any of them is heard */
	agent_join_declared(&s->tree.main, d, &s->agent_notes);
	agent_register_hooks(&s->tree.main, d, &s->agent_notes);
	if (d->isolation != ISOLATION_NONE)
		buf_addf(&s->agent_notes, "isolation of %s has no effect: the main agent works where it is\n", d->name);
	session_choose_tools(s);
	return 0;
}

struct str session_initial_prompt(const struct cadre_session *s)
{
	const char *text = s->agent ? s->agent->definition->initial_prompt : NULL;
	bool is_new = !s->load && !s->origin_id && !transcript_count(&s->tree.main.query.transcript);

	return text && is_new ? str_trim(str_from(text)) : STR("");
}

/* ---- skills from its birth --------------------------------------------------------------------------------------- */

static void say(struct cadre_session *s)
{
	struct str rest = str_trim(buf_str(&s->agent_notes));

	while (rest.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_cut(&rest, '\n') });
	buf_clear(&s->agent_notes);
}

static void on_preloaded(void *data)
{
	struct cadre_session *s = data;

	s->agent->preload = NULL;
	say(s);
	s->agent->after_preload(s, s->agent->stopped);
}

bool session_preload(struct cadre_session *s, void (*then)(struct cadre_session *s, bool cancelled))
{
	struct main_agent *m = s->agent;
	struct agent *a = &s->tree.main;

	if (!m || m->preloaded || s->load || transcript_count(&a->query.transcript))
		return false;
	m->preloaded = true;
	m->after_preload = then;
	m->preload = preload_start(&(struct preload_spec){ .agent = a,
							   .names = &m->definition->skills,
							   .skills = &m->skills,
							   .notes = &s->agent_notes,
							   .done = on_preloaded,
							   .data = s });
	if (!m->preload)
		say(s); /* none of them is there */
	return m->preload;
}

void session_stop_preload(struct cadre_session *s)
{
	if (!s->agent || !s->agent->preload)
		return;
	s->agent->stopped = true;
	preload_stop(s->agent->preload);
}

/* ---- what is said about it --------------------------------------------------------------------------------------- */

/* Servers are up by now, or will not be. */
static void add_tool_notes(struct cadre_session *s)
{
	const struct main_agent *m = s->agent;
	struct buf *notes = &s->agent_notes;

	for (size_t i = 0; i < m->choice.unknown.count; i++)
		buf_addf(notes, "%s names a tool that does not exist: %s\n", m->definition->name,
			 m->choice.unknown.list[i]);
	if (servers_lacking(&s->tree, m->definition, notes))
		buf_addch(notes, '\n');
	if (tool_choice_lacks(&m->choice, notes))
		buf_addch(notes, '\n');
}

void session_tell_agent(struct cadre_session *s)
{
	if (s->agent_told)
		return;
	s->agent_told = true;
	if (s->agent)
		add_tool_notes(s);
	say(s);
}

void session_release_agent(struct cadre_session *s)
{
	struct main_agent *m = TAKE(s->agent);

	buf_release(&s->agent_notes);
	if (!m)
		return;
	agent_unref(m->definition);
	tool_choice_release(&m->choice);
	tool_set_release(&m->pool);
	buf_release(&m->system);
	buf_release(&m->skills);
	free(m);
}
