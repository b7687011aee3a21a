/* SPDX-License-Identifier: MIT
 * steer.c - options and settings that a host may change while a session runs; a change holds from the next request on. */
#include "product/session/session_int.h"
#include "defs/policy/permissions.h"
#include "agents/agent/context.h"
#include "defs/policy/sources.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

static int set_model(struct cadre_session *s, const char *name, struct err *err)
{
	if (agent_set_model(&s->tree.main, name && strcmp(name, "default") != 0 ? name : NULL, err) < 0)
		return -(int)err->kind;
	agent_renew_head(&s->tree.main);
	return 0;
}

/* This never grants a permission that the command line did not offer. */
static int set_mode(struct cadre_session *s, const char *name, struct err *err)
{
	struct options o = s->services->options;
	enum permission_mode mode;

	if (!name || !permission_mode_parse(str_from(name), &o.permission_mode))
		return err_set(err, ERR_USAGE, "unknown permission mode '%s'", name ? name : "");
	o.mode_given = true;
	if (o.permission_mode == PERMISSION_BYPASS && !s->services->options.may_bypass &&
	    s->services->options.permission_mode != PERMISSION_BYPASS)
		return err_set(err, ERR_DENIED,
			       "bypassPermissions was not allowed at the start: it needs "
			       "--allow-dangerously-skip-permissions");
	if (app_start_mode(s->services->policy.settings, &o, &mode, err) < 0)
		return -(int)err->kind;
	permission_choose_mode(&s->tree.main.permission, mode);
	return 0;
}

static int set_thinking(struct cadre_session *s, const char *value, struct err *err)
{
	struct options o = { .thinking = NULL };
	int status = value ? options_set(&o, "max-thinking-tokens", value, err) : 0;

	if (status == 0) {
		s->tree.thinking = o.thinking ? arena_strdup(&s->arena, o.thinking) : s->services->options.thinking;
		agent_renew_head(&s->tree.main);
	}
	arena_release(&o.arena);
	return status;
}

static int set_thinking_display(struct cadre_session *s, const char *value, struct err *err)
{
	struct options o = { .thinking_display = NULL };
	int status = options_set(&o, "thinking-display", value, err);

	if (status == 0) {
		s->tree.thinking_display = o.thinking_display; /* a constant */
		agent_renew_head(&s->tree.main);
	}
	arena_release(&o.arena);
	return status;
}

static int set_effort(struct cadre_session *s, const char *value, struct err *err)
{
	if (options_set(&s->services->options, "effort", value, err) < 0)
		return -(int)err->kind;
	agent_renew_head(&s->tree.main);
	return 0;
}

static const struct {
	const char *option;
	int (*set)(struct cadre_session *s, const char *value, struct err *err);
} table[] = {
	{ "effort", set_effort },
	{ "model", set_model },
	{ "permission-mode", set_mode },
	{ "max-thinking-tokens", set_thinking },
	{ "thinking-display", set_thinking_display },
};

int cadre_session_set(struct cadre_session *s, const char *option, const char *value, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!s || !option)
		return CADRE_USAGE;
	for (size_t i = 0; i < COUNT_OF(table); i++)
		if (!strcmp(table[i].option, option))
			return api_status(table[i].set(s, value, &err), &err, why, why_size);
	return api_status(err_set(&err, ERR_USAGE, "'%s' cannot be changed while a session runs", option), &err, why,
			  why_size);
}

/* ---- settings from the host, in the layer of --settings: a key replaces, null removes --------------------------------- */

enum { FILE_MAX_BYTES = 2 << 20 };

/* While a session runs these are options of it, not settings. */
static const struct {
	const char *key, *option;
} steered[] = { { "model", "model" }, { "effortLevel", "effort" } };

static void merge_settings(struct buf *out, struct arena *a, const struct json *old, const struct json *more)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	for (struct json_member m = json_members(old); m.key; m = json_member_next(old, m)) {
		struct str key = json_str(m.key, a);
		if (json_get_str(more, key))
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	for (struct json_member m = json_members(more); m.key; m = json_member_next(more, m)) {
		struct str key = json_str(m.key, a);
		bool is_setting = !json_is(m.value, JSON_NULL);
		for (size_t i = 0; i < COUNT_OF(steered); i++)
			is_setting = is_setting && !str_is(key, steered[i].key);
		if (!is_setting)
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
}

int session_apply_settings(struct cadre_session *s, const struct json *more, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf layer = { 0 };
	AUTO_BUF struct buf merged = { 0 };
	struct services *sv = s->services;
	const char *given = sv->options.settings;
	const struct json *old = NULL;
	struct policy *changed;

	if (given && str_trim(str_from(given)).n && str_trim(str_from(given)).p[0] == '{')
		buf_addstr(&layer, given);
	else if (given && given[0] && file_read(given, FILE_MAX_BYTES, &layer, err) < 0)
		return -(int)err->kind;
	if (given && given[0] && json_parse(&reader, layer.p, layer.n, &old, err) < 0)
		return -(int)err->kind;
	merge_settings(&merged, &a, old, more);
	sv->options.settings = arena_strdup(&sv->options.arena, merged.p);
	if (policy_renew(sv, &changed, err) < 0) {
		sv->options.settings = given;
		return -(int)err->kind;
	}
	app_use_policy(sv, changed);
	for (size_t i = 0; i < COUNT_OF(steered); i++) {
		const struct json *v = json_get(more, steered[i].key);
		int status =
			v ? cadre_session_set(s, steered[i].option, json_cstr(v, &a), err->text, sizeof err->text) : 0;
		if (status < 0) {
			err->kind = (enum err_kind) - status;
			return status;
		}
	}
	return 0;
}
