/* SPDX-License-Identifier: MIT
 * transport.c - the kinds of transport: which class a server's kind has. */
#include "mcp/transport/transport.h"

static const struct mcp_transport_class *const kinds[] = {
	[MCP_STDIO] = &mcp_transport_stdio,
	[MCP_HTTP] = &mcp_transport_http,
	[MCP_SSE] = &mcp_transport_sse,
};

struct mcp_transport *mcp_transport_new(const struct mcp_world *world, struct mcp_server *server,
					const struct mcp_transport_handlers *handlers, void *data)
{
	const struct mcp_transport_class *class = kinds[server->kind];
	struct mcp_transport *t = xcalloc(1, class->size);

	t->class = class;
	t->handlers = *handlers;
	t->data = data;
	t->server = mcp_server_ref(server);
	t->world = world;
	return t;
}

int mcp_transport_start(struct mcp_transport *t, struct err *err)
{
	return t->class->start(t, err);
}

void mcp_transport_send(struct mcp_transport *t, int64_t id, struct str json)
{
	t->class->send(t, id, json);
}

void mcp_transport_drop(struct mcp_transport *t, int64_t id)
{
	if (t->class->drop)
		t->class->drop(t, id);
}

void mcp_transport_ready(struct mcp_transport *t, const char *version)
{
	if (t->class->ready)
		t->class->ready(t, version);
}

void mcp_transport_close(struct mcp_transport *t)
{
	t->class->close(t);
}

void mcp_transport_free(struct mcp_transport *t)
{
	if (t)
		t->class->free(t);
}
