/* SPDX-License-Identifier: MIT
 * peers.c - the socket on which other sessions of the user send messages to this one: <runtime>/<session id>.msg.sock. A connection
 * is one line and its end; nothing is answered. A connection without a byte only asks whether the session lives. */
#include "agents/team/peer.h"
#include "product/observe/control.h"
#include "product/observe/observe.h"

/* The sockets of all sessions of a runtime */
struct peer_table {
	struct observer observer;
	struct map by_session; /* id -> struct peer_socket */
};

struct peer_socket {
	struct control_server server;
	struct cadre_session *session; /* borrowed; NULL: it is gone, only handles are left */
	struct peer_box box;
	char *address; /* "uds:PATH" */
};

static void socket_free(struct control_server *server)
{
	struct peer_socket *p = CONTAINER_OF(server, struct peer_socket, server);

	map_release(&p->box.known);
	free(p->address);
	free(p);
}

/* The message is on disk before the connection is closed. */
static void on_read(struct control_client *c, bool ended)
{
	struct peer_socket *p = CONTAINER_OF(c->server, struct peer_socket, server);
	AUTO_BUF struct buf said = { 0 };
	const char *end = c->in.n ? memchr(c->in.p, '\n', c->in.n) : NULL;

	if (!ended && !end && c->in.n <= LARGEST_PEER_LINE)
		return;
	size_t length = end ? (size_t)(end - c->in.p) : c->in.n;
	if (p->session && length && length <= LARGEST_PEER_LINE &&
	    peer_receive(&p->session->tree, &p->box, (struct str){ c->in.p, length }, &said) == PEER_REFUSED)
		session_emit_error(p->session, "%s", said.p);
	control_client_close(c);
}

static void socket_open(struct peer_table *table, struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	struct err err = { 0 };
	const char *dir;
	struct peer_socket *p = xnew(
		struct peer_socket, .session = s,
		.server = { .client_size = sizeof(struct control_client), .on_read = on_read, .free = socket_free });

	map_set(&table->by_session, str_from(s->id), p);
	control_server_init(&p->server, s->services->loop);
	if (control_dir(&a, true, &dir, &err) == 0)
		(void)control_server_listen(&p->server, control_socket_path(&a, dir, s->id, ".msg.sock"), &err);
	if (!err.kind) {
		p->address = xstrdup(arena_printf(&a, "uds:%s", p->server.path));
		(void)peer_register(&s->tree, p->address, true, &err);
	}
	if (err.kind)
		session_emit_error(s, "other sessions cannot reach this one: %s", err.text);
}

static void peers_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	struct peer_table *table = CONTAINER_OF(o, struct peer_table, observer);
	bool begins = event->kind == EVENT_SESSION_STARTED;
	struct err ignored = { 0 };

	if ((!begins && event->kind != EVENT_TURN_ENDED) || (event->agent && event->agent->depth))
		return;
	const struct peer_socket *p = map_get(&table->by_session, str_from(s->id));
	if (p && p->address)
		(void)peer_register(&s->tree, p->address, begins, &ignored);
	else if (!p && begins && peer_is_wanted(&s->tree))
		socket_open(table, s);
}

static void peers_on_close(struct observer *o, struct cadre_session *s)
{
	struct peer_table *table = CONTAINER_OF(o, struct peer_table, observer);
	struct peer_socket *p = map_get(&table->by_session, str_from(s->id));

	if (!p)
		return;
	map_remove(&table->by_session, str_from(s->id));
	peer_unregister(&s->tree);
	p->session = NULL;
	control_server_close(&p->server);
}

static void peers_free(struct observer *o)
{
	struct peer_table *table = CONTAINER_OF(o, struct peer_table, observer);

	map_release(&table->by_session);
	free(table);
}

void peers_observe(struct services *sv)
{
	struct peer_table *table = xcalloc(1, sizeof *table);

	table->observer =
		(struct observer){ .on_event = peers_on_event, .on_close = peers_on_close, .free = peers_free };
	services_observe(sv, &table->observer);
}
