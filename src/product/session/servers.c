/* SPDX-License-Identifier: MIT
 * servers.c - the MCP servers of a runtime and of its sessions. */
#include "product/session/session_int.h"
#include "product/session/servers.h"
#include "product/session/mcp_config.h"
#include "agents/agent/servers.h"
#include "agents/life/grant.h"

/* ---- of the runtime ---------------------------------------------------------------------------------------------- */

static void on_log(void *data, const struct mcp_server *server, const char *level, struct str text)
{
	struct services *sv = data;
	AUTO_BUF struct buf line = { 0 };

	services_log(sv, "mcp", "%s: %s: " STR_FMT, server->name, level, STR_ARG(text));
	if (strcmp(level, "error") != 0 && strcmp(level, "critical") != 0 && strcmp(level, "alert") != 0 &&
	    strcmp(level, "emergency") != 0)
		return; /* the rest is for whoever looks at the server itself */
	buf_addf(&line, "MCP server %s: " STR_FMT, server->name, STR_ARG(text));
	for (struct cadre_session *s = sv->sessions; s; s = s->next)
		if (s->tree.main.servers && mcp_selection_find(s->tree.main.servers, str_from(server->name)))
			session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&line) });
}

/* The directories of the session that was opened last: a server is shared by all. */
static const char *const *roots(void *data)
{
	struct services *sv = data;

	return sv->sessions ? sv->sessions->roots : NULL;
}

static struct mcp_transport *make_transport(void *data, struct mcp_server *server,
					    const struct mcp_transport_handlers *handlers, void *handler_data)
{
	struct services *sv = data;

	return sv->host_transport ? sv->host_transport(sv, server, handlers, handler_data) : NULL;
}

static void open_pool(struct services *sv)
{
	struct mcp_pool_events events = { .on_log = on_log,
					  .on_elicitation = app_elicit,
					  .on_elicitation_gone = app_elicit_gone,
					  .roots = roots,
					  .make_transport = make_transport,
					  .data = sv };

	sv->server_pool = mcp_pool_new(&sv->server_env, &events);
}

int app_open_servers(struct services *sv, struct err *err)
{
	if (sv->server_pool)
		return 0;
	if (app_mcp_config(sv, sv->policy.settings, sv->plugins, &sv->mcp_config, err) < 0)
		return -(int)err->kind;
	sv->server_env = (struct mcp_env){ .loop = sv->loop,
					   .spawner = sv->spawner,
					   .http = sv->hook_http,
					   .envp = sv->policy.envp,
					   .auth_file = arena_printf(&sv->options.arena, "%s/cadre/mcp-auth.json",
								     sv->store.config_dir) };
	open_pool(sv);
	return 0;
}

static void on_drained(void *data)
{
	struct services *sv = data;

	sv->draining--;
	loop_stop(sv->loop);
}

void app_close_servers(struct services *sv)
{
	if (sv->server_pool) {
		sv->draining++;
		mcp_pool_drain(sv->server_pool, on_drained, sv);
		while (sv->draining)
			loop_run(sv->loop);
		mcp_pool_free(TAKE(sv->server_pool));
	}
	while (sv->host_servers) {
		struct host_server *h = sv->host_servers;
		sv->host_servers = h->next;
		mcp_server_unref(h->server);
		free(h);
	}
	mcp_config_free(TAKE(sv->mcp_config));
}

/* ---- of a session ------------------------------------------------------------------------------------------------ */

static void log_states(const struct cadre_session *s)
{
	const struct mcp_selection *set = s->tree.main.servers;

	for (size_t i = 0; set && i < mcp_selection_count(set); i++)
		services_log(s->services, "mcp", "%s: %s", mcp_lease_server(mcp_selection_at(set, i))->name,
			     mcp_state_word(mcp_lease_state(mcp_selection_at(set, i))));
}

static void on_change(void *data)
{
	struct cadre_session *s = data;

	log_states(s);
	agent_tree_renew_pool(&s->tree);
	if (s->services->on_servers)
		s->services->on_servers(s->services);
}

void session_find_roots(struct cadre_session *s)
{
	const char *const *dirs = s->tree.main.env.dirs;
	size_t n = 0;

	while (dirs[n])
		n++;
	s->roots = arena_calloc(&s->arena, (n + 1) * sizeof *s->roots);
	for (size_t i = 0; i < n; i++)
		s->roots[i] = arena_printf(&s->arena, "file://%s", dirs[i]);
}

void session_renew_roots(struct cadre_session *s)
{
	session_find_roots(s);
	mcp_pool_roots_changed(s->services->server_pool);
}

void session_open_servers(struct cadre_session *s)
{
	struct services *sv = s->services;
	struct agent_tree *t = &s->tree;

	if (!sv->server_env.cwd) {
		sv->server_env.cwd = arena_strdup(&sv->options.arena, t->main.cwd);
		sv->server_env.project_dir = arena_strdup(&sv->options.arena, t->project_dir);
		sv->server_env.session_id = arena_strdup(&sv->options.arena, s->id);
	}
	t->on_servers = on_change;
	t->deferral = deferral_policy_read(
		settings_getenv(sv->policy.settings, sv->policy.trusted ? ENV_ALL : ENV_SAFE, "ENABLE_TOOL_SEARCH"));
}

void session_release_servers(struct cadre_session *s)
{
	session_drop_elicitations(s);
	agent_go_down(&s->tree.main);
}

/* ---- before the first request ------------------------------------------------------------------------------------ */

static void on_settled(void *data)
{
	turn_work_over(data);
}

bool session_await_servers(struct cadre_session *s)
{
	struct mcp_selection *set = s->tree.main.servers;
	bool waits = set && !s->servers_awaited && mcp_selection_settling(set);

	s->servers_awaited = true;
	if (waits)
		mcp_selection_wait(set, servers_wait_ms(), on_settled, s);
	return waits;
}

void session_stop_awaiting(struct cadre_session *s)
{
	mcp_selection_wait(s->tree.main.servers, 0, on_settled, s);
}
