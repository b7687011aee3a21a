/* SPDX-License-Identifier: MIT
 * session_config.c - settings that have changed since the last turn. ConfigChange hooks see each changed file, one after the
 * other, and may keep the change out; what an administrator manages they can only look at. Sessions of a runtime share
 * the settings: what one of them takes over holds for all. */
#include "product/session/session_int.h"
#include "lib/json/json_write.h"
#include "mcp/servers/config.h"
#include "agents/agent/hooks.h"

struct changed_file {
	struct changed_file *next;
	enum settings_layer layer;
	const char *path;
};

struct config_change {
	struct arena arena;
	struct policy *policy; /* owned: what the files say now */
	struct changed_file *files, **files_end;
	struct changed_file *at; /* that hooks look at */
	bool blocked, forced;    /* a hook says no; a managed file is among them */
	struct buf reason;
	void (*then)(struct cadre_session *s, bool cancelled);
};

static void show_next(struct cadre_session *s);

static void add_file(void *data, enum settings_layer layer, const char *path)
{
	struct config_change *c = data;
	struct changed_file *f = arena_calloc(&c->arena, sizeof *f);

	f->layer = layer;
	f->path = arena_strdup(&c->arena, path);
	c->forced = c->forced || layer == LAYER_MANAGED;
	*c->files_end = f;
	c->files_end = &f->next;
}

static void change_free(struct config_change *c)
{
	if (!c)
		return;
	if (c->policy)
		policy_release(c->policy);
	free(c->policy);
	buf_release(&c->reason);
	arena_release(&c->arena);
	free(c);
}

void session_config_release(struct cadre_session *s)
{
	change_free(TAKE(s->turn.change));
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

void app_use_policy(struct services *sv, struct policy *changed)
{
	policy_adopt(sv, changed);
	for (struct cadre_session *s = sv->sessions; s; s = s->next)
		session_use_policy(s);
}

static void decline(struct cadre_session *s, struct config_change *c)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "changed settings do not count: a ConfigChange hook refused them%s" STR_FMT,
		 c->reason.n ? ": " : "", STR_ARG(buf_str(&c->reason)));
	session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
	policy_decline(s->services, TAKE(c->policy));
}

static void finish(struct cadre_session *s, bool cancelled)
{
	struct config_change *c = TAKE(s->turn.change);

	if (!cancelled && c->blocked && !c->forced)
		decline(s, c);
	else if (!cancelled)
		app_use_policy(s->services, TAKE(c->policy));
	c->then(s, cancelled);
	change_free(c);
}

/* ---- hooks --------------------------------------------------------------------------------------------------- */

static void on_seen(void *data, const struct hook_outcome *outcome)
{
	struct cadre_session *s = data;
	struct config_change *c = s->turn.change;

	s->turn.firing = NULL;
	emit_hook_messages(&s->tree, NULL, outcome);
	if (outcome->blocked) {
		c->blocked = true;
		buf_addf(&c->reason, "%s" STR_FMT, c->reason.n ? "\n" : "", STR_ARG(outcome->block_reason));
	}
	c->at = c->at->next;
	if (outcome->cancelled || s->closing)
		finish(s, true);
	else
		show_next(s);
}

static struct hook_fire_spec about(const struct changed_file *f)
{
	static const char *const sources[] = { [LAYER_USER] = "user_settings",
					       [LAYER_PROJECT] = "project_settings",
					       [LAYER_LOCAL] = "local_settings",
					       [LAYER_FLAG] = "user_settings",
					       [LAYER_MANAGED] = "policy_settings" };

	return (struct hook_fire_spec){ .event = HOOK_CONFIG_CHANGE, .subject = str_from(sources[f->layer]) };
}

static void fire(struct cadre_session *s, const struct changed_file *f)
{
	struct hook_fire_spec spec = about(f);
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	json_open(&w, '{');
	json_kstr(&w, "source", spec.subject);
	json_kcstr(&w, "file_path", f->path);
	json_close(&w);
	spec.fields = buf_str(&fields);
	s->turn.firing = agent_run_hooks(&s->tree.main, &spec, on_seen, s);
}

/* The first file from here on that a hook wants to see. */
static bool find_wanted(struct cadre_session *s)
{
	struct config_change *c = s->turn.change;

	for (; c->at; c->at = c->at->next) {
		struct hook_fire_spec spec = about(c->at);
		if (agent_has_hooks(&s->tree.main, &spec))
			return true;
	}
	return false;
}

static void show_next(struct cadre_session *s)
{
	if (find_wanted(s))
		fire(s, s->turn.change->at);
	else
		finish(s, false);
}

/* ---- the look ------------------------------------------------------------------------------------------------ */

static void begin(struct cadre_session *s, struct policy *changed)
{
	struct config_change *c = xcalloc(1, sizeof *c);

	c->policy = changed;
	c->files_end = &c->files;
	settings_each_change(s->services->policy.settings, changed->settings, add_file, c);
	c->at = c->files;
	s->turn.change = c;
}

bool session_look_at_settings(struct cadre_session *s, void (*then)(struct cadre_session *s, bool cancelled))
{
	struct policy *changed;
	struct err err = { 0 };
	int status = policy_look(s->services, &changed, &err);

	if (status < 0)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
	if (status <= 0)
		return false;
	begin(s, changed);
	if (!find_wanted(s)) {
		app_use_policy(s->services, TAKE(s->turn.change->policy));
		session_config_release(s);
		return false;
	}
	s->turn.change->then = then;
	fire(s, s->turn.change->at);
	return true;
}

/* Without a person to ask, servers of a project wait for trust or for an approval in the user's own settings. */
static void report_waiting_servers(struct cadre_session *s)
{
	const struct mcp_config *config = s->services->mcp_config;
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; config && i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->standing == MCP_UNAPPROVED)
			buf_addf(&text, "%s%s (%s:%u)",
				 text.n ? ", " : "this folder is not trusted, so these MCP servers do not run: ",
				 item->name, item->file, item->line);
	}
	if (!text.n)
		return;
	buf_addstr(&text, "; `cadre trust` records consent, --trust-project gives it for one run");
	session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&text) });
}

void session_tell_policy(struct cadre_session *s)
{
	const struct policy *p = &s->services->policy;

	if (s->policy_told != p->generation + 1 && p->notes.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_trim(buf_str(&p->notes)) });
	if (!s->policy_told && !s->services->options.interactive)
		report_waiting_servers(s);
	s->policy_told = p->generation + 1;
}
