/* SPDX-License-Identifier: MIT
 * context.c - the main agent's system prompt. */
#include "product/session/session_int.h"
#include "product/session/main_agent.h"
#include "product/session/styles.h"
#include "product/session/texts.h"

/* An empty prompt of the host leaves the agent its own. */
void context_system_prompt(struct buf *out, const struct cadre_session *s)
{
	const struct options *o = &s->services->options;

	if (s->tree.main.definition && (!o->system_prompt || !o->system_prompt[0]))
		buf_add(out, s->tree.main.system.p, s->tree.main.system.n);
	else if (o->system_prompt || !s->style || s->style->keeps_prompt)
		buf_addstr(out, o->system_prompt ? o->system_prompt : system_prompt_text);
	if (s->style && !o->system_prompt)
		buf_addf(out, "%s" STR_FMT, out->n ? "\n\n" : "", STR_ARG(s->style->prompt));
	if (o->append_system_prompt && o->append_system_prompt[0])
		buf_addf(out, "%s%s", out->n ? "\n\n" : "", o->append_system_prompt);
}
