/* SPDX-License-Identifier: MIT
 * servers.c - which servers an agent has, and what it waits for. */
#include "agents/agent/servers.h"
#include "lib/base/utf8.h"
#include "agents/profile/roster.h"
#include "guard/sandbox/sandbox.h"
#include "mcp/client/pool.h"
#include "mcp/servers/config.h"

enum { DEFAULT_WAIT_MS = 30000 };

/* As the settings and directories of the session are now; texts are in the arena. */
static struct mcp_env make_env(const struct agent_tree *t, struct arena *a)
{
	const struct sandbox_policy *p = t->cage ? sandbox_get_policy(t->cage) : NULL;
	struct mcp_env env = t->services->server_env;
	const char *const *dirs = t->main.env.dirs;
	size_t n = str_count(dirs);
	const char **roots = arena_calloc(a, (n + 1) * sizeof *roots);

	for (size_t i = 0; i < n; i++)
		roots[i] = arena_printf(a, "file://%s", dirs[i]);
	env.envp = t->policy->envp;
	env.cwd = t->main.cwd;
	env.project_dir = t->project_dir;
	env.session_id = t->session_id;
	env.roots = roots;
	env.held = p && p->servers != CAGE_OFF;
	env.cage = env.held ? t->cage : NULL;
	return env;
}

static bool same_texts(const char *const *a, const char *const *b)
{
	while (*a && *b && !strcmp(*a, *b))
		a++, b++;
	return !*a && !*b;
}

/* A program that is held is under the rules of one session, so no other one uses it. Those that are free are shared by sessions that
 * would start the same: in one folder, with the same variables and directories. */
static void take_env(struct agent_tree *t)
{
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_env env = make_env(t, &a);

	t->server_env = NULL;
	for (const struct agent_tree *other = t->services->trees; other && !env.held; other = other->next) {
		struct mcp_env *e = other->server_env;
		if (e && !e->held && !strcmp(e->cwd, env.cwd) && !strcmp(e->project_dir, env.project_dir) &&
		    same_texts(e->roots, env.roots) && same_texts(e->envp, env.envp)) {
			t->server_env = mcp_env_ref(e);
			return;
		}
	}
	t->server_env = mcp_env_new(&env);
}

void servers_close(struct agent_tree *t)
{
	struct mcp_env *env = TAKE(t->server_env);

	if (env && env->held)
		env->cage = NULL;
	mcp_env_unref(env);
}

bool servers_use_policy(struct agent_tree *t)
{
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_env now, *old = t->server_env;

	if (!old)
		return false;
	now = make_env(t, &a);
	if (old->held == now.held) {
		now.roots = old->roots;
		now.session_id = old->session_id;
		mcp_env_set(old, &now);
		return false;
	}
	mcp_env_ref(old);
	servers_close(t);
	take_env(t);
	for (struct agent *each = &t->main; each; each = each == &t->main ? t->alive : each->next)
		if (each->servers)
			mcp_selection_move(each->servers, t->server_env);
	mcp_env_unref(old);
	return true;
}

void servers_use_directories(struct agent_tree *t)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!t->server_env)
		return;
	for (const struct agent_tree *other = t->services->trees; other; other = other->next)
		if (other != t && other->server_env == t->server_env)
			return; /* the server knows those that all of them have */
	struct mcp_env env = make_env(t, &a);
	mcp_env_set(t->server_env, &env);
	mcp_pool_roots_changed(t->services->server_pool, t->server_env);
}

struct mcp_selection *agent_own_servers(struct agent *a)
{
	if (a->servers)
		return a->servers;
	if (!a->tree->server_env)
		take_env(a->tree);
	a->servers = mcp_selection_new(a->tree->services->server_pool, a->tree->server_env);
	if (!a->parent) {
		a->env.servers = a->servers;
		mcp_selection_on_change(a->servers, a->tree->on_servers, a->tree->data);
	}
	return a->servers;
}

static void join_inline(struct agent *a, struct json_member m)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf notes = { 0 };
	struct mcp_server *server;
	struct err err = { 0 };
	struct mcp_entry entry = { .name = json_str(m.key, &arena),
				   .value = m.value,
				   .scope = MCP_SCOPE_AGENT,
				   .file = a->definition->file,
				   .believed = true,
				   .of_project = a->definition->source == SOURCE_PROJECT };

	if (mcp_server_read(&entry, &notes, &server, NULL, &err) < 0) {
		buf_addf(&a->notes, "mcpServers: %s\n", err.text);
		return;
	}
	buf_add(&a->notes, notes.p, notes.n);
	const struct mcp_config *config = a->tree->policy->mcp_config;
	if (config && mcp_config_admit(config, server, &err) < 0)
		buf_addf(&a->notes, "mcpServers: %s\n", err.text);
	else
		mcp_selection_join(agent_own_servers(a), server);
	mcp_server_unref(server);
}

/* The servers that the definition declares join the agent's selection. */
static void join_declared(struct agent *a)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct agent_definition *d = a->definition;
	const struct agent_tree *t = a->tree;
	const struct mcp_selection *session = t->main.servers;
	const char *why = NULL;
	bool told = false;

	if (!d->mcp_servers || !t->services->server_pool)
		return;
	const struct json *list = json_read(&reader, str_from(d->mcp_servers)); /* normalised when it was read */
	/* A definition starts programs on this machine: a project needs trust, a plugin its own consent. */
	if (agent_tree_bars(t, d->source, "mcp"))
		why = "managed settings allow only plugins to bring servers";
	else if (!agent_tree_trusts_definition(t, &d->common))
		why = "this folder is not trusted (`cadre trust` records consent)";
	else if (d->source == SOURCE_PLUGIN && !agent_tree_trusts_plugin(t, d->plugin))
		why = "its plugin is not trusted (`cadre plugin trust` records consent)";
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		if (json_is(v, JSON_STRING)) {
			struct str name = json_str(v, &arena);
			if (!session || !mcp_selection_find(session, name))
				buf_addf(&a->notes,
					 "the definition names an MCP server that is not configured: " STR_FMT "\n",
					 STR_ARG(name));
			else if (a->parent) /* for the main agent: servers_of_definition() */
				mcp_selection_share(agent_own_servers(a), session, name);
			continue;
		}
		for (struct json_member m = json_members(v); m.key && !why; m = json_member_next(v, m))
			join_inline(a, m);
		if (why && !told)
			buf_addf(&a->notes, "MCP servers of %s are not started: %s\n", d->name, why);
		told = true;
	}
}

/* What the session shares is in the main agent's tools, as soon as it knows; what the definition brings is kept apart. */
static void on_servers_up(void *data)
{
	struct agent *a = data;
	const struct agent_tree *t = a->tree;

	a->awaits_servers = false;
	for (size_t i = 0; i < a->own_servers; i++) {
		struct mcp_lease *lease = a->servers->leases[i];
		mcp_lease_tools(lease, &a->server_tools);
		if (mcp_lease_state(lease) != MCP_CONNECTED)
			buf_addf(&a->notes, "the MCP server %s is not connected: %s\n", lease->server->name,
				 mcp_lease_error(lease)[0] ? mcp_lease_error(lease)
							   : mcp_state_word(mcp_lease_state(lease)));
	}
	if (t->on_servers)
		t->on_servers(t->data);
	agent_step_done(a, NULL);
}

uint64_t servers_wait_ms(const struct services *sv)
{
	const char *text = services_variable(sv, "MCP_TIMEOUT");
	uint64_t ms;

	return text && str_to_u64(str_from(text), &ms) && ms ? ms : DEFAULT_WAIT_MS;
}

void agent_join_server(struct agent *a, struct mcp_server *server)
{
	static const struct rule_origin origin = { .layer = "session" };

	bool is_new = !mcp_selection_find(agent_own_servers(a), str_from(server->name));

	mcp_selection_join(a->servers, server);
	for (size_t i = 0; is_new && i < server->policy_count; i++) {
		AUTO_BUF struct buf rule = { 0 };
		mcp_name_add(&rule, str_from(server->name), str_from(server->policies[i].tool));
		(void)permission_add_rule(&a->permission, server->policies[i].denied ? RULE_DENY : RULE_ASK,
					  buf_str(&rule), &origin, NULL, NULL, NULL);
	}
}

int agent_join_servers(struct agent *a, struct err *err)
{
	const struct services *sv = a->tree->services;
	const struct agent_definition *d = a->definition;
	const struct mcp_config *config = a->tree->policy->mcp_config;

	if (!a->parent) { /* it has the configured ones and those of the host; its first turn waits for them */
		for (size_t i = 0; config && i < config->count; i++)
			if (config->items[i].standing == MCP_COUNTS)
				agent_join_server(a, config->items[i].server);
		for (struct host_server *h = sv->host_servers; h; h = h->next)
			agent_join_server(a, h->server);
		if (d && d->mcp_servers) {
			(void)agent_own_servers(a); /* so that a change of any of them is noticed */
			join_declared(a);
		}
		return 0;
	}
	if (d)
		join_declared(a);
	a->own_servers = a->servers ? a->servers->count : 0;
	const struct mcp_selection *session = a->tree->main.servers;
	/* An agent that names its tools, none of a server among them, does without the session's. */
	bool uses_session = !d || !d->tools.present || d->tools.all || d->mcp_servers;
	for (size_t i = 0; !uses_session && i < d->tools.count; i++)
		uses_session = str_starts(str_from(d->tools.names[i]), STR("mcp__"));
	/* One selection has all that it can use: the tools for resources read it, and the step waits for it. */
	if (session && (a->servers || mcp_selection_settling(session)) && uses_session)
		for (size_t i = 0; i < session->count; i++)
			mcp_selection_share(agent_own_servers(a), session, str_from(session->leases[i]->server->name));
	if (!a->servers)
		return 0;
	a->awaits_servers = true;
	mcp_selection_wait(a->servers, servers_wait_ms(sv), on_servers_up, a);
	return STEP_TAKES_TIME;
}

void agent_stop_awaiting_servers(struct agent *a)
{
	if (a->awaits_servers)
		mcp_selection_wait(a->servers, 0, on_servers_up, a);
}

int agent_leave_servers(struct agent *a, struct err *err)
{
	tool_set_release(&a->server_tools);
	mcp_selection_free(TAKE(a->servers));
	a->env.servers = NULL;
	return 0;
}

void servers_of_definition(struct agent *a, struct tool_set *out)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const char *text = a->definition->mcp_servers;

	for (size_t i = 0; a->servers && i < a->servers->count; i++)
		if (a->servers->leases[i]->server->scope == MCP_SCOPE_AGENT)
			mcp_lease_tools(a->servers->leases[i], out);
	const struct json *list = a->servers && text ? json_read(&reader, str_from(text)) : NULL;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		struct mcp_lease *named =
			json_is(v, JSON_STRING) ? mcp_selection_find(a->servers, json_str(v, &arena)) : NULL;
		if (named)
			mcp_lease_tools(named, out);
	}
}

void servers_bring_tools(const struct agent_tree *t, const struct mcp_selection *set, struct tool_set *pool)
{
	const struct tool *const *table = t->kit->table;

	for (size_t i = 0; set && table && table[i]; i++) {
		bool comes = table[i]->flags & TOOL_FINDS_TOOLS
				     ? t->deferral.when != DEFER_NEVER
				     : (table[i]->flags & TOOL_NEEDS_SERVERS) && mcp_selection_has_resources(set);
		if (comes && !tool_set_find(pool, str_from(table[i]->name)))
			tool_set_add(pool, table[i]);
	}
}

/* Returns a reference; NULL: it is not connected. */
static struct mcp_catalog *lease_catalog(struct mcp_lease *lease)
{
	return mcp_lease_state(lease) == MCP_CONNECTED ? mcp_client_catalog(mcp_lease_client(lease)) : NULL;
}

/* Names of the session's servers that offer tools, with those that still connect, NULL-terminated, in the arena. */
static const char *const *servers_offering(const struct agent_tree *t, bool settling, struct arena *arena)
{
	const struct mcp_selection *set = t->main.servers;
	size_t count = set ? set->count : 0, n = 0;
	const char **names = arena_calloc(arena, (count + 1) * sizeof *names);

	for (size_t i = 0; i < count; i++) {
		struct mcp_lease *lease = set->leases[i];
		struct mcp_catalog *c = lease_catalog(lease);
		if ((c && c->tool_count) || (settling && mcp_lease_settling(lease)))
			names[n++] = lease->server->name;
		mcp_catalog_unref(c);
	}
	return names;
}

const char *const *servers_ready(const struct agent_tree *t, struct arena *arena)
{
	return servers_offering(t, false, arena);
}

bool servers_admit(const struct agent_tree *t, const struct agent_definition *d)
{
	AUTO_ARENA struct arena arena = { 0 };

	return roster_has(t->services->registry, d,
			  &(struct roster_spec){ .mcp_servers = servers_offering(t, true, &arena) });
}

bool servers_lacking(const struct agent_tree *t, const struct agent_definition *d, struct buf *why)
{
	AUTO_ARENA struct arena arena = { 0 };

	if (!d->required_mcp_servers.count ||
	    roster_has(t->services->registry, d, &(struct roster_spec){ .mcp_servers = servers_ready(t, &arena) }))
		return false;
	buf_addf(why, "Agent '%s' needs MCP servers that are connected and offer tools: ", d->name);
	for (size_t i = 0; i < d->required_mcp_servers.count; i++)
		buf_addf(why, "%s%s", i ? ", " : "", d->required_mcp_servers.names[i]);
	buf_addstr(why, ". Not all of them are.");
	return true;
}

enum { INSTRUCTIONS_LIMIT = 16 << 10 }; /* bytes of one server: each request has them */

void servers_describe(struct buf *out, const struct agent *a)
{
	const struct mcp_selection *set = a->env.servers;
	AUTO_BUF struct buf texts = { 0 };

	for (size_t i = 0; set && i < set->count; i++) {
		struct mcp_lease *lease = set->leases[i];
		struct mcp_catalog *c = lease_catalog(lease);
		if (c && c->instructions[0] && !permission_forbids_server(&a->permission, lease->server->name)) {
			struct str text = utf8_cut(str_from(c->instructions), INSTRUCTIONS_LIMIT);
			buf_addf(&texts, "%s## %s\n" STR_FMT "%s\n", texts.n ? "\n" : "", lease->server->name,
				 STR_ARG(text), c->instructions[text.n] ? " [...]" : "");
		}
		mcp_catalog_unref(c);
	}
	if (texts.n)
		buf_addf(
			out,
			"<system-reminder>\n# MCP servers\nInstructions of the servers for their tools:\n\n%s</system-reminder>",
			texts.p);
}
