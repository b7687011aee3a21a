/* SPDX-License-Identifier: MIT
 * preload.c - skills that a child has from its birth: those that its definition names, and those that its initial prompt begins
 * with. One after the other; what is missing is said and does not keep the child from living. */
#include "subagent/preload.h"
#include "subagent/skill_use.h"

struct preload {
	struct skill_use *use; /* NULL: none is being made ready */
	size_t at;             /* of the definition's list; then the initial prompt */
	const char *name;      /* of the one that is */
	struct buf *out;       /* that gets its text */
};

static bool go_on(struct subagent *s);

static void on_ready(void *data, const struct skill_result *result)
{
	struct subagent *s = data;
	struct preload *p = s->preload;

	p->use = NULL;
	if (result->failure.n)
		buf_addf(&s->notes, STR_FMT "\n", STR_ARG(result->failure));
	else
		buf_addf(p->out, "%s<skill name=\"%s\">\n" STR_FMT "\n</skill>", p->out->n ? "\n\n" : "", p->name,
			 STR_ARG(result->text));
	if (s->stop_asked || s->suspend_asked || !go_on(s))
		subagent_step_done(s, NULL);
}

static void start(struct subagent *s, const struct skill_entry *e, struct str arguments, struct buf *out)
{
	struct preload *p = s->preload;

	p->name = arena_strdup(&s->actor.arena, e->name);
	p->out = out;
	p->use = skill_use_start(&s->actor, e->skill, arguments, false, on_ready, s);
}

/* The next of the definition's list that there is. */
static bool start_listed(struct subagent *s)
{
	struct preload *p = s->preload;
	const struct name_list *names = &s->definition->skills;

	while (p->at < names->count) {
		const char *name = names->names[p->at++];
		const struct skill_entry *e = actor_skill(&s->actor, str_from(name));
		if (!e)
			buf_addf(&s->notes, "the skill %s is not available\n", name);
		else if (!(actor_skill_views(&s->actor, e) & SKILL_FOR_MODEL))
			buf_addf(&s->notes, "the skill %s is for the user alone and is not preloaded\n", name);
		else {
			start(s, e, STR(""), &s->skills);
			return true;
		}
	}
	return false;
}

/* "/name arguments" */
static bool start_initial(struct subagent *s)
{
	struct preload *p = s->preload;
	const char *initial = s->definition->initial_prompt;
	struct str rest = str_from(initial);

	if (p->at++ > s->definition->skills.count || !initial || initial[0] != '/')
		return false;
	struct str name = str_cut(&rest, ' ');
	const struct skill_entry *e = actor_skill(&s->actor, name);
	if (!e) {
		buf_addf(&s->notes, "the initial prompt names a skill that does not exist: " STR_FMT "\n",
			 STR_ARG(name));
		return false;
	}
	start(s, e, rest.p ? rest : STR(""), &s->initial);
	return true;
}

static bool go_on(struct subagent *s)
{
	return start_listed(s) || start_initial(s);
}

int subagent_preload(struct subagent *s, struct err *err)
{
	(void)err;
	if (!s->definition || s->load)
		return 0; /* a fork has its parent's words, one that goes on has its own */
	s->preload = arena_calloc(&s->actor.arena, sizeof *s->preload);
	return go_on(s) ? STEP_TAKES_TIME : 0;
}

void subagent_stop_preload(struct subagent *s)
{
	if (s->preload && s->preload->use)
		skill_use_cancel(s->preload->use);
}
