/* SPDX-License-Identifier: MIT
 * steer.c - fallback models, and what a host may change while a session runs: it holds from the next request on. */
#include "product/session/session_int.h"
#include "core/model/allowed.h"
#include "defs/policy/permissions.h"

/* ---- models that stand in for others (option fallback-model, or else the setting fallbackModel) ------------------- */

static int add_fallback(struct cadre_session *s, const char *from, struct str name, struct err *err)
{
	struct fallback_list *list = &s->tree.fallbacks;
	struct endpoints *all = &s->services->endpoints;
	struct fallback_model m;

	if (!name.n)
		return 0;
	if (model_resolve_allowed(&s->arena, s->tree.allowed_models, all->usual, arena_str(&s->arena, name).p, &m.name,
				  err) < 0 ||
	    endpoints_find(all, m.name, &m.endpoint, err) < 0)
		return err_wrap(err, "%s", from);
	list->models[list->count++] = m;
	return 0;
}

static int read_fallback_option(struct cadre_session *s, const char *names, struct err *err)
{
	s->tree.fallbacks.models = arena_calloc(&s->arena, strlen(names) * sizeof(struct fallback_model));
	for (struct str rest = str_from(names); rest.p;)
		if (add_fallback(s, "--fallback-model", str_trim(str_cut(&rest, ',')), err) < 0)
			return -(int)err->kind;
	return 0;
}

/* One name, or a list of them. */
static int read_fallback_setting(struct cadre_session *s, const struct json *names, struct err *err)
{
	const char *from = "the setting fallbackModel";

	s->tree.fallbacks.models = arena_calloc(&s->arena, json_raw(names).n * sizeof(struct fallback_model));
	if (json_is(names, JSON_STRING))
		return add_fallback(s, from, json_str(names, &s->arena), err);
	for (const struct json *name = json_first(names); name; name = json_next(names, name))
		if (add_fallback(s, from, str_trim(json_str(name, &s->arena)), err) < 0)
			return -(int)err->kind;
	return 0;
}

int session_open_fallback(struct cadre_session *s, struct err *err)
{
	const struct services *sv = s->services;
	const char *option = sv->options.fallback_model;

	if (option && option[0])
		return read_fallback_option(s, option, err);
	const struct json *setting = settings_get(sv->policy.settings, "fallbackModel", NULL);
	return setting ? read_fallback_setting(s, setting, err) : 0;
}

/* ---- while it runs ----------------------------------------------------------------------------------------------- */

static int set_model(struct cadre_session *s, const char *name, struct err *err)
{
	if (session_set_model(s, name && strcmp(name, "default") != 0 ? name : NULL, err) < 0)
		return -(int)err->kind;
	session_renew_head(s);
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
		session_renew_head(s);
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
		session_renew_head(s);
	}
	options_release(&o);
	return status;
}

static int set_effort(struct cadre_session *s, const char *value, struct err *err)
{
	if (options_set(&s->services->options, "effort", value, err) < 0)
		return -(int)err->kind;
	session_renew_head(s);
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
