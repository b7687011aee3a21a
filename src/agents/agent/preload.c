/* SPDX-License-Identifier: MIT
 * preload.c - skills that an agent has from its birth. One after the other; what is missing is said and does not keep the agent
 * from living. */
#include "agents/agent/preload.h"
#include "agents/agent/skill_recall.h"
#include "agents/agent/skill_use.h"

struct preload {
	struct preload_spec spec;
	struct skill_use *use; /* NULL: none is being made ready */
	size_t at;             /* of the names; then the initial prompt */
	const char *name;      /* of the one that is */
	struct buf *out;       /* that gets its text */
	bool stopped;
};

static bool go_on(struct preload *p);

static void on_ready(void *data, const struct skill_result *result)
{
	struct preload *p = data;

	p->use = NULL;
	if (result->failure.n)
		buf_addf(p->spec.notes, STR_FMT "\n", STR_ARG(result->failure));
	else
		skill_text_add(p->out, p->name, result->text);
	if (p->stopped || !go_on(p))
		p->spec.done(p->spec.data);
}

static void start(struct preload *p, const struct skill_entry *e, struct str arguments, struct buf *out)
{
	p->name = arena_strdup(&p->spec.agent->arena, e->name);
	p->out = out;
	p->use = skill_use_start(p->spec.agent, e->skill, arguments, false, on_ready, p);
}

/* The next of the names that there is. */
static bool start_listed(struct preload *p)
{
	struct agent *a = p->spec.agent;
	const struct name_list *names = p->spec.names;

	while (p->at < names->count) {
		const char *name = names->names[p->at++];
		const struct skill_entry *e = agent_skill(a, str_from(name));
		if (!e)
			buf_addf(p->spec.notes, "the skill %s is not available\n", name);
		else if (!(agent_skill_views(a, e) & SKILL_FOR_MODEL))
			buf_addf(p->spec.notes, "the skill %s is for the user alone and is not preloaded\n", name);
		else {
			start(p, e, STR(""), p->spec.skills);
			return true;
		}
	}
	return false;
}

static bool start_initial(struct preload *p)
{
	const char *initial = p->spec.initial;
	struct str rest = str_from(initial);

	if (p->at++ > p->spec.names->count || !initial || initial[0] != '/')
		return false;
	struct str name = str_cut(&rest, ' ');
	const struct skill_entry *e = agent_skill(p->spec.agent, name);
	if (!e) {
		buf_addf(p->spec.notes, "the initial prompt names a skill that does not exist: " STR_FMT "\n",
			 STR_ARG(name));
		return false;
	}
	start(p, e, rest.p ? rest : STR(""), p->spec.initial_skill);
	return true;
}

static bool go_on(struct preload *p)
{
	return start_listed(p) || start_initial(p);
}

struct preload *preload_start(const struct preload_spec *spec)
{
	struct preload *p = arena_calloc(&spec->agent->arena, sizeof *p);

	p->spec = *spec;
	return go_on(p) ? p : NULL;
}

void preload_stop(struct preload *p)
{
	if (!p)
		return;
	p->stopped = true;
	if (p->use)
		skill_use_cancel(p->use);
}

/* ---- of a child -------------------------------------------------------------------------------------------------- */

static void on_child_ready(void *data)
{
	struct agent *a = data;

	a->preload = NULL;
	subagent_step_done(a, NULL);
}

int subagent_preload(struct agent *a, struct err *err)
{
	(void)err;
	if (!a->definition || a->load)
		return 0; /* a fork has its parent's words, one that goes on has its own */
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
