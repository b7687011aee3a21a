/* SPDX-License-Identifier: MIT
 * steer.c - what a host may change while a session runs: it holds from the next request on. */
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

/* Nobody gets a freedom by this that the command line did not offer. */
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
	options_release(&o);
	return status;
}

static int set_display(struct cadre_session *s, const char *value, struct err *err)
{
	struct options o = { .thinking_display = NULL };
	int status = options_set(&o, "thinking-display", value, err);

	if (status == 0) {
		s->tree.thinking_display = o.thinking_display; /* a constant */
		agent_renew_head(&s->tree.main);
	}
	options_release(&o);
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
	{ "thinking-display", set_display },
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

/* ---- more settings from the host, in the layer of --settings: a key replaces, null takes out -------------------------- */

enum { FILE_MAX_BYTES = 2 << 20 };

/* These are no settings while a session runs but options of it. */
static const struct {
	const char *key, *option;
} steered[] = { { "model", "model" }, { "effortLevel", "effort" } };

static bool is_steered(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(steered); i++)
		if (str_is(key, steered[i].key))
			return true;
	return false;
}

/* What the layer says now; NULL: nothing. */
static int read_layer(const struct options *o, struct json_reader *reader, struct buf *scratch,
		      const struct json **ret_root, struct err *err)
{
	const char *given = o->settings;

	*ret_root = NULL;
	if (!given || !given[0])
		return 0;
	if (str_trim(str_from(given)).p[0] == '{')
		buf_addstr(scratch, given);
	else if (file_read(given, FILE_MAX_BYTES, scratch, err) < 0)
		return -(int)err->kind;
	return json_parse(reader, scratch->p, scratch->n, ret_root, err);
}

static void merge(struct buf *out, struct arena *a, const struct json *old, const struct json *more)
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
		if (json_is(m.value, JSON_NULL) || is_steered(key))
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
}

/* On failure the old ones hold. */
static int use_settings(struct services *sv, const char *text, struct err *err)
{
	const char *old = sv->options.settings;
	struct policy *changed;

	sv->options.settings = arena_strdup(&sv->options.arena, text);
	if (policy_renew(sv, &changed, err) < 0) {
		sv->options.settings = old;
		return -(int)err->kind;
	}
	app_use_policy(sv, changed);
	return 0;
}

static int steer(struct cadre_session *s, const struct json *more, struct arena *a, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(steered); i++) {
		const struct json *v = json_get(more, steered[i].key);
		int status =
			v ? cadre_session_set(s, steered[i].option, json_cstr(v, a), err->text, sizeof err->text) : 0;
		if (status < 0) {
			err->kind = (enum err_kind) - status;
			return status;
		}
	}
	return 0;
}

int session_apply_settings(struct cadre_session *s, const struct json *more, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf scratch = { 0 };
	AUTO_BUF struct buf merged = { 0 };
	const struct json *old;

	if (read_layer(&s->services->options, &reader, &scratch, &old, err) < 0)
		return -(int)err->kind;
	merge(&merged, &a, old, more);
	if (use_settings(s->services, merged.p, err) < 0)
		return -(int)err->kind;
	return steer(s, more, &a, err);
}
