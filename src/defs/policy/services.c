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
