/* SPDX-License-Identifier: MIT
 * link.c - one user of one connection: its calls and the tools that it was given. */
#include "mcp/client/pool_int.h"

struct mcp_link_call {
	struct mcp_link *link; /* borrowed; NULL: it has left */
	struct mcp_link_call *next, **prev;
	struct mcp_request *request; /* NULL: there is no connection, the kick tells */
	struct kick kick;
	mcp_answer_fn *answer;
	mcp_progress_fn *progress;
	void *data;
};

static void on_kick(struct kick *kick)
{
	struct mcp_link *l = CONTAINER_OF(kick, struct mcp_link, kick);

	l->on_change(l->data);
}

void mcp_link_changed(struct mcp_link *l)
{
	if (l->on_change)
		loop_kick(mcp_pool_loop(l->pool), &l->kick);
}

struct mcp_link *mcp_pool_join(struct mcp_pool *p, struct mcp_server *server, void (*on_change)(void *data), void *data)
{
	struct mcp_link *l = xcalloc(1, sizeof *l);

	l->pool = p;
	l->server = mcp_server_ref(server);
	l->kick.step = on_kick;
	l->on_change = on_change;
	l->data = data;
	mcp_conn_attach(l);
	return l;
}

static void unlink_call(struct mcp_link_call *c)
{
	if (!c->link)
		return;
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->link = NULL;
}

void mcp_link_call_cancel(struct mcp_link_call *c, const char *reason)
{
	if (c->request)
		mcp_request_cancel(c->request, reason);
}

static void cancel_calls(struct mcp_link *l, const char *reason)
{
	while (l->calls) {
		struct mcp_link_call *c = l->calls;
		unlink_call(c);
		mcp_link_call_cancel(c, reason);
	}
}

void mcp_link_leave(struct mcp_link *l)
{
	if (!l)
		return;
	cancel_calls(l, "the agent has ended");
	mcp_conn_detach(l);
	kick_cancel(&l->kick);
	for (size_t i = 0; i < l->box_count; i++)
		mcp_toolbox_unref(l->boxes[i]);
	free(l->boxes);
	mcp_server_unref(l->server);
	free(l);
}

struct mcp_client *mcp_link_client(struct mcp_link *l)
{
	return l->conn ? l->conn->client : NULL;
}

const struct mcp_server *mcp_link_server(const struct mcp_link *l)
{
	return l->server;
}

enum mcp_state mcp_link_state(const struct mcp_link *l)
{
	return l->conn ? mcp_client_state(l->conn->client) : l->disabled ? MCP_DISABLED : MCP_FAILED;
}

bool mcp_link_settling(const struct mcp_link *l)
{
	return mcp_link_state(l) == MCP_PENDING;
}

const char *mcp_link_error(const struct mcp_link *l)
{
	return l->conn ? mcp_client_error(l->conn->client) : "";
}

struct mcp_catalog *mcp_link_catalog(struct mcp_link *l)
{
	return l->conn ? mcp_client_catalog(l->conn->client) : NULL;
}

void mcp_link_reconnect(struct mcp_link *l)
{
	if (l->conn && !l->conn->waiting)
		mcp_client_start(l->conn->client);
}

void mcp_link_enable(struct mcp_link *l, bool on)
{
	if (on == !l->disabled)
		return;
	l->disabled = !on;
	if (on) {
		mcp_conn_attach(l);
	} else {
		cancel_calls(l, "the server was disabled");
		mcp_conn_detach(l);
	}
	mcp_link_changed(l);
}

static void end_call(struct mcp_link_call *c, const struct json *result, const struct err *err)
{
	mcp_answer_fn *answer = c->answer;
	void *data = c->data;

	unlink_call(c);
	free(c);
	answer(data, result, err);
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	end_call(data, result, err);
}

static void on_progress(void *data, double progress, double total, struct str message)
{
	struct mcp_link_call *c = data;

	c->progress(c->data, progress, total, message);
}

static void on_refused(struct kick *kick)
{
	struct mcp_link_call *c = CONTAINER_OF(kick, struct mcp_link_call, kick);
	struct err err = { 0 };

	(void)err_set(&err, ERR_CANCELLED, "the server is disabled");
	end_call(c, NULL, &err);
}

struct mcp_link_call *mcp_link_call(struct mcp_link *l, const struct mcp_call *call)
{
	struct mcp_link_call *c = xcalloc(1, sizeof *c);
	struct mcp_call inner = *call;

	*c = (struct mcp_link_call){ .link = l,
				     .next = l->calls,
				     .prev = &l->calls,
				     .kick.step = on_refused,
				     .answer = call->answer,
				     .progress = call->progress,
				     .data = call->data };
	if (c->next)
		c->next->prev = &c->next;
	l->calls = c;
	inner.answer = on_answer;
	inner.progress = call->progress ? on_progress : NULL;
	inner.data = c;
	if (l->conn)
		c->request = mcp_client_call(l->conn->client, &inner);
	else
		loop_kick(mcp_pool_loop(l->pool), &c->kick);
	return c;
}

static struct mcp_toolbox *find_box(struct mcp_conn *conn, struct mcp_catalog *catalog, const struct mcp_server *server)
{
	for (struct mcp_toolbox *b = conn->boxes; b; b = b->next)
		if (b->catalog == catalog && b->always_load == server->always_load && !strcmp(b->server, server->name))
			return b;
	struct mcp_toolbox *b = mcp_toolbox_new(catalog, server);
	b->next = conn->boxes;
	conn->boxes = b;
	return b;
}

static void keep_box(struct mcp_link *l, struct mcp_toolbox *b)
{
	for (size_t i = 0; i < l->box_count; i++)
		if (l->boxes[i] == b)
			return;
	l->boxes = xrealloc(l->boxes, (l->box_count + 1) * sizeof *l->boxes);
	l->boxes[l->box_count++] = mcp_toolbox_ref(b);
}

void mcp_link_tools(struct mcp_link *l, struct tool_set *set)
{
	enum mcp_state state = mcp_link_state(l);
	bool usable = state == MCP_CONNECTED || state == MCP_PENDING;
	struct mcp_catalog *catalog = usable ? mcp_link_catalog(l) : NULL;

	if (!catalog)
		return;
	struct mcp_toolbox *b = find_box(l->conn, catalog, l->server);
	mcp_catalog_unref(catalog); /* the box has it */
	keep_box(l, b);
	for (size_t i = 0; i < b->count; i++)
		tool_set_add(set, &b->tools[i]);
}
