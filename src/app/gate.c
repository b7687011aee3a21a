/* SPDX-License-Identifier: MIT
 * gate.c - the host's answers to permission questions, whichever agent asks. */
#include "app/app_int.h"
#include "subagent/gate.h"

static struct tool_call *find_question(struct cadre_session *s, const char *id, struct actor **ret_actor)
{
	struct tool_call *call = actor_question(&s->tree.main, id);

	*ret_actor = &s->tree.main;
	for (struct subagent *c = s->tree.alive; c && !call; c = c->next) {
		call = actor_question(&c->actor, id);
		*ret_actor = &c->actor;
	}
	return call;
}

int cadre_answer(struct cadre_session *s, const char *id, int allow, int for_session, const char *reason)
{
	AUTO_BUF struct buf text = { 0 };
	struct actor *actor;
	struct tool_call *call = find_question(s, id, &actor);

	if (!call)
		return CADRE_NOT_FOUND;
	if (allow && for_session)
		permission_allow_tool(&s->tree.main.permission, str_from(call->tool->name));
	if (!allow)
		buf_addf(&text, "The user does not want %s to run now.%s%s", call->name,
			 reason && reason[0] ? " They said: " : "", reason ? reason : "");
	actor_answer(actor, call, allow, buf_str(&text));
	return CADRE_OK;
}
