/* SPDX-License-Identifier: MIT
 * pool.c - connections: found by their key, started a few at a time, ended when nobody has used them for a moment.
 *
 *     made --a place is free--> started --last link leaves, grace--> closing (not in the map any more) --> freed
 *
 * Whoever joins while a connection of the same key is closing gets a new one. */
#include "mcp/client/pool_int.h"

enum { GRACE_MS = 2000, PROCESS_PLACES = 3, REMOTE_PLACES = 20 };

struct lane {
	struct mcp_conn *first, **last; /* those that wait */
	uint64_t connecting, limit;
};

struct mcp_pool {
	const struct mcp_world *world;
	struct mcp_pool_events events;
	struct map conns; /* by key, without those that are closing */
	size_t closing;
	struct lane lanes[MCP_LANES];
	bool draining;
	struct kick kick; /* tells that it is drained */
	void (*drained)(void *data);
	void *drained_data;
};

static void lane_remove(struct mcp_conn *conn)
{
	struct lane *lane = &conn->pool->lanes[conn->lane];

	if (!conn->waiting)
		return;
	conn->waiting = false;
	*conn->prev = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	else
		lane->last = conn->prev;
}

static void lane_add(struct mcp_conn *conn)
{
	struct lane *lane = &conn->pool->lanes[conn->lane];

	conn->waiting = true;
	conn->next = NULL;
	conn->prev = lane->last;
	*lane->last = conn;
	lane->last = &conn->next;
}

static void lane_advance(struct lane *lane)
{
	while (lane->first && lane->connecting < lane->limit) {
		struct mcp_conn *conn = lane->first;
		lane_remove(conn);
		conn->has_place = true;
		lane->connecting++;
		mcp_client_start(conn->client);
	}
}

static void give_place_back(struct mcp_conn *conn)
{
	struct lane *lane = &conn->pool->lanes[conn->lane];

	if (!conn->has_place)
		return;
	conn->has_place = false;
	lane->connecting--;
	lane_advance(lane);
}

static void drop_boxes(struct mcp_conn *conn)
{
	while (conn->boxes) {
		struct mcp_toolbox *b = conn->boxes;
		conn->boxes = b->next;
		b->next = NULL;
		mcp_toolbox_unref(b);
	}
}

static void tell_links(struct mcp_conn *conn)
{
	for (struct mcp_link *l = conn->links; l; l = l->next)
		mcp_link_changed(l);
}

static void on_state(struct mcp_client *c, void *data)
{
	struct mcp_conn *conn = data;

	if (mcp_client_state(c) != MCP_PENDING)
		give_place_back(conn);
	tell_links(conn);
}

static void on_catalog(struct mcp_client *c, void *data)
{
	(void)c;
	drop_boxes(data);
	tell_links(data);
}

static void on_log(struct mcp_client *c, void *data, const char *level, struct str text)
{
	const struct mcp_pool_events *events = &((struct mcp_conn *)data)->pool->events;

	if (events->on_log)
		events->on_log(events->data, mcp_client_server(c), level, text);
}

static void on_elicit(struct mcp_client *c, void *data, struct mcp_elicitation *e)
{
	const struct mcp_pool_events *events = &((struct mcp_conn *)data)->pool->events;

	events->on_elicit(events->data, mcp_client_server(c), e);
}

static void on_elicit_gone(struct mcp_client *c, void *data, struct mcp_elicitation *e)
{
	const struct mcp_pool_events *events = &((struct mcp_conn *)data)->pool->events;

	(void)c;
	if (events->on_elicit_gone)
		events->on_elicit_gone(events->data, e);
}

static const char *const *roots(void *data)
{
	const struct mcp_pool_events *events = &((struct mcp_conn *)data)->pool->events;

	return events->roots ? events->roots(events->data) : NULL;
}

static void check_drained(struct mcp_pool *p)
{
	if (p->draining && !p->closing)
		loop_kick(p->world->loop, &p->kick);
}

static void on_closed(void *data)
{
	struct mcp_conn *conn = data;
	struct mcp_pool *p = conn->pool;

	free(conn);
	p->closing--;
	check_drained(p);
}

static void conn_close(struct mcp_conn *conn)
{
	struct mcp_pool *p = conn->pool;

	timer_stop(p->world->loop, &conn->grace);
	map_remove(&p->conns, str_from(mcp_client_server(conn->client)->key));
	lane_remove(conn);
	give_place_back(conn);
	drop_boxes(conn);
	p->closing++;
	mcp_client_close(conn->client, on_closed, conn);
}

static void on_grace(struct timer *timer)
{
	conn_close(CONTAINER_OF(timer, struct mcp_conn, grace));
}

static struct mcp_conn *conn_new(struct mcp_pool *p, struct mcp_server *server)
{
	struct mcp_conn *conn = xcalloc(1, sizeof *conn);
	struct mcp_client_options options = {
		.world = p->world,
		.server = server,
		.make_transport = p->events.make_transport,
		.transport_data = p->events.data,
		.events = { .on_state = on_state,
			    .on_catalog = on_catalog,
			    .on_log = on_log,
			    .on_elicit = p->events.on_elicit ? on_elicit : NULL,
			    .on_elicit_gone = on_elicit_gone,
			    .roots = roots,
			    .data = conn },
	};

	conn->pool = p;
	conn->lane = server->kind == MCP_STDIO ? MCP_LANE_PROCESS : MCP_LANE_REMOTE;
	conn->grace.fire = on_grace;
	conn->client = mcp_client_new(&options);
	map_set(&p->conns, str_from(server->key), conn);
	lane_add(conn);
	lane_advance(&p->lanes[conn->lane]);
	return conn;
}

void mcp_conn_attach(struct mcp_link *l)
{
	struct mcp_pool *p = l->pool;

	if (p->draining)
		return;
	struct mcp_conn *conn = map_get(&p->conns, str_from(l->server->key));
	if (!conn)
		conn = conn_new(p, l->server);
	timer_stop(p->world->loop, &conn->grace);
	l->conn = conn;
	l->next = conn->links;
	l->prev = &conn->links;
	if (l->next)
		l->next->prev = &l->next;
	conn->links = l;
}

void mcp_conn_detach(struct mcp_link *l)
{
	struct mcp_conn *conn = l->conn;

	if (!conn)
		return;
	l->conn = NULL;
	*l->prev = l->next;
	if (l->next)
		l->next->prev = l->prev;
	if (conn->links)
		return;
	if (conn->waiting)
		conn_close(conn);
	else
		timer_start(conn->pool->world->loop, &conn->grace, GRACE_MS);
}

static void on_drained(struct kick *kick)
{
	struct mcp_pool *p = CONTAINER_OF(kick, struct mcp_pool, kick);

	p->drained(p->drained_data);
}

static uint64_t places(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	uint64_t n;

	return text && str_to_u64(str_from(text), &n) && n ? n : otherwise;
}

struct mcp_pool *mcp_pool_new(const struct mcp_world *world, const struct mcp_pool_events *events)
{
	struct mcp_pool *p = xcalloc(1, sizeof *p);

	p->world = world;
	p->events = *events;
	p->kick.step = on_drained;
	p->lanes[MCP_LANE_PROCESS].limit = places("MCP_SERVER_CONNECTION_BATCH_SIZE", PROCESS_PLACES);
	p->lanes[MCP_LANE_REMOTE].limit = places("MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", REMOTE_PLACES);
	for (size_t i = 0; i < MCP_LANES; i++)
		p->lanes[i].last = &p->lanes[i].first;
	return p;
}

/* Links that are still there lose their connection, which cancels their calls. */
static void cut_links(struct mcp_conn *conn)
{
	while (conn->links) {
		struct mcp_link *l = conn->links;
		mcp_conn_detach(l);
		mcp_link_changed(l);
	}
}

void mcp_pool_drain(struct mcp_pool *p, void (*done)(void *data), void *data)
{
	p->draining = true;
	p->drained = done;
	p->drained_data = data;
	for (size_t i = 0; i < MCP_LANES; i++)
		p->lanes[i].limit = 0; /* a place that becomes free is for nobody */
	for (struct map_entry *e = map_next(&p->conns, NULL); e; e = map_next(&p->conns, e)) {
		struct mcp_conn *conn = e->value;
		lane_remove(conn);
		cut_links(conn);
		conn_close(conn);
	}
	check_drained(p);
}

void mcp_pool_roots_changed(struct mcp_pool *p)
{
	for (struct map_entry *e = map_next(&p->conns, NULL); e; e = map_next(&p->conns, e))
		mcp_client_roots_changed(((struct mcp_conn *)e->value)->client);
}

void mcp_pool_free(struct mcp_pool *p)
{
	if (!p)
		return;
	kick_cancel(&p->kick);
	map_release(&p->conns);
	free(p);
}

struct loop *mcp_pool_loop(const struct mcp_pool *p)
{
	return p->world->loop;
}
