/* SPDX-License-Identifier: MIT
 * commands.c - what a user can call by /name, for who offers a choice of them. */
#include "app/app_int.h"
#include "json/json_write.h"
#include "skill/listing.h"

void session_put_commands(struct json_out *w, const struct cadre_session *s)
{
	const struct skill_registry *r = s->tree.skills.registry;

	json_key(w, "commands");
	json_open(w, '[');
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
	json_close(w);
}
