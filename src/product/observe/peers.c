/* SPDX-License-Identifier: MIT
 * peers.c - the socket on which other sessions of the user send messages to this one: <runtime>/<session id>.msg.sock. A connection
 * is one line and its end; nothing is answered. A connection without a byte only asks whether the session lives. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "agents/team/peer.h"
#include "product/observe/control.h"
#include "product/observe/observe.h"
#include "lib/io/dir.h"

enum { MOST_PEERS = 16, READ_SIZE = 8192, STALE_S = 60 };

/* The sockets of all sessions of a runtime */
struct peer_table {
	struct observer observer;
	struct map by_session; /* id -> struct peer_socket */
};

struct peer_socket {
	struct cadre_session *session; /* borrowed; NULL: it is gone, only handles are left */
	struct peer_box box;
	uv_pipe_t server;
	struct peer_client *clients; /* list by next */
	unsigned client_count;
	unsigned open; /* handles that are not closed yet: it is freed with the last */
	char *address; /* "uds:PATH" */
};

struct peer_client {
	struct peer_socket *socket;
	struct peer_client *next;
	uv_pipe_t pipe;
	struct buf in;
	bool closing;
};

static void handle_closed(struct peer_socket *p)
{
	if (--p->open)
		return;
	map_release(&p->box.known);
	free(p->address);
	free(p);
}

static void on_server_closed(uv_handle_t *handle)
{
	handle_closed(handle->data);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct peer_client *v = handle->data;
	struct peer_socket *p = v->socket;

	buf_release(&v->in);
	free(v);
	handle_closed(p);
}

static void client_close(struct peer_client *v)
{
	if (v->closing)
		return;
	v->closing = true;
	for (struct peer_client **at = &v->socket->clients; *at; at = &(*at)->next) {
		if (*at != v)
			continue;
		*at = v->next;
		v->socket->client_count--;
		break;
	}
	uv_close((uv_handle_t *)&v->pipe, on_client_closed);
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct peer_client *v = handle->data;

	(void)wanted;
	buf_reserve(&v->in, READ_SIZE);
	*ret = uv_buf_init(v->in.p + v->in.n, READ_SIZE);
}

/* The message is on disk before the connection is closed. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
	struct peer_client *v = stream->data;
	AUTO_BUF struct buf said = { 0 };

	(void)bytes;
	if (n > 0)
		v->in.n += (size_t)n;
	const char *end = v->in.n ? memchr(v->in.p, '\n', v->in.n) : NULL;
	if (n >= 0 && !end && v->in.n <= LARGEST_PEER_LINE)
		return;
	size_t length = end ? (size_t)(end - v->in.p) : v->in.n;
	struct cadre_session *s = v->socket->session;
	if (s && length && length <= LARGEST_PEER_LINE &&
	    peer_receive(&s->tree, &v->socket->box, (struct str){ v->in.p, length }, &said) == PEER_REFUSED)
		session_emit_error(s, "%s", said.p);
	client_close(v);
}

static void on_client(uv_stream_t *server, int status)
{
	struct peer_socket *p = server->data;
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof who;
	int fd;

	if (status < 0 || !p->session)
		return;
	struct peer_client *v = xcalloc(1, sizeof *v);
	v->socket = p;
	uv_pipe_init(server->loop, &v->pipe, 0);
	v->pipe.data = v;
	uv_unref((uv_handle_t *)&v->pipe);
	p->open++;
	v->next = p->clients;
	p->clients = v;
	p->client_count++;
	if (uv_accept(server, (uv_stream_t *)&v->pipe) < 0 || uv_fileno((uv_handle_t *)&v->pipe, &fd) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != getuid() ||
	    p->client_count > MOST_PEERS || uv_read_start((uv_stream_t *)&v->pipe, give_room, on_read) < 0)
		client_close(v);
}

/* Sockets of sessions that were killed */
static void remove_stale(const char *dir)
{
	AUTO_DIR DIR *d = opendir(dir);

	for (struct dirent *e; (e = dir_next(d));) {
		AUTO_ARENA struct arena a = { 0 };
		struct err err = { 0 };
		struct stat st;
		if (!str_ends(str_from(e->d_name), STR(".msg.sock")))
			continue;
		const char *path = arena_printf(&a, "%s/%s", dir, e->d_name);
		if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || time(NULL) - st.st_mtime < STALE_S)
			continue;
		int fd = control_connect(path, &err);
		if (fd >= 0)
			close(fd);
		else if (err.kind == ERR_NOT_FOUND)
			(void)unlink(path);
	}
}

static void socket_open(struct peer_table *table, struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	struct err err = { 0 };
	struct sockaddr_un name;
	const char *dir, *path = NULL;
	struct peer_socket *p = xnew(struct peer_socket, .session = s, .open = 1);

	map_set(&table->by_session, str_from(s->id), p);
	uv_pipe_init(loop_uv(s->services->loop), &p->server, 0);
	p->server.data = p;
	int fd = control_dir(&a, true, &dir, &err);
	if (fd == 0) {
		remove_stale(dir);
		path = arena_printf(&a, "%s/%s.msg.sock", dir, s->id);
		fd = strlen(path) < sizeof name.sun_path ? control_listen(path, &err)
							 : err_set(&err, ERR_IO, "%s is too long for a socket", path);
	}
	if (fd >= 0) {
		int status = uv_pipe_open(&p->server, fd);
		if (status < 0)
			close(fd);
		if (status == 0)
			status = uv_listen((uv_stream_t *)&p->server, MOST_PEERS, on_client);
		if (status < 0)
			err_set(&err, ERR_IO, "cannot listen on %s: %s", path, uv_strerror(status));
	}
	uv_unref((uv_handle_t *)&p->server);
	if (!err.kind) {
		p->address = xstrdup(arena_printf(&a, "uds:%s", path));
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
	while (p->clients)
		client_close(p->clients);
	p->session = NULL;
	if (p->address)
		(void)unlink(p->address + strlen("uds:"));
	uv_close((uv_handle_t *)&p->server, on_server_closed);
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
