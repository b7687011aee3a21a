/* SPDX-License-Identifier: MIT
 * steer.c - what a host may change while a session runs: it holds from the next request on. */
#include "product/session/session_int.h"
#include "defs/policy/permissions.h"
#include "agents/agent/context.h"

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
