/* SPDX-License-Identifier: MIT
 * context.c - the main agent's system prompt. */
#include "app/app_int.h"
#include "app/texts.h"

void context_system_prompt(struct buf *out, const struct options *o)
{
	buf_addstr(out, o->system_prompt ? o->system_prompt : system_prompt_text);
	if (o->append_system_prompt && o->append_system_prompt[0])
		buf_addf(out, "%s%s", out->n ? "\n\n" : "", o->append_system_prompt);
}
