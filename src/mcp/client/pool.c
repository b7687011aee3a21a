/* SPDX-License-Identifier: MIT
 * pool.c - connections: found by their key, started a few at a time, closed when they have been unused for a moment; and
 * leases, the users of a connection with their tools; and selections, the leases of one agent.
 *
 *     made --a slot is free--> started --last lease leaves, grace--> closing (not in the map any more) --> freed
 *
 * An agent that joins while a connection of the same key is closing gets a new one. */
#include "mcp/client/pool.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "mcp/client/client_int.h"
#include "mcp/client/toolset.h"

enum mcp_lane { MCP_LANE_PROCESS, MCP_LANE_REMOTE, MCP_LANES };

/* One client and its leases */
struct mcp_conn {
	struct mcp_pool *pool; /* borrowed */
	struct mcp_env *env;   /* reference */
	char *key;
	struct mcp_client *client;
	struct mcp_lease *leases;
	enum mcp_lane lane;
	bool waiting;                  /* in the lane, for a slot */
	bool has_slot;                 /* counted among those that connect */
	struct mcp_conn *next, **prev; /* in the lane */
	struct timer grace;            /* unused: delay before it is closed */
	struct mcp_toolset *toolsets;  /* references: the present catalog's tools, one for each server name */
};

enum { GRACE_MS = 2000, PROCESS_SLOTS = 3, REMOTE_SLOTS = 20 };

struct lane {
	struct mcp_conn *first, **last; /* those that wait */
	uint64_t connecting, limit;
};

struct mcp_pool {
	const struct mcp_env *env;
	struct mcp_host_events events;
	struct mcp_rpc nowhere; /* of calls without a connection, which are refused */
	struct map conns;       /* by key, without those that are closing */
	size_t closing;
	struct lane lanes[MCP_LANES];
	bool draining;
	struct kick kick; /* reports that it is drained */
	void (*drained)(void *data);
	void *drained_data;
};

static void lane_remove(struct mcp_conn *conn)
{
	struct lane *lane = &conn->pool->lanes[conn->lane];

	if (!conn->waiting)
		return;
	conn->waiting = false;
	list_remove_from(&lane->last, conn);
}

static void lane_advance(struct lane *lane)
{
	while (lane->first && lane->connecting < lane->limit) {
		struct mcp_conn *conn = lane->first;
		lane_remove(conn);
		conn->has_slot = true;
		lane->connecting++;
		mcp_client_start(conn->client);
	}
}

static void conn_release_slot(struct mcp_conn *conn)
{
	struct lane *lane = &conn->pool->lanes[conn->lane];

	if (!conn->has_slot)
		return;
	conn->has_slot = false;
	lane->connecting--;
	lane_advance(lane);
}

static void conn_drop_toolsets(struct mcp_conn *conn)
{
	for (struct mcp_toolset *b; (b = list_pop(&conn->toolsets));) {
		b->next = NULL;
		mcp_toolset_unref(b);
	}
}

static void lease_changed(struct mcp_lease *l)
{
	if (l->on_change)
		loop_kick(l->pool->env->loop, &l->kick);
}

static void on_conn_state(struct mcp_client *c, void *data)
{
	struct mcp_conn *conn = data;

	if (mcp_client_state(c) != MCP_PENDING)
		conn_release_slot(conn);
	for (struct mcp_lease *l = conn->leases; l; l = l->next)
		lease_changed(l);
}

static void on_conn_catalog(struct mcp_client *c, void *data)
{
	conn_drop_toolsets(data);
	on_conn_state(c, data);
}

static void on_conn_closed(void *data)
{
	struct mcp_conn *conn = data;
	struct mcp_pool *p = conn->pool;

	mcp_env_unref(conn->env);
	free(conn->key);
	free(conn);
	p->closing--;
	if (p->draining && !p->closing)
		loop_kick(p->env->loop, &p->kick);
}

static void conn_close(struct mcp_conn *conn)
{
	struct mcp_pool *p = conn->pool;

	timer_stop(p->env->loop, &conn->grace);
	map_remove(&p->conns, str_from(conn->key));
	lane_remove(conn);
	conn_release_slot(conn);
	conn_drop_toolsets(conn);
	p->closing++;
	mcp_client_close(conn->client, on_conn_closed, conn);
}

static void on_grace(struct timer *timer)
{
	conn_close(CONTAINER_OF(timer, struct mcp_conn, grace));
}

/* Takes key. */
static struct mcp_conn *conn_new(struct mcp_pool *p, struct mcp_env *env, struct mcp_server *server, char *key)
{
	struct mcp_conn *conn = xnew(struct mcp_conn, .env = mcp_env_ref(env), .key = key);
	struct mcp_client_options options = {
		.env = env,
		.server = server,
		.host = p->events,
		.on_state = on_conn_state,
		.on_catalog = on_conn_catalog,
		.data = conn,
	};

	conn->pool = p;
	conn->lane = server->kind == MCP_STDIO ? MCP_LANE_PROCESS : MCP_LANE_REMOTE;
	conn->grace.fire = on_grace;
	conn->client = mcp_client_new(&options);
	map_set(&p->conns, str_from(key), conn);
	conn->waiting = true;
	list_append(&p->lanes[conn->lane].last, conn);
	lane_advance(&p->lanes[conn->lane]);
	return conn;
}

static void conn_attach(struct mcp_lease *l)
{
	struct mcp_pool *p = l->pool;
	AUTO_BUF struct buf key = { 0 };

	if (p->draining)
		return;
	buf_addf(&key, "%p %s", (void *)l->env, l->server->key);
	struct mcp_conn *conn = map_get(&p->conns, buf_str(&key));
	if (!conn)
		conn = conn_new(p, l->env, l->server, buf_take(&key, NULL));
	timer_stop(p->env->loop, &conn->grace);
	l->conn = conn;
	list_push(&conn->leases, l);
}

static void conn_detach(struct mcp_lease *l)
{
	struct mcp_conn *conn = l->conn;

	if (!conn)
		return;
	l->conn = NULL;
	list_remove(l);
	if (conn->leases)
		return;
	if (conn->waiting)
		conn_close(conn);
	else
		timer_start(conn->pool->env->loop, &conn->grace, GRACE_MS);
}

static void on_drained(struct kick *kick)
{
	struct mcp_pool *p = CONTAINER_OF(kick, struct mcp_pool, kick);

	p->drained(p->drained_data);
}

struct mcp_pool *mcp_pool_new(const struct mcp_env *env, const struct mcp_host_events *events)
{
	struct mcp_pool *p = xnew(struct mcp_pool, .env = env, .events = *events, .kick.step = on_drained,
				  .nowhere.loop = env->loop);

	p->lanes[MCP_LANE_PROCESS].limit = mcp_env_number(env, "MCP_SERVER_CONNECTION_BATCH_SIZE", PROCESS_SLOTS);
	p->lanes[MCP_LANE_REMOTE].limit = mcp_env_number(env, "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", REMOTE_SLOTS);
	for (size_t i = 0; i < MCP_LANES; i++)
		p->lanes[i].last = &p->lanes[i].first;
	return p;
}

void mcp_pool_drain(struct mcp_pool *p, void (*done)(void *data), void *data)
{
	p->draining = true;
	p->drained = done;
	p->drained_data = data;
	for (size_t i = 0; i < MCP_LANES; i++)
		p->lanes[i].limit = 0; /* starts no waiting connection */
	for (struct map_entry *e = map_next(&p->conns, NULL); e; e = map_next(&p->conns, e)) {
		struct mcp_conn *conn = e->value;
		lane_remove(conn);
		/* Leases that are still there lose their connection, which cancels their calls. */
		while (conn->leases) {
			struct mcp_lease *l = conn->leases;
			conn_detach(l);
			lease_changed(l);
		}
		conn_close(conn);
	}
	if (!p->closing)
		loop_kick(p->env->loop, &p->kick);
}

void mcp_pool_roots_changed(struct mcp_pool *p, const struct mcp_env *env)
{
	for (struct map_entry *e = map_next(&p->conns, NULL); e; e = map_next(&p->conns, e)) {
		const struct mcp_conn *conn = e->value;
		if (conn->env == env)
			mcp_client_roots_changed(conn->client);
	}
}

void mcp_pool_free(struct mcp_pool *p)
{
	if (!p)
		return;
	kick_cancel(&p->kick);
	free(p->nowhere.slots);
	map_release(&p->conns);
	free(p);
}

static void on_lease_kick(struct kick *kick)
{
	struct mcp_lease *l = CONTAINER_OF(kick, struct mcp_lease, kick);

	l->on_change(l->data);
}

struct mcp_lease *mcp_pool_join(struct mcp_pool *p, struct mcp_env *env, struct mcp_server *server,
				void (*on_change)(void *data), void *data)
{
	struct mcp_lease *l =
		xnew(struct mcp_lease, .pool = p, .server = mcp_server_ref(server), .env = mcp_env_ref(env),
		     .kick.step = on_lease_kick, .on_change = on_change, .data = data);

	conn_attach(l);
	return l;
}

void mcp_lease_leave(struct mcp_lease *l)
{
	if (!l)
		return;
	if (l->conn)
		mcp_rpc_cancel_owned(&l->conn->client->rpc, l, "the agent has ended");
	conn_detach(l);
	kick_cancel(&l->kick);
	for (size_t i = 0; i < l->toolset_count; i++)
		mcp_toolset_unref(l->toolsets[i]);
	free(l->toolsets);
	mcp_server_unref(l->server);
	mcp_env_unref(l->env);
	free(l);
}

struct mcp_client *mcp_lease_client(struct mcp_lease *l)
{
	return l->conn ? l->conn->client : NULL;
}

enum mcp_state mcp_lease_state(const struct mcp_lease *l)
{
	return l->conn ? mcp_client_state(l->conn->client) : l->disabled ? MCP_DISABLED : MCP_FAILED;
}

const char *mcp_lease_error(const struct mcp_lease *l)
{
	return l->conn ? mcp_client_error(l->conn->client) : "";
}

struct mcp_catalog *mcp_lease_catalog(struct mcp_lease *l)
{
	return l->conn ? mcp_client_catalog(l->conn->client) : NULL;
}

void mcp_lease_reconnect(struct mcp_lease *l)
{
	if (l->conn && !l->conn->waiting)
		mcp_client_start(l->conn->client);
}

void mcp_lease_enable(struct mcp_lease *l, bool on)
{
	if (on == !l->disabled)
		return;
	l->disabled = !on;
	if (on) {
		conn_attach(l);
	} else {
		if (l->conn)
			mcp_rpc_cancel_owned(&l->conn->client->rpc, l, "the server was disabled");
		conn_detach(l);
	}
	lease_changed(l);
}

struct mcp_request *mcp_lease_call(struct mcp_lease *l, const struct mcp_call *call)
{
	struct mcp_call owned = *call;
	struct err err = { 0 };

	owned.owner = l;
	if (l->conn)
		return mcp_client_call(l->conn->client, &owned);
	struct mcp_request *r = mcp_rpc_call(&l->pool->nowhere, &owned, 0, 0, false);
	(void)err_set(&err, ERR_CANCELLED, "the server is disabled");
	mcp_request_refuse(r, &err);
	return r;
}

void mcp_lease_tools(struct mcp_lease *l, struct tool_set *set)
{
	enum mcp_state state = mcp_lease_state(l);
	bool usable = state == MCP_CONNECTED || state == MCP_PENDING;
	struct mcp_catalog *catalog = usable ? mcp_lease_catalog(l) : NULL;
	struct mcp_toolset *b;
	size_t i;

	if (!catalog)
		return;
	for (b = l->conn->toolsets; b; b = b->next)
		if (b->catalog == catalog && b->always_load == l->server->always_load && b->comms == l->server->comms &&
		    !strcmp(b->server, l->server->name))
			break;
	if (!b) {
		b = mcp_toolset_new(catalog, l->server);
		b->next = l->conn->toolsets;
		l->conn->toolsets = b;
	}
	mcp_catalog_unref(catalog); /* the toolset has it */
	for (i = 0; i < l->toolset_count && l->toolsets[i] != b; i++)
		;
	if (i == l->toolset_count) {
		l->toolsets = xrealloc(l->toolsets, (l->toolset_count + 1) * sizeof *l->toolsets);
		l->toolsets[l->toolset_count++] = b;
		b->refs++;
	}
	/* Names of two servers can meet: a tool b__c of a, and c of a__b. The API takes each name once, so the first one stays. */
	size_t before = set->count;
	bool meets = false;
	for (i = 0; i < before && b->count; i++) {
		const char *one = set->tools[i]->server, *other = b->tools[0].server;
		meets = meets || (one && !strncmp(one, other, MIN(strlen(one), strlen(other))));
	}
	for (i = 0; i < b->count; i++) {
		size_t k = meets ? 0 : before;
		while (k < before && strcmp(set->tools[k]->name, b->tools[i].name) != 0)
			k++;
		if (k == before)
			tool_set_add(set, &b->tools[i]);
	}
}

/* Selections: each kick ends with the one callback it is for, so that the callback may free the selection. */

static void on_wait_timeout(struct timer *timer)
{
	struct mcp_selection *s = CONTAINER_OF(timer, struct mcp_selection, timer);

	s->timed_out = true;
	loop_kick(s->loop, &s->wait_kick);
}

static void on_wait(struct kick *kick)
{
	struct mcp_selection *s = CONTAINER_OF(kick, struct mcp_selection, wait_kick);
	void (*settled)(void *data) = s->settled;

	if (!settled || (mcp_selection_settling(s) && !s->timed_out))
		return;
	s->settled = NULL;
	timer_stop(s->loop, &s->timer);
	settled(s->settled_data);
}

static void on_selection_change(struct kick *kick)
{
	struct mcp_selection *s = CONTAINER_OF(kick, struct mcp_selection, change_kick);

	if (s->changed)
		s->changed(s->changed_data);
}

static void on_lease_change(void *data)
{
	struct mcp_selection *s = data;

	loop_kick(s->loop, &s->change_kick);
	if (s->settled)
		loop_kick(s->loop, &s->wait_kick);
}

struct mcp_selection *mcp_selection_new(struct mcp_pool *pool, struct mcp_env *env)
{
	return xnew(struct mcp_selection, .pool = pool, .env = mcp_env_ref(env), .loop = pool->env->loop,
		    .change_kick.step = on_selection_change, .wait_kick.step = on_wait, .timer.fire = on_wait_timeout);
}

void mcp_selection_free(struct mcp_selection *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		mcp_lease_leave(s->leases[i]);
	kick_cancel(&s->change_kick);
	kick_cancel(&s->wait_kick);
	timer_stop(s->loop, &s->timer);
	mcp_env_unref(s->env);
	free(s->leases);
	free(s);
}

void mcp_selection_move(struct mcp_selection *s, struct mcp_env *env)
{
	struct mcp_env *old = s->env;

	s->env = mcp_env_ref(env);
	for (size_t i = 0; i < s->count; i++) {
		struct mcp_lease *l = s->leases[i];
		if (l->conn)
			mcp_rpc_cancel_owned(&l->conn->client->rpc, l, "the settings of its sandbox have changed");
		conn_detach(l);
		mcp_env_unref(l->env);
		l->env = mcp_env_ref(env);
		if (!l->disabled)
			conn_attach(l);
		lease_changed(l);
	}
	mcp_env_unref(old);
}

bool mcp_selection_has_client(const struct mcp_selection *s, const struct mcp_client *client)
{
	for (size_t i = 0; i < s->count; i++)
		if (mcp_lease_client(s->leases[i]) == client)
			return true;
	return false;
}

struct mcp_lease *mcp_selection_find(const struct mcp_selection *s, struct str name)
{
	struct mcp_lease *found = NULL;
	AUTO_BUF struct buf wanted = { 0 };

	for (size_t i = 0; i < s->count; i++)
		if (str_is(name, s->leases[i]->server->name))
			return s->leases[i];
	mcp_name_add(&wanted, name, STR(""));
	for (size_t i = 0; i < s->count && !found; i++) {
		AUTO_BUF struct buf have = { 0 };
		mcp_name_add(&have, str_from(s->leases[i]->server->name), STR(""));
		if (str_eq(buf_str(&have), buf_str(&wanted)))
			found = s->leases[i];
	}
	return found;
}

struct mcp_lease *mcp_selection_join(struct mcp_selection *s, struct mcp_server *server)
{
	/* Also under a name that gives its tools the same names: rules for those would hold for the other one. */
	struct mcp_lease *there = mcp_selection_find(s, str_from(server->name));

	if (there)
		return there;
	s->leases = xrealloc(s->leases, (s->count + 1) * sizeof *s->leases);
	s->leases[s->count] = mcp_pool_join(s->pool, s->env, server, on_lease_change, s);
	return s->leases[s->count++];
}

struct mcp_lease *mcp_selection_share(struct mcp_selection *s, const struct mcp_selection *other, struct str name)
{
	struct mcp_lease *l = mcp_selection_find(other, name);

	return l ? mcp_selection_join(s, l->server) : NULL;
}

void mcp_selection_leave(struct mcp_selection *s, struct str name)
{
	for (size_t i = 0; i < s->count; i++)
		if (str_is(name, s->leases[i]->server->name)) {
			mcp_lease_leave(s->leases[i]);
			s->count--;
			memmove(&s->leases[i], &s->leases[i + 1], (s->count - i) * sizeof *s->leases);
			on_lease_change(s);
			return;
		}
}

void mcp_selection_tools(struct mcp_selection *s, struct tool_set *out)
{
	for (size_t i = 0; i < s->count; i++)
		mcp_lease_tools(s->leases[i], out);
}

bool mcp_selection_has_resources(const struct mcp_selection *s)
{
	bool has = false;

	for (size_t i = 0; i < s->count && !has; i++) {
		struct mcp_catalog *catalog = mcp_lease_catalog(s->leases[i]);
		has = catalog && catalog->has_resources;
		mcp_catalog_unref(catalog);
	}
	return has;
}

bool mcp_selection_settling(const struct mcp_selection *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (mcp_lease_settling(s->leases[i]))
			return true;
	return false;
}

void mcp_selection_wait(struct mcp_selection *s, uint64_t ms, void (*done)(void *data), void *data)
{
	s->settled = done;
	s->settled_data = data;
	s->timed_out = false;
	timer_start(s->loop, &s->timer, ms);
	loop_kick(s->loop, &s->wait_kick);
}
