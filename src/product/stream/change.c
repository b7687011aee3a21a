/* SPDX-License-Identifier: MIT
 * change.c - requests that change what the session is: its settings, its title, the files that it knows. */
#include "defs/policy/sources.h"
#include "product/session/styles.h"
#include "lib/io/file.h"
#include "config/settings/settings_store.h"
#include "product/stream/wire_int.h"

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

/* What a client may store in a file: a text each. */
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
	session_renew_head(s);
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
