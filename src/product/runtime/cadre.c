/* SPDX-License-Identifier: MIT
 * cadre.c - the runtime: loop, registries, options. */
#include "defs/agentdef/registry.h"
#include "product/runtime/app_int.h"
#include "product/session/servers.h"
#include "product/observe/debug.h"
#include "product/observe/trace.h"
#include "core/store/state.h"
#include "defs/skill/registry.h"
#include "tools/web/web.h"
#include <fcntl.h>
#include <sys/resource.h>

enum { FEWEST_DESCRIPTORS = 16 };

int app_status(int status, const struct err *err, char *why, size_t why_size)
{
	if (status < 0 && why && why_size)
		snprintf(why, why_size, "%s", err->text);
	return status;
}

const char *cadre_version(void)
{
	return CADRE_VERSION;
}

static size_t raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	if (limit.rlim_cur < limit.rlim_max) {
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
	size_t limit = raise_descriptor_limit();

	if (check_descriptors(&err) < 0) {
		app_status(-ERR_IO, &err, why, why_size);
		return NULL;
	}
	struct cadre *c = xcalloc(1, sizeof *c);
	c->loop = loop_new(0);
	c->descriptor_limit = limit;
	c->spawner = spawner_new(c->loop, &err);
	if (!c->spawner) {
		app_status(-(int)err.kind, &err, why, why_size);
		loop_free(c->loop);
		free(c);
		return NULL;
	}
	return c;
}

static void on_drained(void *data)
{
	struct cadre *c = data;

	c->draining--;
	loop_stop(c->loop);
}

static void drain_worktrees(struct cadre *c)
{
	if (!c->worktrees)
		return;
	c->draining++;
	worktree_pool_drain(c->worktrees, on_drained, c);
	while (c->draining)
		loop_run(c->loop);
	worktree_pool_free(c->worktrees);
}

void cadre_free(struct cadre *c)
{
	if (!c)
		return;
	watch_end_all(c);
	for (struct cadre_session *s = c->sessions, *next; s; s = next) {
		next = s->next;
		cadre_close(s);
	}
	while (c->sessions)
		cadre_run(c);
	while (c->writers)
		cadre_writer_free(c->writers);
	app_close_servers(c);
	classifier_free(c->classifier);
	app_close_hooks(c); /* some of them ask the model */
	web_free(c->web);
	drain_worktrees(c);
	endpoints_close(&c->endpoints);
	while (spawner_active(c->spawner)) /* background shells of the sessions: killed, not gone yet */
		loop_run(c->loop);
	spawner_free(c->spawner);
	agent_registry_free(c->registry);
	skill_registry_free(c->skills);
	policy_release(&c->policy);
	plugin_list_unref(c->plugins);
	state_free(c->state);
	head_pool_release(&c->heads);
	trace_free(c->trace);
	debug_free(c->debug);
	lock_table_release(&c->locks);
	if (c->store.config_dir)
		store_release(&c->store);
	loop_run(c->loop); /* lets closing handles close */
	loop_free(c->loop);
	options_release(&c->options);
	free(c);
}

int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!c || !option)
		return CADRE_USAGE;
	return app_status(options_set(&c->options, option, value, &err), &err, why, why_size);
}

void app_busy(struct cadre *c, int change)
{
	c->busy = (unsigned)((int)c->busy + change);
	if (!c->busy)
		loop_stop(c->loop);
}

/* A stop that was asked for before the loop ran ends its first turn only: busy decides, not the loop. */
void cadre_run(struct cadre *c)
{
	c->stopped = false;
	while (c->busy && !c->stopped) {
		loop_run(c->loop);
		if (!uv_loop_alive(loop_uv(c->loop)))
			break;
	}
}

void cadre_stop(struct cadre *c)
{
	c->stopped = true;
	loop_stop(c->loop);
}
