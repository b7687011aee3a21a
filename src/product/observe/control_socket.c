/* SPDX-License-Identifier: MIT
 * control_socket.c - the sockets of live sessions: their directory, and requests to one, which block. */
#include "product/observe/control.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include "lib/base/id.h"
#include "lib/base/list.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"

enum { STALE_S = 60, BUSY_PAUSE_MS = 20 };

int control_dir(struct arena *a, bool make, const char **ret_dir, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *dir = runtime && runtime[0] == '/' ? arena_printf(a, "%s/cadre", runtime) : NULL;
	struct sockaddr_un name;
	struct stat st;

	/* The name of a socket has little room: with a long runtime directory all processes use /tmp. */
	if (!dir || strlen(dir) + 1 + UUID_LEN + sizeof CONTROL_SOCKET > sizeof name.sun_path)
		dir = arena_printf(a, "/tmp/cadre-%u", (unsigned)getuid());
	if (make && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, ERR_IO, "cannot make %s: %m", dir);
	/* A directory that another user created or can write to is not trusted. */
	if (lstat(dir, &st) < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %m", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 077))
		return err_set(err, ERR_DENIED, "%s must be your own directory with mode 0700", dir);
	*ret_dir = dir;
	return 0;
}

static void each_socket(const char *dir, struct str tail, control_socket_fn *fn, void *data)
{
	AUTO_DIR DIR *d = opendir(dir);

	for (struct dirent *e; (e = dir_next(d));) {
		struct str name = str_from(e->d_name);
		if (!str_ends(name, tail) || !id_is_uuid((struct str){ name.p, name.n - tail.n }))
			continue;
		AUTO_ARENA struct arena a = { 0 };
		fn(data, arena_dup(&a, name.p, name.n - tail.n), path_join(&a, dir, e->d_name));
	}
}

void control_each(const char *dir, control_socket_fn *fn, void *data)
{
	each_socket(dir, STR(CONTROL_SOCKET), fn, data);
}

int control_connect(const char *path, struct err *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, ERR_IO, "socket: %m");
	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	if (connect(fd, (struct sockaddr *)&name, sizeof name) == 0)
		return fd;
	enum err_kind kind = errno == ECONNREFUSED || errno == ENOENT ? ERR_NOT_FOUND
			     : errno == EAGAIN                        ? ERR_BUSY
								      : ERR_IO;
	err_set(err, kind, "%s: %m", path);
	close(fd);
	return -(int)err->kind;
}

/* Between bind and listen a socket refuses too, so a young one is left alone. */
static void sweep_one(void *data, const char *session, const char *path)
{
	struct stat st;
	struct err err = { 0 };

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || time(NULL) - st.st_mtime < STALE_S)
		return;
	int fd = control_connect(path, &err);
	if (fd >= 0)
		close(fd);
	else if (err.kind == ERR_NOT_FOUND)
		(void)unlink(path);
}

static void on_server_closed(uv_handle_t *handle)
{
	struct control_server *s = handle->data;

	if (--s->open)
		return;
	free(s->path);
	if (s->on_end)
		s->on_end(s);
	free(s);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct control_client *c = handle->data;

	handle->data = c->server;
	if (c->server->on_free)
		c->server->on_free(c);
	buf_release(&c->in);
	on_server_closed(handle);
	free(c);
}

void control_client_close(struct control_client *c)
{
	if (c->closing)
		return;
	c->closing = true;
	list_remove(c);
	c->server->client_count--;
	if (c->server->on_close)
		c->server->on_close(c);
	uv_close((uv_handle_t *)&c->pipe, on_client_closed);
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct control_client *c = handle->data;

	buf_reserve(&c->in, CONTROL_REQUEST_LIMIT);
	*ret = uv_buf_init(c->in.p + c->in.n, CONTROL_REQUEST_LIMIT);
}

static void on_client_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
	struct control_client *c = stream->data;

	c->in.n += n > 0 ? (size_t)n : 0;
	c->server->on_read(c, n < 0);
}

static void on_client(uv_stream_t *stream, int status)
{
	struct control_server *s = stream->data;
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof who;
	int fd;

	if (status < 0)
		return;
	struct control_client *c = xcalloc(1, s->client_size);
	c->server = s;
	uv_pipe_init(stream->loop, &c->pipe, 0);
	c->pipe.data = c;
	uv_unref((uv_handle_t *)&c->pipe);
	s->open++;
	s->client_count++;
	list_push(&s->clients, c);
	if (uv_accept(stream, (uv_stream_t *)&c->pipe) < 0 || uv_fileno((uv_handle_t *)&c->pipe, &fd) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != getuid() ||
	    s->client_count > CONTROL_CLIENTS || uv_read_start((uv_stream_t *)&c->pipe, give_room, on_client_read) < 0)
		control_client_close(c);
}

static int server_listen(struct control_server *s, const char *path, struct err *err)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof name.sun_path)
		return err_set(err, ERR_IO, "%s is too long for a socket", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, ERR_IO, "socket: %m");
	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	(void)unlink(path); /* of an earlier process of this session */
	s->path = xstrdup(path);
	int status = bind(fd, (struct sockaddr *)&name, sizeof name) < 0 ? -errno : uv_pipe_open(&s->pipe, fd);
	if (status < 0)
		close(fd);
	if (status == 0)
		status = uv_listen((uv_stream_t *)&s->pipe, CONTROL_CLIENTS, on_client);
	return status < 0 ? err_set(err, ERR_IO, "cannot listen on %s: %s", path, uv_strerror(status)) : 0;
}

static struct map *sockets_of(struct observer *o)
{
	return &CONTAINER_OF(o, struct control_table, observer)->by_session;
}

struct control_server *control_table_get(struct observer *o, const struct cadre_session *s)
{
	return map_get(sockets_of(o), str_from(s->id));
}

int control_table_listen(struct observer *o, struct cadre_session *s, struct control_server *server, const char *suffix,
			 struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *dir;

	server->session = s;
	server->open = 1;
	uv_pipe_init(loop_uv(s->services->loop), &server->pipe, 0);
	server->pipe.data = server;
	uv_unref((uv_handle_t *)&server->pipe);
	map_set(sockets_of(o), str_from(s->id), server);
	if (control_dir(&a, true, &dir, err) < 0)
		return -(int)err->kind;
	each_socket(dir, str_from(suffix), sweep_one, NULL);
	return server_listen(server, arena_printf(&a, "%s/%s%s", dir, s->id, suffix), err);
}

void control_table_close(struct observer *o, struct cadre_session *s)
{
	struct control_server *server = map_remove(sockets_of(o), str_from(s->id));

	if (!server)
		return;
	server->session = NULL;
	while (server->clients)
		control_client_close(server->clients);
	if (server->path)
		(void)unlink(server->path);
	uv_close((uv_handle_t *)&server->pipe, on_server_closed);
}

static void table_free(struct observer *o)
{
	map_release(sockets_of(o));
	free(CONTAINER_OF(o, struct control_table, observer));
}

void control_table_observe(struct services *sv, const struct observer *observer)
{
	struct control_table *table = xnew(struct control_table, .observer = *observer);

	if (!table->observer.on_close)
		table->observer.on_close = control_table_close;
	table->observer.free = table_free;
	services_observe(sv, &table->observer);
}

static int wait_until_ready(int fd, short event, int64_t until_ms, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = event };

	for (;;) {
		int64_t left_ms = until_ms - (int64_t)clock_ms(CLOCK_MONOTONIC);
		int n = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
		if (n > 0)
			return 0;
		if (n == 0)
			return err_set(err, ERR_TIMEOUT, "the session did not answer in time");
		if (errno != EINTR)
			return err_set(err, ERR_IO, "poll: %m");
	}
}

static int send_all(int fd, struct str text, int64_t until_ms, struct err *err)
{
	while (text.n) {
		ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN && wait_until_ready(fd, POLLOUT, until_ms, err) < 0)
			return -(int)err->kind;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "cannot connect to the session: %m");
		text = (struct str){ text.p + n, text.n - (size_t)n };
	}
	return 0;
}

static int read_line(int fd, int64_t until_ms, struct buf *answer, struct err *err)
{
	char piece[16384];

	for (;;) {
		if (wait_until_ready(fd, POLLIN, until_ms, err) < 0)
			return -(int)err->kind;
		ssize_t n = recv(fd, piece, sizeof piece, 0);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return err_set(err, ERR_IO, "the session ended before it answered");
		const char *end = memchr(piece, '\n', (size_t)n);
		buf_add(answer, piece, end ? (size_t)(end - piece) : (size_t)n);
		if (end)
			return 0;
		if (answer->n > CONTROL_ANSWER_LIMIT)
			return err_set(err, ERR_LIMIT, "the answer of the session is too long");
	}
}

int control_ask(const char *path, struct str request, int timeout_ms, struct buf *answer, struct err *err)
{
	int64_t until_ms = (int64_t)clock_ms(CLOCK_MONOTONIC) + timeout_ms;
	AUTO_CLOSE int fd = control_connect(path, err);

	while (fd == -ERR_BUSY) { /* it has its greatest number of clients */
		if ((int64_t)clock_ms(CLOCK_MONOTONIC) + BUSY_PAUSE_MS >= until_ms)
			return err_set(err, ERR_TIMEOUT, "the session did not answer in time");
		(void)poll(NULL, 0, BUSY_PAUSE_MS);
		fd = control_connect(path, err);
	}
	if (fd < 0)
		return -(int)err->kind;
	if (send_all(fd, request, until_ms, err) < 0 || send_all(fd, STR("\n"), until_ms, err) < 0)
		return -(int)err->kind;
	return read_line(fd, until_ms, answer, err);
}
