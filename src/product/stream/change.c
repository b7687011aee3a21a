/* SPDX-License-Identifier: MIT
 * change.c - requests that change the session: mode, thinking, model, settings, title, working directories, rewind,
 * reload, agents. */
#include <limits.h>
#include "mcp/servers/server.h"
#include "mcp/client/pool.h"
#include "product/stream/wire_int.h"
#include "defs/policy/sources.h"
#include "product/session/session.h"
#include "lib/io/file.h"
#include "config/settings/settings_key.h"
#include "config/settings/settings_store.h"
#include "agents/agent/hooks.h"
#include "agents/agent/context.h"
#include "defs/policy/plugins.h"
#include "product/session/rewind.h"

int wire_interrupt(struct wire_request *r, struct err *err)
{
	struct cadre_wire *w = r->wire;
	bool cancel = json_bool(json_get(r->body, "cancel_queued"));

	if (cancel) {
		json_key(&r->out, "cancelled");
		wire_list_messages(&r->out, w);
	}
	while (cancel && w->queue)
		wire_drop_message(w, w->queue);
	json_key(&r->out, "still_queued");
	wire_list_messages(&r->out, w);
	if (w->working)
		cadre_interrupt(w->session);
	return 0;
}

/* Sets an option of the session; NULL restores its initial value. */
static int set_option(const struct wire_request *r, const char *option, const char *value, struct err *err)
{
	char why[sizeof err->text] = "";
	int status = cadre_session_set(r->wire->session, option, value, why, sizeof why);

	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

int wire_set_mode(struct wire_request *r, struct err *err)
{
	struct cadre_wire *w = r->wire;
	const struct permission *p = &w->session->tree.main.permission;
	enum permission_mode before = permission_mode(p);
	const char *mode = json_cstr(json_get(r->body, "mode"), r->arena);
	AUTO_BUF struct buf line = { 0 };

	if (set_option(r, "permission-mode", mode ? mode : "", err) < 0)
		return -(int)err->kind;
	wire_reply(w, r->id, STR(""));
	if (permission_mode(p) == before)
		return WIRE_ANSWERED;
	struct json_out out = wire_frame_begin(&line, "system", "status"); /* reports the change at once */
	json_putf(&out, "status:null, permissionMode:'%s'", permission_mode_name(permission_mode(p)));
	wire_frame_end(w, &out, w->session->id);
	return WIRE_ANSWERED;
}

/* The display of thinking is unchanged unless the request sets it; null is the model's default. */
int wire_set_thinking(struct wire_request *r, struct err *err)
{
	const struct json *tokens = json_get(r->body, "max_thinking_tokens");
	const struct json *display = json_get(r->body, "thinking_display");
	const char *text = json_is(tokens, JSON_NUMBER) ? arena_str(r->arena, json_raw(tokens)).p : NULL;
	int status = set_option(r, "max-thinking-tokens", text, err);

	if (status == 0 && display)
		status = set_option(r, "thinking-display", json_cstr(display, r->arena), err);
	return status;
}

/* Calls of one server need a question, or the classifier, although the session bypasses permissions. */
int wire_mcp_override(struct wire_request *r, struct err *err)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct json *mode = json_get(r->body, "mode");
	struct str server = json_str(json_get(r->body, "serverName"), r->arena);
	bool to_default = json_str_is(mode, "default");
	AUTO_BUF struct buf tools = { 0 };

	if (!server.n || (!to_default && !json_str_is(mode, "auto") && !json_is(mode, JSON_NULL)))
		return err_set(err, ERR_USAGE, "serverName and a mode (default, auto or null) are needed");
	mcp_name_add(&tools, server, STR(""));
	buf_addstr(&tools, "__");
	permission_narrow(&a->permission, buf_str(&tools),
			  json_is(mode, JSON_NULL) ? PERMISSION_BYPASS
			  : to_default             ? PERMISSION_DEFAULT
						   : PERMISSION_AUTO);
	if (!a->servers || !mcp_selection_find(a->servers, server))
		json_kcstr(&r->out, "warning", "no such server at present");
	return 0;
}

int wire_cancel_message(struct wire_request *r, struct err *err)
{
	struct str uuid = json_str(json_get(r->body, "message_uuid"), r->arena);
	struct wire_message *m = r->wire->queue;

	while (m && !str_eq(str_from(m->uuid), uuid))
		m = m->next;
	if (m)
		wire_drop_message(r->wire, m);
	json_kbool(&r->out, "cancelled", m != NULL);
	return 0;
}

int wire_apply_settings(struct wire_request *r, struct err *err)
{
	const struct json *settings = json_get(r->body, "settings");

	if (!json_is(settings, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "settings is not an object");
	return session_apply_settings(r->wire->session, settings, err);
}

/* A setting that a client may store, by its path: an output style in the local file, all others in the user's. null: the member is
 * removed */
static int store_setting(const struct wire_request *r, struct json_member m, struct err *err)
{
	struct str key = json_str(m.key, r->arena), rest = key, names[2];
	struct str raw = json_is(m.value, JSON_NULL) ? (struct str){ 0 } : json_raw(m.value);
	struct str value = json_is(m.value, JSON_STRING) ? json_str(m.value, r->arena) : raw;
	const struct settings_spec *spec = settings_source(r->wire->session->tree.policy->settings);
	const struct setting_key *setting = setting_find(key);
	bool style = str_is(key, "outputStyle");
	AUTO_BUF struct buf expected = { 0 };
	size_t count = 0;

	if (!setting || !(setting->flags & SETTING_STORABLE) ||
	    !json_str_is(json_get(r->body, "source"), style ? "localSettings" : "userSettings"))
		return err_set(err, ERR_USAGE, "'" STR_FMT "' cannot be stored by a session: edit settings.json",
			       STR_ARG(key));
	if (raw.p && setting_misfit(setting, m.value, NULL)) {
		setting_expected(&expected, setting);
		return err_set(err, ERR_USAGE, STR_FMT ": expected %s, not '" STR_FMT "'", STR_ARG(key), expected.p,
			       STR_ARG(value));
	}
	if (style && raw.p && !session_has_style(r->wire->session, value))
		return err_set(err, ERR_NOT_FOUND, "no such output style: '" STR_FMT "'", STR_ARG(value));
	if (spec->bare || !(spec->sources & (unsigned)(style ? SETTINGS_LOCAL : SETTINGS_USER)))
		return err_set(err, ERR_DENIED, "the session does not read this file");
	const char *file =
		style ? settings_local_path(r->arena, spec) : path_join(r->arena, spec->config_dir, "settings.json");
	while (rest.p && count < COUNT_OF(names))
		names[count++] = str_cut(&rest, '.');
	return session_store_setting(
		r->wire->session,
		&(struct settings_change){ .path = file, .names = names, .count = count, .value = raw }, err);
}

/* What the files say now holds at once. */
static int use_files(struct cadre_session *s, struct err *err)
{
	struct policy *changed;

	if (policy_renew(s->services, s->tree.policy, &changed, err) < 0)
		return -(int)err->kind;
	policy_apply(s->services, s->tree.policy, changed);
	return 0;
}

/* A rule that is added or removed, in the session or in a settings file */
int wire_update_permissions(struct wire_request *r, struct err *err)
{
	struct cadre_session *s = r->wire->session;
	const struct json *update = json_get(r->body, "update"), *type = json_get(update, "type");

	if (!json_str_is(type, "addRules") && !json_str_is(type, "removeRules"))
		return err_set(err, ERR_USAGE, "update.type must be addRules or removeRules");
	int status = session_update_permission(s, update, err);
	return status < 0 ? status : use_files(s, err);
}

/* The output style holds at once; the effort holds for new sessions. */
int wire_update_settings(struct wire_request *r, struct err *err)
{
	const struct json *settings = json_get(r->body, "settings");
	struct cadre_session *s = r->wire->session;
	int status = json_is(settings, JSON_OBJECT) ? 0 : err_set(err, ERR_USAGE, "settings is not an object");

	for (struct json_member m = json_members(settings); status == 0 && m.key; m = json_member_next(settings, m))
		status = store_setting(r, m, err);
	if (status < 0 || (status = use_files(s, err)) < 0)
		return status;
	session_find_style(s);
	agent_renew_head(&s->tree.main);
	return 0;
}

int wire_rename(struct wire_request *r, struct err *err)
{
	struct str title = str_trim(json_str(json_get(r->body, "title"), r->arena));

	return title.n ? session_set_title(r->wire->session, title, err) : err_set(err, ERR_USAGE, "title is empty");
}

/* The client saw the model read this file: it may be changed without being read again, if it is unchanged since. */
int wire_seed_read(struct wire_request *r, struct err *err)
{
	struct agent *a = &r->wire->session->tree.main;
	struct str path = json_str(json_get(r->body, "path"), r->arena);
	int64_t seen_ms;

	if (!path.n || !json_i64(json_get(r->body, "mtime"), &seen_ms))
		return err_set(err, ERR_USAGE, "path and mtime are needed");
	a->tree->kit->recall_file(&a->env, path_absolute(r->arena, a->cwd, path), seen_ms, false);
	return 0;
}

static void on_switched(void *data, const struct err *err)
{
	if (err)
		wire_deferred_fail(data, err->text);
	else
		wire_deferred_reply(data, STR(""));
}

int wire_set_model(struct wire_request *r, struct err *err)
{
	const char *wish = json_cstr(json_get(r->body, "model"), r->arena);
	struct wire_deferred *later = wire_deferred(r);
	int rc = session_switch_model(r->wire->session, wish, "sdk", on_switched, later, err);

	if (rc != MODEL_SWITCH_ASKED)
		on_switched(later, rc < 0 ? err : NULL);
	return WIRE_ANSWERED;
}

/* The directory must be inside a working directory, so that a client cannot widen the reach of agents. */
int wire_register_root(struct wire_request *r, struct err *err)
{
	struct cadre_session *s = r->wire->session;
	const char *const *dirs = s->tree.main.env.dirs;
	struct str wish = json_str(json_get(r->body, "directory"), r->arena);
	AUTO_FREE char *real = wish.n ? realpath(path_absolute(r->arena, s->tree.main.cwd, wish), NULL) : NULL;
	bool inside = false;

	if (!real || !file_is_dir(real))
		return err_set(err, ERR_USAGE, "'" STR_FMT "' is not a directory", STR_ARG(wish));
	for (size_t i = 0; dirs[i]; i++) {
		if (!strcmp(dirs[i], real))
			return err_set(err, ERR_USAGE, "%s is a working directory already", real);
		inside = inside || path_is_inside(real, dirs[i]);
	}
	if (!inside)
		return err_set(err, ERR_DENIED, "%s is outside the working directories", real);
	session_add_directory(s, real);
	if (json_bool(json_get(r->body, "reload_skills")) && s->tree.skills.registry)
		catalog_refresh(s->tree.skills.registry);
	wire_reply(r->wire, r->id, STR(""));
	agent_notify_hooksf(&s->tree.main, HOOK_DIRECTORY_ADDED, "register_repo_root",
			    "{directory:'%s', source:'register_repo_root'}", real);
	return WIRE_ANSWERED;
}

/* Requests to read the disk again: the plugins, their hooks and servers stay, agents and skills are read again. */

int wire_reload_skills(struct wire_request *r, struct err *err)
{
	struct cadre_session *s = r->wire->session;

	if (s->tree.skills.registry)
		catalog_refresh(s->tree.skills.registry);
	json_key(&r->out, "skills");
	session_put_commands(&r->out, s);
	return 0;
}

/* The style of the session is read again, too. */
int wire_reload_styles(struct wire_request *r, struct err *err)
{
	struct cadre_session *s = r->wire->session;

	session_find_style(s);
	agent_renew_head(&s->tree.main);
	session_put_styles(&r->out, s);
	return 0;
}

int wire_reload_plugins(struct wire_request *r, struct err *err)
{
	struct cadre_wire *w = r->wire;
	struct cadre_session *s = w->session;
	const struct plugin_list *plugins = w->services->plugins;
	size_t errors = 0;

	if (json_bool(json_get(r->body, "refuse_if_busy")) && !wire_is_idle(w)) {
		r->error_code = "reload_plugins_busy";
		return err_set(err, ERR_BUSY, "the session is at work");
	}
	if (json_first(json_get(r->body, "add_plugins")))
		return err_set(err, ERR_USAGE, "plugins are added when a session is opened: --plugin-dir");
	catalog_refresh(s->tree.services->registry);
	if (s->tree.skills.registry)
		catalog_refresh(s->tree.skills.registry);
	for (size_t i = 0; plugins && i < plugins->count; i++)
		errors += plugins->all[i]->error_count;
	json_key(&r->out, "commands");
	session_put_commands(&r->out, s);
	wire_put_agents(&r->out, &s->tree);
	plugin_list_put(&r->out, plugins);
	wire_put_servers(&r->out, w);
	json_ki64(&r->out, "error_count", (int64_t)errors);
	if (json_bool(json_get(r->body, "hold_on_cache_impact")))
		json_kbool(&r->out, "held", false); /* the tools stay the same */
	return 0;
}

/* A dry run always succeeds; a real run that does nothing is an error. The protocol has no --force, so changes of others are
 * overwritten; what is lost is kept (docs/internals/checkpoint.md). */
int wire_rewind(struct wire_request *r, struct err *err)
{
	const struct cadre_session *s = r->wire->session;
	const char *uuid = json_cstr(json_get(r->body, "user_message_id"), r->arena);
	bool dry = json_bool(json_get(r->body, "dry_run"));
	AUTO_REWIND struct rewind w = { 0 };
	int status = s->tree.checkpoint ? 0 : err_set(err, ERR_USAGE, "File rewinding is not enabled.");

	if (status == 0)
		status = rewind_look(&w, checkpoint_dir(r->arena, s->tree.config_dir, s->id), uuid ? uuid : "", err);
	if (status == 0 && !dry)
		status = rewind_go(&w, s->tree.checkpoint, err);
	if (status < 0 && !dry)
		return status;
	json_kbool(&r->out, "canRewind", status == 0);
	if (status < 0)
		json_kcstr(&r->out, "error", err->text);
	json_kopen(&r->out, "filesChanged", '[');
	for (size_t i = 0; i < w.plan.count; i++)
		json_put_cstr(&r->out, w.plan.files[i].path);
	json_putf(&r->out, "], insertions:%zu, deletions:%zu", w.added, w.removed);
	return 0;
}

struct stop {
	struct agent_wait wait;
	struct wire_deferred *later;
};

static void on_end(struct agent_wait *wait)
{
	struct stop *s = CONTAINER_OF(wait, struct stop, wait);

	wire_deferred_reply(s->later, STR(""));
	free(s);
}

/* The reply is sent when the agent has ended. */
int wire_stop_task(struct wire_request *r, struct err *err)
{
	struct agent_record *record;

	if (wire_find_record(r, &record, err) < 0)
		return -(int)err->kind;
	if (!record->live && record->member && record->member->state != MEMBER_GONE) { /* parked, or in a pane */
		record->tree->team_ops->stop(record, true);
		return 0;
	}
	if (!record->live)
		return err_set(err, ERR_USAGE, "Task %s is not running (status: %s)", record->id,
			       end_states[record->state].state);
	struct stop *s = xnew(struct stop, .wait = { .on_end = on_end }, .later = wire_deferred(r));
	agent_wait_add(record, &s->wait);
	agent_stop(record, true);
	return WIRE_ANSWERED;
}

int wire_background(struct wire_request *r, struct err *err)
{
	const char *call = json_cstr(json_get(r->body, "tool_use_id"), r->arena);

	json_kbool(&r->out, "backgrounded", cadre_background(r->wire->session, call) > 0 || !call);
	return 0;
}
