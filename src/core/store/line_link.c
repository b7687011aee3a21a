/* SPDX-License-Identifier: MIT
 * line_link.c - a connection between two processes of ours: a JSON object a line, both ways. */
#include "core/store/line_link.h"
#include <errno.h>
#include <unistd.h>
#include "lib/io/spawn.h"
#include "lib/json/json_write.h"

enum { LONGEST_LINE = 8 << 20, PIECE = 64 << 10 };

socklen_t link_address(struct sockaddr_un *ret, const char *session, int64_t pid)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* An abstract name: no file, so nothing is left by a process that is killed. */
	int n = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, "cadre-team.%s.%lld", session, (long long)pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

bool link_peer_is(int fd, int64_t pid, int64_t start)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == getuid() && peer.pid == pid &&
	       process_lives(pid, start);
}

static void link_write(struct link *l)
{
	while (l->out.n) {
		ssize_t n = send(l->fd, l->out.p, l->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* full, or gone, which reading tells */
		buf_drop(&l->out, (size_t)n);
	}
}

static void link_lose(struct link *l)
{
	link_close(l);
	l->on_end(l);
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void link_watch(struct link *l)
{
	(void)uv_poll_start(l->poll, UV_READABLE | (l->out.n ? UV_WRITABLE : 0), on_ready);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct link *l = poll->data;
	char piece[PIECE];

	if (!l)
		return;
	link_write(l);
	link_watch(l);
	if (!(events & UV_READABLE) && status == 0)
		return;
	ssize_t n = recv(l->fd, piece, sizeof piece, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		link_lose(l);
		return;
	}
	buf_add(&l->in, piece, (size_t)n);
	const char *end;
	while (l->fd >= 0 && l->in.n && (end = memchr(l->in.p, '\n', l->in.n))) {
		AUTO_JSON struct json_reader reader = { .limits = { .bytes = LONGEST_LINE, .depth = 64 } };
		AUTO_BUF struct buf line = { 0 };
		buf_add(&line, l->in.p, (size_t)(end - l->in.p));
		buf_drop(&l->in, line.n + 1);
		const struct json *root = json_read(&reader, buf_str(&line));
		if (!json_is(root, JSON_OBJECT)) {
			link_lose(l);
			return;
		}
		l->on_line(l, root);
	}
	if (l->fd >= 0 && l->in.n > LONGEST_LINE)
		link_lose(l);
}

void link_open(struct link *l, struct loop *loop, int fd)
{
	l->loop = loop;
	l->fd = fd;
	l->poll = xcalloc(1, sizeof *l->poll);
	(void)uv_poll_init(loop_uv(loop), l->poll, fd);
	l->poll->data = l;
	link_watch(l);
}

void link_send(struct link *l, struct str line)
{
	if (l->fd < 0 || !l->poll)
		return;
	buf_add(&l->out, line.p, line.n);
	buf_addch(&l->out, '\n');
	link_write(l);
	link_watch(l);
}

void link_sendf(struct link *l, const char *template, ...)
{
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = json_out(&line);
	va_list args;

	va_start(args, template);
	json_vputf(&w, template, args);
	va_end(args);
	link_send(l, buf_str(&line));
}

void link_close(struct link *l)
{
	if (l->poll) {
		l->poll->data = NULL;
		uv_close((uv_handle_t *)TAKE(l->poll), loop_free_handle);
	}
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	buf_release(&l->in);
	buf_release(&l->out);
}
