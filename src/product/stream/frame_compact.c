/* SPDX-License-Identifier: MIT
 * frame_compact.c - frames about compaction: system/status and system/compact_boundary. What a child does with its own
 * conversation is not shown. */
#include "product/stream/frame_int.h"

void frame_status(struct json_out *w, const struct cadre_event *e)
{
	const char *result = e->event->compact->result;

	json_kcstr(w, "type", "system");
	json_kcstr(w, "subtype", "status");
	json_kcstr(w, "status", result ? NULL : "compacting");
	if (result)
		json_kcstr(w, "compact_result", result);
	if (e->event->text.n)
		json_kstr(w, "compact_error", e->event->text);
}

void frame_compact_boundary(struct json_out *w, const struct cadre_event *e)
{
	const struct event_compact *c = e->event->compact;

	json_kcstr(w, "type", "system");
	json_kcstr(w, "subtype", "compact_boundary");
	json_key(w, "compact_metadata");
	json_open(w, '{');
	json_kcstr(w, "trigger", c->trigger);
	json_ki64(w, "pre_tokens", c->tokens_before);
	json_ki64(w, "post_tokens", c->tokens_after);
	json_ki64(w, "duration_ms", (int64_t)c->duration_ms);
	json_close(w);
}
