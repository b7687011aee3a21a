/* SPDX-License-Identifier: MIT
 * tool_skill.c - Skill: the text of a skill as a result, or the report of the subagent that runs it. */
#include "agents/agent/skill_use.h"
#include "agents/subagent/subagent.h"
#include "lib/json/json_write.h"
#include "core/tool/tool_list.h"

static void skill_start(struct tool_call *call);
static void skill_cancel(struct tool_call *call);
static unsigned skill_flags(const struct tool_call *call);

const struct tool tool_skill = {
	TOOL_SKILL_FACTS,
	.start = skill_start,
	.cancel = skill_cancel,
	.flags_for = skill_flags,
};

/* Call->state, in the call's arena */
struct skill_call {
	struct tool_call *call;
	struct skill_use *use; /* NULL when it is over */
	struct skill *skill;   /* reference until then */
};

/* A skill that brings no rights and no hooks is only a text to read: it needs no permission. */
static unsigned skill_flags(const struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct catalog_entry *e = agent_skill(call->env->owner, json_str(json_get(call->input, "skill"), &a));

	if (!e)
		return tool_skill.flags | TOOL_NO_ASK; /* the answer is an error */
	bool harmless = !e->skill->allowed_tools.count && !e->skill->hooks;
	return tool_skill.flags | (harmless ? TOOL_NO_ASK : 0) | (e->skill->is_fork ? TOOL_DELEGATES : 0);
}

static void on_ready(void *data, const struct skill_result *result)
{
	struct skill_call *k = data;
	struct skill *s = TAKE(k->skill);

	k->use = NULL;
	if (result->failure.n)
		tool_call_fail(k->call, STR_FMT, STR_ARG(result->failure));
	else if (s->is_fork)
		skill_use_fork(k->call->env->owner, s, result->text, k->call);
	else {
		struct tool_call *call = k->call;
		struct json_out w = json_out(&call->result_json);

		json_putf(&w, "{success:true, commandName:'%s', allowedTools:[", s->name);
		for (size_t i = 0; i < s->allowed_tools.count; i++)
			json_put_cstr(&w, s->allowed_tools.names[i]);
		json_putf(&w, "]}");
		if (result->is_known)
			buf_addf(&call->result,
				 "Skill %s: its text is in this conversation already, unchanged. Follow it.", s->name);
		else
			buf_addf(&call->result, "Skill %s:\n\n" STR_FMT, s->name, STR_ARG(result->text));
		tool_call_end(call);
	}
	skill_unref(s);
}

static void skill_start(struct tool_call *call)
{
	struct agent *a = call->env->owner;
	struct str name = json_str(json_get(call->input, "skill"), &call->arena);
	struct skill_call *k = arena_calloc(&call->arena, sizeof *k);
	const struct catalog_entry *e = agent_skill(a, name);
	AUTO_BUF struct buf why = { 0 };

	call->state = k;
	k->call = call;
	if (!e) {
		agent_explain_no_skill(&why, a, name);
		tool_call_reject(call, "%s", why.p);
	} else if (!(agent_skill_views(a, e) & SKILL_FOR_MODEL)) {
		tool_call_reject(call, "Skill %s is for the user alone, who types /%s.", e->name, e->name);
	} else if (agent_skill_inactive(a, e)) {
		tool_call_reject(call,
				 "Skill %s is for work on certain files: it can be used after one of them was read or "
				 "written.",
				 e->name);
	} else {
		k->skill = skill_ref(e->skill);
		k->use = skill_use_start(a, e->skill, json_str(json_get(call->input, "args"), &call->arena), true,
					 on_ready, k);
	}
}

static void skill_cancel(struct tool_call *call)
{
	struct skill_call *k = call->state;
	struct agent *a = call->env->owner;

	if (k->use)
		skill_use_cancel(k->use);
	else
		agent_stop_waited(a->tree, call);
}
