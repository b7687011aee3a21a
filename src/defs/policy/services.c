/* SPDX-License-Identifier: MIT
 * services.c - see services.h. */
#include "defs/policy/services.h"
#include "core/store/session_list.h"

void services_observe(struct services *sv, struct observer *o)
{
	struct observer **at = &sv->observers;

	while (*at)
		at = &(*at)->next;
	*at = o;
}

void services_log(struct services *sv, const char *subject, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;

	if (!sv->observers)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		base_oom(0);
	va_end(ap);
	for (struct observer *o = sv->observers; o; o = o->next)
		if (o->on_log)
			o->on_log(o, subject, text);
}

void services_busy(struct services *sv, int change)
{
	sv->busy = (unsigned)((int)sv->busy + change);
	if (!sv->busy)
		loop_stop(sv->loop);
}

int services_may_block(const struct services *sv, struct err *err)
{
	if (!sv->in_callback && !loop_is_running(sv->loop))
		return 0;
	return err_set(err, ERR_BUSY, "this would block the runtime: call it outside of cadre_run() and its callbacks");
}

int api_status(int status, const struct err *err, char *why, size_t why_size)
{
	if (status < 0 && why && why_size)
		snprintf(why, why_size, "%s", err->text);
	return status;
}

int services_list_sessions(struct services *sv, const char *text, struct session_list *ret, struct err *err)
{
	const char *cwd, *config;

	if (options_directories(&sv->options, &ret->arena, &cwd, &config, err) < 0)
		return -(int)err->kind;
	session_list_read(store_project_dir(&ret->arena, config, cwd), text, ret);
	return 0;
}

const char *services_getenv(const struct services *sv, const struct settings *settings, enum env_trust trust,
			    const char *name)
{
	const char *value = settings ? settings_getenv(settings, trust, name) : NULL;

	for (const struct variable *v = sv->variables; v && !value; v = v->next)
		if (!strcmp(v->name, name))
			value = v->value;
	return value ? value : getenv(name);
}

void services_setenv(struct services *sv, const char *name, const char *value)
{
	struct variable **v = &sv->variables;

	while (*v && strcmp((*v)->name, name) != 0)
		v = &(*v)->next;
	if (!*v) {
		*v = xcalloc(1, sizeof **v);
		(*v)->name = xstrdup(name);
	}
	free((*v)->value);
	(*v)->value = xstrdup(value);
}

void services_free_variables(struct services *sv)
{
	for (struct variable *v; (v = sv->variables);) {
		sv->variables = v->next;
		free(v->name);
		free(v->value);
		free(v);
	}
}
