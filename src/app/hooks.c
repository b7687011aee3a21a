/* SPDX-License-Identifier: MIT
 * hooks.c - the hook engine of a runtime, and what it tells its sessions. */
#include "app/app_int.h"

/* The session whose agent this is; hooks outside of any session tell all of them. */
static void tell(struct cadre *c, const char *text)
{
	for (struct cadre_session *s = c->sessions; s; s = s->next)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(text) });
}

static void on_skipped(void *data, const struct hook *hook, const char *why)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "hook " STR_FMT " of %s does not run: %s", STR_ARG(hook->label), hook->origin->file, why);
	tell(data, text.p);
}

/* What a hook that nobody waited for has to say goes to the model with its next request. */
static void on_late(void *data, const struct hook_late *late)
{
	struct cadre *c = data;
	AUTO_BUF struct buf text = { 0 };
	struct str said = late->wake.n ? late->wake : late->context;

	if (late->system_message.n)
		tell(c, late->system_message.p);
	if (!said.n)
		return;
	buf_addf(&text, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(said));
	for (struct cadre_session *s = c->sessions; s; s = s->next) {
		struct actor *a = agent_tree_actor(&s->tree, late->agent_id ? late->agent_id : "");
		if (a && late->wake.n)
			actor_notice(a, NULL, buf_str(&text));
		else if (a)
			query_notice(&a->query, NULL, buf_str(&text));
	}
}

int app_open_hooks(struct cadre *c, struct err *err)
{
	const char *limit = getenv("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS");
	uint64_t end_ms = 0;

	if (c->hooks)
		return 0;
	if (limit && !str_to_u64(str_from(limit), &end_ms))
		end_ms = 0;
	c->hook_http = http_new(c->loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION }, err);
	if (!c->hook_http)
		return -(int)err->kind;
	c->hooks = hook_engine_new(&(struct hook_engine_options){
		.loop = c->loop,
		.spawner = c->spawner,
		.http = c->hook_http,
		.observer = { .skipped = on_skipped, .late = on_late, .data = c },
		.session_end_ms = end_ms,
	});
	return 0;
}

static void on_drained(void *data)
{
	struct cadre *c = data;

	c->draining--;
	loop_stop(c->loop);
}

void app_close_hooks(struct cadre *c)
{
	if (c->hooks) {
		c->draining++;
		hook_engine_drain(c->hooks, on_drained, c);
		while (c->draining)
			loop_run(c->loop);
		hook_engine_free(c->hooks);
	}
	if (c->hook_http)
		http_free(c->hook_http);
}
