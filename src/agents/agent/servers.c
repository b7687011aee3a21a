/* SPDX-License-Identifier: MIT
 * servers.c - which servers an agent has, and what it waits for. */
#include "agents/agent/servers.h"
#include "agents/profile/roster.h"
#include "mcp/client/selection.h"
#include "mcp/servers/config.h"

enum { DEFAULT_WAIT_MS = 30000 };

/* ---- what a definition declares ---------------------------------------------------------------------------------- */

/* One definition of one agent, on its way into the agent's set */
struct joining {
	struct agent *agent;
	const struct agent_definition *definition;
	struct buf *notes;
};

/* What a definition starts is a program on this machine: a project's word needs trust, a plugin's its own consent. */
static const char *refusal(const struct joining *j)
{
	const struct agent_definition *d = j->definition;
	const struct agent_tree *t = j->agent->tree;

	if (agent_tree_bars(t, d->source, "mcp"))
		return "managed settings allow only plugins to bring servers";
	if (d->source == SOURCE_PROJECT && !t->switches.trusted)
		return "this folder is not trusted (`cadre trust` records consent)";
	if (d->source == SOURCE_PLUGIN && !agent_tree_trusts_plugin(t, d->plugin))
		return "its plugin is not trusted (`cadre plugin trust` records consent)";
	return NULL;
}

struct mcp_selection *agent_own_servers(struct agent *a)
{
	if (a->servers)
		return a->servers;
	a->servers = mcp_selection_new(a->tree->services->server_pool);
	if (!a->parent) {
		a->env.servers = a->servers;
		mcp_selection_on_change(a->servers, a->tree->on_servers, a->tree->data);
	}
	return a->servers;
}

static void join_named(struct joining *j, const struct json *name)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct str text = json_str(name, &arena);
	const struct agent *a = j->agent;
	const struct mcp_selection *session = a->tree->main.servers;
	bool found = session && mcp_selection_find(session, text);

	if (!found)
		buf_addf(j->notes, "the definition names an MCP server that is not configured: " STR_FMT "\n",
			 STR_ARG(text));
	else if (a->parent)
		/* its tools are added to those of the list; for the main agent: servers_of_definition() */
		mcp_selection_share(agent_own_servers(j->agent), session, text);
}

static void join_inline(struct joining *j, struct json_member m)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf notes = { 0 };
	struct mcp_server *server;
	struct err err = { 0 };
	struct mcp_entry entry = { .name = json_str(m.key, &arena),
				   .value = m.value,
				   .scope = MCP_SCOPE_AGENT,
				   .file = j->definition->file,
				   .believed = true,
				   .of_project = j->definition->source == SOURCE_PROJECT };

	if (mcp_server_read(&entry, &notes, &server, NULL, &err) < 0) {
		buf_addf(j->notes, "mcpServers: %s\n", err.text);
		return;
	}
	buf_add(j->notes, notes.p, notes.n);
	const struct agent_tree *t = j->agent->tree;
	if (t->services->mcp_config && mcp_config_admit(t->services->mcp_config, server, &err) < 0)
		buf_addf(j->notes, "mcpServers: %s\n", err.text);
	else
		mcp_selection_join(agent_own_servers(j->agent), server);
	mcp_server_unref(server);
}

/* What the definition declares joins the agent's set, which is made if it has none. notes: what does not, a line each. */
static void agent_join_declared(struct agent *a, const struct agent_definition *d, struct buf *notes)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct joining j = { a, d, notes };
	const struct json *list;

	if (!d->mcp_servers || !a->tree->services->server_pool ||
	    json_parse(&reader, d->mcp_servers, strlen(d->mcp_servers), &list, NULL) < 0)
		return; /* it was normalised when it was read */
	const char *why = refusal(&j);
	bool told = false;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		if (json_is(v, JSON_STRING)) {
			join_named(&j, v);
			continue;
		}
		for (struct json_member m = json_members(v); m.key && !why; m = json_member_next(v, m))
			join_inline(&j, m);
		if (why && !told)
			buf_addf(notes, "MCP servers of %s are not started: %s\n", d->name, why);
		told = true;
	}
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* Not if it names its tools and none of a server among them. */
static bool may_use_session(const struct agent *a)
{
	const struct agent_definition *d = a->definition;

	if (!d || !d->tools.present || d->tools.all)
		return true;
	for (size_t i = 0; i < d->tools.count; i++)
		if (str_starts(str_from(d->tools.names[i]), STR("mcp__")))
			return true;
	return d->mcp_servers != NULL;
}

/* So that one set has all that it can use: the tools for resources look there, and the step waits for it. */
static void share_session(struct agent *a)
{
	const struct mcp_selection *session = a->tree->main.servers;

	for (size_t i = 0; i < mcp_selection_count(session); i++)
		mcp_selection_share(agent_own_servers(a), session,
				    str_from(mcp_lease_server(mcp_selection_at(session, i))->name));
}

/* What the session shares is in the main agent's tools, as soon as it knows; what the definition brings is kept apart. */
static void on_servers_up(void *data)
{
	struct agent *a = data;
	const struct agent_tree *t = a->tree;

	a->awaits_servers = false;
	for (size_t i = 0; i < a->own_servers; i++) {
		struct mcp_lease *lease = mcp_selection_at(a->servers, i);
		mcp_lease_tools(lease, &a->server_tools);
		if (mcp_lease_state(lease) != MCP_CONNECTED)
			buf_addf(&a->notes, "the MCP server %s is not connected: %s\n", mcp_lease_server(lease)->name,
				 mcp_lease_error(lease)[0] ? mcp_lease_error(lease)
							   : mcp_state_word(mcp_lease_state(lease)));
	}
	if (t->on_servers)
		t->on_servers(t->data);
	agent_step_done(a, NULL);
}

/* Of the main agent: what is configured, and what the host brings. */
static void join_configured(struct agent *a)
{
	const struct services *sv = a->tree->services;
	const struct mcp_config *config = sv->mcp_config;

	for (size_t i = 0; config && i < config->count; i++)
		if (config->items[i].standing == MCP_COUNTS)
			mcp_selection_join(agent_own_servers(a), config->items[i].server);
	for (struct host_server *h = sv->host_servers; h; h = h->next)
		mcp_selection_join(agent_own_servers(a), h->server);
	if (a->definition && a->definition->mcp_servers)
		(void)agent_own_servers(a); /* so that a change of any of them is heard */
}

uint64_t servers_wait_ms(void)
{
	const char *text = getenv("MCP_TIMEOUT");
	uint64_t ms;

	return text && str_to_u64(str_from(text), &ms) && ms ? ms : DEFAULT_WAIT_MS;
}

int agent_join_servers(struct agent *a, struct err *err)
{
	const struct agent_tree *t = a->tree;
	const struct mcp_selection *session = t->main.servers;

	(void)err;
	if (!a->parent)
		join_configured(a);
	if (a->definition)
		agent_join_declared(a, a->definition, &a->notes);
	if (!a->parent)
		return 0; /* its first turn waits for them */
	a->own_servers = a->servers ? mcp_selection_count(a->servers) : 0;
	if (session && (a->servers || mcp_selection_settling(session)) && may_use_session(a))
		share_session(a);
	if (!a->servers)
		return 0;
	a->awaits_servers = true;
	mcp_selection_wait(a->servers, servers_wait_ms(), on_servers_up, a);
	return STEP_TAKES_TIME;
}

void agent_stop_awaiting_servers(struct agent *a)
{
	if (a->awaits_servers)
		mcp_selection_wait(a->servers, 0, on_servers_up, a);
}

int agent_leave_servers(struct agent *a, struct err *err)
{
	(void)err;
	tool_set_release(&a->server_tools);
	mcp_selection_free(TAKE(a->servers));
	a->env.servers = NULL;
	return 0;
}

const struct tool_set *agent_server_tools(const struct agent *a)
{
	return a->server_tools.count ? &a->server_tools : NULL;
}

void servers_of_definition(struct agent *a, struct tool_set *out)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const char *text = a->definition->mcp_servers;
	const struct json *list = NULL;

	for (size_t i = 0; a->servers && i < mcp_selection_count(a->servers); i++)
		if (mcp_lease_server(mcp_selection_at(a->servers, i))->scope == MCP_SCOPE_AGENT)
			mcp_lease_tools(mcp_selection_at(a->servers, i), out);
	if (!a->servers || !text || json_parse(&reader, text, strlen(text), &list, NULL) < 0)
		return;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		struct mcp_lease *named =
			json_is(v, JSON_STRING) ? mcp_selection_find(a->servers, json_str(v, &arena)) : NULL;
		if (named)
			mcp_lease_tools(named, out);
	}
}

/* ---- what is told about them ------------------------------------------------------------------------------------- */

static bool comes_with(const struct agent_tree *t, const struct mcp_selection *set, const struct tool *tool)
{
	if (tool->flags & TOOL_FINDS_TOOLS)
		return t->deferral.when != DEFER_NEVER;
	return (tool->flags & TOOL_NEEDS_SERVERS) && mcp_selection_has_resources(set);
}

void servers_bring_tools(const struct agent_tree *t, const struct mcp_selection *set, struct tool_set *pool)
{
	const struct tool *const *table = t->kit->table;

	for (size_t i = 0; set && table && table[i]; i++)
		if (comes_with(t, set, table[i]) && !tool_set_find(pool, str_from(table[i]->name)))
			tool_set_add(pool, table[i]);
}

static bool offers_tools(struct mcp_lease *link)
{
	struct mcp_catalog *c =
		mcp_lease_state(link) == MCP_CONNECTED ? mcp_client_catalog(mcp_lease_client(link)) : NULL;
	bool offers = c && c->tool_count;

	mcp_catalog_unref(c);
	return offers;
}

const char *const *servers_ready(const struct agent_tree *t, struct arena *arena)
{
	const struct mcp_selection *set = t->main.servers;
	size_t count = set ? mcp_selection_count(set) : 0, n = 0;
	const char **names = arena_calloc(arena, (count + 1) * sizeof *names);

	for (size_t i = 0; i < count; i++)
		if (offers_tools(mcp_selection_at(set, i)))
			names[n++] = mcp_lease_server(mcp_selection_at(set, i))->name;
	return names;
}

bool servers_admit(const struct agent_tree *t, const struct agent_definition *d)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct mcp_selection *set = t->main.servers;
	size_t count = set ? mcp_selection_count(set) : 0, n = 0;
	const char **names = arena_calloc(&arena, (count + 1) * sizeof *names);

	for (size_t i = 0; i < count; i++) {
		struct mcp_lease *lease = mcp_selection_at(set, i);
		if (offers_tools(lease) || mcp_lease_settling(lease))
			names[n++] = mcp_lease_server(lease)->name;
	}
	return roster_has(t->services->registry, d, &(struct roster_spec){ .mcp_servers = names });
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

static void describe(struct buf *out, struct mcp_lease *link)
{
	struct mcp_catalog *c =
		mcp_lease_state(link) == MCP_CONNECTED ? mcp_client_catalog(mcp_lease_client(link)) : NULL;

	if (c && c->instructions[0])
		buf_addf(out, "%s## %s\n%s\n", out->n ? "\n" : "", mcp_lease_server(link)->name, c->instructions);
	mcp_catalog_unref(c);
}

void servers_describe(struct buf *out, const struct agent *a)
{
	const struct mcp_selection *set = a->env.servers;
	AUTO_BUF struct buf texts = { 0 };

	for (size_t i = 0; set && i < mcp_selection_count(set); i++)
		describe(&texts, mcp_selection_at(set, i));
	if (texts.n)
		buf_addf(
			out,
			"<system-reminder>\n# MCP servers\nWhat the servers say about their tools:\n\n%s</system-reminder>",
			texts.p);
}
