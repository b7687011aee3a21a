/* SPDX-License-Identifier: MIT
 * cadre.c - the runtime: loop, registries, options. */
#include "defs/agentdef/registry.h"
#include "product/runtime/runtime.h"
#include "product/session/server_pool.h"
#include "product/observe/control.h"
#include "product/observe/debug.h"
#include "product/observe/trace.h"
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

static void on_drained(void *data)
{
	struct cadre *c = data;

	c->services.draining--;
	loop_stop(c->services.loop);
}

static void drain_worktrees(struct cadre *c)
{
	if (!c->services.worktrees)
		return;
	c->services.draining++;
	worktree_pool_drain(c->services.worktrees, on_drained, c);
	while (c->services.draining)
		loop_run(c->services.loop);
	worktree_pool_free(c->services.worktrees);
}

void cadre_free(struct cadre *c)
{
	struct err err = { 0 };

	if (!c)
		return;
	watch_end_all(c);
	for (struct cadre_session *s = c->services.sessions, *next; s; s = next) {
		next = s->next;
		cadre_close(s);
	}
	while (c->services.sessions)
		cadre_run(c);
	while (c->writers)
		cadre_writer_free(c->writers);
	app_close_servers(&c->services);
	classifier_free(c->services.classifier);
	app_close_hooks(&c->services); /* some of them ask the model */
	web_free(c->services.web);
	drain_worktrees(c);
	endpoints_close(&c->services.endpoints);
	while (spawner_active(c->services.spawner)) /* background shells of the sessions: killed, not gone yet */
		loop_run(c->services.loop);
	spawner_free(c->services.spawner);
	catalog_free(c->services.registry);
	catalog_free(c->services.skills);
	policy_release(&c->services.policy);
	services_free_variables(&c->services);
	plugin_list_unref(c->services.plugins);
	if (state_close(c->services.state, &err) < 0)
		services_log(&c->services, "error", "%s", err.text);
	head_pool_release(&c->services.heads);
	for (struct observer *o = c->services.observers, *next; o; o = next) {
		next = o->next;
		o->free(o);
	}
	lock_table_release(&c->services.locks);
	if (c->services.store.config_dir)
		store_release(&c->services.store);
	loop_run(c->services.loop); /* lets closing handles close */
	loop_free(c->services.loop);
	options_release(&c->services.options);
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

/* A stop that was asked for before the loop ran ends its first turn only: busy decides, not the loop. */
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

/* With the first session: the options are known by then. */
static int observe(struct services *sv, struct err *err)
{
	if (sv->observers)
		return 0;
	if (trace_observe(sv, err) < 0 || debug_observe(sv, err) < 0)
		return -(int)err->kind;
	control_observe(sv);
	return 0;
}

int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session, char *why,
	       size_t why_size)
{
	struct err err = { 0 };

	if (!c || !ret_session)
		return CADRE_USAGE;
	int status = observe(&c->services, &err);
	if (status == 0)
		status = session_open(&c->services, on_event, data, ret_session, &err);
	return api_status(status, &err, why, why_size);
}

void cadre_stop(struct cadre *c)
{
	if (!c)
		return;
	c->stopped = true;
	loop_stop(c->services.loop);
}
