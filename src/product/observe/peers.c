/* SPDX-License-Identifier: MIT
 * peers.c - the socket on which other sessions of the user send messages to this one: <runtime>/<session id>.msg.sock. A connection
 * is one line and its end; nothing is answered. A connection without a byte only asks whether the session lives. */
#include "agents/team/peer.h"
#include "product/observe/control.h"
#include "product/observe/observe.h"

struct peer_socket {
	struct control_server server;
	struct peer_box box;
	char *address; /* "uds:PATH" */
};

static void on_end(struct control_server *server)
{
	struct peer_socket *p = CONTAINER_OF(server, struct peer_socket, server);

	map_release(&p->box.known);
	free(p->address);
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
	if (c->server->session && length && length <= LARGEST_PEER_LINE &&
	    peer_receive(&c->server->session->tree, &p->box, (struct str){ c->in.p, length }, &said) == PEER_REFUSED)
		session_emit_error(c->server->session, "%s", said.p);
	control_client_close(c);
}

static void socket_open(struct observer *o, struct cadre_session *s)
{
	struct err err = { 0 };
	struct peer_socket *p =
		xnew(struct peer_socket,
		     .server = { .client_size = sizeof(struct control_client), .on_read = on_read, .on_end = on_end });

	if (control_table_listen(o, s, &p->server, ".msg.sock", &err) == 0) {
		AUTO_BUF struct buf address = { 0 };
		buf_addf(&address, "uds:%s", p->server.path);
		p->address = buf_take(&address, NULL);
		(void)peer_register(&s->tree, p->address, true, &err);
	}
	if (err.kind)
		session_emit_error(s, "other sessions cannot reach this one: %s", err.text);
}

static void peers_on_event(struct observer *o, struct cadre_session *s, const struct event *event)
{
	bool begins = event->kind == EVENT_SESSION_STARTED;
	struct err ignored = { 0 };

	if ((!begins && event->kind != EVENT_TURN_ENDED) || (event->agent && event->agent->depth))
		return;
	struct control_server *server = control_table_get(o, s);
	const struct peer_socket *p = server ? CONTAINER_OF(server, struct peer_socket, server) : NULL;
	if (p && p->address)
		(void)peer_register(&s->tree, p->address, begins, &ignored);
	else if (!p && begins && peer_is_wanted(&s->tree))
		socket_open(o, s);
}

static void peers_on_close(struct observer *o, struct cadre_session *s)
{
	if (control_table_get(o, s))
		peer_unregister(&s->tree);
	control_table_close(o, s);
}

void peers_observe(struct services *sv)
{
	control_table_observe(sv, &(struct observer){ .on_event = peers_on_event, .on_close = peers_on_close });
}
