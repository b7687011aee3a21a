/* SPDX-License-Identifier: MIT
 * commands.c - what a user can call by /name, for who offers a choice of them. */
#include "product/session/session_int.h"
#include "product/session/server_prompt.h"
#include "lib/json/json_write.h"
#include "defs/skill/listing.h"

static const struct builtin_command compact = { "compact", "Sum the conversation up and go on from the summary",
						"[instructions for the summary]" };

const struct builtin_command *session_builtin(const struct cadre_session *s, size_t i)
{
	if (i > 0 || s->services->options.no_slash_commands || !s->tree.compact.possible)
		return NULL;
	return &compact;
}

static void put_builtin(struct json_out *w, const struct builtin_command *b)
{
	json_open(w, '{');
	json_kcstr(w, "name", b->name);
	json_kcstr(w, "description", b->description);
	json_kcstr(w, "argumentHint", b->hint);
	json_kbool(w, "builtin", true);
	json_close(w);
}

static void put_prompt(void *data, const char *name, const struct mcp_prompt *prompt)
{
	struct json_out *w = data;
	AUTO_BUF struct buf hint = { 0 };

	server_prompt_hint(&hint, prompt);
	json_open(w, '{');
	json_kcstr(w, "name", name);
	json_kcstr(w, "description", prompt->description);
	json_kstr(w, "argumentHint", buf_str(&hint));
	json_close(w);
}

void session_put_commands(struct json_out *w, const struct cadre_session *s)
{
	const struct skill_registry *r = s->tree.skills.registry;

	json_open(w, '[');
	for (size_t i = 0; session_builtin(s, i); i++)
		put_builtin(w, session_builtin(s, i));
	for (size_t i = 0; r && i < r->active_count; i++) {
		const struct skill_entry *e = r->active[i];
		if (!(skill_views(e, s->tree.skills.overrides) & SKILL_FOR_USER))
			continue;
		json_open(w, '{');
		json_kcstr(w, "name", e->name);
		json_kcstr(w, "description", e->skill->description);
		json_kcstr(w, "argumentHint", e->skill->argument_hint ? e->skill->argument_hint : "");
		json_close(w);
	}
	if (r)
		server_prompts_each(s, put_prompt, w);
	json_close(w);
}
