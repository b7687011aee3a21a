/* SPDX-License-Identifier: MIT
 * change.c - requests that change the session: mode, thinking, model, settings, title, working directories, rewind,
 * reload. */
#include <limits.h>
#include <sys/stat.h>
#include "mcp/servers/server.h"
#include "mcp/client/selection.h"
#include "product/stream/wire_int.h"
#include "defs/policy/sources.h"
#include "product/session/styles.h"
#include "lib/io/file.h"
#include "config/settings/settings_store.h"
#include "core/model/catalog.h"
#include "agents/agent/hooks.h"
#include "agents/agent/context.h"
#include "product/session/permission_update.h"
#include "defs/skill/registry.h"
#include "defs/agentdef/registry.h"
#include "defs/policy/plugins.h"
#include "product/session/rewind.h"

/* ---- requests that change how the session goes on ---------------------------------------------------------------- */

void wire_interrupt(const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);
	bool cancel = json_bool(json_get(r->body, "cancel_queued"));

	json_open(&out, '{');
	if (cancel) {
		json_key(&out, "cancelled");
		wire_list_messages(&out, w);
	}
	while (cancel && w->queue)
		wire_drop_message(w, w->queue);
	json_key(&out, "still_queued");
	wire_list_messages(&out, w);
	json_close(&out);
	if (w->working)
		cadre_interrupt(w->session);
	wire_reply(w, r->id, buf_str(&payload));
}

/* Reports the change at once. */
static void tell_mode(struct cadre_wire *w)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out out = json_out(&line);
	char uuid[UUID_LEN + 1];

	id_uuid(uuid);
	json_open(&out, '{');
	json_kcstr(&out, "type", "system");
	json_kcstr(&out, "subtype", "status");
	json_kcstr(&out, "status", NULL);
	json_kcstr(&out, "permissionMode", permission_mode_name(permission_mode(&w->session->tree.main.permission)));
	json_kcstr(&out, "session_id", w->session->id);
	json_kcstr(&out, "uuid", uuid);
	json_close(&out);
	wire_send(w, &line);
}

void wire_set_mode(const struct wire_request *r)
{
	enum permission_mode before = permission_mode(&r->wire->session->tree.main.permission);
	const char *mode = json_cstr(json_get(r->body, "mode"), r->arena);

	/* An option of the session; NULL restores its initial value. */
	const char *value = mode ? mode : "";
	char why[240] = "";
	if (cadre_session_set(r->wire->session, "permission-mode", value, why, sizeof why) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", why);
	else
		wire_reply(r->wire, r->id, STR(""));
	if (permission_mode(&r->wire->session->tree.main.permission) != before)
		tell_mode(r->wire);
}

/* The display of thinking is unchanged unless the request sets it; null is the model's default. */
static int set_display(const struct wire_request *r, char *why, size_t why_size)
{
	const struct json *display = json_get(r->body, "thinking_display");

	if (!display)
		return 0;
	return cadre_session_set(r->wire->session, "thinking-display", json_cstr(display, r->arena), why, why_size);
}

void wire_set_thinking(const struct wire_request *r)
{
	const struct json *tokens = json_get(r->body, "max_thinking_tokens");
	const char *text = json_is(tokens, JSON_NUMBER) ? arena_str(r->arena, json_raw(tokens)).p : NULL;
	char why[240] = "";

	if (cadre_session_set(r->wire->session, "max-thinking-tokens", text, why, sizeof why) < 0 ||
	    set_display(r, why, sizeof why) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", why);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* Calls of one server need a question, or the classifier, although the session bypasses permissions. */
void wire_mcp_override(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct json *mode = json_get(r->body, "mode");
	struct str server = json_str(json_get(r->body, "serverName"), r->arena);
	bool to_default = json_str_is(mode, "default");
	AUTO_BUF struct buf tools = { 0 }, payload = { 0 };

	if (!server.n || (!to_default && !json_str_is(mode, "auto") && !json_is(mode, JSON_NULL))) {
		wire_reply_error(r->wire, r->id, NULL, "serverName and a mode (default, auto or null) are needed");
		return;
	}
	mcp_name_add(&tools, server, STR(""));
	buf_addstr(&tools, "__");
	permission_narrow(&a->permission, buf_str(&tools),
			  json_is(mode, JSON_NULL) ? PERMISSION_BYPASS
			  : to_default             ? PERMISSION_DEFAULT
						   : PERMISSION_AUTO);
	if (!a->servers || !mcp_selection_find(a->servers, server))
		buf_addf(&payload, "{\"warning\":\"no such server at present\"}");
	wire_reply(r->wire, r->id, buf_str(&payload));
}

void wire_cancel_message(const struct wire_request *r)
{
	struct str uuid = json_str(json_get(r->body, "message_uuid"), r->arena);
	struct wire_message *m = uuid.n ? wire_find_message(r->wire, uuid) : NULL;

	if (m)
		wire_drop_message(r->wire, m);
	wire_reply(r->wire, r->id, m ? STR("{\"cancelled\":true}") : STR("{\"cancelled\":false}"));
}

/* ---- requests that change what the session is -------------------------------------------------------------------- */

/* ---- settings ---------------------------------------------------------------------------------------------------- */

void wire_apply_settings(const struct wire_request *r)
{
	const struct json *settings = json_get(r->body, "settings");
	struct err err = { 0 };

	if (!json_is(settings, JSON_OBJECT))
		wire_reply_error(r->wire, r->id, NULL, "settings is not an object");
	else if (session_apply_settings(r->wire->session, settings, &err) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* Settings that a client may store in a file: strings only. */
static const struct storable {
	const char *source, *key;
	enum setting_sources needs;
} storable[] = {
	{ "localSettings", "outputStyle", SETTINGS_LOCAL },
	{ "userSettings", "effortLevel", SETTINGS_USER },
};

static const struct storable *find_storable(const struct json *source, struct str key)
{
	for (size_t i = 0; i < COUNT_OF(storable); i++)
		if (json_str_is(source, storable[i].source) && str_is(key, storable[i].key))
			return &storable[i];
	return NULL;
}

static int store(const struct wire_request *r, struct json_member m, struct err *err)
{
	const struct json *source = json_get(r->body, "source");
	struct str key = json_str(m.key, r->arena);
	const struct storable *s = find_storable(source, key);
	struct settings_spec spec;

	if (!s || !json_is(m.value, JSON_STRING))
		return err_set(err, ERR_USAGE, "'" STR_FMT "' cannot be stored in this file", STR_ARG(key));
	if (app_settings_spec(r->wire->services, r->arena, &spec, err) < 0)
		return -(int)err->kind;
	if (spec.bare || !(spec.sources & s->needs))
		return err_set(err, ERR_DENIED, "the session does not read this file");
	const char *file = s->needs == SETTINGS_USER ? path_join(r->arena, spec.config_dir, "settings.json")
						     : settings_local_path(r->arena, &spec);
	return settings_set_member(file, &key, 1, json_raw(m.value), err);
}

/* The output style holds at once; the effort is for sessions to come. */
static int use_stored(struct cadre_session *s, struct err *err)
{
	struct policy *changed;

	if (policy_renew(s->services, &changed, err) < 0)
		return -(int)err->kind;
	app_use_policy(s->services, changed);
	session_find_style(s);
	agent_renew_head(&s->tree.main);
	return 0;
}

void wire_update_settings(const struct wire_request *r)
{
	const struct json *settings = json_get(r->body, "settings");
	struct err err = { 0 };
	int status = json_is(settings, JSON_OBJECT) ? 0 : err_set(&err, ERR_USAGE, "settings is not an object");

	for (struct json_member m = json_members(settings); status == 0 && m.key; m = json_member_next(settings, m))
		status = store(r, m, &err);
	if (status == 0)
		status = use_stored(r->wire->session, &err);
	if (status < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* ---- the title --------------------------------------------------------------------------------------------------- */

void wire_keep_title(struct cadre_wire *w)
{
	struct err err = { 0 };

	if (w->title && w->session->tree.main.journal && session_set_title(w->session, str_from(w->title), &err) < 0)
		wire_complain(w, "the title is not kept: %s", err.text);
	free(TAKE(w->title));
}

void wire_rename(const struct wire_request *r)
{
	struct str title = str_trim(json_str(json_get(r->body, "title"), r->arena));
	struct err err = { 0 };

	if (!title.n)
		wire_reply_error(r->wire, r->id, NULL, "title is empty");
	else if (session_set_title(r->wire->session, title, &err) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The client saw the model read this file: it may be changed without being read again, if it is still as it was. */
void wire_seed_read(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	struct str path = json_str(json_get(r->body, "path"), r->arena);
	int64_t seen_ms;

	if (!path.n || !json_i64(json_get(r->body, "mtime"), &seen_ms)) {
		wire_reply_error(r->wire, r->id, NULL, "path and mtime are needed");
		return;
	}
	a->tree->kit->recall_file(&a->env, path_absolute(r->arena, a->cwd, path), seen_ms, false);
	wire_reply(r->wire, r->id, STR(""));
}

/* ---- set_model, with the hooks around it ------------------------------------------------------------------------- */

struct model_switch {
	struct services *services;
	char *session_id, *request_id;
	char *wish, *from; /* wish: NULL for the model of the start */
};

static void write_fields(struct buf *out, const char *from, const char *to, const char *wish)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	json_kcstr(&w, "from_model", from);
	json_kcstr(&w, "to_model", to);
	json_kcstr(&w, "requested_model", wish ? wish : "default");
	json_kcstr(&w, "source", "sdk");
	json_close(&w);
}

static void change(struct cadre_wire *w, struct str id, const char *from, const char *wish)
{
	char why[240] = "";

	if (cadre_session_set(w->session, "model", wish, why, sizeof why) < 0) {
		wire_reply_error(w, id, NULL, "%s", why);
		return;
	}
	wire_reply(w, id, STR(""));
	struct cadre_session *s = w->session;
	struct hook_fire_spec spec = { .event = HOOK_POST_MODEL_SWITCH };
	AUTO_BUF struct buf fields = { 0 };
	if (!agent_has_hooks(&s->tree.main, &spec))
		return;
	write_fields(&fields, from, s->tree.main.model, wish);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&s->tree.main, &spec);
}

static struct cadre_wire *wire_of(const struct model_switch *m)
{
	struct cadre_wire *w = m->services->wires;

	while (w && (!w->session || strcmp(w->session->id, m->session_id) != 0))
		w = w->next;
	return w;
}

static void on_looked_at(void *data, const struct hook_outcome *outcome)
{
	struct model_switch *m = data;
	struct cadre_wire *w = wire_of(m);
	struct str id = str_from(m->request_id);

	if (w && outcome->cancelled)
		wire_reply_error(w, id, NULL, "the session ends");
	else if (w && outcome->permission == HOOK_PERMISSION_DENY)
		wire_reply_error(w, id, NULL, "a PreModelSwitch hook refused it: " STR_FMT,
				 STR_ARG(outcome->permission_reason));
	else if (w)
		change(w, id, m->from, m->wish);
	free(m->session_id);
	free(m->request_id);
	free(m->wish);
	free(m->from);
	free(m);
}

/* Resolves an alias; an unknown one is refused when it is set. */
static const char *target(const struct wire_request *r, const char *wish)
{
	const struct options *o = &r->wire->services->options;
	const char *id = NULL;
	const char *name = wish && strcmp(wish, "default") != 0 ? wish : o->model ? o->model : model_default();

	return model_resolve(r->arena, name, &id, NULL) == 0 ? id : name;
}

void wire_set_model(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	const char *wish = json_cstr(json_get(r->body, "model"), r->arena);
	struct hook_fire_spec spec = { .event = HOOK_PRE_MODEL_SWITCH };
	AUTO_BUF struct buf fields = { 0 };

	if (!agent_has_hooks(a, &spec)) {
		change(r->wire, r->id, arena_strdup(r->arena, a->model), wish);
		return;
	}
	struct model_switch *m = xcalloc(1, sizeof *m);
	*m = (struct model_switch){ .services = r->wire->services,
				    .session_id = xstrdup(r->wire->session->id),
				    .request_id = xstrndup(r->id.p, r->id.n),
				    .wish = wish ? xstrdup(wish) : NULL,
				    .from = xstrdup(a->model) };
	write_fields(&fields, a->model, target(r, wish), wish);
	spec.fields = buf_str(&fields);
	(void)agent_run_hooks(a, &spec, on_looked_at, m);
}

/* ---- register_repo_root ------------------------------------------------------------------------------------------ */

/* It has to lie inside one that the session was given, so that a
 * client cannot widen what agents may reach. */

static int check_directory(const struct wire_request *r, const char *dir, struct err *err)
{
	const char *const *dirs = r->wire->session->tree.main.env.dirs;
	bool inside = false;
	struct stat st;

	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is not a directory", dir);
	for (size_t i = 0; dirs[i]; i++) {
		if (!strcmp(dirs[i], dir))
			return err_set(err, ERR_USAGE, "%s is a working directory already", dir);
		inside = inside || path_is_inside(dir, dirs[i]);
	}
	return inside ? 0 : err_set(err, ERR_DENIED, "%s is outside the working directories", dir);
}

void wire_register_root(const struct wire_request *r)
{
	struct cadre_session *s = r->wire->session;
	struct str wish = json_str(json_get(r->body, "directory"), r->arena);
	AUTO_FREE char *real = wish.n ? realpath(path_absolute(r->arena, s->tree.main.cwd, wish), NULL) : NULL;
	struct err err = { 0 };

	if (!real) {
		wire_reply_error(r->wire, r->id, NULL, "'" STR_FMT "' is not a directory", STR_ARG(wish));
		return;
	}
	if (check_directory(r, real, &err) < 0) {
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
		return;
	}
	session_add_directory(s, real);
	if (json_bool(json_get(r->body, "reload_skills")) && s->tree.skills.registry)
		catalog_refresh(s->tree.skills.registry);
	wire_reply(r->wire, r->id, STR(""));
	struct hook_fire_spec spec = { .event = HOOK_DIRECTORY_ADDED, .subject = STR("register_repo_root") };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out out = json_out(&fields);
	if (!agent_has_hooks(&s->tree.main, &spec))
		return;
	json_open(&out, '{');
	json_kcstr(&out, "directory", real);
	json_kstr(&out, "source", spec.subject);
	json_close(&out);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&s->tree.main, &spec);
}

/* ---- requests to look at the disk again -------------------------------------------------------------------------- */

/* Which plugins there are, their hooks and their
 * servers are settled when the session is opened; of those that are loaded, agents and skills are read again. */

void wire_reload_skills(const struct wire_request *r)
{
	struct cadre_session *s = r->wire->session;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	if (s->tree.skills.registry)
		catalog_refresh(s->tree.skills.registry);
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
	agent_renew_head(&s->tree.main);
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
	catalog_refresh(s->tree.services->registry);
	if (s->tree.skills.registry)
		catalog_refresh(s->tree.skills.registry);
	json_open(&out, '{');
	json_key(&out, "commands");
	session_put_commands(&out, s);
	wire_put_agents(&out, &s->tree);
	app_put_plugins(&out, w->services->plugins);
	wire_put_servers(&out, w);
	json_ki64(&out, "error_count", (int64_t)count_errors(w->services->plugins));
	if (json_bool(json_get(r->body, "hold_on_cache_impact")))
		json_kbool(&out, "held", false); /* no tool comes or goes */
	json_close(&out);
	wire_reply(w, r->id, buf_str(&payload));
}

/* ---- rewind_files ------------------------------------------------------------------------------------------------ */

/* The protocol has no word for "although others changed them",
 * so they go back in any case; what is lost is kept (docs/internals/checkpoint.md). */

static void put_outcome(struct buf *payload, const struct rewind *w, const char *why)
{
	struct json_out out = json_out(payload);

	json_open(&out, '{');
	json_kbool(&out, "canRewind", !why);
	if (why)
		json_kcstr(&out, "error", why);
	json_key(&out, "filesChanged");
	json_open(&out, '[');
	for (size_t i = 0; i < w->plan.count; i++)
		json_put_cstr(&out, w->plan.files[i].path);
	json_close(&out);
	json_ki64(&out, "insertions", (int64_t)w->added);
	json_ki64(&out, "deletions", (int64_t)w->removed);
	json_close(&out);
}

static int go_back(const struct wire_request *r, struct rewind *w, bool dry, struct err *err)
{
	const struct cadre_session *s = r->wire->session;
	const char *uuid = json_cstr(json_get(r->body, "user_message_id"), r->arena);

	if (!s->tree.checkpoint)
		return err_set(err, ERR_USAGE, "File rewinding is not enabled.");
	int status = rewind_look(w, checkpoint_dir(r->arena, s->tree.config_dir, s->id), uuid ? uuid : "", err);
	return status < 0 || dry ? status : rewind_go(w, s->tree.checkpoint, err);
}

/* A dry run always succeeds; a real run that does nothing is an error. */
void wire_rewind(const struct wire_request *r)
{
	AUTO_REWIND struct rewind w = { 0 };
	AUTO_BUF struct buf payload = { 0 };
	struct err err = { 0 };
	bool dry = json_bool(json_get(r->body, "dry_run"));
	bool failed = go_back(r, &w, dry, &err) < 0;

	if (failed && !dry) {
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
		return;
	}
	put_outcome(&payload, &w, failed ? err.text : NULL);
	wire_reply(r->wire, r->id, buf_str(&payload));
}
