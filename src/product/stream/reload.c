/* SPDX-License-Identifier: MIT
 * reload.c - requests to look at the disk again: skills, output styles, plugins. Which plugins there are, their hooks and their
 * servers are settled when the session is opened; of those that are loaded, agents and skills are read again. */
#include "defs/agentdef/registry.h"
#include "defs/policy/plugins.h"
#include "product/session/styles.h"
#include "defs/skill/registry.h"
#include "product/stream/wire_int.h"

void wire_reload_skills(const struct wire_request *r)
{
	struct cadre_session *s = r->wire->session;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	if (s->tree.skills.registry)
		skill_registry_refresh(s->tree.skills.registry);
	json_open(&out, '{');
	json_key(&out, "skills");
	session_put_commands(&out, s);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

/* The style that the session talks in is read again too. */
void wire_reload_styles(const struct wire_request *r)
{
	struct cadre_session *s = r->wire->session;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	session_find_style(s);
	session_renew_head(s);
	json_open(&out, '{');
	session_put_styles(&out, s);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

static size_t count_errors(const struct plugin_list *list)
{
	size_t n = 0;

	for (size_t i = 0; list && i < list->count; i++)
		n += list->all[i]->error_count;
	return n;
}

void wire_reload_plugins(const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	struct cadre_session *s = w->session;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	if (json_bool(json_get(r->body, "refuse_if_busy")) && !wire_is_idle(w)) {
		wire_reply_error(w, r->id, "reload_plugins_busy", "the session is at work");
		return;
	}
	if (json_first(json_get(r->body, "add_plugins"))) {
		wire_reply_error(w, r->id, NULL, "plugins are added when a session is opened: --plugin-dir");
		return;
	}
	agent_registry_refresh(s->tree.registry);
	if (s->tree.skills.registry)
		skill_registry_refresh(s->tree.skills.registry);
	json_open(&out, '{');
	json_key(&out, "commands");
	session_put_commands(&out, s);
	wire_put_agents(&out, s->tree.registry);
	app_put_plugins(&out, w->services->plugins);
	wire_put_servers(&out, w);
	json_ki64(&out, "error_count", (int64_t)count_errors(w->services->plugins));
	if (json_bool(json_get(r->body, "hold_on_cache_impact")))
		json_kbool(&out, "held", false); /* no tool comes or goes */
	json_close(&out);
	wire_reply(w, r->id, buf_str(&payload));
}
