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
	const struct agent_definition *d = s->tree.main.definition;
	enum permission_mode wish;

	if (!d || s->services->options.mode_given)
		return;
	if (d->permission_mode_invalid && permission_mode_is_wider(*mode, PERMISSION_DEFAULT))
		*mode = PERMISSION_DEFAULT;
	if (!d->permission_mode || !permission_mode_parse(str_from(d->permission_mode), &wish) ||
	    wish == PERMISSION_BUBBLE)
		return;
	bool believed = d->source != SOURCE_PLUGIN && (d->source != SOURCE_PROJECT || s->services->policy.trusted);
	if (permission_mode_is_wider(wish, *mode) && !believed)
		buf_addf(
			&s->tree.main.notes,
			"this folder is not trusted, so the permissionMode of %s can only narrow: run `cadre trust` to "
			"record consent\n",
			d->name);
	else if (is_off(&s->tree.main.permission, wish))
		buf_addf(&s->tree.main.notes, "the permissionMode %s of %s is not available here\n", d->permission_mode,
			 d->name);
	else
		*mode = wish;
}

struct tool_set *session_pool(struct cadre_session *s)
{
	return s->tree.pool ? &s->tree.own_pool : &s->tree.main.tools;
}

void session_choose_tools(struct cadre_session *s)
{
	struct agent *a = &s->tree.main;

	if (!a->definition)
		return;
	agent_choose_tools(a);
	agent_apply_limits(a);
	schema_offer(s, &a->tools); /* the host wants it, whatever the agent chose */
}

int session_become_agent(struct cadre_session *s, struct err *err)
{
	struct agent *a = &s->tree.main;

	if (a->definition && a->definition->mcp_servers)
		(void)session_servers(s); /* so that a change of any of them is heard */
	if (agent_come_up(a, err) < 0)
		return -(int)err->kind;
	if (a->definition)
		schema_offer(s, &a->tools);
	return 0;
}

struct str session_initial_prompt(const struct cadre_session *s)
{
	const char *text = s->tree.main.definition ? s->tree.main.definition->initial_prompt : NULL;
	bool is_new = !s->load && !s->origin_id && !transcript_count(&s->tree.main.query.transcript);

	return text && is_new ? str_trim(str_from(text)) : STR("");
}

/* ---- skills from its birth --------------------------------------------------------------------------------------- */

static void say(struct cadre_session *s)
{
	struct str rest = str_trim(buf_str(&s->tree.main.notes));

	while (rest.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_cut(&rest, '\n') });
	buf_clear(&s->tree.main.notes);
}

static void on_preloaded(void *data)
{
	struct cadre_session *s = data;

	s->tree.main.preload = NULL;
	say(s);
	turn_work_over(s);
}

bool session_preload(struct cadre_session *s)
{
	struct agent *a = &s->tree.main;

	if (!a->definition || !a->definition->skills.count || s->preloaded || s->load ||
	    transcript_count(&a->query.transcript))
		return false;
	turn_announce(s);
	s->preloaded = true;
	a->preload = preload_start(&(struct preload_spec){ .agent = a,
							   .names = &a->definition->skills,
							   .skills = &a->skills,
							   .notes = &a->notes,
							   .done = on_preloaded,
							   .data = s });
	if (!a->preload)
		say(s); /* none of them is there */
	return a->preload;
}

void session_stop_preload(struct cadre_session *s)
{
	if (s->tree.main.preload)
		preload_stop(s->tree.main.preload);
}

/* ---- what is said about it --------------------------------------------------------------------------------------- */

/* Servers are up by now, or will not be. */
static void add_tool_notes(struct cadre_session *s)
{
	const struct agent *m = &s->tree.main;
	struct buf *notes = &s->tree.main.notes;

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
	if (s->tree.main.definition)
		add_tool_notes(s);
	say(s);
}
