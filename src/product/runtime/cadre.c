/* SPDX-License-Identifier: MIT
 * cadre.c - the runtime: loop, registries, options. */
#include "defs/agentdef/registry.h"
#include "product/runtime/runtime.h"
#include "product/session/server_pool.h"
#include "product/observe/observe.h"
#include "core/store/state.h"
#include "defs/skill/registry.h"
#include "tools/web/web.h"
#include <fcntl.h>
#include <sys/resource.h>
#include "agents/agent/classifier.h"

enum { FEWEST_DESCRIPTORS = 16 };

const char *cadre_version(void)
{
	return CADRE_VERSION;
}

static size_t descriptor_limit(bool raise)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	if (raise && limit.rlim_cur < limit.rlim_max) {
		struct rlimit wide = { limit.rlim_max, limit.rlim_max };
		if (setrlimit(RLIMIT_NOFILE, &wide) == 0)
			limit = wide;
	}
	return (size_t)MIN(limit.rlim_cur, (rlim_t)1 << 20);
}

/* libuv aborts where it lacks descriptors, so there must be enough before it begins. */
static int check_descriptors(struct err *err)
{
	int fds[FEWEST_DESCRIPTORS];
	int n = 0;

	while (n < FEWEST_DESCRIPTORS && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	if (n < FEWEST_DESCRIPTORS)
		err_set(err, ERR_IO, "only %d more files can be opened, at least %d are needed (ulimit -n): %m", n,
			FEWEST_DESCRIPTORS);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n < FEWEST_DESCRIPTORS ? -ERR_IO : 0;
}

struct cadre *cadre_new(char *why, size_t why_size)
{
	struct err err = { 0 };

	if (check_descriptors(&err) < 0) {
		api_status(-ERR_IO, &err, why, why_size);
		return NULL;
	}
	struct cadre *c = xcalloc(1, sizeof *c);
	c->services.owner = c;
	c->services.loop = loop_new(0);
	c->services.descriptor_limit = descriptor_limit(false);
	c->services.spawner = spawner_new(c->services.loop, &err);
	if (!c->services.spawner) {
		api_status(-(int)err.kind, &err, why, why_size);
		loop_free(c->services.loop);
		free(c);
		return NULL;
	}
	return c;
}

void cadre_free(struct cadre *c)
{
	struct err err = { 0 };

	if (!c)
		return;
	struct services *sv = &c->services;
	watch_end_all(c);
	for (struct cadre_session *s = sv->sessions, *next; s; s = next) {
		next = s->next;
		cadre_close(s);
	}
	while (sv->sessions)
		cadre_run(c);
	while (c->writers)
		cadre_writer_free(c->writers);
	app_close_servers(sv);
	classifier_free(sv->classifier);
	app_close_hooks(sv); /* some of them ask the model */
	web_free(sv->web);
	if (sv->worktrees) {
		sv->draining++;
		worktree_pool_drain(sv->worktrees, app_drained, sv);
		while (sv->draining)
			loop_run(sv->loop);
		worktree_pool_free(sv->worktrees);
	}
	endpoints_close(&sv->endpoints);
	while (spawner_active(sv->spawner)) /* background shells of the sessions: killed, not gone yet */
		loop_run(sv->loop);
	spawner_free(sv->spawner);
	catalog_free(sv->registry);
	catalog_free(sv->skills);
	policy_release(&sv->policy);
	services_free_variables(sv);
	plugin_list_unref(sv->plugins);
	if (state_close(sv->state, &err) < 0)
		services_log(sv, "error", "%s", err.text);
	head_pool_release(&sv->heads);
	for (struct observer *o = sv->observers, *next; o; o = next) {
		next = o->next;
		o->free(o);
	}
	lock_table_release(&sv->locks);
	if (sv->store.config_dir)
		store_release(&sv->store);
	loop_run(sv->loop); /* lets closing handles close */
	loop_free(sv->loop);
	arena_release(&sv->options.arena);
	free(c);
}

int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!c || !option)
		return CADRE_USAGE;
	struct options *o = &c->services.options;
	bool raised = o->raise_descriptors;
	int status = options_set(o, option, value, &err);
	spawner_limit(c->services.spawner, o->no_keeper, o->no_subreaper);
	if (o->raise_descriptors && !raised)
		c->services.descriptor_limit = descriptor_limit(true);
	return api_status(status, &err, why, why_size);
}

struct services *cadre_services(struct cadre *c)
{
	return c ? &c->services : NULL;
}

/* A stop before the loop runs ends its first iteration only: busy decides, not the loop. */
void cadre_run(struct cadre *c)
{
	if (!c)
		return;
	c->stopped = false;
	while (c->services.busy && !c->stopped) {
		loop_run(c->services.loop);
		if (!uv_loop_alive(loop_uv(c->services.loop)))
			break;
	}
}

int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session, char *why,
	       size_t why_size)
{
	struct err err = { 0 };

	if (!c || !ret_session)
		return CADRE_USAGE;
	struct services *sv = &c->services;
	int status = 0;
	if (!sv->observers) { /* with the first session the options are known */
		status = trace_observe(sv, &err) < 0 || debug_observe(sv, &err) < 0 ? -(int)err.kind : 0;
		if (status == 0)
			control_observe(sv);
	}
	if (status == 0)
		status = session_open(sv, on_event, data, ret_session, &err);
	return api_status(status, &err, why, why_size);
}

void cadre_stop(struct cadre *c)
{
	if (!c)
		return;
	c->stopped = true;
	loop_stop(c->services.loop);
}
