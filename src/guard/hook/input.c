/* SPDX-License-Identifier: MIT
 * input.c - what a hook reads: one JSON object with the members that all events have, then the event's own. */
#include "guard/hook/hook_int.h"
#include "lib/json/json_write.h"

static void put_given(struct json_out *w, const char *key, const char *text)
{
	if (text)
		json_kcstr(w, key, text);
}

void hook_input_write(struct buf *out, const struct hook_fire_spec *spec)
{
	const struct hook_context *c = spec->context;
	struct json_out w = json_out(out);
	/* Without its braces, so that it can go on where the common members end */
	struct str object = spec->fields;
	struct str s = str_trim(object);
	struct str own = s.n >= 2 && s.p[0] == '{' ? str_trim((struct str){ s.p + 1, s.n - 2 }) : STR("");

	json_open(&w, '{');
	json_kcstr(&w, "session_id", c->session_id ? c->session_id : "");
	json_kcstr(&w, "transcript_path", c->transcript_path ? c->transcript_path : "");
	json_kcstr(&w, "cwd", c->cwd ? c->cwd : "");
	put_given(&w, "prompt_id", c->prompt_id);
	put_given(&w, "permission_mode", c->permission_mode);
	if (c->effort) {
		json_key(&w, "effort");
		json_open(&w, '{');
		json_kcstr(&w, "level", c->effort);
		json_close(&w);
	}
	put_given(&w, "agent_id", c->agent_id);
	put_given(&w, "agent_type", c->agent_type);
	json_kcstr(&w, "hook_event_name", hook_event_info(spec->event)->name);
	if (own.n) {
		buf_addch(out, ',');
		buf_add(out, own.p, own.n);
	}
	json_close(&w);
	buf_addch(out, '\n'); /* for `read` of shells, which wants a whole line */
}
